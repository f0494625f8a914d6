#include "backend/train/learner.h"

#include "backend/core/text.h"
#include "backend/train/network_learner.h"
#include "backend/train/target_mean.h"

namespace millrace::train {

Result<std::unique_ptr<Learner>> makeLearner(const LearnerOptions& options) {
    if (options.model == "target_mean") {
        return TargetMean::make(options);
    }
    if (options.model == "dlrm" || options.model == "mlp") {
        return NetworkLearner::make(options);
    }
    return invalidArgument("model.type: '", options.model, "' is not known",
                           nameHint(options.model, {"dlrm", "mlp", "target_mean"}));
}

}  // namespace millrace::train

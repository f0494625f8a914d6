#include "backend/train/learner.h"

#include <algorithm>

#include "backend/text/text.h"
#include "backend/train/network_shape.h"
#include "backend/train/target_mean.h"
#include "backend/train/torch_learner.h"

namespace millrace::train {
namespace {

const std::vector<std::string>& networks() {
    static const std::vector<std::string> kNames{"dlrm", "dcn_v2", "mlp", "logistic"};
    return kNames;
}

}  // namespace

Result<std::unique_ptr<Learner>> makeLearner(const LearnerOptions& options, Group& group) {
    if (options.model == "target_mean") {
        if (group.size() > 1) {
            return invalidArgument("train.ranks: ", group.size(),
                                   "; target_mean sums up the stream in one");
        }
        return TargetMean::make(options);
    }
    if (std::ranges::find(networks(), options.model) == networks().end()) {
        std::vector<std::string> known = networks();
        known.emplace_back("target_mean");
        return invalidArgument("model.type: '", options.model, "' is not known",
                               nameHint(options.model, known));
    }
    RETURN_IF_ERROR(checkNetwork(options));
    return makeTensorLearner(options, group);
}

}  // namespace millrace::train

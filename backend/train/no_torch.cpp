// Replaces torch/ in builds without LibTorch (sanitizers): models with networks are refused.
#include "backend/train/torch_learner.h"

namespace millrace::train {

std::string torchVersion() {
    return "none";
}

Result<std::unique_ptr<Learner>> makeTensorLearner(const LearnerOptions&, Group&, bool) {
    return internalError("train: this build has no LibTorch");
}

Result<std::string> resolveDevice(const std::string& name) {
    if (name == "cuda") {
        return failedPrecondition("train.device: cuda: this build has no LibTorch");
    }
    return std::string("cpu");
}

Status pinRing(const std::string&, void*, std::size_t) {
    return okStatus();
}

Status unpinRing(const std::string&, void*) {
    return okStatus();
}

}  // namespace millrace::train

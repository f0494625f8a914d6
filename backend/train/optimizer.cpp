#include "backend/train/optimizer.h"

namespace millrace::train {
Result<OptimizerKind> parseOptimizer(const std::string& name) {
    if (name == "sgd") {
        return OptimizerKind::kSgd;
    }
    if (name == "adagrad") {
        return OptimizerKind::kAdagrad;
    }
    if (name == "rowwise_adagrad") {
        return OptimizerKind::kRowwiseAdagrad;
    }
    if (name == "adamw") {
        return OptimizerKind::kAdamW;
    }
    return invalidArgument("train.optimizer: '", name,
                           "' is not known; known: sgd, adagrad, rowwise_adagrad, adamw");
}

int numMoments(const OptimizerOptions& options) {
    switch (options.kind) {
        case OptimizerKind::kSgd:
            return options.momentum != 0 ? 1 : 0;
        case OptimizerKind::kAdagrad:
        case OptimizerKind::kRowwiseAdagrad:
            return 1;
        case OptimizerKind::kAdamW:
            return 2;
    }
    return 0;
}

std::int64_t momentWidth(const OptimizerOptions& options, std::int64_t dim) {
    return options.kind == OptimizerKind::kRowwiseAdagrad ? 1 : dim;
}

}  // namespace millrace::train

#pragma once
// Copies tensors of another run's checkpoint into a model, matched by their names
// (train.init_from).
//
// Threads: values and functions over the caller's memory. Failure: kFailedPrecondition.
#include <set>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/text/json.h"
#include "backend/train/checkpoint.h"

namespace millrace::train {

class Learner;

/// The checkpoint that a run starts from, and which parts it copies (train.init_from).
struct InitFrom {
    const Checkpoint* checkpoint = nullptr;
    bool takesOptimizer = false;
    /// Tables of vocabularies: a row means the same value in both, even if the number of rows
    /// differs.
    std::set<std::string> growing;
    /// Tables whose rows mean other values than in the checkpoint.
    std::set<std::string> changed;
    bool hasSameInput = true;  ///< the dense features are the same, in the same order
};

/// Copies matching tensors of the checkpoint into `tensors`, by name: weights, and with
/// takesOptimizer the rest. Copies only the common rows of growing tables. Leaves alone a tensor of
/// another shape, or of a changed table. Returns the names of the tensors that were left alone or
/// copied in part. Failure: kFailedPrecondition if no weight fits, or if one is of another type.
Result<std::vector<std::string>> copyMatching(const InitFrom& from,
                                              const std::vector<TensorRef>& tensors);

/// Initializes `learner` from it and logs which parts start fresh. `numericKeys`: the run's own, in
/// the form that checkpoints have. Messages begin with the key of the spec.
Status beginFrom(const InitFrom& from, const Json& numericKeys, Learner& learner);

}  // namespace millrace::train

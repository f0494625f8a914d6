#pragma once
// Copies tensors of another run's checkpoint into a model, matched by their names
// (train.init_from).
//
// Threads: values and functions over the caller's memory. Failure: kFailedPrecondition.
#include <set>
#include <string>
#include <vector>

#include "backend/core/json.h"
#include "backend/core/status.h"
#include "backend/train/checkpoint.h"

namespace millrace::train {

class Learner;

/// The checkpoint that a run starts with, and the parts that it takes (train.init_from).
struct InitFrom {
    const Checkpoint* checkpoint = nullptr;
    bool takesOptimizer = false;
    /// Tables of vocabularies: a row stands for the same value in both, however many there are.
    std::set<std::string> growing;
    /// Tables whose rows stand for other values than in the checkpoint.
    std::set<std::string> changed;
    bool hasSameInput = true;  ///< the dense features are the same, in the same order
};

/// Copies into `tensors` what the checkpoint has of them, by name: weights, with takesOptimizer the
/// rest too. Of growing tables the rows that both have; a tensor of another shape, or of a changed
/// table, is left as it is. Returns the names of the tensors that were left, or left in part.
/// Failure: kFailedPrecondition where no weight fits, or one is of another type.
Result<std::vector<std::string>> copyMatching(const InitFrom& from,
                                              const std::vector<TensorRef>& tensors);

/// Starts `learner` with it, and says in the log what begins fresh. `numericKeys`: the run's own,
/// as checkpoints have them. Messages begin with the key of the spec.
Status beginFrom(const InitFrom& from, const Json& numericKeys, Learner& learner);

}  // namespace millrace::train

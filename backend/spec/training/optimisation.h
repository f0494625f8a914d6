#pragma once
// What `train` says of how weights move, as a whole: groups of parameters with what they take from
// `train`, and whether a schedule fits together. Threads: pure functions.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/spec/run_spec.h"

namespace millrace::spec {

class Problems;

/// The group with everything filled in.
TrainGroup denseGroup(const TrainSpec& train);
TrainGroup tableGroup(const TrainSpec& train);

/// Floats of state that a group's optimizer keeps for a row of `dim` weights.
std::int64_t stateFloats(const TrainGroup& group, std::int64_t dim);

/// What does not fit together; of a model with gradients.
void checkOptimisation(const RunSpec& spec, Problems& problems);
/// That evaluations have what it looks at; of the built-in models.
void checkEarlyStop(const RunSpec& spec, Problems& problems);
/// By its mode, or by the name of what it looks at; nothing where neither tells.
std::optional<bool> isHigherBetter(const EarlyStopSpec& stop);
/// Keys that change nothing.
void warnOfOptimisation(const RunSpec& spec, std::vector<std::string>& warnings);

/// For people, in one line: "adamw, rate 0.003, from step 100 cosine to 0 at step 1,000". "" where
/// nothing is learnt by gradients here.
std::string describeOptimisation(const RunSpec& spec);

}  // namespace millrace::spec

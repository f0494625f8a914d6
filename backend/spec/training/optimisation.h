#pragma once
// The complete optimisation settings of `train`: groups of parameters with inherited values, and
// checks of the schedule. Threads: pure functions.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/spec/run_spec.h"

namespace millrace::spec {

class Problems;

/// The group with all values filled in.
TrainGroup denseGroup(const TrainSpec& train);
TrainGroup tableGroup(const TrainSpec& train);

/// Floats of state that a group's optimizer keeps per row of `dim` weights.
std::int64_t stateFloats(const TrainGroup& group, std::int64_t dim);

/// Checks the settings of a model with gradients.
void checkOptimisation(const RunSpec& spec, Problems& problems);
/// Checks that evaluations report the watched metric; for built-in models.
void checkEarlyStop(const RunSpec& spec, Problems& problems);
/// Decided by its mode, or by the metric's name; nothing if neither decides.
std::optional<bool> isHigherBetter(const EarlyStopSpec& stop);
/// Warns of keys without an effect.
void warnOfOptimisation(const RunSpec& spec, std::vector<std::string>& warnings);

/// For people, in one line: "adamw, rate 0.003, from step 100 cosine to 0 at step 1,000". "" if
/// nothing is learned by gradients.
std::string describeOptimisation(const RunSpec& spec);

}  // namespace millrace::spec

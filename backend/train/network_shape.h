#pragma once
// Rules that models with layers share on every device: valid options, layer sizes, initial weights,
// the inputs that a batch must have. Pure functions.
//
// Weights start as in DLRM: layers uniform with the deviation sqrt(2 / (inputs + outputs)), biases
// with sqrt(1 / outputs), embeddings in +-1/sqrt(rows), but row 0, which is for unknown values, and
// all weights of logistic at 0. Every value is a function of (seed, name, index), so the order of
// construction does not matter.
#include <cstdint>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/train/learner.h"

namespace millrace::train {

/// Each message names the key.
Status checkNetwork(const LearnerOptions& options);

/// Bounds of the uniform draw for a parameter of this shape, and for an embedding table of `rows`
/// rows.
float layerBound(const std::vector<std::int64_t>& shape);
float tableBound(std::int64_t rows);

/// Fills with uniform draws in [-bound, bound), a function of (seed, name, index) only.
void fillUniform(std::uint64_t seed, const std::string& name, float bound, std::int64_t size,
                 float* values);

/// kInternal if a frame has other inputs than the model.
Status checkBatch(const LearnerOptions& options, const BatchView& batch);
/// kInvalidArgument for a step whose weights are negative or infinite.
Status checkStepWeight(double weight);

/// The error for an id outside its table, and for the first such id in a batch; OK if there is
/// none.
Status wrongId(const std::string& feature, std::int64_t id, std::int64_t row,
               const std::string& table, std::int64_t rows);
Status findWrongId(const LearnerOptions& options, const BatchView& batch);

}  // namespace millrace::train

#pragma once
// What models with layers have in common, wherever they are computed: which options fit, the
// layers' sizes, how weights start, what a batch must have. Pure functions.
//
// Weights start as in DLRM: layers uniform with the deviation sqrt(2 / (inputs + outputs)), biases
// with sqrt(1 / outputs), embeddings in
// +-1/sqrt(rows); every value a function of (seed, name, index), so the order of construction does
// not matter.
#include <cstdint>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/train/dense_network.h"
#include "backend/train/learner.h"

namespace millrace::train {

/// Each message names the key.
Status checkNetwork(const LearnerOptions& options);

NetworkOptions networkOf(const LearnerOptions& options);

/// Of the uniform draw that a parameter of this shape starts with, and an embedding table of so
/// many rows.
float layerBound(const std::vector<std::int64_t>& shape);
float tableBound(std::int64_t rows);

/// kInternal when a frame has other inputs than the model.
Status checkBatch(const LearnerOptions& options, const BatchView& batch);
/// kInvalidArgument for a step whose weights are negative or infinite.
Status checkStepWeight(double weight);

/// The sentence of an id outside its table, and of the first one in a batch; OK where there is
/// none.
Status wrongId(const std::string& feature, std::int64_t id, std::int64_t row,
               const std::string& table, std::int64_t rows);
Status findWrongId(const LearnerOptions& options, const BatchView& batch);

}  // namespace millrace::train

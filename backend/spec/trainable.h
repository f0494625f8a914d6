#pragma once
// What this version can train of a spec, known before anything starts.
//
// `check`, `run` and the daemon ask; `stream`, `preview` and `sample` do more than can be trained
// on and do not. Threads: pure functions. Failure: errors as values.
#include <cstdint>

#include "backend/expr/schema.h"
#include "backend/spec/run_spec.h"
#include "backend/spec/spec_reader.h"

namespace millrace::spec {

/// What keeps a bound spec from being trained, with places in the YAML text where it has them.
/// `columns`: at the end of its recipe.
SpecErrors checkTrainable(const RunSpec& spec, const expr::Schema& columns);

/// Bytes of the embedding tables in all ranks of the trainer: weights, the optimizer's state, one
/// place a row; and of the copy that a checkpoint is written from.
double tableBytes(const RunSpec& spec);

/// kInvalidArgument, naming the largest table, when they need more than the machine's `bytes`.
Status checkTableMemory(const RunSpec& spec, std::int64_t bytes);

/// How a sequence's id column enters a model: the frame's column and the embedding table's feature.
struct PooledColumn {
    std::string frameColumn, feature;
};
/// In the order of frames: columns that have an embedding.
std::vector<PooledColumn> pooledColumns(const RunSpec& spec);

}  // namespace millrace::spec

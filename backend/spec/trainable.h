#pragma once
// Checks whether this version can train a spec, before anything starts.
//
// Used by `check`, `run` and the daemon; not by `stream`, `preview` and `sample`, which support
// specs that cannot be trained. Threads: pure functions. Failure: errors as values.
#include <cstdint>

#include "backend/expr/schema.h"
#include "backend/spec/run_spec.h"
#include "backend/spec/spec_reader.h"

namespace millrace::spec {

/// Reasons why a bound spec cannot be trained, with positions in the YAML text if it has them.
/// `columns`: those at the end of its recipe.
SpecErrors checkTrainable(const RunSpec& spec, const expr::Schema& columns);

/// Bytes of the embedding tables in all ranks of the trainer: weights, optimizer state, one index
/// per row; plus the copy for writing checkpoints.
double tableBytes(const RunSpec& spec);

/// kInvalidArgument, naming the largest table, if they exceed the machine's `bytes`.
Status checkTableMemory(const RunSpec& spec, std::int64_t bytes);

/// A sequence's id column as model input: the frame's column and the embedding table's feature.
struct PooledColumn {
    std::string frameColumn, feature;
};
/// Columns with an embedding, in the order of frames.
std::vector<PooledColumn> pooledColumns(const RunSpec& spec);

}  // namespace millrace::spec

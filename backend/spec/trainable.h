#pragma once
// Checks whether this version can train a spec, before anything starts.
//
// Used by `check`, `run` and the daemon; not by `stream`, `preview` and `sample`, which support
// specs that cannot be trained. Threads: pure functions. Failure: errors as values.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

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

/// The columns of floats that a label's expression reads, itself or through derived columns, each
/// with the expression that is true where it is NaN. None of an expression that asks for NaN
/// itself. `steps` lead to `columns`.
std::map<std::string, std::string> nanTests(const LabelSpec& label, const std::vector<Step>& steps,
                                            const expr::Schema& columns);

/// How a sequence's id column enters a model: the frame's column and the embedding table's feature.
struct PooledColumn {
    std::string frameColumn, feature;
};
/// Columns with an embedding, in the order of frames.
std::vector<PooledColumn> pooledColumns(const RunSpec& spec);

}  // namespace millrace::spec

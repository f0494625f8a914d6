#pragma once
// Memory that the side tables of a spec need, from their footers, before any of them is read.
//
// Threads: a pure function. Failure: names the table. Strings that a file stores in dictionaries
// may need more than its footer tells; loading counts them again, byte by byte.
#include <cstdint>
#include <vector>

#include "backend/core/status.h"
#include "backend/recipe/compiled_recipe.h"
#include "backend/spec/run_spec.h"

namespace millrace::recipe {

struct TableNeed {
    std::int64_t held = 0;  ///< while rows are read: indices and taken columns of all tables
    std::int64_t peak = 0;  ///< while they are loaded, one after the other
};

/// Covers the enabled steps of these parts' recipes and the vocabularies. Each table counts once,
/// as SharedTables holds it.
Result<TableNeed> tableNeed(const spec::RunSpec& spec, const TableSource& tables,
                            const std::vector<Part>& parts);

}  // namespace millrace::recipe

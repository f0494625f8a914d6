#pragma once
// What the side tables of a spec take in memory, from their footers, before one of them is read.
//
// Threads: a pure function. Failure: names the table. Strings that a file keeps in dictionaries may
// need more than its footer says; loading them is counted again, byte by byte.
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

/// Of the enabled steps of these parts' recipes and of the vocabularies, each table once, as
/// SharedTables holds them.
Result<TableNeed> tableNeed(const spec::RunSpec& spec, const TableSource& tables,
                            const std::vector<Part>& parts);

}  // namespace millrace::recipe

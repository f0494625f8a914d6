#pragma once
// Side tables: small files that a join loads whole. CSV, Parquet or Arrow by the first name's
// ending; several files are one table, in the order of a dataset's.
//
// Types of CSV tables that are not given are inferred.
// Failure: names the table as written in the spec.
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backend/core/memory_budget.h"
#include "backend/core/status.h"
#include "backend/dataset/facts_cache.h"
#include "backend/expr/schema.h"
#include "backend/files/file_facts.h"
#include "backend/stream/plan.h"

namespace arrow {
class Table;
}  // namespace arrow

namespace millrace::spec {
struct TableRef;
}  // namespace millrace::spec

namespace millrace::dataset {

/// Where tables are looked for.
struct TablePlace {
    std::string baseDir;  ///< their paths are relative to it
    std::shared_ptr<FactsCache> cache;
    /// Absolute paths, those of a plan: a table with another file is kFailedPrecondition, which
    /// names the file. Nullptr: any.
    std::shared_ptr<const std::set<std::string>> planned = nullptr;
    int threads = 1;  ///< that load a table, side by side
};

/// The columns of the table.
Result<expr::Schema> tableSchema(const spec::TableRef& table, const TablePlace& place);

/// What is worth to know of how its files are read, as Dataset::notes().
Result<std::vector<std::string>> tableNotes(const spec::TableRef& table, const TablePlace& place);

/// What these columns of the table need in memory, by its footer or first pass.
struct TableSize {
    std::int64_t rows = 0, bytes = 0;
};
Result<TableSize> tableSize(const spec::TableRef& table, const std::vector<std::string>& columns,
                            const TablePlace& place);

/// These columns of the table, of their pinned types, one chunk each.
Result<std::shared_ptr<arrow::Table>> loadTable(const spec::TableRef& table,
                                                const std::vector<std::string>& columns,
                                                const TablePlace& place);

/// A side table's files: absolute path, size, rows and content hash, as the plan and the receipt
/// hold them.
Result<std::vector<stream::SideTable>> sideTablesOf(const spec::TableRef& table,
                                                    const TablePlace& place);

/// The same of a file that is no table and is used as it is; `path` is absolute.
Result<stream::SideTable> sideFileOf(const std::string& path);

/// A file of a planned side table as it is now, by its whole content. kFailedPrecondition, naming
/// the file, when it is no longer the planned one.
Result<files::DataFile> verifySideTable(const stream::SideTable& table);

/// After the table was loaded: that it was loaded from the file that verifySideTable() gave.
Status verifyStill(const files::DataFile& checked);

}  // namespace millrace::dataset

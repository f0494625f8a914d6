#pragma once
// Side tables: small files that a join loads as a whole. CSV, Parquet or Arrow by the first name's
// suffix; several files form one table, in a dataset's order.
//
// Types of CSV tables are inferred unless given.
// Failure: names the table as written in the spec.
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "backend/core/memory_budget.h"
#include "backend/core/status.h"
#include "backend/dataset/metadata_cache.h"
#include "backend/expr/schema.h"
#include "backend/files/file_metadata.h"
#include "backend/stream/plan.h"

namespace millrace::spec {
struct TableRef;
}  // namespace millrace::spec

namespace millrace::dataset {

/// Base directory and options for reading tables.
struct TablePlace {
    std::string baseDir;  ///< their paths are relative to it
    std::shared_ptr<MetadataCache> cache;
    /// The plan's files, as absolute paths: a table with any other file is kFailedPrecondition, and
    /// the message names the file. Null: any file.
    std::shared_ptr<const std::set<std::string>> planned = nullptr;
    int threads = 1;  ///< that load a table in parallel
};

/// The columns of the table.
Result<expr::Schema> tableSchema(const spec::TableRef& table, const TablePlace& place);

/// Notes on how its files are read, as Dataset::notes().
Result<std::vector<std::string>> tableNotes(const spec::TableRef& table, const TablePlace& place);

/// Memory that these columns of the table need, from its footer or first pass.
struct TableSize {
    std::int64_t rows = 0, bytes = 0;
};
Result<TableSize> tableSize(const spec::TableRef& table, const std::vector<std::string>& columns,
                            const TablePlace& place);

/// Loads these columns of the table, in their pinned types, one chunk each.
Result<std::shared_ptr<arrow::Table>> loadTable(const spec::TableRef& table,
                                                const std::vector<std::string>& columns,
                                                const TablePlace& place);

/// A side table's files: absolute path, size, rows and content hash, for the plan and the receipt.
Result<std::vector<stream::SideTable>> sideTablesOf(const spec::TableRef& table,
                                                    const TablePlace& place);

/// Like sideTablesOf(), for a file that is not a table and is used unchanged; `path` is absolute.
Result<stream::SideTable> sideFileOf(const std::string& path);

/// Checks the current file of a planned side table, by its whole content. kFailedPrecondition, with
/// the file's name, if its content differs from the planned one.
Result<files::DataFile> verifySideTable(const stream::SideTable& table);

/// Call it after loading: verifies that the loaded file is the one from verifySideTable().
Status verifyStill(const files::DataFile& checked);

}  // namespace millrace::dataset

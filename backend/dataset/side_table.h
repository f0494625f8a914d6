#pragma once
// Side tables: small files that a join loads whole. CSV, Parquet or Arrow by the name's ending.
//
// CSV tables are read with a header, commas and inferred types.
// Failure: names the table as written in the spec.
#include <memory>
#include <string>
#include <vector>

#include "backend/core/memory_budget.h"
#include "backend/core/status.h"
#include "backend/dataset/file_facts.h"
#include "backend/spec/schema.h"
#include "backend/stream/plan.h"

namespace arrow {
class Table;
}  // namespace arrow

namespace millrace::dataset {

/// The columns of the table at `path`, relative to `baseDir`.
Result<spec::Schema> tableSchema(const std::string& path, const std::string& baseDir,
                                 const std::shared_ptr<FactsCache>& cache);

/// What these columns of the table need in memory, by its footer or first pass.
struct TableSize {
    std::int64_t rows = 0, bytes = 0;
};
Result<TableSize> tableSize(const std::string& path, const std::string& baseDir,
                            const std::vector<std::string>& columns,
                            const std::shared_ptr<FactsCache>& cache);

/// These columns of the table, of their pinned types, one chunk each.
Result<std::shared_ptr<arrow::Table>> loadTable(const std::string& path, const std::string& baseDir,
                                                const std::vector<std::string>& columns,
                                                const std::shared_ptr<FactsCache>& cache);

/// A side table's file: absolute path, size and content hash, as the plan and the receipt hold it.
Result<stream::SideTable> sideTableOf(const std::string& path, const std::string& baseDir);

/// The same of a file that is no table and is used as it is; `path` is absolute.
Result<stream::SideTable> sideFileOf(const std::string& path);

/// The file of a planned side table as it is now, by its whole content. kFailedPrecondition, naming
/// the file, when it is no longer the planned one.
Result<DataFile> verifySideTable(const stream::SideTable& table);

/// After the table was loaded: that it was loaded from the file that verifySideTable() gave.
Status verifyStill(const DataFile& checked);

}  // namespace millrace::dataset

#pragma once
// Statistics of one Parquet file's columns, from its footer.
//
// Failure: footerError() of parquet_footers.h.
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/files/file_list.h"

namespace arrow {
struct Scalar;
}  // namespace arrow

namespace parquet {
class FileMetaData;
class Statistics;
}  // namespace parquet

namespace millrace::pages {

/// Facts of one column over some row groups or files.
struct ColumnStatistics {
    bool isNullable = false;
    std::optional<std::int64_t> nulls = 0;  ///< of a plain column; absent as soon as one part is
    std::int64_t diskBytes = 0;
    bool hasBounds = true;                          ///< every part with values had min and max
    std::shared_ptr<const arrow::Scalar> min, max;  ///< null while no part had values
    std::set<std::string> encodings, codecs;
    bool hasPageIndex = true;  ///< every part says where its pages lie

    /// Adds another part's.
    void add(const ColumnStatistics& other);
};

/// By `columns`; a column that the file lacks is `rows` nulls.
Result<std::vector<ColumnStatistics>> readParquetStatistics(
    const files::DataFile& file, const std::vector<std::string>& columns);

/// Of one plain column in one row group; nothing is known (no bounds, no count of nulls) of a
/// column that is not plain. `leaf`: its number, -1 when the file lacks it or it is not plain.
ColumnStatistics chunkStatistics(const parquet::FileMetaData& footer, int rowGroup,
                                 const std::string& column, int& leaf);

/// The bounds alone, where they are exact and can be compared.
ColumnStatistics boundsOf(const parquet::Statistics& statistics);

/// The bounds as text; "" when they are not known.
std::string boundText(const std::shared_ptr<const arrow::Scalar>& bound);

}  // namespace millrace::pages

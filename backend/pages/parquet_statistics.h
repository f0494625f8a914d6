#pragma once
// Statistics of one Parquet file's columns, from its footer.
//
// Failure: footerError() of parquet_footers.h.
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>
#include <parquet/type_fwd.h>

#include "backend/core/status.h"
#include "backend/files/file_list.h"

namespace millrace::pages {

/// Statistics of one column over some row groups or files.
struct ColumnStatistics {
    bool isNullable = false;
    std::optional<std::int64_t> nulls = 0;  ///< of a plain column; absent if any part lacks it
    std::int64_t diskBytes = 0;
    bool hasBounds = true;                          ///< every part with values had min and max
    std::shared_ptr<const arrow::Scalar> min, max;  ///< null while no part had values
    std::set<std::string> encodings, codecs;
    bool hasPageIndex = true;  ///< every part has the positions of its pages

    /// Merges another part's.
    void add(const ColumnStatistics& other);
};

/// One per name in `columns`; a column that the file lacks counts as `rows` nulls.
Result<std::vector<ColumnStatistics>> readParquetStatistics(
    const files::DataFile& file, const std::vector<std::string>& columns);

/// Statistics of one plain column in one row group; a column that is not plain has no bounds and no
/// count of nulls. `leaf`: its number, -1 if the file lacks it or it is not plain.
ColumnStatistics chunkStatistics(const parquet::FileMetaData& footer, int rowGroup,
                                 const std::string& column, int& leaf);

/// Only the bounds, if they are exact and comparable.
ColumnStatistics boundsOf(const parquet::Statistics& statistics);

/// The bound as text; "" if it is unknown.
std::string boundText(const std::shared_ptr<const arrow::Scalar>& bound);

}  // namespace millrace::pages

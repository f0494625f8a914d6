#include "backend/pages/parquet_statistics.h"

#include <map>

#include <arrow/array/array_base.h>
#include <arrow/array/util.h>
#include <arrow/chunked_array.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/compression.h>
#include <arrow/visit_type_inline.h>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>
#include <parquet/statistics.h>
#include <parquet/types.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/arrays/value_text.h"
#include "backend/files/file_source.h"
#include "backend/pages/parquet_columns.h"
#include "backend/pages/parquet_footers.h"

namespace millrace::pages {
namespace {

using arrow::Scalar;
using arrow::Type;
using ScalarPtr = std::shared_ptr<const Scalar>;

bool isComparable(const Scalar& scalar) {
    const Type::type id = scalar.type->id();
    return (id >= Type::BOOL && id <= Type::INT64) || id == Type::FLOAT || id == Type::DOUBLE ||
           id == Type::STRING || id == Type::BINARY || id == Type::DATE32 ||
           id == Type::TIMESTAMP || id == Type::DECIMAL128;
}

/// Compares two comparable scalars of one type.
bool isLess(const Scalar& a, const Scalar& b) {
    return arrow::VisitType(*a.type, [&]<class T>(const T&) -> bool {
        using ScalarOf = typename arrow::TypeTraits<T>::ScalarType;
        const auto &left = static_cast<const ScalarOf&>(a),
                   &right = static_cast<const ScalarOf&>(b);
        if constexpr (std::is_base_of_v<arrow::BaseBinaryScalar, ScalarOf>) {
            return left.view() < right.view();
        } else if constexpr (requires { left.value < right.value; }) {
            return left.value < right.value;
        } else {
            return false;
        }
    });
}

/// Sets the bounds if the statistics have them in a comparable form.
void readBounds(const parquet::Statistics& statistics, ColumnStatistics& column) {
    std::shared_ptr<Scalar> min, max;
    const bool isCut = !statistics.is_min_value_exact().value_or(true) ||
                       !statistics.is_max_value_exact().value_or(true);
    const bool isKnown = statistics.HasMinMax() && !isCut &&
                         parquet::arrow::StatisticsAsScalars(statistics, &min, &max).ok() &&
                         min != nullptr && max != nullptr && isComparable(*min) &&
                         min->type->Equals(*max->type);
    column.hasBounds = isKnown;
    if (isKnown) {
        column.min = min;
        column.max = max;
    }
}

ColumnStatistics ofChunk(const parquet::ColumnChunkMetaData& chunk, bool isFlat, bool isNullable) {
    ColumnStatistics column;
    column.isNullable = isNullable;
    column.diskBytes = chunk.total_compressed_size();
    column.hasPageIndex = chunk.GetOffsetIndexLocation().has_value();
    for (const parquet::Encoding::type encoding : chunk.encodings()) {
        column.encodings.insert(parquet::EncodingToString(encoding));
    }
    if (chunk.compression() != parquet::Compression::UNCOMPRESSED) {
        column.codecs.insert(arrow::util::Codec::GetCodecAsString(chunk.compression()));
    }
    const std::shared_ptr<parquet::Statistics> statistics =
        isFlat && chunk.is_stats_set() ? chunk.statistics() : nullptr;
    const bool hasNulls = statistics != nullptr && statistics->HasNullCount();
    if (isFlat && !isNullable) {
        column.nulls = 0;
    } else if (isFlat && hasNulls) {
        column.nulls = statistics->null_count();
    } else {
        column.nulls.reset();
    }
    const bool isAllNull = column.nulls == chunk.num_values();
    if (statistics != nullptr) {
        readBounds(*statistics, column);
        column.hasBounds |= isAllNull;
    } else {
        column.hasBounds = isAllNull && isFlat;
    }
    return column;
}

std::vector<ColumnStatistics> ofFooter(const parquet::FileMetaData& footer,
                                       const std::vector<std::string>& columns) {
    std::vector<ColumnStatistics> out(columns.size());
    std::map<std::string, std::size_t> places;
    const std::map<std::string, ColumnLeaves> known = columnsOf(*footer.schema());
    for (std::size_t i = 0; i < columns.size(); ++i) {
        places.emplace(columns[i], i);
        if (!known.contains(columns[i])) {
            out[i].isNullable = true;
            out[i].nulls = footer.num_rows();
        }
    }
    for (int group = 0; group < footer.num_row_groups(); ++group) {
        const auto meta = footer.RowGroup(group);
        for (const auto& [name, column] : known) {
            const auto at = places.find(name);
            for (const int leaf : column.leaves) {
                if (at != places.end()) {
                    out[at->second].add(
                        ofChunk(*meta->ColumnChunk(leaf), column.isPrimitive, column.isNullable));
                }
            }
        }
    }
    return out;
}

}  // namespace

ColumnStatistics boundsOf(const parquet::Statistics& statistics) {
    ColumnStatistics column;
    readBounds(statistics, column);
    return column;
}

ColumnStatistics chunkStatistics(const parquet::FileMetaData& footer, int rowGroup,
                                 const std::string& column, int& leaf) {
    ColumnStatistics none;
    none.nulls.reset();
    none.hasBounds = false;
    const std::optional<ColumnLeaves> found = findColumn(*footer.schema(), column);
    leaf = -1;
    if (!found || !found->isPrimitive) {
        return none;
    }
    leaf = found->leaves.front();
    return ofChunk(*footer.RowGroup(rowGroup)->ColumnChunk(leaf), true, found->isNullable);
}

void ColumnStatistics::add(const ColumnStatistics& other) {
    isNullable |= other.isNullable;
    if (nulls && other.nulls) {
        *nulls += *other.nulls;
    } else {
        nulls.reset();
    }
    diskBytes += other.diskBytes;
    encodings.insert(other.encodings.begin(), other.encodings.end());
    codecs.insert(other.codecs.begin(), other.codecs.end());
    hasBounds &= other.hasBounds;
    hasPageIndex &= other.hasPageIndex;
    if (other.min == nullptr || other.max == nullptr) {
        return;
    }
    if (min == nullptr) {
        min = other.min;
        max = other.max;
        return;
    }
    if (!min->type->Equals(*other.min->type)) {
        hasBounds = false;
        return;
    }
    min = isLess(*other.min, *min) ? other.min : min;
    max = isLess(*max, *other.max) ? other.max : max;
}

Result<std::vector<ColumnStatistics>> readParquetStatistics(
    const files::DataFile& file, const std::vector<std::string>& columns) {
    try {
        ASSIGN_OR_RETURN(const files::FileSource source, files::FileSource::open(file));
        return ofFooter(*parquet::ReadMetaData(source.input()), columns);
    } catch (const std::exception& e) {
        return footerError(file.path, e);
    }
}

std::string boundText(const std::shared_ptr<const arrow::Scalar>& bound) {
    if (bound == nullptr) {
        return "";
    }
    const auto array = arrow::MakeArrayFromScalar(*bound, 1);
    if (!array.ok()) {
        return "";
    }
    expr::DataType type;
    if (!arrays::toSpecType(*(*array)->type(), type)) {
        return "";
    }
    const auto pinned = arrays::pinArray(arrow::ChunkedArray(*array), type, "statistics",
                                         arrow::default_memory_pool());
    return pinned.ok() ? arrays::valueText(**pinned, 0) : "";
}

}  // namespace millrace::pages

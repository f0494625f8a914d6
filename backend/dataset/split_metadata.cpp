#include "backend/dataset/split_metadata.h"

#include <algorithm>
#include <exception>
#include <limits>

#include <arrow/array/array_base.h>
#include <arrow/array/util.h>
#include <arrow/chunked_array.h>
#include <arrow/memory_pool.h>
#include <arrow/scalar.h>
#include <arrow/type_traits.h>
#include <arrow/visit_type_inline.h>
#include <parquet/bloom_filter.h>
#include <parquet/bloom_filter_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/pages/parquet_columns.h"
#include "backend/pages/parquet_statistics.h"

namespace millrace::dataset {
namespace {

/// The bound from a scalar of a pinned type; unknown for other types and for null.
Bound boundOf(const arrow::Scalar& scalar) {
    if (!scalar.is_valid) {
        return {};
    }
    return arrow::VisitType(*scalar.type, [&]<class T>(const T&) -> Bound {
        using ScalarOf = typename arrow::TypeTraits<T>::ScalarType;
        if constexpr (std::is_same_v<T, arrow::StringType>) {
            return std::string(static_cast<const ScalarOf&>(scalar).view());
        } else if constexpr (std::is_same_v<T, arrow::FloatType> ||
                             std::is_same_v<T, arrow::DoubleType>) {
            return double{static_cast<const ScalarOf&>(scalar).value};
        } else if constexpr (std::is_same_v<T, arrow::UInt64Type>) {
            return {};  // it may be above the greatest std::int64_t
        } else if constexpr (arrow::is_integer_type<T>::value || arrow::is_boolean_type<T>::value ||
                             std::is_same_v<T, arrow::Date32Type> ||
                             std::is_same_v<T, arrow::TimestampType>) {
            return static_cast<std::int64_t>(static_cast<const ScalarOf&>(scalar).value);
        } else {
            return {};
        }
    });
}

/// The bound as a value of the dataset's type. Unknown if the file has numbers and the dataset
/// texts, or the reverse: texts sort differently.
Bound pinned(const std::shared_ptr<const arrow::Scalar>& scalar, const expr::DataType& type) {
    if (scalar == nullptr) {
        return {};
    }
    expr::DataType stored;
    if (!arrays::toSpecType(*scalar->type, stored) || stored.isString() != type.isString()) {
        return {};
    }
    const auto array = arrow::MakeArrayFromScalar(*scalar, 1);
    if (!array.ok()) {
        return {};
    }
    const auto value = arrays::pinArray(arrow::ChunkedArray(*array), type, "statistics",
                                        arrow::default_memory_pool());
    if (!value.ok()) {
        return {};
    }
    const auto one = (*value)->GetScalar(0);
    return one.ok() ? boundOf(**one) : Bound();
}

}  // namespace

ColumnFactsOfSplit partitionFacts(const PartitionColumn& column, std::size_t file) {
    ColumnFactsOfSplit facts;
    facts.isAllNull = !column.values[file].has_value();
    facts.hasNulls = facts.isAllNull;
    const auto array = column.array(file, 1, arrow::default_memory_pool());
    const auto value = array.ok() ? (*array)->GetScalar(0) : arrow::Status::Invalid("");
    if (value.ok()) {
        facts.min = facts.max = boundOf(**value);
    }
    return facts;
}

std::optional<ColumnFactsOfSplit> ParquetSplitMetadata::of(const std::string& column) const {
    const expr::Field* field = schema_.find(column);
    if (field == nullptr || field->type.isList) {
        return std::nullopt;
    }
    ColumnFactsOfSplit facts;
    try {
        if (!pages::findColumn(*footer_->schema(), column)) {
            facts.isAllNull = true;
            return facts;
        }
        int leaf = -1;
        const pages::ColumnStatistics known =
            pages::chunkStatistics(*footer_, rowGroup_, column, leaf);
        if (leaf < 0) {
            return std::nullopt;
        }
        facts.hasNulls = known.nulls != 0;
        facts.isAllNull = known.nulls == footer_->RowGroup(rowGroup_)->num_rows();
        if (known.hasBounds) {
            facts.min = pinned(known.min, field->type);
            facts.max = pinned(known.max, field->type);
        }
        if (footer_->RowGroup(rowGroup_)->ColumnChunk(leaf)->bloom_filter_offset().has_value()) {
            facts.mayHold = [this, leaf](const Bound& value) { return mayHold(leaf, value); };
        }
    } catch (const std::exception&) {
        return std::nullopt;
    }
    return facts;
}

std::vector<ParquetSplitMetadata::PageMetadata> ParquetSplitMetadata::pagesOf(
    const std::string& column, pages::PageIndex& index) const {
    const expr::Field* field = schema_.find(column);
    const auto found = pages::findColumn(*footer_->schema(), column);
    if (field == nullptr || field->type.isList || !found || !found->isPrimitive) {
        return {};
    }
    const int leaf = found->leaves.front();
    const std::vector<pages::PagePlace> places = index.places(rowGroup_, leaf);
    const std::vector<pages::ColumnStatistics> known = index.statistics(rowGroup_, leaf, places);
    std::vector<PageMetadata> pages;
    for (std::size_t p = 0; p < known.size(); ++p) {
        PageMetadata& page = pages.emplace_back();
        page.begin = places[p].begin;
        page.end = places[p].end;
        page.facts.hasNulls = known[p].nulls != 0;
        page.facts.isAllNull = known[p].nulls == page.end - page.begin;
        if (known[p].hasBounds) {
            page.facts.min = pinned(known[p].min, field->type);
            page.facts.max = pinned(known[p].max, field->type);
        }
    }
    return pages;
}

std::optional<std::vector<std::int64_t>> rowsNotRuledOut(
    const std::map<std::string, std::vector<ParquetSplitMetadata::PageMetadata>>& pages,
    const ColumnLookup& of, const SplitPruner& pruner, std::int64_t begin, std::int64_t rows) {
    std::vector<std::int64_t> borders{begin, begin + rows};
    for (const auto& [column, all] : pages) {
        for (const ParquetSplitMetadata::PageMetadata& page : all) {
            if (page.begin > begin && page.begin < begin + rows) {
                borders.push_back(page.begin);
            }
        }
    }
    std::ranges::sort(borders);
    std::vector<std::int64_t> left;
    for (std::size_t b = 0; b + 1 < borders.size(); ++b) {
        const std::int64_t first = borders[b], end = borders[b + 1];
        const bool isRuledOut = pruner.provesEmpty([&](const std::string& column) {
            const auto known = pages.find(column);
            if (known == pages.end()) {
                return of(column);
            }
            const auto page = std::ranges::upper_bound(known->second, first, {},
                                                       &ParquetSplitMetadata::PageMetadata::begin);
            return std::optional(std::prev(page)->facts);
        });
        for (std::int64_t row = first; !isRuledOut && row < end; ++row) {
            left.push_back(row - begin);
        }
    }
    if (static_cast<std::int64_t>(left.size()) == rows) {
        return std::nullopt;
    }
    return left;
}

/// Hashes cover the stored form, so they are used only if that is the value itself.
bool ParquetSplitMetadata::mayHold(int leaf, const Bound& value) const {
    const parquet::ColumnDescriptor* column = footer_->schema()->Column(leaf);
    const auto* integer = std::get_if<std::int64_t>(&value);
    const auto* text = std::get_if<std::string>(&value);
    const bool isPlain = column->logical_type() == nullptr || column->logical_type()->is_none() ||
                         column->logical_type()->is_int() || column->logical_type()->is_date() ||
                         column->logical_type()->is_string();
    if (!isPlain || (integer == nullptr && text == nullptr)) {
        return true;
    }
    try {
        const parquet::ReaderProperties properties;
        const auto reader = parquet::BloomFilterReader::Make(source_.input(), footer_, properties);
        const auto group = reader->RowGroup(rowGroup_);
        const auto filter = group == nullptr ? nullptr : group->GetColumnBloomFilter(leaf);
        if (filter == nullptr) {
            return true;
        }
        using Int32 = std::numeric_limits<std::int32_t>;
        switch (column->physical_type()) {
            case parquet::Type::INT32:
                return integer == nullptr || *integer < Int32::min() || *integer > Int32::max() ||
                       filter->FindHash(filter->Hash(static_cast<std::int32_t>(*integer)));
            case parquet::Type::INT64:
                return integer == nullptr || filter->FindHash(filter->Hash(*integer));
            case parquet::Type::BYTE_ARRAY:
                return text == nullptr || filter->FindHash(filter->Hash(std::string_view(*text)));
            default:
                return true;
        }
    } catch (const std::exception&) {
        return true;
    }
}

}  // namespace millrace::dataset

#include "backend/dataset/plan/plan_partitions.h"

#include <algorithm>
#include <iterator>

#include <arrow/array/array_base.h>
#include <arrow/array/util.h>
#include <arrow/scalar.h>

#include "backend/arrays/value_text.h"
#include "backend/core/parallel.h"
#include "backend/dataset/split_metadata.h"
#include "backend/pages/parquet_footers.h"

namespace millrace::dataset {
namespace {

/// Values of the column in one row group; a value from a directory name applies to the whole file.
struct Range {
    std::size_t file = 0;
    std::int64_t chunk = 0;
    bool isNull = false;
    Bound min, max;

    bool isOneValue() const { return isNull || min == max; }
    bool isBefore(const Range& other) const {
        return isNull != other.isNull ? other.isNull : max < other.min;
    }
    bool isSameValue(const Range& other) const {
        return isNull == other.isNull && isOneValue() && other.isOneValue() && min == other.min;
    }
};

std::string textOf(const Bound& bound, const expr::DataType& type) {
    if (const auto* text = std::get_if<std::string>(&bound)) {
        return strCat("'", *text, "'");
    }
    const auto number = std::get<std::int64_t>(bound);
    std::shared_ptr<arrow::Scalar> scalar = std::make_shared<arrow::Int64Scalar>(number);
    if (type.kind == expr::TypeKind::kDate) {
        scalar = std::make_shared<arrow::Date32Scalar>(static_cast<std::int32_t>(number));
    } else if (type.kind == expr::TypeKind::kTimestamp) {
        scalar = std::make_shared<arrow::TimestampScalar>(number,
                                                          arrow::timestamp(arrow::TimeUnit::MICRO));
    }
    const auto array = arrow::MakeArrayFromScalar(*scalar, 1);
    return array.ok() ? arrays::valueText(**array, 0) : strCat(number);
}

class Partitioner {
 public:
    Partitioner(const Dataset& dataset, const std::string& column)
        : dataset_(dataset), column_(column), directory_(dataset.partition(column)) {
        const expr::Field* field = dataset.schema().find(column);
        type_ = field == nullptr ? expr::DataType() : field->type;
    }

    Result<PartitionSummary> run(std::vector<stream::PlanFile>& files) {
        std::vector<std::vector<Range>> ofFiles(files.size());
        RETURN_IF_ERROR(parallelFor(files.size(), kThreads, "statistics", [&](std::size_t f) {
            return addFile(f, files[f], ofFiles[f]);
        }));
        for (std::vector<Range>& ranges : ofFiles) {
            std::move(ranges.begin(), ranges.end(), std::back_inserter(ranges_));
        }
        std::ranges::stable_sort(ranges_, [](const Range& a, const Range& b) {
            return a.isNull != b.isNull ? b.isNull : a.min != b.min ? a.min < b.min : a.max < b.max;
        });
        PartitionSummary summary;
        for (std::size_t i = 0; i < ranges_.size(); ++i) {
            const Range& range = ranges_[i];
            const bool isFirst = i == 0 || ranges_[i - 1].isBefore(range);
            if (!isFirst && !ranges_[i - 1].isSameValue(range)) {
                return interleaved(ranges_[i - 1], range);
            }
            summary.partitions += isFirst ? 1 : 0;
            summary.several += range.isOneValue() ? 0 : 1;
            number(files[range.file], range, summary.partitions - 1);
        }
        return summary;
    }

 private:
    static constexpr int kThreads = 4;

    Status addFile(std::size_t f, const stream::PlanFile& file, std::vector<Range>& ranges) const {
        if (directory_ != nullptr) {
            return add({f, 0}, partitionFacts(*directory_, f), ranges);
        }
        if (dataset_.options().format != "parquet") {
            return refused(f, strCat("a file of format ", dataset_.options().format,
                                     " says nothing of the values of '", column_, "'"));
        }
        ASSIGN_OR_RETURN(const files::FileSource source,
                         files::FileSource::open(dataset_.files()[f]));
        ASSIGN_OR_RETURN(const auto facts, dataset_.facts(f));
        ASSIGN_OR_RETURN(const auto footer, dataset_.footers().get(dataset_.files()[f], source,
                                                                   facts->contentHash, {column_}));
        std::int64_t last = -1;
        for (const stream::PlanSplit& split : file.splits) {
            if (split.rowGroup == last || split.rows == 0) {
                continue;
            }
            last = split.rowGroup;
            const ParquetSplitMetadata facts(footer.metadata, source, static_cast<int>(last),
                                             dataset_.schema());
            RETURN_IF_ERROR(add({f, last}, facts.of(column_), ranges));
        }
        return okStatus();
    }

    Status add(Range range, const std::optional<ColumnFactsOfSplit>& facts,
               std::vector<Range>& ranges) const {
        range.isNull = facts && facts->isAllNull;
        if (!range.isNull) {
            const bool isKnown = facts && facts->min.index() != 0 && facts->max.index() != 0;
            if (!isKnown) {
                return refused(range.file,
                               strCat(placeOf(range), "has no statistics of '", column_, "'"));
            }
            if (facts->hasNulls) {
                return refused(range.file, strCat(placeOf(range), "holds nulls beside values of '",
                                                  column_, "', or does not say how many"));
            }
            range.min = facts->min;
            range.max = facts->max;
        }
        ranges.push_back(std::move(range));
        return okStatus();
    }

    void number(stream::PlanFile& file, const Range& range, std::int64_t partition) const {
        for (stream::PlanSplit& split : file.splits) {
            if (directory_ != nullptr || split.rowGroup == range.chunk) {
                split.partition = partition;
            }
        }
    }

    std::string placeOf(const Range& range) const {
        return directory_ != nullptr ? "" : strCat("row group ", range.chunk, " ");
    }

    std::string textOf(const Range& range) const {
        if (range.isNull) {
            return "nulls";
        }
        const std::string min = dataset::textOf(range.min, type_);
        return range.isOneValue() ? min : strCat(min, " to ", dataset::textOf(range.max, type_));
    }

    Status refused(std::size_t file, const std::string& why) const {
        return invalidArgument("batch.order: ", dataset_.files()[file].path, ": ", why,
                               ", so that the files cannot be taken in the order of '", column_,
                               "'. Put each value into a directory ", column_,
                               "=VALUE, or write Parquet with ",
                               "statistics whose row groups end where the value changes");
    }

    Status interleaved(const Range& a, const Range& b) const {
        return refused(b.file, strCat("row group ", b.chunk, " holds ", textOf(b), " of '", column_,
                                      "', and row group ", a.chunk, " of ",
                                      dataset_.files()[a.file].path, " holds ", textOf(a)));
    }

    const Dataset& dataset_;
    const std::string& column_;
    const PartitionColumn* const directory_;
    expr::DataType type_;
    std::vector<Range> ranges_;
};

}  // namespace

Result<PartitionSummary> partitionSplits(const Dataset& dataset, const std::string& column,
                                         std::vector<stream::PlanFile>& files) {
    return Partitioner(dataset, column).run(files);
}

}  // namespace millrace::dataset

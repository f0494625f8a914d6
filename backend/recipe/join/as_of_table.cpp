#include "backend/recipe/join/as_of_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include <arrow/array/array_primitive.h>
#include <arrow/type.h>

#include "backend/core/parallel.h"
#include "backend/eval/evaluator.h"

namespace millrace::recipe {
namespace {

using eval::ArrayPtr;

constexpr std::uint64_t kAnyAge = std::numeric_limits<std::uint64_t>::max();
constexpr std::int64_t kManyEntries = 1 << 15;  ///< worth several threads
constexpr std::size_t kFetched = 16;            ///< rows whose times are prefetched

std::uint64_t toleranceOf(const spec::AsOf& asOf, bool isTemporal) {
    if (asOf.tolerance <= 0) {
        return kAnyAge;
    }
    const double units = isTemporal ? std::round(asOf.tolerance * 1e6) : std::floor(asOf.tolerance);
    return units < 9e18 ? static_cast<std::uint64_t>(units) : kAnyAge;
}

}  // namespace

Result<ArrayPtr> timesAsInt64(const ArrayPtr& values, const expr::DataType& type) {
    if (!type.isTemporal()) {
        return eval::castValues(values, type, {expr::TypeKind::kInt64}, false);
    }
    ASSIGN_OR_RETURN(const ArrayPtr times,
                     eval::castValues(values, type, {expr::TypeKind::kTimestamp}, false));
    const auto view = times->View(arrow::int64());
    return view.ok() ? Result<ArrayPtr>(*view) : internalError("times as int64");
}

Result<std::shared_ptr<const AsOfTable>> AsOfTable::make(const JoinTable::Options& options,
                                                         const std::vector<JoinKeySpec>& specs,
                                                         const std::vector<ArrayPtr>& keys,
                                                         const ArrayPtr& times,
                                                         const expr::DataType& timeType,
                                                         const spec::AsOf& asOf) {
    std::shared_ptr<AsOfTable> table(new AsOfTable);
    JoinTable::Options ofKeys = options;
    ofKeys.finds = JoinTable::Finds::kNumber;
    ASSIGN_OR_RETURN(table->keys_, JoinTable::make(ofKeys, specs, keys));
    table->bytes_ = (8 + 4) * keys[0]->length() + 4 * (table->keys_->numKeys() + 1);
    if (options.budget != nullptr) {
        ASSIGN_OR_RETURN(table->reservation_, options.budget->reserve(table->bytes_, options.name));
    }
    table->tolerance_ = toleranceOf(asOf, timeType.isTemporal());
    ASSIGN_OR_RETURN(const ArrayPtr plain, timesAsInt64(times, timeType));
    ASSIGN_OR_RETURN(const std::vector<std::int64_t> keyOf, table->keys_->findOwn(keys));
    RETURN_IF_ERROR(table->fill(options, keyOf, *plain, asOf));
    return std::shared_ptr<const AsOfTable>(std::move(table));
}

/// Groups entries by key (counting sort, rows ascending within a key), then sorts each key by time.
/// Each thread has a range of keys.
Status AsOfTable::fill(const JoinTable::Options& options, const std::vector<std::int64_t>& keyOf,
                       const arrow::Array& times, const spec::AsOf& asOf) {
    const std::int64_t numKeys = keys_->numKeys();
    const std::int64_t ranges =
        static_cast<std::int64_t>(keyOf.size()) < kManyEntries ? 1 : std::max(options.threads, 1);
    const auto forRanges = [&](const auto& body) {
        return parallelFor(static_cast<std::size_t>(ranges), static_cast<int>(ranges), "table",
                           [&](std::size_t i) {
                               const auto range = static_cast<std::int64_t>(i);
                               return body(numKeys * range / ranges,
                                           numKeys * (range + 1) / ranges);
                           });
    };
    starts_.assign(static_cast<std::size_t>(numKeys) + 1, 0);
    RETURN_IF_ERROR(forRanges([&](std::int64_t first, std::int64_t end) {
        for (std::size_t row = 0; row < keyOf.size(); ++row) {
            if (keyOf[row] >= first && keyOf[row] < end &&
                times.IsValid(static_cast<std::int64_t>(row))) {
                ++starts_[static_cast<std::size_t>(keyOf[row])];
            }
        }
        return okStatus();
    }));
    std::uint32_t end = 0;
    for (std::uint32_t& start : starts_) {
        end += start;
        start = end;  // end of the key's entries: they are filled in backwards, down to its start
    }
    times_.resize(end);
    rows_.resize(end);
    RETURN_IF_ERROR(forRanges([&](std::int64_t first, std::int64_t endKey) {
        putEntries(keyOf, times, first, endKey);
        return okStatus();
    }));
    return forRanges([&](std::int64_t first, std::int64_t endKey) {
        for (std::int64_t key = first; key < endKey; ++key) {
            RETURN_IF_ERROR(sortKey(options, asOf, static_cast<std::size_t>(key)));
        }
        return okStatus();
    });
}

void AsOfTable::putEntries(const std::vector<std::int64_t>& keyOf, const arrow::Array& times,
                           std::int64_t firstKey, std::int64_t endKey) {
    const auto& at = static_cast<const arrow::Int64Array&>(times);
    for (std::size_t row = keyOf.size(); row-- > 0;) {
        if (keyOf[row] >= firstKey && keyOf[row] < endKey &&
            at.IsValid(static_cast<std::int64_t>(row))) {
            const std::uint32_t entry = --starts_[static_cast<std::size_t>(keyOf[row])];
            times_[entry] = at.Value(static_cast<std::int64_t>(row));
            rows_[entry] = static_cast<std::uint32_t>(row);
        }
    }
}

Status AsOfTable::sortKey(const JoinTable::Options& options, const spec::AsOf& asOf,
                          std::size_t key) {
    const std::uint32_t first = starts_[key], end = starts_[key + 1];
    const auto timeOf = [this](std::uint32_t entry) { return times_.begin() + entry; };
    if (!std::is_sorted(timeOf(first), timeOf(end))) {
        std::vector<std::pair<std::int64_t, std::uint32_t>> entries;
        for (std::uint32_t i = first; i < end; ++i) {
            entries.emplace_back(times_[i], rows_[i]);
        }
        std::ranges::sort(entries);
        for (std::uint32_t i = first; i < end; ++i) {
            std::tie(times_[i], rows_[i]) = entries[i - first];
        }
    }
    for (std::uint32_t i = first + 1; i < end; ++i) {
        if (times_[i] == times_[i - 1]) {
            if (!options.isFirstTaken) {
                return invalidArgument(options.name, ": a key occurs twice at one ", asOf.right,
                                       ", in rows ", rows_[i - 1] + 1, " and ", rows_[i] + 1,
                                       "; on_duplicate: first takes the first");
            }
            rows_[i] = rows_[i - 1];
        }
    }
    return okStatus();
}

/// Replaces the key numbers in found.rows by rows.
void AsOfTable::findNewest(const arrow::Array& times, Found& found) const {
    const auto& at = static_cast<const arrow::Int64Array&>(times);
    const bool hasNulls = times.null_count() > 0;
    const std::vector<std::int64_t>& keys = found.rows;
    for (std::size_t i = 0; i < found.rows.size(); ++i) {
        if (i + kFetched < found.rows.size() && keys[i + kFetched] >= 0) {
            const auto key = static_cast<std::size_t>(keys[i + kFetched]);
            __builtin_prefetch(times_.data() + (starts_[key] + starts_[key + 1]) / 2);
        }
        const std::int64_t key = std::exchange(found.rows[i], -1);
        if (key < 0) {
            ++found.noKey;
            continue;
        }
        const std::uint32_t first = starts_[static_cast<std::size_t>(key)];
        std::uint32_t n = starts_[static_cast<std::size_t>(key) + 1] - first;
        const std::int64_t time = at.Value(static_cast<std::int64_t>(i));
        const std::int64_t* newest = times_.data() + first;
        while (n > 1) {  // branchless, as the outcome is random
            const std::uint32_t half = n / 2;
            newest += newest[half] <= time ? half : 0;
            n -= half;
        }
        if (n == 0 || *newest > time || (hasNulls && at.IsNull(static_cast<std::int64_t>(i)))) {
            ++found.noneBefore;
        } else if (static_cast<std::uint64_t>(time) - static_cast<std::uint64_t>(*newest) >
                   tolerance_) {
            ++found.tooOld;
        } else {
            found.rows[i] = rows_[static_cast<std::size_t>(newest - times_.data())];
        }
    }
}

Result<AsOfTable::Found> AsOfTable::find(const std::vector<ArrayPtr>& left, const ArrayPtr& times,
                                         const expr::DataType& timeType) const {
    Found found;
    ASSIGN_OR_RETURN(found.rows, keys_->find(left));
    ASSIGN_OR_RETURN(const ArrayPtr plain, timesAsInt64(times, timeType));
    findNewest(*plain, found);
    return found;
}

}  // namespace millrace::recipe

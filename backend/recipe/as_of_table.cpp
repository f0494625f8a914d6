#include "backend/recipe/as_of_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <arrow/array/array_primitive.h>
#include <arrow/type.h>

#include "backend/eval/evaluator.h"

namespace millrace::recipe {
namespace {

using eval::ArrayPtr;

constexpr std::uint64_t kAnyAge = std::numeric_limits<std::uint64_t>::max();

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
    ofKeys.isFirstTaken = true;
    ASSIGN_OR_RETURN(table->keys_, JoinTable::make(ofKeys, specs, keys));
    if (options.budget != nullptr) {
        ASSIGN_OR_RETURN(table->reservation_,
                         options.budget->reserve(16 * keys[0]->length(), options.name));
    }
    table->tolerance_ = toleranceOf(asOf, timeType.isTemporal());
    ASSIGN_OR_RETURN(const ArrayPtr plain, timesAsInt64(times, timeType));
    ASSIGN_OR_RETURN(const std::vector<std::int64_t> firstOf, table->keys_->findOwn(keys));
    RETURN_IF_ERROR(table->group(firstOf, *plain));
    RETURN_IF_ERROR(table->sortGroups(options, asOf));
    return std::shared_ptr<const AsOfTable>(std::move(table));
}

/// Entries by key (counting sort), rows ascending within it.
Status AsOfTable::group(const std::vector<std::int64_t>& firstOf, const arrow::Array& times) {
    const auto& at = static_cast<const arrow::Int64Array&>(times);
    starts_.assign(firstOf.size() + 1, 0);
    const auto isEntry = [&](std::size_t row) {
        return firstOf[row] >= 0 && at.IsValid(static_cast<std::int64_t>(row));
    };
    std::uint32_t entries = 0;
    for (std::size_t row = 0; row < firstOf.size(); ++row) {
        if (isEntry(row)) {
            ++starts_[static_cast<std::size_t>(firstOf[row])];
            ++entries;
        }
    }
    std::uint32_t end = 0;
    for (std::uint32_t& start : starts_) {
        end += start;
        start = end;  // the end of its group: entries are put in from behind, down to its start
    }
    times_.resize(entries);
    rows_.resize(entries);
    for (std::size_t row = firstOf.size(); row-- > 0;) {
        if (isEntry(row)) {
            const std::uint32_t entry = --starts_[static_cast<std::size_t>(firstOf[row])];
            times_[entry] = at.Value(static_cast<std::int64_t>(row));
            rows_[entry] = static_cast<std::uint32_t>(row);
        }
    }
    return okStatus();
}

Status AsOfTable::sortGroups(const JoinTable::Options& options, const spec::AsOf& asOf) {
    std::vector<std::pair<std::int64_t, std::uint32_t>> group;
    for (std::size_t key = 0; key + 1 < starts_.size(); ++key) {
        const std::uint32_t first = starts_[key], end = starts_[key + 1];
        if (end - first < 2) {
            continue;
        }
        group.clear();
        for (std::uint32_t i = first; i < end; ++i) {
            group.emplace_back(times_[i], rows_[i]);
        }
        std::sort(group.begin(), group.end());
        for (std::uint32_t i = first; i < end; ++i) {
            std::tie(times_[i], rows_[i]) = group[i - first];
            if (i > first && times_[i] == times_[i - 1]) {
                if (!options.isFirstTaken) {
                    return invalidArgument(options.name, ": a key occurs twice at one ", asOf.right,
                                           ", in rows ", rows_[i - 1] + 1, " and ", rows_[i] + 1,
                                           "; on_duplicate: first takes the first");
                }
                rows_[i] = rows_[i - 1];
            }
        }
    }
    return okStatus();
}

AsOfTable::Match AsOfTable::newest(std::size_t key, std::int64_t time) const {
    const auto first = times_.begin() + starts_[key], end = times_.begin() + starts_[key + 1];
    const auto next = std::upper_bound(first, end, time);
    if (next == first) {
        return {-1, Miss::kNoneBefore};
    }
    const std::uint64_t age =
        static_cast<std::uint64_t>(time) - static_cast<std::uint64_t>(*(next - 1));
    if (age > tolerance_) {
        return {-1, Miss::kTooOld};
    }
    return {rows_[static_cast<std::size_t>(next - 1 - times_.begin())], Miss::kNone};
}

Result<std::vector<AsOfTable::Match>> AsOfTable::find(const std::vector<ArrayPtr>& left,
                                                      const ArrayPtr& times,
                                                      const expr::DataType& timeType) const {
    ASSIGN_OR_RETURN(const std::vector<std::int64_t> keys, keys_->find(left));
    ASSIGN_OR_RETURN(const ArrayPtr plain, timesAsInt64(times, timeType));
    const auto& at = static_cast<const arrow::Int64Array&>(*plain);
    std::vector<Match> matches(keys.size());
    for (std::size_t row = 0; row < keys.size(); ++row) {
        if (keys[row] < 0) {
            matches[row] = {-1, Miss::kNoKey};
        } else if (at.IsNull(static_cast<std::int64_t>(row))) {
            matches[row] = {-1, Miss::kNoneBefore};
        } else {
            matches[row] = newest(static_cast<std::size_t>(keys[row]),
                                  at.Value(static_cast<std::int64_t>(row)));
        }
    }
    return matches;
}

std::int64_t AsOfTable::bytes() const {
    return keys_->bytes() + static_cast<std::int64_t>(16 * (starts_.size() - 1));
}

}  // namespace millrace::recipe

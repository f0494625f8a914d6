#include "backend/profile/spec_split.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <variant>

#include "backend/expr/expression.h"

namespace millrace::profile {
namespace {

constexpr double kTrainShare = 0.9;
// Times with many rows each: the latest of them may be this much of the rows, not more.
constexpr double kMostEval = 0.25;
// A tenth of fewer keys than this may be none of them; enough are nearly as many as there are rows.
// The share of fewer keys than kRoughKeys is only roughly a tenth.
constexpr double kFewestKeys = 20, kRoughKeys = 1000, kEnoughShare = 0.98, kManyTimes = 1000;
constexpr std::size_t kMostKeys = 4;
constexpr std::int64_t kRowsPerNull = 200;  // or more: as good as no nulls
constexpr std::int64_t kSecondUs = 1'000'000, kDaySeconds = 86'400;

std::string dateText(std::int64_t days) {
    const std::chrono::year_month_day day{std::chrono::sys_days(std::chrono::days(days))};
    char text[32];
    std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(day.year()),
                  static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
    return text;
}

/// The border as a literal of the column's type, truncated to its unit.
std::string timeLiteral(const ColumnProfile& column, double border) {
    const auto value = static_cast<std::int64_t>(std::floor(border));
    if (column.type().kind == expr::TypeKind::kDate) {
        return strCat("date '", dateText(value), "'");
    }
    if (column.type().kind != expr::TypeKind::kTimestamp) {
        return strCat(value);
    }
    const auto seconds =
        static_cast<std::int64_t>(std::floor(static_cast<double>(value) / kSecondUs));
    const auto days = static_cast<std::int64_t>(
        std::floor(static_cast<double>(seconds) / static_cast<double>(kDaySeconds)));
    const std::int64_t rest = seconds - days * kDaySeconds;
    char clock[16];
    std::snprintf(clock, sizeof clock, "%02d:%02d:%02d", static_cast<int>(rest / 3600),
                  static_cast<int>(rest / 60 % 60), static_cast<int>(rest % 60));
    return strCat("timestamp '", dateText(days), " ", clock, "'");
}

/// Start of the latest tenth; none if a part would be empty, also after truncation.
std::optional<double> borderOf(const ColumnProfile& column) {
    if (!column.hasNumbers() || column.type().isList) {
        return std::nullopt;
    }
    const bool isTimestamp = column.type().kind == expr::TypeKind::kTimestamp;
    const double unit = isTimestamp ? static_cast<double>(kSecondUs) : 1;
    for (const double share : {kTrainShare, 0.93, 0.96, 0.98}) {
        const double border = std::floor(column.quantile(share) / unit) * unit;
        if (border > column.min() && border <= column.max() &&
            1 - column.shareBelow(border) <= kMostEval) {
            return border;
        }
    }
    return std::nullopt;
}

// "a tenth", "12 %".
std::string shareText(double share) {
    return std::abs(share - 0.1) < 0.005 ? "a tenth" : strCat(std::lround(100 * share), " %");
}

bool isKey(const ColumnProfile& column) {
    return !column.type().isList && column.nulls() < column.rows() && column.distinct() > 1.5;
}

struct Hash {
    std::string text;      ///< "hash01(a, b)"; "" if no columns distinguish enough rows
    std::string key;       ///< the column, if it is a single one
    bool isRough = false;  ///< many rows have equal values of the columns, and share a part
};

Hash hashOf(const DatasetProfile& profile, const std::vector<const ColumnProfile*>& keys) {
    if (profile.request) {
        const auto request = std::find_if(
            profile.columns.begin(), profile.columns.end(),
            [&](const ColumnProfile& column) { return column.name() == profile.request->column; });
        if (request != profile.columns.end() && request->distinct() >= kFewestKeys) {
            return {strCat("hash01(", expr::sqlName(request->name()), ")"), request->name()};
        }
    }
    const double enough = kEnoughShare * static_cast<double>(profile.rowsRead);
    std::vector<const ColumnProfile*> used;
    double values = 1;
    for (const ColumnProfile* column : keys) {
        // One of several columns may follow from another, such as a customer's age from the
        // customer: their product says little until it is far beyond the rows.
        const double needed = used.size() > 1 ? kManyTimes * enough : enough;
        if (values < needed && used.size() < kMostKeys && isKey(*column)) {
            values *= column->distinct();
            used.push_back(column);
        }
    }
    if (values < kFewestKeys) {
        return {};
    }
    // Rows in which all of these columns are null would be in one part.
    const auto hasFewNulls = [](const ColumnProfile* column) {
        return column->nulls() * kRowsPerNull <= column->rows();
    };
    if (std::ranges::none_of(used, hasFewNulls)) {
        const auto whole = std::ranges::find_if(
            keys, [&](const auto* column) { return isKey(*column) && hasFewNulls(column); });
        if (whole != keys.end()) {
            used.push_back(*whole);
        }
    }
    std::string names;
    for (const ColumnProfile* column : used) {
        strAppend(&names, names.empty() ? "" : ", ", expr::sqlName(column->name()));
    }
    return {strCat("hash01(", names, ")"), used.size() == 1 ? used.front()->name() : "",
            values < std::min(enough, kRoughKeys) || std::ranges::none_of(used, hasFewNulls)};
}

}  // namespace

Result<SpecSplit> chooseSplit(const DatasetProfile& profile, const std::vector<SplitTime>& times,
                              const std::vector<const ColumnProfile*>& keys, double evalShare) {
    const auto [hash, key, isRough] = hashOf(profile, keys);
    for (const auto& [column, name, hasNulls] : times) {
        if (const auto border = borderOf(column)) {
            const std::string literal = timeLiteral(column, *border);
            return SpecSplit{
                strCat(name, " < ", literal, hasNulls ? strCat(" or ", name, " is null") : ""),
                strCat(name, " >= ", literal),
                strCat("The latest rows by ", column.name(), ", about ",
                       shareText(1 - column.shareBelow(*border)),
                       " of all, are kept for evaluation: a model is judged on rows that are later "
                       "than those it learnt from.",
                       hasNulls ? " It also learns from rows without a time." : ""),
                hash, ""};
        }
    }
    if (hash.empty() && static_cast<double>(profile.rows) < kFewestKeys) {
        return invalidArgument(profile.rows, " rows are too few to keep a part for evaluation; ",
                               kFewestKeys, " are the fewest");
    }
    if (hash.empty()) {
        return invalidArgument(
            "no columns tell rows apart: a tenth of them cannot be kept for evaluation");
    }
    const double trainShare = 1 - evalShare;
    return SpecSplit{
        strCat(hash, " < ", trainShare), strCat(hash, " >= ", trainShare),
        strCat("About ", shareText(evalShare),
               " of the rows is kept for evaluation, by a hash: it stays the same rows.",
               isRough ? " Rows with equal values of these columns are in one part." : ""),
        "", key};
}

}  // namespace millrace::profile

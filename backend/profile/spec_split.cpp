#include "backend/profile/spec_split.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>

namespace millrace::profile {
namespace {

constexpr double kTrainShare = 0.9;
// A tenth of fewer keys than this may be none of them; enough are nearly as many as there are rows.
constexpr double kFewestKeys = 20, kEnoughShare = 0.98;
constexpr std::size_t kMostKeys = 4;
constexpr std::int64_t kSecondUs = 1'000'000, kDaySeconds = 86'400;

std::string dateText(std::int64_t days) {
    const std::chrono::year_month_day day{std::chrono::sys_days(std::chrono::days(days))};
    char text[32];
    std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(day.year()),
                  static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
    return text;
}

/// The border as a literal of the column's type, with what is smaller than its unit cut off.
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

/// Where the latest tenth begins; none where that would leave a part empty, also after cutting.
std::optional<double> borderOf(const ColumnProfile& column) {
    if (!column.hasNumbers() || column.type().isList) {
        return std::nullopt;
    }
    const bool isTimestamp = column.type().kind == expr::TypeKind::kTimestamp;
    const double unit = isTimestamp ? static_cast<double>(kSecondUs) : 1;
    const double border = std::floor(column.quantile(kTrainShare) / unit) * unit;
    return border > column.min() && border <= column.max() ? std::optional(border) : std::nullopt;
}

bool isKey(const ColumnProfile& column) {
    return !column.type().isList && column.nulls() < column.rows() && column.distinct() > 1.5;
}

struct Hash {
    std::string text;  ///< "hash01(a, b)"; "" where no columns tell enough rows apart
    std::string key;   ///< the column, if it is one alone
};

Hash hashOf(const DatasetProfile& profile, const std::vector<const ColumnProfile*>& keys) {
    if (profile.request) {
        const auto request = std::find_if(
            profile.columns.begin(), profile.columns.end(),
            [&](const ColumnProfile& column) { return column.name() == profile.request->column; });
        if (request != profile.columns.end() && request->distinct() >= kFewestKeys) {
            return {strCat("hash01(", sqlName(request->name()), ")"), request->name()};
        }
    }
    const double enough = kEnoughShare * static_cast<double>(profile.rowsRead);
    std::string names;
    std::vector<std::string> used;
    double values = 1;
    for (const ColumnProfile* column : keys) {
        if (values < enough && used.size() < kMostKeys && isKey(*column)) {
            strAppend(&names, names.empty() ? "" : ", ", sqlName(column->name()));
            values *= column->distinct();
            used.push_back(column->name());
        }
    }
    return values < kFewestKeys
               ? Hash()
               : Hash{strCat("hash01(", names, ")"), used.size() == 1 ? used.front() : ""};
}

}  // namespace

std::string sqlName(const std::string& name) {
    const bool isPlain = !name.empty() && !std::isdigit(static_cast<unsigned char>(name.front())) &&
                         std::all_of(name.begin(), name.end(),
                                     [](unsigned char c) { return std::isalnum(c) || c == '_'; });
    if (isPlain) {
        return name;
    }
    std::string quoted = "\"";
    for (const char c : name) {
        quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    }
    return quoted + "\"";
}

Result<SpecSplit> chooseSplit(const DatasetProfile& profile,
                              const std::vector<const ColumnProfile*>& times,
                              const std::vector<const ColumnProfile*>& keys) {
    const auto [hash, key] = hashOf(profile, keys);
    for (const ColumnProfile* column : times) {
        if (const auto border = borderOf(*column)) {
            const std::string name = sqlName(column->name());
            const std::string literal = timeLiteral(*column, *border);
            return SpecSplit{strCat(name, " < ", literal), strCat(name, " >= ", literal),
                             strCat("The latest tenth by ", column->name(),
                                    " is kept for evaluation: a model is judged on rows that are "
                                    "later than those it learnt from."),
                             hash, ""};
        }
    }
    if (hash.empty()) {
        return invalidArgument(
            "no columns tell rows apart: a tenth of them cannot be kept for evaluation");
    }
    return SpecSplit{strCat(hash, " < ", kTrainShare), strCat(hash, " >= ", kTrainShare),
                     "A tenth of the rows is kept for evaluation, by a hash: it stays the same "
                     "rows.",
                     "", key};
}

}  // namespace millrace::profile

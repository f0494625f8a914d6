#include "backend/expr/functions.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "backend/text/text.h"

namespace millrace::expr {
namespace {

using P = ParamKind;
using R = ResultKind;
using F = FunctionId;

struct Parameters {
    std::vector<P> required;
    std::vector<P> optional = {};
    bool isVariadic = false;
};

/// `names`: the canonical one and its aliases.
Function function(F id, const std::vector<std::string_view>& names, std::string_view arguments,
                  Parameters parameters, R result, std::string_view doc) {
    return {id,
            names.front(),
            {names.begin() + 1, names.end()},
            std::move(parameters.required),
            std::move(parameters.optional),
            parameters.isVariadic,
            result,
            arguments,
            doc};
}

// The texts are in docs/reference/spec.md and in completions. Changing what a function returns
// changes streams: raise its revision (revisionOf), and change the kernel in backend/eval.
std::vector<Function> numberFunctions() {
    return {
        function(F::kAbs, {"abs"}, "x", {{P::kNumber}}, R::kFirst, "the value without its sign"),
        function(F::kSign, {"sign"}, "x", {{P::kNumber}}, R::kInt8, "-1, 0 or 1"),
        function(F::kFloor, {"floor"}, "x", {{P::kNumber}}, R::kRounded,
                 "the next whole number down; double for integers"),
        function(F::kCeil, {"ceil", "ceiling"}, "x", {{P::kNumber}}, R::kRounded,
                 "the next whole number up; double for integers"),
        function(F::kRound, {"round"}, "x[, digits]", {{P::kNumber}, {P::kLiteralInt}}, R::kFirst,
                 "rounded, halves away from zero, to `digits` (a literal, default 0) decimals"),
        function(F::kSqrt, {"sqrt"}, "x", {{P::kDouble}}, R::kDouble, "NaN below zero"),
        function(F::kLn, {"ln"}, "x", {{P::kDouble}}, R::kDouble,
                 "natural logarithm; -inf at zero, NaN below"),
        function(F::kLog10, {"log10", "log"}, "x", {{P::kDouble}}, R::kDouble,
                 "logarithm of base 10 (also under the name `log`, as in DuckDB); -inf at zero, "
                 "NaN below"),
        function(F::kLog2, {"log2"}, "x", {{P::kDouble}}, R::kDouble,
                 "logarithm of base 2; -inf at zero, NaN below"),
        function(F::kLog1p, {"log1p"}, "x", {{P::kDouble}}, R::kDouble,
                 "ln(1 + x), exact near zero (not in DuckDB)"),
        function(F::kExp, {"exp"}, "x", {{P::kDouble}}, R::kDouble, "e to the power of x"),
        function(F::kPow, {"pow", "power"}, "x, y", {{P::kDouble, P::kDouble}}, R::kDouble,
                 "x to the power of y; also written x ^ y or x ** y"),
        function(F::kIsNan, {"isnan"}, "x", {{P::kDouble}}, R::kBool, "whether x is NaN"),
        function(F::kIsFinite, {"isfinite"}, "x", {{P::kDouble}}, R::kBool,
                 "whether x is neither NaN nor infinite"),
        function(F::kLeast, {"least"}, "a, b, ...", {{P::kSame}, {}, true}, R::kSame,
                 "the smallest argument; nulls are left out; null if all are null"),
        function(F::kGreatest, {"greatest"}, "a, b, ...", {{P::kSame}, {}, true}, R::kSame,
                 "the largest argument; nulls are left out; null if all are null"),
        function(F::kCoalesce, {"coalesce", "ifnull"}, "a, b, ...", {{P::kSame}, {}, true},
                 R::kSame, "the first argument that is not null"),
        function(F::kNullif, {"nullif"}, "a, b", {{P::kSame, P::kSame}}, R::kSame,
                 "null if a = b, else a"),
        function(F::kHash01, {"hash01"}, "a, b, ...", {{P::kAny}, {}, true}, R::kDouble,
                 "a number in [0, 1) that depends only on the values: (XXH3-64 of their canonical "
                 "bytes >> 11) * 2^-53. Canonical bytes of each value: a tag byte (0 null, 1 "
                 "integer, 2 float, 3 string, 4 bool), then int64, double (-0 as 0, one NaN), "
                 "length as uint64 and bytes, or one byte; little-endian. Null counts as a value; "
                 "the result is never null"),
    };
}

std::vector<Function> stringFunctions() {
    return {
        function(F::kLength, {"length", "len"}, "s", {{P::kString}}, R::kInt64,
                 "number of characters"),
        function(F::kLower, {"lower", "lcase"}, "s", {{P::kString}}, R::kString, "in lower case"),
        function(F::kUpper, {"upper", "ucase"}, "s", {{P::kString}}, R::kString, "in upper case"),
        function(F::kTrim, {"trim"}, "s", {{P::kString}}, R::kString,
                 "without spaces at both ends"),
        function(F::kLtrim, {"ltrim"}, "s", {{P::kString}}, R::kString,
                 "without spaces at the start"),
        function(F::kRtrim, {"rtrim"}, "s", {{P::kString}}, R::kString,
                 "without spaces at the end"),
        function(F::kSubstr, {"substr", "substring"}, "s, start[, count]",
                 {{P::kString, P::kLiteralInt}, {P::kLiteralInt}}, R::kString,
                 "`count` characters from `start` (literals); the first is 1, -1 the last"),
        function(F::kConcat, {"concat"}, "a, b, ...", {{P::kString}, {}, true}, R::kString,
                 "the arguments joined; nulls are left out (`a || b` is null if one is null)"),
        function(F::kStartsWith, {"starts_with", "prefix"}, "s, start", {{P::kString, P::kString}},
                 R::kBool, "whether s begins with `start`"),
        function(F::kEndsWith, {"ends_with", "suffix"}, "s, end", {{P::kString, P::kString}},
                 R::kBool, "whether s ends with `end`"),
        function(F::kContains, {"contains"}, "s, part", {{P::kString, P::kString}}, R::kBool,
                 "whether s contains the part"),
        function(F::kReplace, {"replace"}, "s, from, to",
                 {{P::kString, P::kLiteralString, P::kLiteralString}}, R::kString,
                 "s with every `from` replaced by `to` (literals)"),
        function(F::kSplit, {"split", "string_split", "str_split", "string_to_array"},
                 "s, separator", {{P::kString, P::kLiteralString}}, R::kStringList,
                 "the parts between the separators (a literal); '' gives the characters"),
        function(F::kRegexpExtract, {"regexp_extract"}, "s, pattern[, group]",
                 {{P::kString, P::kLiteralString}, {P::kLiteralInt}}, R::kString,
                 "the first match (RE2), or its group; '' if nothing matches"),
        function(F::kRegexpMatches, {"regexp_matches"}, "s, pattern",
                 {{P::kString, P::kLiteralString}}, R::kBool, "whether a part of s matches (RE2)"),
        function(F::kRegexpReplace, {"regexp_replace"}, "s, pattern, to[, options]",
                 {{P::kString, P::kLiteralString, P::kLiteralString}, {P::kLiteralString}},
                 R::kString,
                 "with the first match (RE2) replaced; `\\1` in `to` is the first group. Options: "
                 "'g' replaces every match, 'i' ignores case, 'gi' both"),
        function(F::kLeft, {"left"}, "s, n", {{P::kString, P::kLiteralInt}}, R::kString,
                 "the first n characters (a literal); if n < 0, all but the last -n"),
        function(F::kRight, {"right"}, "s, n", {{P::kString, P::kLiteralInt}}, R::kString,
                 "the last n characters (a literal); if n < 0, all but the first -n"),
        function(F::kPosition, {"strpos", "instr"}, "s, part", {{P::kString, P::kString}},
                 R::kInt64,
                 "the character at which the part begins, from 1; 0 if s does not contain it"),
        function(F::kSplitPart, {"split_part"}, "s, separator, i",
                 {{P::kString, P::kLiteralString, P::kLiteralInt}}, R::kString,
                 "part i between the separators (literals); the first is 1, -1 the last; '' "
                 "beyond the ends"),
        function(F::kReverse, {"reverse"}, "s", {{P::kString}}, R::kString,
                 "the characters from the last to the first"),
    };
}

/// A part of a time: takes one argument and returns an integer.
Function partOfTime(F id, const std::vector<std::string_view>& names, std::string_view doc) {
    return function(id, names, "t", {{P::kTime}}, R::kInt64, doc);
}

std::vector<Function> timeFunctions() {
    return {
        partOfTime(F::kYear, {"year"}, "the year, in UTC"),
        partOfTime(F::kQuarter, {"quarter"}, "1 to 4"),
        partOfTime(F::kMonth, {"month"}, "1 to 12"),
        partOfTime(F::kWeek, {"week", "weekofyear"}, "the ISO week, 1 to 53"),
        partOfTime(F::kDay, {"day", "dayofmonth"}, "1 to 31"),
        partOfTime(F::kDayOfYear, {"dayofyear"}, "1 to 366"),
        partOfTime(F::kDayOfWeek, {"dayofweek", "weekday"}, "0 (Sunday) to 6"),
        partOfTime(F::kIsoDayOfWeek, {"isodow"}, "1 (Monday) to 7"),
        partOfTime(F::kHour, {"hour"}, "0 to 23"),
        partOfTime(F::kMinute, {"minute"}, "0 to 59"),
        partOfTime(F::kSecond, {"second"}, "0 to 59"),
        function(F::kDatePart, {"date_part", "datepart"}, "part, t", {{P::kTimePart, P::kTime}},
                 R::kInt64,
                 "the part with this name (a literal): 'year', 'quarter', 'month', 'week', 'day', "
                 "'dayofyear', 'dayofweek', 'isodow', 'hour', 'minute', 'second'"),
        function(F::kDateTrunc, {"date_trunc", "datetrunc"}, "part, t", {{P::kTimePart, P::kTime}},
                 R::kTimestamp,
                 "the beginning of the year, quarter, month, week (Monday), day, hour, minute or "
                 "second that contains t"),
        function(F::kDateDiff, {"date_diff", "datediff"}, "part, from, to",
                 {{P::kTimePart, P::kTime, P::kTime}}, R::kInt64,
                 "number of parts that begin between the two times; negative if `to` is earlier"),
        function(F::kEpoch, {"epoch"}, "t", {{P::kTime}}, R::kDouble,
                 "seconds since 1970, with their fraction"),
        partOfTime(F::kEpochMs, {"epoch_ms"}, "milliseconds since 1970"),
        partOfTime(F::kEpochUs, {"epoch_us"}, "microseconds since 1970"),
    };
}

/// Functions that make times of other values.
std::vector<Function> timesOfValues() {
    return {
        function(F::kMakeTimestamp, {"make_timestamp"}, "us", {{P::kInt64}}, R::kTimestamp,
                 "the time of `us` microseconds since 1970"),
        function(F::kStrptime, {"strptime", "try_strptime"}, "s, format",
                 {{P::kString, P::kTimeFormat}}, R::kTimestamp,
                 "the time that s shows in the form `format` (a literal), such as '%d.%m.%Y' or "
                 "'%b %d, %Y %I:%M %p'; null where s does not match"),
        function(F::kTimeZone, {"timezone"}, "zone, t", {{P::kTimeZone, P::kTime}}, R::kTimestamp,
                 "the zone's local time at the time t, which is UTC; `zone` is a literal, "
                 "'Europe/Berlin'. Also written t at time zone 'Europe/Berlin': hour(t at time "
                 "zone 'Europe/Berlin') is the hour there"),
    };
}

// Some of their names have an overload for plain values (`length`, `contains`, `hash_ids`): whether
// the first argument is a list chooses between them.
std::vector<Function> listFunctions() {
    return {
        function(F::kListLength, {"length", "len", "array_length"}, "list", {{P::kList}}, R::kInt64,
                 "number of elements"),
        function(F::kListContains, {"list_contains", "list_has", "contains", "array_contains"},
                 "list, x", {{P::kList, P::kElement}}, R::kBool, "whether an element equals x"),
        function(F::kListExtract, {"list_extract", "list_element", "element_at"}, "list, i",
                 {{P::kList, P::kLiteralInt}}, R::kElement,
                 "element i (a literal), also list[i]; the first is 1, -1 the last; null beyond "
                 "the ends"),
        function(F::kListSlice, {"list_slice", "array_slice"}, "list, first, last",
                 {{P::kList, P::kLiteralInt, P::kLiteralInt}}, R::kFirst,
                 "elements `first` to `last` (literals), both included; the first is 1, -1 the "
                 "last: (1, n) are the first n, (-n, -1) the last n"),
        function(F::kHashIds, {"hash_ids"}, "x, buckets[, seed]",
                 {{P::kAny, P::kLiteralInt}, {P::kLiteralInt}}, R::kInt64,
                 "the result of the step `hash`: 0 for null, else 1 + h mod (buckets - 1) (not in "
                 "DuckDB)"),
        function(F::kListHashIds, {"hash_ids"}, "list, buckets[, seed]",
                 {{P::kList, P::kLiteralInt}, {P::kLiteralInt}}, R::kInt64List,
                 "the same for each element; a null list stays null (not in DuckDB)"),
    };
}

// The order of the reference page.
std::vector<Function> makeAll() {
    std::vector<Function> all = numberFunctions();
    for (auto* more : {&stringFunctions, &listFunctions, &timeFunctions, &timesOfValues}) {
        for (Function& function : more()) {
            all.push_back(std::move(function));
        }
    }
    return all;
}

}  // namespace

std::vector<std::string> timeParts(bool mayTruncate) {
    std::vector<std::string> parts = {"day",     "hour",   "minute", "month",
                                      "quarter", "second", "week",   "year"};
    if (!mayTruncate) {
        parts.insert(parts.end(), {"dayofweek", "dayofyear", "isodow"});
    }
    std::ranges::sort(parts);
    return parts;
}

std::span<const Function> allFunctions() {
    static const std::vector<Function> kAll = makeAll();
    return kAll;
}

std::vector<const Function*> findFunctions(std::string_view name) {
    std::string lower(name);
    for (char& c : lower) {
        // ASCII only, whatever the locale: all names are ASCII.
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    std::vector<const Function*> found;
    for (const Function& function : allFunctions()) {
        const bool isAlias = std::ranges::find(function.aliases, lower) != function.aliases.end();
        if (function.name == lower || isAlias) {
            found.push_back(&function);
        }
    }
    return found;
}

int revisionOf(FunctionId id) {
    switch (id) {
        case FunctionId::kLn:
        case FunctionId::kLog1p:
        case FunctionId::kLog2:
        case FunctionId::kLog10:
        case FunctionId::kExp:
        case FunctionId::kPow:
            return 2;  // revision 1 rounded from the x87 unit's long doubles
        default:
            return 1;
    }
}

std::vector<std::string> functionNames() {
    // Forms of the grammar that look like calls; they are suggested like functions.
    std::set<std::string> names = {"if", "cast", "try_cast"};
    for (const Function& function : allFunctions()) {
        names.emplace(function.name);
        names.insert(function.aliases.begin(), function.aliases.end());
    }
    return {names.begin(), names.end()};
}

std::string functionHint(const std::string& name) {
    static const std::map<std::string, const char*> kElsewhere = {
        {"date", "cast(x as date)"},
        {"timestamp", "cast(x as timestamp)"},
        {"to_datetime", "cast(x as timestamp), or strptime(x, format)"},
        {"random", "hash01(id)"},
        {"rand", "hash01(id)"},
        {"isin", "x in ('a', 'b')"},
        {"isnull", "x is null"},
        {"isna", "x is null"},
        {"notnull", "x is not null"},
        {"fillna", "coalesce(x, 0)"},
        {"astype", "cast(x as type)"},
    };
    const auto found = kElsewhere.find(name);
    return found == kElsewhere.end() ? nameHint(name, functionNames())
                                     : strCat("; here it is ", found->second);
}

}  // namespace millrace::expr

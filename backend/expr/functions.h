#pragma once
// The functions of expressions: names, signatures, result types, text for the reference.
//
// Semantics are DuckDB's unless `doc` states otherwise. A null argument gives null unless `doc`
// states otherwise.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/expr/schema.h"

namespace millrace::expr {

enum class FunctionId {
    // numbers
    kAbs,
    kSign,
    kFloor,
    kCeil,
    kRound,
    kSqrt,
    kLn,
    kLog1p,
    kLog2,
    kLog10,
    kExp,
    kPow,
    kIsNan,
    kIsFinite,
    // any
    kLeast,
    kGreatest,
    kCoalesce,
    kNullif,
    kHash01,
    // strings
    kLength,
    kLower,
    kUpper,
    kTrim,
    kLtrim,
    kRtrim,
    kSubstr,
    kConcat,
    kStartsWith,
    kEndsWith,
    kContains,
    kReplace,
    kSplit,
    kRegexpExtract,
    kRegexpMatches,
    kRegexpReplace,
    kLeft,
    kRight,
    kPosition,
    kSplitPart,
    kReverse,
    // lists
    kListLength,
    kListContains,
    kListExtract,
    kListSlice,
    kHashIds,
    kListHashIds,
    // dates and times
    kYear,
    kMonth,
    kDay,
    kHour,
    kMinute,
    kSecond,
    kQuarter,
    kWeek,
    kDayOfYear,
    kDayOfWeek,
    kIsoDayOfWeek,
    kDatePart,
    kDateTrunc,
    kDateDiff,
    kEpoch,
    kEpochMs,
    kEpochUs,
    kMakeTimestamp,
    kStrptime,
    kTimeZone,
};

/// Allowed arguments, and the type to which they are cast before the call.
enum class ParamKind {
    kAny,            ///< not cast
    kNumber,         ///< an integer, float or double; not cast
    kDouble,         ///< any number, cast to double
    kInt64,          ///< any integer, cast to int64
    kLiteralInt,     ///< an integer literal (may be negative)
    kLiteralString,  ///< a string literal
    kString,
    kList,        ///< any list
    kElement,     ///< cast to the element type of the first argument
    kTime,        ///< timestamp; a date is cast to one
    kTimePart,    ///< a string literal: year, quarter, month, week, day, hour, minute, second, ...
    kTimeZone,    ///< a string literal: a zone of the time zone database
    kTimeFormat,  ///< a string literal: a format of strptime
    kSame,        ///< all of these are cast to their common type
};

enum class ResultKind {
    kBool,
    kInt8,
    kInt64,
    kDouble,
    kString,
    kStringList,
    kInt64List,
    kTimestamp,
    kFirst,    ///< the type of the first argument; for a fixed-size list: a list of any size
    kSame,     ///< the common type of the kSame arguments
    kElement,  ///< the element type of the first argument
    kRounded   ///< float for float, else double
};

/// One overload. After typing, a call's children have exactly the types in `params`.
struct Function {
    FunctionId id;
    std::string_view name;                  ///< canonical, lower case
    std::vector<std::string_view> aliases;  ///< other names
    std::vector<ParamKind> params;          ///< the required ones
    std::vector<ParamKind> optional;        ///< may be omitted from the right
    bool isVariadic = false;                ///< the last of `params` may repeat
    ResultKind result;
    std::string_view arguments;  ///< for the reference: "s, pattern[, group]"
    std::string_view doc;
};

/// Values of kTimePart, sorted; `mayTruncate`: only those that date_trunc and date_diff support.
std::vector<std::string> timeParts(bool mayTruncate);

/// Every overload, in the order of the reference.
std::span<const Function> allFunctions();
/// The overloads of a name or alias, ignoring case; empty if unknown.
std::vector<const Function*> findFunctions(std::string_view name);
/// Counts the changes of a function's values, from 1. A spec that calls a function of a later
/// revision has the revision in its stream hash, so that streams of different values have different
/// hashes.
int revisionOf(FunctionId id);
/// Every name and alias, sorted.
std::vector<std::string> functionNames();
/// "; did you mean 'hour'?" for a function that does not exist, also for names of other libraries;
/// "" if nothing is near.
std::string functionHint(const std::string& name);

}  // namespace millrace::expr

#pragma once
// The functions that expressions may call: names, signatures, result types, text for the reference.
//
// Semantics are DuckDB's unless `doc` says otherwise. A null argument gives null unless `doc` says
// otherwise.
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
    kTimeZone,
};

/// What an argument may be, and what it is cast to before the call.
enum class ParamKind {
    kAny,            ///< taken as it is
    kNumber,         ///< an integer, float or double; taken as it is
    kDouble,         ///< any number, cast to double
    kInt64,          ///< any integer, cast to int64
    kLiteralInt,     ///< an integer literal (may be negative)
    kLiteralString,  ///< a string literal
    kString,
    kList,      ///< any list
    kElement,   ///< cast to the element type of the first argument
    kTime,      ///< timestamp; a date is cast to one
    kTimePart,  ///< a string literal: year, quarter, month, week, day, hour, minute, second, ...
    kTimeZone,  ///< a string literal: a zone of the time zone database
    kSame,      ///< all of these are cast to their common type
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
    kFirst,    ///< the type of the first argument; of a fixed-size list one of any size
    kSame,     ///< the common type of the kSame arguments
    kElement,  ///< the element type of the first argument
    kRounded   ///< float for float, else double
};

/// One overload. After typing, a call's children have exactly the types that `params` say.
struct Function {
    FunctionId id;
    std::string_view name;                  ///< canonical, lower case
    std::vector<std::string_view> aliases;  ///< other names
    std::vector<ParamKind> params;          ///< the required ones
    std::vector<ParamKind> optional;        ///< may be left out from the right
    bool isVariadic = false;                ///< the last of `params` may be repeated
    ResultKind result;
    std::string_view arguments;  ///< for the reference: "s, pattern[, group]"
    std::string_view doc;
};

/// What kTimePart may be, sorted; `mayTruncate`: only what date_trunc and date_diff know.
std::vector<std::string> timeParts(bool mayTruncate);

/// Every overload, in the order of the reference.
std::span<const Function> allFunctions();
/// The overloads of a name or alias, without regard to case; empty when unknown.
std::vector<const Function*> findFunctions(std::string_view name);
/// How often the values of a function have changed, counted from 1: the stream hash of a spec that
/// calls one of a later revision has it, so that streams of different values differ by name.
int revisionOf(FunctionId id);
/// Every name and alias, sorted.
std::vector<std::string> functionNames();

}  // namespace millrace::expr

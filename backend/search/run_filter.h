#pragma once
// The filter and order_by language of run lists: MLflow's search grammar and more
// (docs/reference/filters.md).
//
//   filter := any {AND any} [AND]     AND binds closer than OR
//   any    := part {OR part}
//   part   := NOT part | (filter) | clause
//   clause := key op value | key IS [NOT] NULL | key [NOT] IN (value, ...)
//           | SINCE time | BEFORE time                    of `created`
//   key    := [entity.]name      entity: metric(s), param(s), parameter(s), tag(s), attribute(s),
//                                attr, run; without one: an attribute
//   op     := = != > >= < <= LIKE ILIKE
//
// Metrics compare their latest value with a number. Params and tags compare as text with a quoted
// value, as numbers with an unquoted number, and as times with < <= > >= and a quoted date: a value
// of another type never matches. A clause about a key that the run lacks is false, so its NOT is
// true. A name with blanks or slashes is quoted: metrics."val/loss". Times and durations:
// time_text.h; a day means the whole day, so "created > '2026-03-01'" is true from the next day on.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"

namespace millrace::search {

enum class FilterEntity { kMetric, kParam, kTag, kAttribute };
enum class FilterOp {
    kEqual,
    kNotEqual,
    kGreater,
    kGreaterEqual,
    kLess,
    kLessEqual,
    kLike,
    kILike,
    kIn,
    kNotIn,
    kIsNull,
    kIsNotNull
};

struct FilterClause {
    FilterEntity entity = FilterEntity::kAttribute;
    std::string key;  ///< an attribute's main name, with aliases resolved
    FilterOp op = FilterOp::kEqual;
    std::vector<double> numbers;       ///< or strings: one; several for IN; none for IS NULL
    std::vector<std::string> strings;  ///< text, also for params and tags
    bool isTime = false;               ///< of a param or tag: `numbers` are ms since 1970, UTC
    bool operator==(const FilterClause&) const = default;
};

/// A tree with at most 200 clauses and a depth of at most 40.
struct RunFilter {
    enum class Kind { kAll, kAny, kNot, kClause };
    Kind kind = Kind::kAll;        ///< without parts: all runs
    FilterClause clause;           ///< for kClause
    std::vector<RunFilter> parts;  ///< for kAll and kAny; one for kNot
};

/// `nowMs`: reference time for ages, ms since 1970, UTC. Failure: kInvalidArgument with "filter,
/// character N: ..." and the known names; characterOf returns N.
Result<RunFilter> parseFilter(std::string_view text, std::int64_t nowMs);

/// Position of the error from parseFilter or parseOrderBy, from 1; 0: unknown.
int characterOf(const Status& status);

struct OrderKey {
    FilterEntity entity = FilterEntity::kAttribute;
    std::string key;
    bool isDescending = false;
};
/// One key per item: "metrics.loss DESC". A repeated key is an error.
Result<std::vector<OrderKey>> parseOrderBy(const std::vector<std::string>& items);

}  // namespace millrace::search

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
// Metrics compare their latest value with a number. Params and tags compare text with quoted text,
// and numbers with a number without quotes: one that is no number never matches. A clause about a
// key that the run does not have does not hold, so NOT of it does. A name with blanks or slashes is
// quoted: metrics."val/loss". Times and durations: time_text.h; a day is the whole day, so
// "created > '2026-03-01'" is true from the next day on.
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
    std::string key;  ///< an attribute's own name, aliases resolved
    FilterOp op = FilterOp::kEqual;
    std::vector<double> numbers;       ///< or strings: one, or several for IN, none for IS NULL
    std::vector<std::string> strings;  ///< text, also of params and tags
    bool operator==(const FilterClause&) const = default;
};

/// A tree of at most 200 clauses, at most 40 deep.
struct RunFilter {
    enum class Kind { kAll, kAny, kNot, kClause };
    Kind kind = Kind::kAll;        ///< without parts: all runs
    FilterClause clause;           ///< of kClause
    std::vector<RunFilter> parts;  ///< of kAll and kAny; one of kNot
};

/// `nowMs`: what ages in it are counted from, ms since 1970, UTC. Failure: kInvalidArgument with
/// "filter, character N: ..." and what is known there; characterOf gives N.
Result<RunFilter> parseFilter(std::string_view text, std::int64_t nowMs);

/// Where parseFilter or parseOrderBy found its text wrong, from 1; 0: no such place.
int characterOf(const Status& status);

struct OrderKey {
    FilterEntity entity = FilterEntity::kAttribute;
    std::string key;
    bool isDescending = false;
};
/// One key an item: "metrics.loss DESC". A key that stands twice is an error.
Result<std::vector<OrderKey>> parseOrderBy(const std::vector<std::string>& items);

}  // namespace millrace::search

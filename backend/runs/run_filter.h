#pragma once
// The filter and order_by language of run lists: MLflow's search grammar, with our attributes.
//
//   filter := [clause {AND clause}]
//   clause := key op value | key IS [NOT] NULL | key [NOT] IN ('a', 'b')
//   key    := [entity.]name      entity: metric(s), param(s), parameter(s), tag(s), attribute(s),
//                                attr, run; without one: an attribute
//   op     := = != > >= < <= LIKE ILIKE
// Metrics compare their latest value with a number; params and tags compare text; a run without the
// key never matches. A name with blanks or slashes is quoted: metrics."val/loss".
// Failure: kInvalidArgument with "filter, character N: ..." and what is known there; characterOf
// gives N.
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backend/core/status.h"

namespace millrace::runs {

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
    double number = 0;                 ///< metrics and numeric attributes
    std::vector<std::string> strings;  ///< one, or several for IN
    bool operator==(const FilterClause&) const = default;
};

/// All clauses hold.
struct RunFilter {
    std::vector<FilterClause> clauses;
};
Result<RunFilter> parseFilter(std::string_view text);

/// Where parseFilter or parseOrderBy found its text wrong, from 1; 0: no such place.
int characterOf(const Status& status);

struct OrderKey {
    FilterEntity entity = FilterEntity::kAttribute;
    std::string key;
    bool isDescending = false;
};
/// One key an item: "metrics.loss DESC". A key that stands twice is an error.
Result<std::vector<OrderKey>> parseOrderBy(const std::vector<std::string>& items);

/// SQL text over the table `run r` with its values apart.
struct SqlText {
    std::string text;
    std::vector<std::variant<std::int64_t, double, std::string>> values;
};
/// A condition; "1" for no clause.
SqlText conditionOf(const RunFilter& filter);
/// The terms behind ORDER BY. Missing values come last in both directions, NaN before them; ties by
/// newest first, then by uid.
SqlText orderOf(const std::vector<OrderKey>& keys);

}  // namespace millrace::runs

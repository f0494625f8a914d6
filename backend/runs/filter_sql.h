#pragma once
// Converts filters and orders of run lists to SQL over the table `run r`. No user text gets into
// the SQL.
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backend/search/run_filter.h"

namespace millrace::runs {

/// SQL text with its bound values.
struct SqlText {
    std::string text;
    std::vector<std::variant<std::int64_t, double, std::string>> values;
};
/// A condition; "1" for a filter that matches all.
SqlText conditionOf(const search::RunFilter& filter);
/// The table of the entity's names and values: run_no, key, value. Not for attributes.
std::string_view tableOf(search::FilterEntity entity);
/// The terms behind ORDER BY. Missing values come last in both directions, NaN before them; ties
/// are ordered newest first, then by uid.
SqlText orderOf(const std::vector<search::OrderKey>& keys);

}  // namespace millrace::runs

#pragma once
// The first rows of a dataset as text for people, without a spec: operation `head` of `inspect`.
//
// Threads: one owner. Failure: data errors name file, row group and column.
#include <cstdint>
#include <memory>

#include "backend/core/status.h"
#include "backend/dataset/dataset.h"
#include "backend/text/json.h"

namespace millrace::profile {

/// Limit of all values in a reply, bytes; a reply has fewer rows if they are wide.
inline constexpr std::size_t kHeadBytesMost = std::size_t{8} << 20;

/// {columns: [{name, type, values, is_null}], rows, rows_total, notes}: the first `rows` rows in
/// file order, with values as text for people; notes on the files, and on texts that are lists.
Result<Json> headOf(const std::shared_ptr<const dataset::Dataset>& dataset, std::int64_t rows);

}  // namespace millrace::profile

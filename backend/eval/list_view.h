#pragma once
// The rows of a list column, whatever its layout: where each list begins among the elements.
// Threads: a value.
#include <cstdint>
#include <vector>

#include <arrow/type_fwd.h>

#include "backend/eval/kernels.h"

namespace millrace::eval {

struct ListView {
    ArrayPtr elements;                 ///< of all lists; may hold more than the rows use
    std::vector<std::int64_t> begins;  ///< by row, positions in `elements`
    std::vector<std::int64_t> counts;  ///< by row; a null list has -1

    std::int64_t rows() const { return static_cast<std::int64_t>(begins.size()); }
    bool isNull(std::size_t row) const { return counts[row] < 0; }
    /// Elements of a row; a null list has none.
    std::int64_t count(std::size_t row) const { return counts[row] < 0 ? 0 : counts[row]; }
};

bool isListArray(const arrow::Array& values);

/// `lists` is a list or fixed-size list array.
ListView viewLists(const arrow::Array& lists);

/// A view's rows as lists with no other elements than their own; no row has more of them than the
/// array that it was made of. `pool`: null for Arrow's default pool.
Result<ArrayPtr> copyLists(const ListView& view, arrow::MemoryPool* pool = nullptr);

/// The elements of all lists, those that no row uses among them.
ArrayPtr elementsOf(const ArrayPtr& lists);

/// The same lists with other elements (one for each of elementsOf()).
ArrayPtr withElements(const ArrayPtr& lists, const ArrayPtr& elements);

}  // namespace millrace::eval

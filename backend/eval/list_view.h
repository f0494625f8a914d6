#pragma once
// The rows of a list column in any layout, as the start and length of each list in the elements.
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
    /// Number of elements in a row; a null list has none.
    std::int64_t count(std::size_t row) const { return counts[row] < 0 ? 0 : counts[row]; }
};

bool isListArray(const arrow::Array& values);

/// `lists` is a list or fixed-size list array.
ListView viewLists(const arrow::Array& lists);

/// Copies a view's rows into lists with only the elements they use. No row may have more elements
/// than in the array behind the view. `pool`: null for Arrow's default pool.
Result<ArrayPtr> copyLists(const ListView& view, arrow::MemoryPool* pool = nullptr);

/// The elements of all lists, including unused ones.
ArrayPtr elementsOf(const ArrayPtr& lists);

/// The same lists with other elements (one for each of elementsOf()).
ArrayPtr withElements(const ArrayPtr& lists, const ArrayPtr& elements);

}  // namespace millrace::eval

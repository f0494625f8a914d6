#pragma once
// The rows of one column, spread over several consecutive arrays. Private to table.
//
// Threads: immutable. Failure: none.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <arrow/array.h>

namespace millrace::table {

class ColumnPieces {
 public:
    explicit ColumnPieces(std::vector<std::shared_ptr<arrow::Array>> arrays)
        : arrays_(std::move(arrays)) {
        for (const auto& array : arrays_) {
            ends_.push_back(rows() + array->length());
        }
    }

    std::int64_t rows() const { return ends_.empty() ? 0 : ends_.back(); }
    const std::vector<std::shared_ptr<arrow::Array>>& arrays() const { return arrays_; }

    /// Calls use(array, first row in it, rows) for the pieces of `count` rows, until it returns
    /// false.
    template <class Use>
    void each(std::int64_t row, std::int64_t count, const Use& use) const {
        auto piece = static_cast<std::size_t>(std::ranges::upper_bound(ends_, row) - ends_.begin());
        while (count > 0) {
            const arrow::Array& array = *arrays_[piece];
            const std::int64_t from = row - (ends_[piece] - array.length());
            const std::int64_t rows = std::min(count, array.length() - from);
            if (rows > 0 && !use(array, from, rows)) {
                return;
            }
            row += rows;
            count -= rows;
            ++piece;
        }
    }

 private:
    std::vector<std::shared_ptr<arrow::Array>> arrays_;
    std::vector<std::int64_t> ends_;
};

}  // namespace millrace::table

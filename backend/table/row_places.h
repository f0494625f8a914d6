#pragma once
// Finds the batch of a row when the rows of several batches are numbered consecutively. Private to
// table.
//
// Threads: immutable. Failure: none. Memory: 4 bytes per 1,024 rows.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <arrow/record_batch.h>

#include "backend/table/external_sort.h"

namespace millrace::table {

struct RowPlace {
    std::uint32_t batch = 0, row = 0;
};

class RowPlaces {
 public:
    explicit RowPlaces(const std::vector<BatchPtr>& batches) {
        std::uint64_t rows = 0;
        for (const BatchPtr& batch : batches) {
            rows += static_cast<std::uint64_t>(batch->num_rows());
            ends_.push_back(rows);
        }
        for (std::uint64_t row = 0; row < rows; row += kBlock) {
            const auto batch = std::ranges::upper_bound(ends_, row) - ends_.begin();
            first_.push_back(static_cast<std::uint32_t>(batch));
        }
    }

    std::size_t rows() const { return ends_.empty() ? 0 : static_cast<std::size_t>(ends_.back()); }
    RowPlace of(std::uint32_t row) const {
        std::uint32_t batch = first_[row / kBlock];
        while (row >= ends_[batch]) {
            ++batch;
        }
        return {batch, batch == 0 ? row : row - static_cast<std::uint32_t>(ends_[batch - 1])};
    }

 private:
    static constexpr std::uint64_t kBlock = 1024;
    std::vector<std::uint64_t> ends_;
    std::vector<std::uint32_t> first_;  ///< batch of each block's first row
};

}  // namespace millrace::table

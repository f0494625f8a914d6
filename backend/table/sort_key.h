#pragma once
// Sort keys of rows as bytes: comparing the bytes of two keys compares the rows.
//
// Ascending; numbers by value (NaN last), texts by bytes, false before true, nulls last. The bytes
// of each column are self-delimiting, so a key of several columns is their concatenation. Private
// to table. Threads: pure.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "backend/core/status.h"

namespace millrace::table {

/// The keys of a batch's rows, consecutive in one buffer.
class SortKeys {
 public:
    /// kInvalidArgument for a column that is a list or does not exist (the message names the
    /// nearest).
    static Result<std::vector<int>> columnsOf(const arrow::Schema& schema,
                                              const std::vector<std::string>& names);

    SortKeys(const arrow::RecordBatch& batch, const std::vector<int>& columns);
    std::string_view operator[](std::int64_t row) const {
        const auto r = static_cast<std::size_t>(row);
        return std::string_view(bytes_).substr(ends_[r], ends_[r + 1] - ends_[r]);
    }

 private:
    std::string bytes_;
    std::vector<std::uint64_t> ends_;
};

}  // namespace millrace::table

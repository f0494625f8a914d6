#pragma once
// Finds the column that groups rows into requests: rows with the same value have the same lists.
//
// A column qualifies if, among the rows whose value occurred earlier in the sample, at least 99.9 %
// have the same lists as the value's first row (every list column counts). Lists must also differ
// between values: if nearly all lists are equal, no column qualifies. Among several such columns,
// the column that explains most repeated lists wins. Private to profile. Threads: pure.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace arrow {
class RecordBatch;
}  // namespace arrow

namespace millrace::profile {

struct RequestGuess {
    std::string column;
    std::int64_t repeats = 0;   ///< rows whose value occurred earlier
    std::int64_t adjacent = 0;  ///< of these: directly after another row of their request
    double rowsPerRequest = 1;
    /// 1: the rows of every request are adjacent.
    double adjacentShare() const {
        return repeats > 0 ? static_cast<double>(adjacent) / static_cast<double>(repeats) : 1;
    }
};

/// `given`: the only column to check ("": guess). Empty if no column qualifies.
std::optional<RequestGuess> findRequest(const arrow::RecordBatch& rows, const std::string& given);

}  // namespace millrace::profile

#pragma once
// Which column says what rows belong to one request: rows with one value of it have the same lists.
//
// A column is a request when, of the rows whose value occurred before in the sample, at least
// 99.9 % have the same lists as its first row (every list column counts). Of several such columns
// the one that explains most repeated lists wins. Private to the room. Threads: pure.
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
    std::int64_t repeats = 0;   ///< rows whose value occurred before
    std::int64_t adjacent = 0;  ///< of these: directly behind another row of their request
    double rowsPerRequest = 1;
    /// 1: the rows of every request stand together.
    double adjacentShare() const {
        return repeats > 0 ? static_cast<double>(adjacent) / static_cast<double>(repeats) : 1;
    }
};

/// `given`: a column to look at alone ("": guess). Empty when none fits.
std::optional<RequestGuess> findRequest(const arrow::RecordBatch& rows, const std::string& given);

}  // namespace millrace::profile

#pragma once
// A column put together from its pieces, one after the other, so that no piece is held longer than
// until it was copied. Private to the room.
//
// The memory is the system's own, in huge pages where it is large: what is looked up at random
// places then misses the address cache less often.
// Threads: one at a time, but for copy(). Failure: names the place.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/core/status.h"

namespace arrow {
class Array;
class DataType;
}  // namespace arrow

namespace millrace::dataset {

class JoinedColumn {
 public:
    /// `rows`: of all pieces, which are of one type. `place`: for messages.
    JoinedColumn(std::int64_t rows, std::string place);
    ~JoinedColumn();
    JoinedColumn(JoinedColumn&&) noexcept;

    /// Makes room for the pieces that come next. Each is to be copied, then all are let go.
    Status place(std::vector<std::shared_ptr<arrow::Array>> pieces);
    /// Any thread, each piece once.
    void copy(std::size_t piece);
    Status letGo();
    /// After all pieces, of which there is at least one.
    Result<std::shared_ptr<arrow::Array>> finish();

 private:
    class Memory;
    /// Where a piece begins.
    struct Place {
        std::int64_t row, byte;
    };
    bool isText() const;
    Status placeValues();
    Status placeTexts(const Place& end);
    void copyTexts(const arrow::Array& piece, const Place& place);
    Status copyNulls(const arrow::Array& piece, std::int64_t at);

    std::string place_;
    std::int64_t rows_, done_ = 0, textBytes_ = 0, nulls_ = 0;
    std::shared_ptr<arrow::DataType> type_;
    std::shared_ptr<Memory> values_, offsets_, valid_;
    std::vector<std::shared_ptr<arrow::Array>> pieces_;  ///< that are to be copied
    std::vector<Place> places_;                          ///< theirs
    std::vector<std::shared_ptr<arrow::Array>> kept_;    ///< of types that Arrow joins
};

}  // namespace millrace::dataset

#pragma once
// Joins a column from consecutive pieces, and releases each piece once it is copied. Private to
// dataset.
//
// Large columns use huge pages from the system, so that lookups at random positions miss the
// address cache less often.
// Threads: one at a time, except for copy(). Failure: names the place.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "backend/core/status.h"

namespace millrace::dataset {

class JoinedColumn {
 public:
    /// `rows`: of all pieces, which have one type. `place`: for messages.
    JoinedColumn(std::int64_t rows, std::string place);
    ~JoinedColumn();
    JoinedColumn(JoinedColumn&&) noexcept;

    /// Makes room for the next pieces. Copy each one, then call letGo().
    Status place(std::vector<std::shared_ptr<arrow::Array>> pieces);
    /// Copies a piece; call it once per piece, from any thread.
    void copy(std::size_t piece);
    Status letGo();
    /// Call it after all pieces; at least one is required.
    Result<std::shared_ptr<arrow::Array>> finish();

 private:
    class Memory;
    /// Start of a piece.
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
    std::vector<std::shared_ptr<arrow::Array>> pieces_;  ///< pieces to copy
    std::vector<Place> places_;                          ///< their starts
    std::vector<std::shared_ptr<arrow::Array>> kept_;    ///< pieces of types that Arrow joins
};

}  // namespace millrace::dataset

#pragma once
// Rows in one piece: what picked rows are read from.
//
// A segment whose rows are delivered in another order than they were decoded in is read at random.
// By column that costs a line of memory for each value; a record holds a row's dense values,
// ids, labels and, for each list, where it stands, so a row is a few neighbouring lines.
// Threads: functions of their arguments. Owns nothing: the records are the chunk's.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/core/status.h"
#include "backend/frame/frame.h"
#include "backend/segment/chunk.h"

namespace millrace::segment {

/// What stands where in the records of one frame layout.
class RecordLayout {
 public:
    struct Field {
        std::size_t column = 0, offset = 0, bytes = 0;
    };
    explicit RecordLayout(const frame::FrameLayout& layout);

    std::size_t stride() const { return stride_; }  ///< bytes of a record, a multiple of 8
    /// The row's number in its file: std::uint64_t.
    std::size_t numberOffset() const { return 0; }
    /// Lists: a ListSlice each. They stand in front: they are wanted first, to measure a frame.
    std::span<const Field> lists() const { return lists_; }
    /// Values of 1, 2, 4 or 8 bytes, the widest first. Wider ones stay in their columns.
    std::span<const Field> values() const { return values_; }
    /// The dense block: of `bytes` bytes, 0 when there is none.
    const Field& dense() const { return dense_; }
    /// Whether the records hold the column's values.
    bool holds(std::size_t column) const;

    /// Writes the records of a chunk's rows to `out` (rows * stride() bytes).
    void write(const Chunk& chunk, std::byte* out) const;

 private:
    void writeLists(const Chunk& chunk, const Field& field, std::int64_t from, std::int64_t rows,
                    std::byte* out) const;

    std::vector<Field> lists_, values_;
    Field dense_;
    std::size_t stride_ = 0;
};

}  // namespace millrace::segment

#pragma once
// Rows stored as records: picked rows are copied to frames from these.
//
// A segment whose rows are delivered in another order than they were decoded in is read at random.
// From columns, each value would cost a cache line. A record holds a row's dense values, ids,
// labels and the slice of each list, so a row is a few adjacent cache lines.
// Threads: functions of their arguments. Owns nothing: the chunk owns the records.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/frame/frame.h"
#include "backend/segment/chunk.h"

namespace millrace::segment {

/// The offsets of the columns in the records of one frame layout.
class RecordLayout {
 public:
    struct Field {
        std::size_t column = 0, offset = 0, bytes = 0;
    };
    explicit RecordLayout(const frame::FrameLayout& layout);

    std::size_t stride() const { return stride_; }  ///< bytes of a record, a multiple of 8
    /// Offset of the row's number in its file, a std::uint64_t.
    std::size_t numberOffset() const { return 0; }
    /// Lists: a ListSlice each. They come first because they are read first, to measure a frame.
    std::span<const Field> lists() const { return lists_; }
    /// Values of 1, 2, 4 or 8 bytes, the widest first. Wider values stay in their columns.
    std::span<const Field> values() const { return values_; }
    /// The dense block; `bytes` is 0 when there is none.
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

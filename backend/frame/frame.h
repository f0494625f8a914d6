#pragma once
// Frames in memory: FrameLayout (a run's columns), FrameWriter (first sizes, then typed memory to
// fill), FrameView (reads a checked frame), FrameConcat (rows of several frames in one).
//
// Threads: a layout is shared and never changes; a writer and a view belong to one thread, their
// spans may be filled or read by several. Owns: writer and view borrow the memory and the layout.
// Failure: inconsistent sizes, and bytes that are not a frame; no input reads out of bounds.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/frame/format.h"

namespace millrace::frame {

struct ColumnSpec {
    Role role = Role::kId;
    DType dtype = DType::kInt64;
    std::string name;
    std::uint32_t width = 1;
    Encoding encoding = Encoding::kFixed;
    std::uint16_t group = 0;
    bool dedup = false;

    static ColumnSpec fixed(Role role, DType dtype, std::string name, std::uint32_t width = 1) {
        return {role, dtype, std::move(name), width, Encoding::kFixed, 0, false};
    }
    static ColumnSpec list(Role role, DType dtype, std::string name) {
        return {role, dtype, std::move(name), 1, Encoding::kLists, 0, false};
    }
};

class FrameView;

/// The columns of every frame of a stream. Columns 0 and 1 are always row_file and row_number.
class FrameLayout {
 public:
    /// `columns` without the row ids, which are prepended. `streamHash`: 32 hex digits or empty.
    /// kInvalidArgument: names longer than 1024 bytes, two columns with the same role and name, a
    /// width of 0. Adds the inverse column that kDedup needs, if it is missing.
    static Result<FrameLayout> make(std::vector<ColumnSpec> columns, std::string_view streamHash);

    /// The layout of this frame.
    static Result<FrameLayout> of(const FrameView& frame);

    const std::vector<ColumnSpec>& columns() const { return columns_; }
    std::size_t numColumns() const { return columns_.size(); }
    int find(Role role, std::string_view name) const;  ///< -1: none
    int inverseColumn() const { return inverse_; }     ///< -1: none
    /// Whether the frame has this layout and stream.
    bool isOf(const FrameView& frame) const;

 private:
    friend class FrameWriter;
    std::vector<ColumnSpec> columns_;
    std::vector<std::uint32_t>
        offsetsOwner_;  ///< the column whose offsets it uses (itself, or one of its group)
    std::string names_;
    std::vector<std::uint32_t> nameOffsets_;
    std::uint8_t streamHash_[16] = {};
    std::uint64_t directoryBytes_ = 0;
    int inverse_ = -1;
};

/// Identity of a frame; its sequence number is in the ring's entry.
struct FrameId {
    std::uint32_t epoch = 0;
    std::uint64_t segment = 0;
    std::uint32_t index = 0;
    bool operator==(const FrameId&) const = default;
};

/// Memory for one frame, 64-byte aligned, not zeroed.
class FrameBuffer {
 public:
    FrameBuffer() = default;
    explicit FrameBuffer(std::size_t bytes);
    std::span<std::byte> bytes() { return {data_.get(), size_}; }
    std::span<const std::byte> bytes() const { return {data_.get(), size_}; }
    std::size_t size() const { return size_; }

 private:
    struct Free {
        void operator()(std::byte* p) const;
    };
    std::unique_ptr<std::byte, Free> data_;
    std::size_t size_ = 0;
};

class FrameWriter {
 public:
    /// Make it once and reuse it for many frames: declaring and binding allocate nothing.
    explicit FrameWriter(const FrameLayout& layout);

    /// Phase 1. `values[c]` = number of values of list column c (ignored for fixed ones, equal
    /// within a group); size = numColumns. Returns the frame's bytes.
    Result<std::uint64_t> declare(std::uint32_t rows, std::span<const std::uint64_t> values,
                                  std::uint32_t requests = 0);
    /// Phase 2. `memory` has at least the declared bytes, 64-byte aligned; writes header,
    /// directory, padding and the first and last value of the offsets at once.
    Status bind(std::span<std::byte> memory, const FrameId& id);

    /// Memory to fill after bind; T must match the column's dtype.
    template <class T>
    std::span<T> values(std::size_t column) const {
        const ColumnEntry& e = entries_[column];
        INVARIANT(memory_ != nullptr && sizeof(T) == sizeOf(e.dtype),
                  "bound, of the column's type");
        return {reinterpret_cast<T*>(memory_ + e.data.offset), e.values};
    }
    std::span<std::int64_t> offsets(std::size_t column) const;  ///< items + 1; empty when fixed
    /// The column's values as bytes, for any type.
    std::byte* bytesOf(std::size_t column) const { return memory_ + entries_[column].data.offset; }
    std::span<float> weights(std::size_t column) const;
    std::uint32_t rows() const { return rows_; }
    std::uint64_t totalBytes() const { return totalBytes_; }
    const FrameLayout& layout() const { return layout_; }

 private:
    Result<std::uint64_t> place();

    const FrameLayout& layout_;
    std::vector<ColumnEntry> entries_;
    std::uint32_t rows_ = 0, requests_ = 0;
    std::uint64_t totalBytes_ = 0;
    std::byte* memory_ = nullptr;
};

class FrameView {
 public:
    /// kDataLoss with what is wrong. The bytes must outlive the view and be 8-byte aligned.
    static Result<FrameView> open(std::span<const std::byte> bytes,
                                  CheckLevel level = CheckLevel::kFull);

    const FrameHeader& header() const { return *header_; }
    FrameId id() const { return {header_->epoch, header_->segment, header_->index}; }
    std::uint32_t rows() const { return header_->rows; }
    std::size_t numColumns() const { return header_->columns; }
    const ColumnEntry& entry(std::size_t column) const { return entries_[column]; }
    std::string_view name(std::size_t column) const;
    int find(Role role, std::string_view name) const;  ///< -1: none
    int inverseColumn() const { return inverse_; }
    std::span<const std::byte> bytes() const { return bytes_; }

    template <class T>
    std::span<const T> values(std::size_t column) const {
        const ColumnEntry& e = entries_[column];
        INVARIANT(sizeof(T) == sizeOf(e.dtype), "the column's type");
        return {reinterpret_cast<const T*>(bytes_.data() + e.data.offset), e.values};
    }
    std::span<const std::int64_t> offsets(std::size_t column) const;
    std::span<const float> weights(std::size_t column) const;
    std::span<const std::uint32_t> rowFiles() const { return values<std::uint32_t>(0); }
    std::span<const std::uint64_t> rowNumbers() const { return values<std::uint64_t>(1); }
    /// The stored item of `row` in a column: the row itself, or its request.
    std::uint32_t itemOf(std::size_t column, std::uint32_t row) const;

 private:
    std::span<const std::byte> bytes_;
    const FrameHeader* header_ = nullptr;
    const ColumnEntry* entries_ = nullptr;
    const char* names_ = nullptr;
    int inverse_ = -1;
};

/// Writes the checksum into a frame that leaves the machine's memory; the bytes must be checked.
void seal(std::span<std::byte> frame);

/// Rows [from, to) of a frame.
struct RowRange {
    const FrameView* frame = nullptr;
    std::uint32_t from = 0, to = 0;
};

/// Concatenates row ranges of frames with one layout, such as remainders of earlier frames.
class FrameConcat {
 public:
    /// kInvalidArgument for ranges beyond their frame, or frames of another layout.
    static Result<FrameConcat> make(const FrameLayout& layout, std::span<const RowRange> ranges);
    std::uint64_t totalBytes() const { return writer_.totalBytes(); }
    std::uint32_t rows() const { return writer_.rows(); }
    Status write(std::span<std::byte> memory, const FrameId& id);

 private:
    explicit FrameConcat(const FrameLayout& layout) : writer_(layout) {}
    FrameWriter writer_;
    std::vector<RowRange> ranges_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> requests_;  ///< stored items of each range
};

}  // namespace millrace::frame

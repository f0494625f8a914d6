#pragma once
// Reads and writes a column's texts as offsets and bytes, without a call per row. Private to eval.
//
// Threads: a value. Failure: kResourceExhausted, or Arrow's message for a column with more bytes
// than its offsets can address.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include <arrow/array/array_binary.h>
#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/datum.h>
#include <arrow/memory_pool.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/bitmap_ops.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/eval/evaluation_pool.h"
#include "backend/eval/kernels.h"

namespace millrace::eval {

/// A text with the end of its readable memory.
struct TextPiece {
    std::string_view text;
    const char* memoryEnd;
};

/// The texts of an array of type utf8, which outlives it.
class TextColumn {
 public:
    explicit TextColumn(const arrow::Array& array)
        : rows_(array.length()),
          valid_(array.null_count() > 0 ? array.null_bitmap_data() : nullptr),
          validBegin_(array.offset()) {
        const auto& strings = static_cast<const arrow::StringArray&>(array);
        if (rows_ > 0) {
            ends_ = strings.raw_value_offsets();
        }
        if (strings.raw_data() != nullptr) {
            bytes_ = reinterpret_cast<const char*>(strings.raw_data());
            memoryEnd_ = bytes_ + strings.value_data()->size();
        }
    }
    std::int64_t rows() const { return rows_; }
    bool hasNulls() const { return valid_ != nullptr; }
    bool isNull(std::int64_t i) const {
        return valid_ != nullptr && !arrow::bit_util::GetBit(valid_, validBegin_ + i);
    }
    std::string_view text(std::int64_t i) const {
        return {bytes_ + ends_[i], static_cast<std::size_t>(ends_[i + 1] - ends_[i])};
    }
    TextPiece piece(std::int64_t i) const { return {text(i), memoryEnd_}; }
    const char* memoryEnd() const { return memoryEnd_; }
    /// All texts as one (including the bytes under nulls).
    std::string_view all() const {
        return {bytes_ + ends_[0], static_cast<std::size_t>(ends_[rows_] - ends_[0])};
    }
    /// The end of row i in all().
    std::int32_t end(std::int64_t i) const { return ends_[i + 1] - ends_[0]; }
    /// The validity bits for an array of the same rows, from bit 0 on; null if no row is null.
    Result<std::shared_ptr<arrow::Buffer>> validity() const {
        if (valid_ == nullptr) {
            return std::shared_ptr<arrow::Buffer>();
        }
        return arrays::fromArrow<std::shared_ptr<arrow::Buffer>>(
            arrow::internal::CopyBitmap(evaluationPool(), valid_, validBegin_, rows_), "string");
    }

 private:
    static constexpr std::int32_t kNoEnds[1] = {0};

    std::int64_t rows_;
    const std::uint8_t* valid_;
    std::int64_t validBegin_;
    const std::int32_t* ends_ = kNoEnds;
    const char* bytes_ = "";
    const char* memoryEnd_ = bytes_;
};

/// Writes the texts of a new array, row by row. Keeps a failure until finish().
class TextWriter {
 public:
    /// Reserves `bytes` bytes at once.
    TextWriter(std::int64_t rows, std::int64_t bytes) : rows_(rows) {
        arrow::Result<std::unique_ptr<arrow::Buffer>> ends = arrow::AllocateBuffer(
            (rows + 1) * static_cast<std::int64_t>(sizeof(std::int32_t)), evaluationPool());
        arrow::Result<std::unique_ptr<arrow::ResizableBuffer>> memory =
            arrow::AllocateResizableBuffer(std::min(bytes, kMostBytes) + kSpare, evaluationPool());
        status_ = ends.ok() ? memory.status() : ends.status();
        if (status_.ok()) {
            endsHeld_ = *std::move(ends);
            bytesHeld_ = *std::move(memory);
            nextEnd_ = reinterpret_cast<std::int32_t*>(endsHeld_->mutable_data());
            *nextEnd_++ = 0;
            take();
        }
    }
    /// Appends to the current row's text.
    void append(const TextPiece& piece) {
        const std::size_t n = piece.text.size();
        if (n == 0) {
            return;  // it may have a null pointer
        }
        if (static_cast<std::int64_t>(n) > room_ - used_ && !grow(static_cast<std::int64_t>(n))) {
            return;
        }
        const char* const from = piece.text.data();
        if (n <= kSpare && piece.memoryEnd - from >= kSpare) {
            std::memcpy(bytes_ + used_, from, kSpare);
        } else {
            std::memcpy(bytes_ + used_, from, n);
        }
        used_ += static_cast<std::int64_t>(n);
    }
    /// Call it after the last piece of each row, null or not.
    void endRow() {
        if (nextEnd_ != nullptr) {
            *nextEnd_++ = static_cast<std::int32_t>(used_);
        }
    }
    /// Room for the texts of all rows, to be written at once; null if there is none. Call
    /// endRowAt() with each row's end then.
    char* rawBytes(std::size_t n) {
        if (static_cast<std::int64_t>(n) > room_) {
            return nullptr;
        }
        used_ = static_cast<std::int64_t>(n);
        return bytes_;
    }
    void endRowAt(std::int32_t end) { *nextEnd_++ = end; }
    /// Call it after the last row.
    Result<Datum> finish(std::shared_ptr<arrow::Buffer> validity) {
        if (status_.ok()) {
            status_ = bytesHeld_->Resize(used_, /*shrink_to_fit=*/room_ - used_ > used_ / 8);
        }
        RETURN_IF_ERROR(arrays::fromArrow(status_, "string"));
        return Datum(arrow::ArrayData::Make(
            arrow::utf8(), rows_,
            {std::move(validity), std::move(endsHeld_), std::move(bytesHeld_)}));
    }

 private:
    /// A short piece is written with one copy of this many bytes.
    static constexpr std::int64_t kSpare = 16;
    static constexpr std::int64_t kMostBytes = std::numeric_limits<std::int32_t>::max() - 1;

    void take() {
        bytes_ = reinterpret_cast<char*>(bytesHeld_->mutable_data());
        room_ = bytesHeld_->size() - kSpare;
    }
    bool grow(std::int64_t more) {
        if (status_.ok() && used_ + more > kMostBytes) {
            status_ = arrow::Status::CapacityError("array cannot contain more than ", kMostBytes,
                                                   " bytes, have ", used_ + more);
        }
        if (status_.ok()) {
            const std::int64_t room = std::min(std::max(used_ + more, 2 * room_), kMostBytes);
            status_ = bytesHeld_->Resize(room + kSpare, /*shrink_to_fit=*/false);
        }
        if (status_.ok()) {
            take();
        }
        return status_.ok();
    }

    std::int64_t rows_;
    arrow::Status status_;
    std::shared_ptr<arrow::Buffer> endsHeld_;
    std::shared_ptr<arrow::ResizableBuffer> bytesHeld_;
    std::int32_t* nextEnd_ = nullptr;
    char* bytes_ = nullptr;
    std::int64_t room_ = -1, used_ = 0;  ///< -1: no memory yet
};

}  // namespace millrace::eval

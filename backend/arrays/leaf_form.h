#pragma once
// The form of a Parquet leaf's values in its pages, and its conversion to the pinned type: lets
// PageDecoder handle every kind as words of four or eight bytes.
//
// Integers of one and two bytes are read as four and narrowed at the end, bools as 0 and 1. Times
// in other units are converted to microseconds at the end. Texts are read as spans of the page's
// bytes and copied together, page by page. Threads: values. Failure: false for bytes with invalid
// content.
#include <cstdint>
#include <memory>

#include <arrow/type_fwd.h>
#include <parquet/type_fwd.h>

#include "backend/arrays/hybrid_runs.h"
#include "backend/arrays/pool_vector.h"
#include "backend/core/status.h"

namespace millrace::arrays {

/// Nanoseconds as whole microseconds, rounded down on both sides of 1970.
constexpr std::int64_t microsOfNanos(std::int64_t nanos) {
    return nanos / 1000 - (nanos % 1000 < 0 ? 1 : 0);
}

struct LeafForm {
    enum class Turn {
        kNone,
        kNarrow,    ///< to the pinned type's width
        kBits,      ///< bools
        kMultiply,  ///< milliseconds
        kDivide,    ///< nanoseconds
        kTexts
    };
    int width = 0;  ///< of the words: 4 or 8
    Turn turn = Turn::kNone;

    /// Returns false if PageDecoder does not support the column.
    static bool of(const parquet::ColumnDescriptor& column, const arrow::DataType& pinned,
                   LeafForm& form);
    /// Bools and texts are not stored as words in a page.
    bool isUnpacked() const { return turn == Turn::kBits || turn == Turn::kTexts; }
};

/// A text's position in its page: offset and length, a word of eight bytes.
struct TextSpan {
    std::uint32_t offset = 0, length = 0;
};

/// Unpacks at most `count` values of a plain page of bools or texts to words, held by `words`.
bool unpackPlain(const LeafForm& form, ByteSpan page, std::int64_t count,
                 PoolVector<std::uint64_t>& words, ByteSpan& unpacked);

/// Collects texts from the pages.
class TextTarget {
 public:
    /// `rows`: expected number; there may be more.
    static Result<TextTarget> make(std::int64_t rows, arrow::MemoryPool* pool);
    /// Expected number of bytes: the first allocation has room for them, since growing holds texts
    /// twice.
    void expectBytes(std::int64_t bytes) { expected_ = bytes; }
    /// Adds the next texts, which are all in `page`; null texts have length 0.
    Status append(ByteSpan page, const TextSpan* spans, std::int64_t count);

    std::int64_t rows() const { return rows_; }
    std::shared_ptr<arrow::Buffer> offsets() const;
    std::shared_ptr<arrow::Buffer> bytes() const;

 private:
    std::shared_ptr<arrow::ResizableBuffer> offsets_, bytes_;
    std::int64_t rows_ = 0, used_ = 0, expected_ = 0;
};

/// Converts the words of a chunk (not texts) to a buffer of the pinned type; null values hold 0.
Result<std::shared_ptr<arrow::Buffer>> turnWords(const LeafForm& form,
                                                 const arrow::DataType& pinned, std::int64_t rows,
                                                 std::shared_ptr<arrow::Buffer> words,
                                                 arrow::MemoryPool* pool);

}  // namespace millrace::arrays

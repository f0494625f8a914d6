#pragma once
// How the values of a Parquet leaf stand in its pages, and how they become those of the pinned
// type: what lets PageDecoder handle every kind as words of four or eight bytes.
//
// Integers of one and two bytes are read as four and narrowed at the end, bools as 0 and 1; times
// in other units are brought to microseconds at the end; texts are read as spans of the page's
// bytes and copied together page by page. Threads: values. Failure: false for bytes that do not
// hold what they should.
#include <cstdint>
#include <memory>

#include <arrow/type_fwd.h>

#include "backend/arrays/hybrid_runs.h"
#include "backend/arrays/pool_vector.h"
#include "backend/core/status.h"

namespace arrow {
class ResizableBuffer;
}
namespace parquet {
class ColumnDescriptor;
}

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

    /// False: not for PageDecoder.
    static bool of(const parquet::ColumnDescriptor& column, const arrow::DataType& pinned,
                   LeafForm& form);
    /// Bools and texts do not stand in a page as words.
    bool isUnpacked() const { return turn == Turn::kBits || turn == Turn::kTexts; }
};

/// Where a text stands in its page: offset and length, a word of eight bytes.
struct TextSpan {
    std::uint32_t offset = 0, length = 0;
};

/// At most `count` values of a plain page of bools or texts as words, which `words` holds.
bool unpackPlain(const LeafForm& form, ByteSpan page, std::int64_t count,
                 PoolVector<std::uint64_t>& words, ByteSpan& unpacked);

/// Texts as they come out of the pages.
class TextTarget {
 public:
    /// `rows`: as many as are expected; there may be more.
    static Result<TextTarget> make(std::int64_t rows, arrow::MemoryPool* pool);
    /// About so many bytes will come: they get room at once when there is too little, as texts that
    /// grow are held twice.
    void expectBytes(std::int64_t bytes) { expected_ = bytes; }
    /// The next texts, all of them in `page`; of length 0 where they are null.
    Status append(ByteSpan page, const TextSpan* spans, std::int64_t count);

    std::int64_t rows() const { return rows_; }
    std::shared_ptr<arrow::Buffer> offsets() const;
    std::shared_ptr<arrow::Buffer> bytes() const;

 private:
    std::shared_ptr<arrow::ResizableBuffer> offsets_, bytes_;
    std::int64_t rows_ = 0, used_ = 0, expected_ = 0;
};

/// The words of a chunk (not texts) as a buffer of the pinned type; null values hold 0.
Result<std::shared_ptr<arrow::Buffer>> turnWords(const LeafForm& form,
                                                 const arrow::DataType& pinned, std::int64_t rows,
                                                 std::shared_ptr<arrow::Buffer> words,
                                                 arrow::MemoryPool* pool);

}  // namespace millrace::arrays

#pragma once
// The texts of a column chunk as its dictionary's entries, stored once, and, per row, the index of
// its entry: work on a text is then done once per entry.
//
// A null is an entry too, after the dictionary's own, so that a lookup need not check whether a row
// has a value. Plain texts, in pages after a chunk gave up its dictionary, become new entries.
// Threads: one. Owns the buffers until finish(). Failure: kResourceExhausted.
#include <cstdint>
#include <memory>

#include <arrow/type_fwd.h>

#include "backend/arrays/leaf_form.h"
#include "backend/core/status.h"

namespace millrace::pages {

class CodedTexts {
 public:
    /// The `size` texts of a dictionary page, for `rows` rows that may be null or not.
    static Result<CodedTexts> make(arrays::ByteSpan page, const arrays::TextSpan* texts,
                                   std::int64_t size, bool mayBeNull, std::int64_t rows,
                                   arrow::MemoryPool* pool);
    /// Whether a dictionary of `size` texts has at most as many entries as rows: less work than by
    /// row.
    static bool isWorth(std::int64_t size, bool mayBeNull, std::int64_t rows) {
        return size >= 0 && size + (mayBeNull ? 1 : 0) <= rows;
    }

    /// Like TextTarget::expectBytes(), for all entries.
    void expectBytes(std::int64_t bytes) { entries_.expectBytes(bytes); }

    /// The entry of each row.
    std::uint32_t* codes();
    std::uint32_t nullCode() const { return nullCode_; }
    /// Adds these texts of a plain page for the rows from `row` on; offset 0 means null. Overwrites
    /// `texts`.
    Status addPlain(arrays::ByteSpan page, arrays::TextSpan* texts, std::int64_t count,
                    std::int64_t row);
    /// dictionary<int32, utf8> of the first `rows`.
    Result<std::shared_ptr<arrow::Array>> finish(std::int64_t rows, arrow::MemoryPool* pool);

 private:
    explicit CodedTexts(arrays::TextTarget entries) : entries_(std::move(entries)) {}

    arrays::TextTarget entries_;
    std::shared_ptr<arrow::Buffer> codes_;
    std::uint32_t nullCode_ = 0;
    bool mayBeNull_ = false;
};

}  // namespace millrace::pages

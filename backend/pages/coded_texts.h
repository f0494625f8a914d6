#pragma once
// The texts of a column chunk as its dictionary's entries, stored once, and of each row the number
// of its entry: what is done to a text is then done once an entry.
//
// A null is an entry too, behind the dictionary's own, so that a row's number can be looked up
// without asking whether it has a value. Plain texts, where a chunk leaves its dictionary, become
// entries of their own.
// Threads: one. Owns the buffers until finish(). Failure: kResourceExhausted.
#include <cstdint>
#include <memory>
#include <optional>

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
    /// Entries of a dictionary of `size` texts never outnumber the rows: less is done by row.
    static bool isWorth(std::int64_t size, bool mayBeNull, std::int64_t rows) {
        return size >= 0 && size + (mayBeNull ? 1 : 0) <= rows;
    }

    /// As TextTarget's: of all entries.
    void expectBytes(std::int64_t bytes) { entries_.expectBytes(bytes); }

    /// Of each row its entry.
    std::uint32_t* codes();
    std::uint32_t nullCode() const { return nullCode_; }
    /// The rows from `row` on have these texts of a plain page; offset 0: null. `texts` is used up.
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

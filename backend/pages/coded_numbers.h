#pragma once
// The numbers of a column chunk as its dictionary's entries and of each row the number of its entry
// (backend/arrays/number_codes.h), as long as the chunk stays with its dictionary.
//
// Threads: one. Owns the buffers until finish(). Failure: kResourceExhausted.
#include <cstdint>
#include <memory>

#include <arrow/type_fwd.h>

#include "backend/core/status.h"
#include "backend/pages/page_values.h"

namespace millrace::pages {

class CodedNumbers {
 public:
    /// Of a dictionary's numbers of `width` bytes, for `rows` rows.
    static Result<CodedNumbers> make(const PageDictionary& dictionary, int width, std::int64_t rows,
                                     arrow::MemoryPool* pool);
    /// A number is much less work than a text: entries are to be few.
    static bool isWorth(std::int64_t size, std::int64_t rows) {
        return size >= 0 && size < rows / 4;
    }

    /// Of each row its entry.
    std::uint32_t* codes();
    std::uint32_t nullCode() const { return static_cast<std::uint32_t>(size_); }
    /// The numbers of the first `rows`, 0 for nulls.
    void expand(std::int64_t rows, std::uint8_t* out);
    /// dictionary<int32, `type`> of the first `rows`, of which `nulls` are null.
    Result<std::shared_ptr<arrow::Array>> finish(const std::shared_ptr<arrow::DataType>& type,
                                                 std::int64_t rows, std::int64_t nulls,
                                                 arrow::MemoryPool* pool);

 private:
    std::shared_ptr<arrow::Buffer> entries_, codes_;  ///< behind the last entry the null's, 0
    std::int64_t size_ = 0;
    int width_ = 0;
};

}  // namespace millrace::pages

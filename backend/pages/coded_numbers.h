#pragma once
// The numbers of a column chunk as its dictionary's entries and, per row, the index of its entry
// (backend/arrays/number_codes.h). Usable while all pages of the chunk use the dictionary.
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
    /// Takes a dictionary's numbers of `width` bytes, for `rows` rows.
    static Result<CodedNumbers> make(const PageDictionary& dictionary, int width, std::int64_t rows,
                                     arrow::MemoryPool* pool);
    /// Work on a number is cheap compared to a text: coding pays only with few entries.
    static bool isWorth(std::int64_t size, std::int64_t rows) {
        return size >= 0 && size < rows / 4;
    }

    /// The entry of each row.
    std::uint32_t* codes();
    std::uint32_t nullCode() const { return static_cast<std::uint32_t>(size_); }
    /// Writes the numbers of the first `rows`, 0 for nulls.
    void expand(std::int64_t rows, std::uint8_t* out);
    /// dictionary<int32, `type`> of the first `rows`, of which `nulls` are null.
    Result<std::shared_ptr<arrow::Array>> finish(const std::shared_ptr<arrow::DataType>& type,
                                                 std::int64_t rows, std::int64_t nulls,
                                                 arrow::MemoryPool* pool);

 private:
    std::shared_ptr<arrow::Buffer> entries_, codes_;  ///< the null's entry, 0, is the last
    std::int64_t size_ = 0;
    int width_ = 0;
};

}  // namespace millrace::pages

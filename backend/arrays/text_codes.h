#pragma once
// Text columns as a dictionary: texts that are stored once, and of each row the number of its own.
//
// dictionary<int32, utf8> as PageDecoder gives it: a null is one of the entries, the codes have no
// nulls, so whatever is made of the entries is looked up by row without a question. Entries may
// repeat, and some may belong to no row.
// Threads: values. Failure: kResourceExhausted.
#include <cstdint>
#include <memory>
#include <optional>

#include <arrow/type_fwd.h>

#include "backend/core/status.h"

namespace millrace::arrays {

struct TextCodes {
    std::shared_ptr<arrow::Array> entries;  ///< utf8
    std::shared_ptr<arrow::Array> codes;    ///< int32, one a row

    /// Absent: the array is no dictionary of texts.
    static std::optional<TextCodes> of(const arrow::Array& array);
    std::int64_t rows() const;
    const std::int32_t* raw() const;
    /// Something done once an entry is done no oftener than once a row.
    bool isWorth() const;
    std::int64_t nullRows() const;
    /// Of each row what was made of its entry, still stored once.
    std::shared_ptr<arrow::Array> with(std::shared_ptr<arrow::Array> made) const;
};

/// A dictionary of texts as a text a row; other arrays as they are. More than 2 GB is an error.
Result<std::shared_ptr<arrow::Array>> plainTexts(std::shared_ptr<arrow::Array> values,
                                                 arrow::MemoryPool* pool);

}  // namespace millrace::arrays

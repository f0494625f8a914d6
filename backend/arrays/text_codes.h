#pragma once
// Dictionary-coded text columns: texts stored once, and each row's index.
//
// dictionary<int32, utf8> as PageDecoder returns it. A null is one of the entries and the codes
// have no nulls, so results per entry can be looked up by row without a null check. Entries may
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
    std::shared_ptr<arrow::Array> codes;    ///< int32, one per row

    /// Absent if the array is not a dictionary of texts.
    static std::optional<TextCodes> of(const arrow::Array& array);
    std::int64_t rows() const;
    const std::int32_t* raw() const;
    /// Whether the dictionary has at most one entry per row, so that work per entry pays.
    bool isWorth() const;
    std::int64_t nullRows() const;
    /// Each row with the result for its entry, still stored once.
    std::shared_ptr<arrow::Array> with(std::shared_ptr<arrow::Array> made) const;
};

/// Expands a dictionary of texts to one text per row; other arrays are returned unchanged. More
/// than 2 GB is an error.
Result<std::shared_ptr<arrow::Array>> plainTexts(std::shared_ptr<arrow::Array> values,
                                                 arrow::MemoryPool* pool);

}  // namespace millrace::arrays

#pragma once
// Finds a part in texts: `like`, contains and similar, for all rows of a column at once.
//
// The bytes of a column's rows are contiguous, so they are searched as one text, and a hit is
// assigned to its row. Private to eval. Threads: pure.
// Failure: kResourceExhausted; in likeTexts also Arrow's.
#include <cstdint>
#include <string_view>

#include "backend/eval/kernels.h"
#include "backend/eval/lanes/lanes.h"

namespace millrace::eval {

/// Position where `part` first begins, or npos. The same for every `isa`.
std::size_t findText(Isa isa, std::string_view text, std::string_view part);

enum class PartPlace : std::uint8_t {
    kAnywhere,
    kBegin,
    kEnd,
    kWhole,  ///< the text equals the part
};

/// Whether each text has the part at that place; null where the text is null. `texts`: of type
/// utf8.
Result<Datum> matchTexts(Isa isa, const arrow::Array& texts, PartPlace place,
                         std::string_view part);

/// `text like pattern`: by matchTexts() if possible, else by Arrow's kernel.
Result<Datum> likeTexts(const Datum& texts, const std::string& pattern);

}  // namespace millrace::eval

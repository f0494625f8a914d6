#pragma once
// Where a text has a part: `like`, contains and their kin, over the rows of a column at once.
//
// The bytes of a column's rows stand one after the other, so they are searched as one text, and a
// hit is looked at for the row that it lies in. Private to the room. Threads: pure.
// Failure: kResourceExhausted; of likeTexts Arrow's too.
#include <cstdint>
#include <string_view>

#include "backend/eval/kernels.h"
#include "backend/eval/lanes.h"

namespace millrace::eval {

/// Where `part` begins first, or npos. The same for every `isa`.
std::size_t findText(Isa isa, std::string_view text, std::string_view part);

enum class PartPlace : std::uint8_t {
    kAnywhere,
    kBegin,
    kEnd,
    kWhole,  ///< the text is the part
};

/// Whether each of the texts has the part there; null where the text is. `texts`: of type utf8.
Result<Datum> matchTexts(Isa isa, const arrow::Array& texts, PartPlace place,
                         std::string_view part);

/// `text like pattern`: a match of the above where the pattern is one, else Arrow's kernel.
Result<Datum> likeTexts(const Datum& texts, const std::string& pattern);

}  // namespace millrace::eval

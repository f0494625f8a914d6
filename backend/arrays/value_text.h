#pragma once
// Values of columns as text for people: what previews and statistics show.
//
// Numbers shortest round-trip, dates "2024-01-31", times "2024-01-31 12:00:00.5", lists
// "[1, 2, 3]" with texts in double quotes. Invalid UTF-8 is replaced. Threads: pure.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace arrow {
class Array;
}  // namespace arrow

namespace millrace::arrays {

/// Value texts are cut after so many bytes, at a character, and end with "…" then.
inline constexpr std::size_t kValueTextBytes = 200;

/// At most `bytesMax` bytes of whole characters, with "…" where more was cut; what is not UTF-8 is
/// replaced.
std::string shownText(std::string_view text, std::size_t bytesMax);

/// The value of a row that is not null; nulls inside lists are "null".
std::string valueText(const arrow::Array& values, std::int64_t row,
                      std::size_t bytesMax = kValueTextBytes);

}  // namespace millrace::arrays

#pragma once
// Values of columns as text for people, in previews and statistics.
//
// Numbers in shortest round-trip form, dates "2024-01-31", times "2024-01-31 12:00:00.5", lists
// "[1, 2, 3]" with texts in double quotes. Invalid UTF-8 is replaced. Threads: pure.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <arrow/type_fwd.h>

namespace millrace::arrays {

/// Longer value texts are cut at a character before this many bytes and end with "…".
inline constexpr std::size_t kValueTextBytes = 200;

/// At most `bytesMax` bytes of whole characters, with "…" if more was cut; replaces invalid UTF-8.
std::string shownText(std::string_view text, std::size_t bytesMax);

/// The value of a row that is not null; nulls inside lists are "null".
std::string valueText(const arrow::Array& values, std::int64_t row,
                      std::size_t bytesMax = kValueTextBytes);

}  // namespace millrace::arrays

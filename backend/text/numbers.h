#pragma once
// Numbers in texts, as std::from_chars reads them: without blanks, plus or a locale.
//
// Threads: pure.
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace millrace {

/// The number that the whole text is; nothing for other texts and for numbers that T cannot hold.
template <class T>
std::optional<T> parseNumber(std::string_view text) {
    T number{};
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

}  // namespace millrace

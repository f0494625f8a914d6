#pragma once
// Converts bytes from outside (logs, files, last words) to valid UTF-8, which proto strings, the
// store and terminals require.
//
// Pure functions. Failure: none.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

bool isUtf8(std::string_view bytes);
/// Number of bytes before the first invalid sequence; all bytes if every sequence is valid.
std::size_t utf8Prefix(std::string_view bytes);

/// The text with each invalid sequence replaced by U+FFFD (Unicode's "maximal subparts"), cut after
/// the last whole code point within `mostBytes`.
std::string toUtf8(std::string_view bytes, std::size_t mostBytes = std::string::npos);

/// Unicode's Bidi_Control: such a character moves the text after it elsewhere in the line.
inline constexpr std::u16string_view kBidiControls =
    u"\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069";

/// The first position at which a text is not UTF-8.
struct BadByte {
    int line = 1, column = 1;  ///< from 1; the column counts code points
    unsigned char byte = 0;
};
std::optional<BadByte> findBadByte(std::string_view text);

}  // namespace millrace

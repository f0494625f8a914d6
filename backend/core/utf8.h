#pragma once
// The wall between bytes from outside (logs, files, last words) and text: proto strings, the store
// and terminals hold valid UTF-8 only.
//
// Pure functions. Failure: none.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

bool isUtf8(std::string_view bytes);
/// Bytes before the first sequence that is no UTF-8; all when there is none.
std::size_t utf8Prefix(std::string_view bytes);

/// The same text with U+FFFD in place of each sequence that is no UTF-8 (Unicode's "maximal
/// subparts"), cut behind the last whole code point within `mostBytes`.
std::string toUtf8(std::string_view bytes, std::size_t mostBytes = std::string::npos);

/// Where a text stops being UTF-8.
struct BadByte {
    int line = 1, column = 1;  ///< from 1; the column counts code points
    unsigned char byte = 0;
};
std::optional<BadByte> findBadByte(std::string_view text);

}  // namespace millrace

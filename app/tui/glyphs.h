#pragma once
// Text as terminal columns, for all terminal output: control characters removed, cut and padded by
// width.
//
// Threads: any. Failure: none; invalid UTF-8 and control characters become '?' or blanks, so that
// neither a run's name nor a log line can move the cursor or switch a colour.
#include <string>
#include <string_view>
#include <vector>

namespace millrace::tui {

/// A character with its combining marks, and its width in columns (1 or 2).
struct Glyph {
    std::string_view bytes;
    int width = 1;
};

/// `text` must be printable(): the glyphs borrow from it.
std::vector<Glyph> glyphsOf(std::string_view text);

/// Tabs and line ends become one blank, other control characters and invalid bytes '?'. Without
/// `isUtf8` every non-ASCII character becomes a look-alike or '?'.
std::string printable(std::string_view text, bool isUtf8 = true);

/// At most `width` columns; a cut is marked by "…" (or ".." in ASCII), in the middle or at the end.
std::string elideMiddle(std::string_view text, int width, bool isUtf8 = true);
std::string elideEnd(std::string_view text, int width, bool isUtf8 = true);

/// Adds blanks up to `width` columns; longer text is unchanged.
std::string padRight(std::string_view text, int width);
std::string padLeft(std::string_view text, int width);

}  // namespace millrace::tui

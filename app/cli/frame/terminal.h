#pragma once
// The capabilities of the output: width, colours, characters.
//
// NO_COLOR (any value) and TERM=dumb switch colours off; --color always|never overrides both.
// COLUMNS overrides the terminal's own width. A pipe has no width: nothing is cut.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/tui/tone.h"

namespace millrace::cli {

enum class ColorChoice { kAuto, kAlways, kNever };

struct Terminal {
    bool isTty = false;
    int width = 0;   ///< columns; 0: unlimited
    int colors = 0;  ///< 0, 8 or 256
    bool isUtf8 = true;
};

using Environment = std::function<std::string(const char* name)>;
/// This process's variables; "" if unset.
std::string processEnvironment(const char* name);

/// Decided by the environment; `isTty`: whether colours may be used without --color always.
int colorsOf(ColorChoice color, bool isTty, const Environment& environment);
/// With the colours of ColorChoice::kAuto.
Terminal detectTerminal(int fd, const Environment& environment);

/// `text` in the tone's colour, or unchanged without colours.
std::string paint(const Terminal& terminal, tui::Tone tone, std::string_view text);
/// `text` in characters that the terminal can show.
std::string shown(const Terminal& terminal, std::string_view text);
/// Breaks text into lines of at most `width` columns; 0: one line.
std::vector<std::string> wrapped(const std::string& text, int width);

}  // namespace millrace::cli

#pragma once
// What the reader of the output can show: width, colours, characters.
//
// NO_COLOR (any value) and TERM=dumb switch colours off, --color always|never decides over both.
// COLUMNS decides over the terminal's own width. A pipe has no width: nothing is cut.
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
/// This process's variables; "" where unset.
std::string processEnvironment(const char* name);

/// The environment decides; `isTty`: whether colours may be shown at all without being asked for.
int colorsOf(ColorChoice color, bool isTty, const Environment& environment);
/// With the colours of ColorChoice::kAuto.
Terminal detectTerminal(int fd, const Environment& environment);

/// `text` in the tone's colour, or as it is where there are none.
std::string paint(const Terminal& terminal, tui::Tone tone, std::string_view text);
/// `text` in characters that the terminal shows.
std::string shown(const Terminal& terminal, std::string_view text);
/// Words in lines of at most `width` columns; 0: one line.
std::vector<std::string> wrapped(const std::string& text, int width);

}  // namespace millrace::cli

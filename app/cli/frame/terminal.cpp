#include "app/cli/frame/terminal.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>

#include <sys/ioctl.h>
#include <unistd.h>

#include "app/tui/glyphs.h"
#include "backend/core/status.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

int widthOf(int fd, bool isTty, const Environment& environment) {
    const int columns = std::atoi(environment("COLUMNS").c_str());
    if (columns > 0) {
        return std::clamp(columns, 20, 1000);
    }
    winsize size{};
    if (isTty && ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return std::max<int>(20, size.ws_col);
    }
    return isTty ? 80 : 0;
}

bool isUtf8Locale(const Environment& environment) {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        std::string value = environment(name);
        if (value.empty()) {
            continue;
        }
        std::ranges::transform(value, value.begin(),
                               [](unsigned char c) { return std::tolower(c); });
        return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
    }
    return false;
}

// After Okabe and Ito: 256-colour and 8-colour codes.
struct Code {
    const char* rich;
    const char* plain;
};
Code codeOf(tui::Tone tone) {
    switch (tone) {
        case tui::Tone::kDim:
            return {"2", "2"};
        case tui::Tone::kStrong:
            return {"1", "1"};
        case tui::Tone::kGood:
            return {"38;5;36", "32"};
        case tui::Tone::kBad:
            return {"38;5;166", "31"};
        case tui::Tone::kWarn:
            return {"38;5;178", "33"};
        case tui::Tone::kInfo:
            return {"38;5;74", "36"};
        case tui::Tone::kAccent:
            return {"38;5;175", "35"};
        case tui::Tone::kBar:
            return {"7", "7"};
        case tui::Tone::kPlain:
            break;
    }
    return {"", ""};
}

}  // namespace

std::string processEnvironment(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

int colorsOf(ColorChoice color, bool isTty, const Environment& environment) {
    const std::string term = environment("TERM");
    const bool isFine = isTty && term != "dumb" && environment("NO_COLOR").empty();
    if (color == ColorChoice::kNever || (color == ColorChoice::kAuto && !isFine)) {
        return 0;
    }
    const bool isRich =
        term.find("256color") != std::string::npos || !environment("COLORTERM").empty();
    return isRich ? 256 : 8;
}

Terminal detectTerminal(int fd, const Environment& environment) {
    Terminal terminal;
    terminal.isTty = ::isatty(fd) != 0;
    terminal.width = widthOf(fd, terminal.isTty, environment);
    terminal.isUtf8 = isUtf8Locale(environment);
    terminal.colors = colorsOf(ColorChoice::kAuto, terminal.isTty, environment);
    return terminal;
}

std::string paint(const Terminal& terminal, tui::Tone tone, std::string_view text) {
    const Code code = codeOf(tone);
    const char* chosen = terminal.colors >= 256 ? code.rich : code.plain;
    if (terminal.colors == 0 || *chosen == 0 || text.empty()) {
        return std::string(text);
    }
    return strCat("\x1b[", chosen, "m", text, "\x1b[0m");
}

std::string shown(const Terminal& terminal, std::string_view text) {
    return tui::printable(text, terminal.isUtf8);
}

std::vector<std::string> wrapped(const std::string& text, int width) {
    std::vector<std::string> lines(1);
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        const int used = displayWidth(lines.back());
        if (width > 0 && used > 0 && used + 1 + displayWidth(word) > width) {
            lines.emplace_back();
        }
        strAppend(&lines.back(), lines.back().empty() ? "" : " ", word);
    }
    return lines;
}

}  // namespace millrace::cli

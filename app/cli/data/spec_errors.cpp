#include "app/cli/data/spec_errors.h"

#include <algorithm>

#include "app/tui/glyphs.h"
#include "backend/core/status.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

constexpr std::size_t kErrorsShown = 20;

std::string lineOf(const std::string& text, int number) {
    std::size_t at = 0;
    for (int line = 1; line < number && at != std::string::npos; ++line) {
        at = text.find('\n', at);
        at = at == std::string::npos ? at : at + 1;
    }
    return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
}

// The source line with a caret below; a long line is cut around the column.
std::string excerpt(const std::string& line, int column, const Terminal& terminal) {
    if (line.empty()) {
        return "";
    }
    const int room = std::max(30, (terminal.width > 0 ? terminal.width : 120) - 4);
    const std::size_t at = std::min(line.size(), static_cast<std::size_t>(std::max(1, column) - 1));
    std::string head = shown(terminal, line.substr(0, at));
    std::string tail = shown(terminal, line.substr(at));
    if (displayWidth(head) > room * 2 / 3) {
        std::string kept;
        const std::vector<tui::Glyph> glyphs = tui::glyphsOf(head);
        const auto keep = static_cast<std::size_t>(room / 2);
        for (std::size_t i = glyphs.size() - std::min(keep, glyphs.size()); i < glyphs.size();
             ++i) {
            kept += glyphs[i].bytes;
        }
        head = (terminal.isUtf8 ? "…" : "..") + kept;
    }
    tail = tui::elideEnd(tail, room - displayWidth(head), terminal.isUtf8);
    std::string text = "    " + head + tail + "\n";
    if (column > 0) {
        text += "    " + std::string(static_cast<std::size_t>(displayWidth(head)), ' ') +
                paint(terminal, tui::Tone::kGood, "^") + "\n";
    }
    return text;
}

}  // namespace

std::string describe(const std::vector<values::SpecError>& errors, const std::string& fileName,
                     const std::string& specText, const char* word, const Terminal& terminal,
                     bool hasSets) {
    std::string text;
    const bool isError = std::string_view(word) == "error";
    for (std::size_t i = 0; i < errors.size() && i < kErrorsShown; ++i) {
        const values::SpecError& error = errors[i];
        std::string place = error.file.empty() ? fileName : error.file;
        if (error.line == 0 && hasSets) {
            place += " with --set";
        }
        if (error.line > 0) {
            strAppend(&place, ":", error.line);
            if (error.column > 0) {
                strAppend(&place, ":", error.column);
            }
        }
        const tui::Tone tone = isError ? tui::Tone::kBad : tui::Tone::kWarn;
        text += paint(terminal, tui::Tone::kStrong, shown(terminal, place) + ":") + " " +
                (isError ? "" : paint(terminal, tone, "warning: ")) +
                shown(terminal, error.message) + "\n";
        if (error.line > 0 && (error.file.empty() || error.file == fileName)) {
            text += excerpt(lineOf(specText, error.line), error.column, terminal);
        }
    }
    if (errors.size() > kErrorsShown) {
        strAppend(&text, "and ", errors.size() - kErrorsShown, " more\n");
    }
    return text;
}

}  // namespace millrace::cli

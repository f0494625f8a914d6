#include "app/tui/glyphs.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "backend/text/text.h"
#include "backend/text/utf8.h"

namespace millrace::tui {
namespace {

std::size_t sequenceLength(unsigned char first) {
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xc2 && first < 0xe0) {
        return 2;
    }
    if (first >= 0xe0 && first < 0xf0) {
        return 3;
    }
    return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

// The length in bytes of the valid character at `at`, or 0.
std::size_t validLength(std::string_view text, std::size_t at) {
    const std::size_t length = sequenceLength(static_cast<unsigned char>(text[at]));
    if (length == 0 || at + length > text.size()) {
        return 0;
    }
    for (std::size_t k = 1; k < length; ++k) {
        if ((static_cast<unsigned char>(text[at + k]) & 0xc0) != 0x80) {
            return 0;
        }
    }
    return length;
}

// `glyph`: one valid character.
bool isBidiControl(std::string_view glyph) {
    char16_t code = static_cast<unsigned char>(glyph.front()) & (glyph.size() == 2 ? 0x1f : 0x0f);
    for (const char c : glyph.substr(1)) {
        code = static_cast<char16_t>(code << 6 | (static_cast<unsigned char>(c) & 0x3f));
    }
    const bool isInPlane = glyph.size() == 2 || glyph.size() == 3;
    return isInPlane && kBidiControls.find(code) != std::u16string_view::npos;
}

std::string_view asciiFor(std::string_view glyph) {
    static constexpr std::pair<std::string_view, std::string_view> kLookAlikes[] = {
        {"…", ".."}, {"–", "-"}, {"—", "-"}, {"─", "-"}, {"│", "|"},  {"•", "*"},  {"·", "."},
        {"×", "x"},  {"→", ">"}, {"✓", "+"}, {"±", "~"}, {"≠", "!="}, {"≤", "<="}, {"≥", ">="},
    };
    for (const auto& [from, to] : kLookAlikes) {
        if (glyph == from) {
            return to;
        }
    }
    return "?";
}

std::string cut(std::string_view text, int head, int tail, std::string_view mark) {
    const std::vector<Glyph> glyphs = glyphsOf(text);
    std::string out;
    int used = 0;
    for (const Glyph& glyph : glyphs) {
        if (used + glyph.width > head) {
            break;
        }
        used += glyph.width;
        out += glyph.bytes;
    }
    out += mark;
    std::string end;
    used = 0;
    for (auto glyph = glyphs.rbegin(); glyph != glyphs.rend(); ++glyph) {
        if (used + glyph->width > tail) {
            break;
        }
        used += glyph->width;
        end.insert(0, glyph->bytes);
    }
    return out + end;
}

std::string elide(std::string_view text, int width, bool isUtf8, bool isMiddle) {
    if (displayWidth(text) <= width) {
        return std::string(text);
    }
    const std::string_view mark = isUtf8 ? "…" : "..";
    const int room = width - (isUtf8 ? 1 : 2);
    if (room < 1) {
        return width <= 0 ? "" : std::string(isUtf8 ? mark : mark.substr(0, width));
    }
    const int tail = isMiddle ? room / 2 : 0;
    return cut(text, room - tail, tail, mark);
}

}  // namespace

std::vector<Glyph> glyphsOf(std::string_view text) {
    std::vector<Glyph> glyphs;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = std::max<std::size_t>(1, validLength(text, at));
        const std::string_view bytes = text.substr(at, length);
        const int width = displayWidth(bytes);
        if (width == 0 && !glyphs.empty()) {
            std::string_view& last = glyphs.back().bytes;
            last = {last.data(), last.size() + length};
        } else {
            glyphs.push_back({bytes, std::max(1, width)});
        }
        at += length;
    }
    return glyphs;
}

std::string printable(std::string_view text, bool isUtf8) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const auto c = static_cast<unsigned char>(text[at]);
        const std::size_t length = validLength(text, at);
        if (c == '\t' || c == '\n' || c == '\r') {
            out += ' ';
        } else if (c < 0x20 || c == 0x7f || length == 0 ||
                   (c == 0xc2 && length == 2 && static_cast<unsigned char>(text[at + 1]) < 0xa0) ||
                   isBidiControl(text.substr(at, length))) {
            out += '?';
        } else if (length > 1 && !isUtf8) {
            out += asciiFor(text.substr(at, length));
        } else {
            out += text.substr(at, length);
        }
        at += std::max<std::size_t>(1, length);
    }
    return out;
}

std::string elideMiddle(std::string_view text, int width, bool isUtf8) {
    return elide(text, width, isUtf8, true);
}

std::string elideEnd(std::string_view text, int width, bool isUtf8) {
    return elide(text, width, isUtf8, false);
}

std::string padRight(std::string_view text, int width) {
    return std::string(text) + std::string(std::max(0, width - displayWidth(text)), ' ');
}

std::string padLeft(std::string_view text, int width) {
    return std::string(std::max(0, width - displayWidth(text)), ' ') + std::string(text);
}

}  // namespace millrace::tui

#include "app/tui/cell_grid.h"

#include <algorithm>

#include "app/tui/glyphs.h"
#include "backend/text/text.h"

namespace millrace::tui {

CellGrid::CellGrid(int width, int height, bool isUtf8)
    : width_(std::clamp(width, 1, 2000)),
      height_(std::clamp(height, 1, 1000)),
      isUtf8_(isUtf8),
      cells_(static_cast<std::size_t>(width_ * height_)) {}

Cell* CellGrid::cell(int x, int y) {
    const bool isInside = x >= 0 && x < width_ && y >= 0 && y < height_;
    return isInside ? &cells_[static_cast<std::size_t>(y * width_ + x)] : nullptr;
}

int CellGrid::put(int x, int y, std::string_view text, Tone tone, int end) {
    const int limit = end < 0 ? width_ : std::min(end, width_);
    if (y < 0 || y >= height_ || x >= limit || x < 0) {
        return x;
    }
    const std::string clean = elideEnd(printable(text, isUtf8_), limit - x, isUtf8_);
    for (const Glyph& glyph : glyphsOf(clean)) {
        if (x + glyph.width > limit) {
            break;
        }
        *cell(x, y) = {std::string(glyph.bytes), tone};
        if (glyph.width == 2) {
            *cell(x + 1, y) = {"", tone};
        }
        x += glyph.width;
    }
    return x;
}

void CellGrid::putRight(int end, int y, std::string_view text, Tone tone) {
    put(std::max(0, end - displayWidth(printable(text, isUtf8_))), y, text, tone, end);
}

void CellGrid::fill(const Rect& rect, std::string_view glyph, Tone tone) {
    for (int y = rect.y; y < rect.bottom(); ++y) {
        for (int x = rect.x; x < rect.right(); ++x) {
            set(x, y, glyph, tone);
        }
    }
}

void CellGrid::rule(int x, int y, int width, std::string_view title, Tone tone) {
    fill({x, y, width, 1}, isUtf8_ ? "─" : "-", tone);
    if (!title.empty() && width > 6) {
        const int end = put(x + 3, y, title, Tone::kStrong, x + width - 2);
        set(x + 2, y, " ", tone);
        set(end, y, " ", tone);
    }
}

void CellGrid::set(int x, int y, std::string_view glyph, Tone tone) {
    if (Cell* target = cell(x, y)) {
        *target = {std::string(glyph), tone};
    }
}

std::vector<std::string> CellGrid::lines() const {
    std::vector<std::string> lines;
    for (int y = 0; y < height_; ++y) {
        std::string line;
        for (int x = 0; x < width_; ++x) {
            line += at(x, y).text;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        lines.push_back(std::move(line));
    }
    return lines;
}

std::string CellGrid::text() const {
    std::string all;
    for (const std::string& line : lines()) {
        all += line + "\n";
    }
    return all;
}

}  // namespace millrace::tui

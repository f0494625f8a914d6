#pragma once
// CellGrid: the picture that a terminal view draws, in memory: cells with a character and a tone.
//
// Views draw into a CellGrid; a Screen shows it. So a view is tested without a terminal. Drawing
// outside the grid is cut off, never an error. Threads: one owner; copy it freely.
#include <string>
#include <string_view>
#include <vector>

#include "app/tui/tone.h"

namespace millrace::tui {

struct Rect {
    int x = 0, y = 0, width = 0, height = 0;
    int right() const { return x + width; }
    int bottom() const { return y + height; }
};

struct Cell {
    std::string text = " ";  ///< one character; empty: the right half of a wide one
    Tone tone = Tone::kPlain;
    bool operator==(const Cell&) const = default;
};

class CellGrid {
 public:
    CellGrid(int width, int height, bool isUtf8 = true);

    int width() const { return width_; }
    int height() const { return height_; }
    bool isUtf8() const { return isUtf8_; }
    Rect area() const { return {0, 0, width_, height_}; }
    const Cell& at(int x, int y) const { return cells_[static_cast<std::size_t>(y * width_ + x)]; }

    /// Writes `text` (made printable) from (x, y) up to column `end` (default: the grid's edge).
    /// Text that does not fit is cut with "…". Returns the column after the last one written.
    int put(int x, int y, std::string_view text, Tone tone = Tone::kPlain, int end = -1);
    /// Writes `text` so that it ends before column `end`.
    void putRight(int end, int y, std::string_view text, Tone tone = Tone::kPlain);
    void fill(const Rect& rect, std::string_view glyph, Tone tone);
    /// A horizontal rule with a title in it: "─ Loss ─────".
    void rule(int x, int y, int width, std::string_view title, Tone tone = Tone::kDim);
    /// Sets one cell; `glyph` is one character of one column.
    void set(int x, int y, std::string_view glyph, Tone tone);

    /// The rows as text, without trailing blanks: for tests and for plain output.
    std::vector<std::string> lines() const;
    std::string text() const;

 private:
    Cell* cell(int x, int y);

    int width_, height_;
    bool isUtf8_;
    std::vector<Cell> cells_;
};

}  // namespace millrace::tui

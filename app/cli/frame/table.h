#pragma once
// Tables that fit the terminal: numbers on the right and never cut, text cut in the middle. If that
// is not enough, the least important columns are omitted.
//
// Failure: none. Cells may hold any text; it is made printable.
#include <string>
#include <vector>

#include "app/cli/frame/terminal.h"
#include "app/tui/tone.h"

namespace millrace::cli {

enum class Align { kLeft, kRight };

struct Column {
    std::string title;
    Align align = Align::kLeft;
    int minWidth = 8;      ///< text is not cut below this while other columns can be omitted
    int drop = 0;          ///< 0: never omitted; the highest goes first
    bool cutsEnd = false;  ///< sentences lose their end, names their middle
};

struct TableCell {
    TableCell(std::string t, tui::Tone n = tui::Tone::kPlain) : text(std::move(t)), tone(n) {}
    TableCell(const char* t) : text(t) {}
    std::string text;
    tui::Tone tone = tui::Tone::kPlain;
};

class Table {
 public:
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
    /// One cell per column; missing ones are empty.
    void add(std::vector<TableCell> row);
    bool isEmpty() const { return rows_.empty(); }
    /// Lines with line ends; the first has the titles. If there are rows, columns
    /// without any text are omitted.
    std::string render(const Terminal& terminal) const;

 private:
    std::vector<int> naturalWidths(const Terminal& terminal) const;
    void fit(std::vector<int>& widths, int limit) const;

    std::vector<Column> columns_;
    std::vector<std::vector<TableCell>> rows_;
};

}  // namespace millrace::cli

#include "app/cli/frame/table.h"

#include <algorithm>

#include "app/tui/glyphs.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

constexpr int kGap = 2;
constexpr int kNarrowest = 3;
constexpr int kLeftOut = 0;

int totalOf(const std::vector<int>& widths) {
    int total = -kGap;
    for (const int width : widths) {
        total += width == kLeftOut ? 0 : width + kGap;
    }
    return total;
}

}  // namespace

void Table::add(std::vector<TableCell> row) {
    row.resize(columns_.size(), TableCell(""));
    rows_.push_back(std::move(row));
}

std::vector<int> Table::naturalWidths(const Terminal& terminal) const {
    std::vector<int> widths;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        int width = 0;
        for (const auto& row : rows_) {
            width = std::max(width, displayWidth(shown(terminal, row[c].text)));
        }
        const bool isUseless = width == 0 && columns_[c].drop > 0 && !rows_.empty();
        widths.push_back(isUseless ? kLeftOut : std::max(width, displayWidth(columns_[c].title)));
    }
    return widths;
}

// First shrinks text columns to their minimum, the widest first; then omits columns; then shrinks
// text as far as possible.
void Table::fit(std::vector<int>& widths, int limit) const {
    const std::vector<int> natural = widths;
    const auto shrinkTo = [&](bool isLast) {
        while (totalOf(widths) > limit) {
            int widest = -1;
            for (std::size_t c = 0; c < widths.size(); ++c) {
                const int least = isLast ? kNarrowest : columns_[c].minWidth;
                const bool canShrink = columns_[c].align == Align::kLeft && widths[c] > least;
                if (canShrink && (widest < 0 || widths[c] > widths[widest])) {
                    widest = static_cast<int>(c);
                }
            }
            if (widest < 0) {
                return;
            }
            --widths[widest];
        }
    };
    shrinkTo(false);
    while (totalOf(widths) > limit) {
        int victim = -1;
        for (std::size_t c = 0; c < widths.size(); ++c) {
            const bool mayGo = columns_[c].drop > 0 && widths[c] != kLeftOut;
            if (mayGo && (victim < 0 || columns_[c].drop >= columns_[victim].drop)) {
                victim = static_cast<int>(c);
            }
        }
        if (victim < 0) {
            shrinkTo(true);
            return;
        }
        widths[victim] = kLeftOut;
        for (std::size_t c = 0; c < widths.size(); ++c) {
            widths[c] = widths[c] == kLeftOut ? kLeftOut : natural[c];
        }
        shrinkTo(false);
    }
}

std::string Table::render(const Terminal& terminal) const {
    std::vector<int> widths = naturalWidths(terminal);
    if (terminal.width > 0) {
        fit(widths, terminal.width);
    }
    std::string text;
    const auto line = [&](const auto& cellAt) {
        std::string plain, painted;
        for (std::size_t c = 0; c < columns_.size(); ++c) {
            if (widths[c] == kLeftOut) {
                continue;
            }
            const TableCell cell = cellAt(c);
            const auto elide = columns_[c].cutsEnd ? tui::elideEnd : tui::elideMiddle;
            const std::string cut = elide(shown(terminal, cell.text), widths[c], terminal.isUtf8);
            const int blanks = std::max(0, widths[c] - displayWidth(cut));
            const std::string padding(static_cast<std::size_t>(blanks), ' ');
            const bool isRight = columns_[c].align == Align::kRight;
            painted += plain.empty() ? "" : std::string(kGap, ' ');
            painted += isRight ? padding + paint(terminal, cell.tone, cut)
                               : paint(terminal, cell.tone, cut) + padding;
            plain += "x";
        }
        painted.erase(painted.find_last_not_of(' ') + 1);
        text += painted + "\n";
    };
    line([&](std::size_t c) { return TableCell(columns_[c].title, tui::Tone::kDim); });
    for (const auto& row : rows_) {
        line([&](std::size_t c) { return row[c]; });
    }
    return text;
}

}  // namespace millrace::cli

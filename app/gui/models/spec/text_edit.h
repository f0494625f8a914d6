#pragma once
// Edits of a text as values.
//
// Edits of one call do not overlap and are in the order of the text. Threads: any; pure functions.
#include <QString>
#include <vector>

namespace millrace::gui {

/// Replaces [begin, end) of the text before all edits.
struct TextEdit {
    int begin = 0, end = 0;
    QString text;
    bool operator==(const TextEdit&) const = default;
};
using TextEdits = std::vector<TextEdit>;
QString applyEdits(const QString& text, const TextEdits& edits);

}  // namespace millrace::gui

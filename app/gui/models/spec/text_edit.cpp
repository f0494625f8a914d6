#include "app/gui/models/spec/text_edit.h"

namespace millrace::gui {

QString applyEdits(const QString& text, const TextEdits& edits) {
    QString out = text;
    for (auto edit = edits.rbegin(); edit != edits.rend(); ++edit) {
        out.replace(edit->begin, edit->end - edit->begin, edit->text);
    }
    return out;
}

}  // namespace millrace::gui

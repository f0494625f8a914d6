#include "app/gui/widgets/yaml/find_bar.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QToolButton>

#include "app/gui/widgets/icons.h"
#include "app/gui/widgets/theme.h"
#include "app/gui/widgets/yaml/yaml_editor.h"

namespace millrace::gui {

FindBar::FindBar(YamlEditor* editor, QWidget* parent)
    : QFrame(parent), editor_(*editor), field_(new QLineEdit(this)), count_(new QLabel(this)) {
    setLook(*this, "bar");
    auto* layout =
        boxIn<QHBoxLayout>(this, kStyleSpacing, {kSpaceSmall, kSpaceTiny, kSpaceSmall, kSpaceTiny});
    field_->setPlaceholderText(tr("Find in the spec"));
    field_->setAccessibleName(tr("Find in the spec"));
    field_->setMaximumWidth(360);
    setLook(*count_, "dim");
    auto* next = iconButton(Glyph::kChevronDown, tr("Next (Return)"), this);
    auto* close = iconButton(Glyph::kClose, tr("Close (Escape)"), this);
    layout->addWidget(field_, 1);
    layout->addWidget(next);
    layout->addWidget(count_);
    layout->addStretch(1);
    layout->addWidget(close);
    connect(field_, &QLineEdit::textEdited, this, [this] { step(false, true); });
    connect(next, &QToolButton::clicked, this, [this] { step(false, false); });
    connect(close, &QToolButton::clicked, this, [this] { dismiss(); });
    hide();
}

void FindBar::open() {
    const QString chosen = editor_.textCursor().selectedText();
    if (!chosen.isEmpty() && !chosen.contains(QChar::ParagraphSeparator)) {
        field_->setText(chosen);
    }
    show();
    field_->setFocus();
    field_->selectAll();
    step(false, true);
}

void FindBar::dismiss() {
    editor_.markFound({});
    hide();
    editor_.setFocus();
}

void FindBar::step(bool isBackward, bool fromHere) {
    const QString needle = field_->text();
    editor_.markFound(needle);
    const int count = editor_.countOf(needle);
    count_->setText(needle.isEmpty() ? QString()
                    : count == 0     ? tr("not in the spec")
                    : count == 1     ? tr("1 place")
                                     : tr("%1 places").arg(count));
    editor_.find(needle, isBackward, fromHere);
}

void FindBar::keyPressEvent(QKeyEvent* event) {
    const bool isShift = (event->modifiers() & Qt::ShiftModifier) != 0;
    if (event->key() == Qt::Key_Escape) {
        dismiss();
    } else if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter ||
               event->key() == Qt::Key_F3) {
        step(isShift, false);
    } else {
        QFrame::keyPressEvent(event);
    }
}

}  // namespace millrace::gui

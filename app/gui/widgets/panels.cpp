#include "app/gui/widgets/panels.h"

#include <QAction>
#include <QApplication>
#include <QDialog>
#include <QEvent>
#include <QGraphicsOpacityEffect>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QMessageBox>
#include <QPainter>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/models/run_text.h"
#include "app/gui/widgets/icons.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {

ElidedLabel::ElidedLabel(QWidget* parent, Qt::TextElideMode mode) : QLabel(parent), mode_(mode) {
    setTextFormat(Qt::PlainText);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

void ElidedLabel::setFullText(const QString& text) {
    if (text == fullText_) {
        return;
    }
    fullText_ = text;
    setAccessibleName(text);
    updateGeometry();
    elide();
}

// A few letters: a long name must not force the window's width.
QSize ElidedLabel::minimumSizeHint() const {
    return {fontMetrics().horizontalAdvance(QStringLiteral("abc…")), QLabel::sizeHint().height()};
}

// QLabel would take its size from the elided text, and so could never grow again.
QSize ElidedLabel::sizeHint() const {
    const QMargins m = contentsMargins();
    return {fontMetrics().horizontalAdvance(fullText_) + m.left() + m.right() + 2 * margin() + 2,
            QLabel::sizeHint().height()};
}

void ElidedLabel::resizeEvent(QResizeEvent* event) {
    QLabel::resizeEvent(event);
    elide();
}

void ElidedLabel::changeEvent(QEvent* event) {
    QLabel::changeEvent(event);
    if (event->type() == QEvent::FontChange) {
        updateGeometry();
        elide();
    }
}

void ElidedLabel::elide() {
    const QString shown = fontMetrics().elidedText(fullText_, mode_, contentsRect().width());
    setText(shown);
    setToolTip(shown == fullText_ ? QString() : fullText_);
}

Card::Card(const QString& title, QWidget* parent) : QFrame(parent) {
    setLook(*this, "card");
    auto* all = boxIn<QVBoxLayout>(this, kSpaceSmall,
                                   {kSpaceMedium, kSpaceSmall, kSpaceMedium, kSpaceMedium});
    header_ = boxIn<QHBoxLayout>(nullptr, kSpaceSmall);
    title_ = new ElidedLabel(this, Qt::ElideRight);
    millrace::gui::setLook(*title_, "heading");
    title_->setFullText(title);
    header_->addWidget(title_, 1);
    all->addLayout(header_);
    body_ = boxIn<QVBoxLayout>(nullptr, kSpaceSmall);
    all->addLayout(body_, 1);
}

Figure::Figure(const QString& caption, QWidget* parent) : QWidget(parent) {
    auto* column = boxIn<QVBoxLayout>(this, 1);
    value_ = styled<QLabel>("title", noneText(), this);
    value_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    caption_ = styled<QLabel>("caption", caption, this);
    column->addWidget(value_);
    column->addWidget(caption_);
    setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
}

void Figure::setValue(const QString& value, const QString& toolTip) {
    value_->setText(value.isEmpty() ? noneText() : value);
    setToolTip(toolTip);
}

EmptyState::EmptyState(QWidget* parent) : QWidget(parent) {
    auto* column =
        boxIn<QVBoxLayout>(this, kSpaceMedium, {kSpaceHuge, kSpaceHuge, kSpaceHuge, kSpaceHuge});
    title_ = styled<QLabel>("title", this);
    sentence_ = styled<QLabel>("dim", this);
    command_ = styled<QLabel>("mono", this);
    command_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    command_->hide();
    buttons_ = boxIn<QHBoxLayout>(nullptr, kSpaceSmall);
    // Buttons go between these two stretches, which centre them.
    buttons_->addStretch(1);
    buttons_->addStretch(1);
    column->addStretch(2);
    for (QLabel* label : {title_, sentence_, command_}) {
        label->setAlignment(Qt::AlignCenter);
        label->setWordWrap(true);
        label->setTextFormat(Qt::PlainText);
        column->addWidget(label);
    }
    column->addLayout(buttons_);
    column->addStretch(3);
}

void EmptyState::setText(const QString& title, const QString& sentence) {
    title_->setText(title);
    sentence_->setText(sentence);
    sentence_->setVisible(!sentence.isEmpty());
}

QPushButton* EmptyState::addButton(const QString& text, QObject* context,
                                   std::function<void()> onClick) {
    auto* button = new QPushButton(text, this);
    // Two items are the stretches alone: this is the first button.
    setLook(*button, buttons_->count() == 2 ? "primary" : "");
    buttons_->insertWidget(buttons_->count() - 1, button);
    connect(button, &QPushButton::clicked, context, std::move(onClick));
    return button;
}

void EmptyState::setCommand(const QString& command) {
    command_->setText(command);
    command_->setVisible(!command.isEmpty());
}

MessageStrip::MessageStrip(QWidget* parent) : QFrame(parent) {
    auto* row = boxIn<QHBoxLayout>(
        this, kStyleSpacing, {kSpaceMedium + kSpaceSmall, kSpaceSmall, kSpaceMedium, kSpaceSmall});
    text_ = new QLabel(this);
    text_->setWordWrap(true);
    text_->setTextFormat(Qt::PlainText);
    text_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    row->addWidget(text_, 1);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
    hide();
}

void MessageStrip::setMessage(Tone tone, const QString& sentence) {
    tone_ = tone;
    text_->setText(sentence);
    setAccessibleName(sentence);
    setVisible(!sentence.isEmpty());
    update();
}

void MessageStrip::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(toneBack(tone_, palette()));
    painter.drawRoundedRect(rect(), kCornerRadius, kCornerRadius);
    painter.setBrush(toneColor(tone_, palette()));
    painter.drawRoundedRect(QRectF(5, 6, 3, height() - 12), 1.5, 1.5);
}

SearchField::SearchField(const QString& placeholder, QWidget* parent) : QLineEdit(parent) {
    setPlaceholderText(placeholder);
    setClearButtonEnabled(true);
    // Qt's own picture is for light themes.
    if (auto* clear = findChild<QAction*>(QStringLiteral("_q_qlineeditclearaction"))) {
        clear->setIcon(icon(Glyph::kClose));
    }
    // Room for the glyph that paintEvent() draws.
    setTextMargins(20, 0, 0, 0);
}

void SearchField::paintEvent(QPaintEvent* event) {
    QLineEdit::paintEvent(event);
    QPainter painter(this);
    paintGlyph(painter, QRectF(8, (height() - 14) / 2.0, 14, 14), Glyph::kSearch,
               colorsOf(palette()).faint);
}

// Qt centres the clear button without regard to the style sheet's border.
void SearchField::resizeEvent(QResizeEvent* event) {
    QLineEdit::resizeEvent(event);
    for (QToolButton* button : findChildren<QToolButton*>()) {
        button->move(button->x(), (height() - button->height()) / 2);
    }
}

void SearchField::keyPressEvent(QKeyEvent* event) {
    // An empty field leaves Escape to the page or dialog around it.
    if (event->key() == Qt::Key_Escape && !text().isEmpty()) {
        clear();
        return;
    }
    if (event->key() == Qt::Key_Down) {
        Q_EMIT leftDown();
        return;
    }
    QLineEdit::keyPressEvent(event);
}

DialogButtons addButtons(QDialog& dialog) {
    DialogButtons made{new QHBoxLayout, new QPushButton(&dialog), new QPushButton(&dialog)};
    made.no->setAutoDefault(false);
    setLook(*made.yes, "primary");
    made.yes->setDefault(true);
    made.row->addStretch(1);
    made.row->addWidget(made.no);
    made.row->addWidget(made.yes);
    static_cast<QVBoxLayout*>(dialog.layout())->addLayout(made.row);
    return made;
}

void setDimmed(QWidget& widget, bool isDimmed) {
    if (isDimmed == (widget.graphicsEffect() != nullptr)) {
        return;
    }
    // Only while it is dimmed: a widget with an effect is painted through a pixmap.
    auto* effect = isDimmed ? new QGraphicsOpacityEffect(&widget) : nullptr;
    if (effect != nullptr) {
        effect->setOpacity(kOldOpacity);
    }
    widget.setGraphicsEffect(effect);
}

void askFirst(QWidget* parent, const QString& title, const QString& sentence,
              const QString& yesText, std::function<void()> onYes) {
    auto* box = new QMessageBox(QMessageBox::NoIcon, title, title, QMessageBox::NoButton, parent);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->setTextFormat(Qt::PlainText);
    box->setInformativeText(sentence);
    QPushButton* yes = box->addButton(yesText, QMessageBox::AcceptRole);
    setLook(*yes, "danger");
    QPushButton* keep = box->addButton(QObject::tr("Cancel"), QMessageBox::RejectRole);
    box->setDefaultButton(keep);
    box->setEscapeButton(keep);
    QObject::connect(box, &QMessageBox::buttonClicked, parent,
                     [yes, onYes = std::move(onYes)](QAbstractButton* clicked) {
                         if (clicked == yes) {
                             onYes();
                         }
                     });
    // Returns at once, unlike exec(), whose event loop would let anything happen inside this call.
    // If the parent goes, so does the question, without an answer.
    box->open();
}

}  // namespace millrace::gui

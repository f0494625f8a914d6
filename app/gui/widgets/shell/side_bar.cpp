#include "app/gui/widgets/shell/side_bar.h"

#include <QKeyEvent>
#include <QPainter>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kIconSize = 20, kWidthMin = 72;

}  // namespace

SideButton::SideButton(Glyph glyph, const QString& text, QWidget* parent)
    : QAbstractButton(parent), glyph_(glyph) {
    setText(text);
    setAccessibleName(text);
    setCheckable(true);
    setAutoExclusive(true);
    setAttribute(Qt::WA_Hover);
    setFocusPolicy(Qt::StrongFocus);
    setFont(captionFont(font()));
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

QSize SideButton::sizeHint() const {
    const int width = fontMetrics().horizontalAdvance(text()) + 2 * kSpaceMedium;
    return {std::max(kWidthMin, width), kIconSize + fontMetrics().height() + 22};
}

void SideButton::paintEvent(QPaintEvent*) {
    const ThemeColors& colors = colorsOf(palette());
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF tile = QRectF(rect()).adjusted(6.5, 2.5, -6.5, -2.5);
    painter.setPen(hasFocus() ? QPen(colors.accent, 1.5) : QPen(Qt::NoPen));
    painter.setBrush(isChecked()    ? colors.selection
                     : underMouse() ? mixed(colors.sunken, colors.text, 0.07)
                                    : QColor(Qt::transparent));
    painter.drawRoundedRect(tile, kCornerRadius, kCornerRadius);
    if (isChecked()) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(colors.accent);
        painter.drawRoundedRect(QRectF(0, 10, 3, height() - 20), 1.5, 1.5);
    }
    const QColor color = isChecked() || underMouse() ? colors.text : colors.dim;
    const int top = (height() - kIconSize - fontMetrics().height() - 3) / 2;
    paintGlyph(painter, QRectF((width() - kIconSize) / 2.0, top, kIconSize, kIconSize), glyph_,
               isChecked() ? colors.accent : color);
    painter.setPen(color);
    painter.drawText(QRect(0, top + kIconSize + 3, width(), fontMetrics().height()),
                     Qt::AlignCenter, text());
}

void SideButton::keyPressEvent(QKeyEvent* event) {
    switch (event->key()) {
        case Qt::Key_Up:
            focusNextPrevChild(false);
            return;
        case Qt::Key_Down:
            focusNextPrevChild(true);
            return;
        case Qt::Key_Return:
        case Qt::Key_Enter:
            click();
            return;
        default:
            QAbstractButton::keyPressEvent(event);
    }
}

SideBar::SideBar(QWidget* parent) : QFrame(parent) {
    auto* all = boxIn<QVBoxLayout>(this, 0, {0, kSpaceSmall, 1, kSpaceSmall});
    pages_ = boxIn<QVBoxLayout>(nullptr, 2);
    foot_ = new QVBoxLayout;
    all->addLayout(pages_);
    all->addStretch(1);
    all->addLayout(foot_);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Preferred);
}

void SideBar::addPage(Glyph glyph, const QString& text, const QString& key) {
    auto* button = new SideButton(glyph, text, this);
    button->setToolTip(text + QLatin1String("  ") + key);
    const int page = static_cast<int>(buttons_.size());
    connect(button, &SideButton::clicked, this, [this, page] { Q_EMIT chosen(page); });
    buttons_.push_back(button);
    pages_->addWidget(button);
}

void SideBar::addFootButton(Glyph glyph, const QString& text, const QString& toolTip,
                            QObject* context, std::function<void()> onClick) {
    auto* button = new SideButton(glyph, text, this);
    button->setCheckable(false);
    button->setAutoExclusive(false);
    button->setToolTip(toolTip);
    connect(button, &SideButton::clicked, context, std::move(onClick));
    foot_->addWidget(button);
}

void SideBar::paintEvent(QPaintEvent*) {
    const ThemeColors& colors = colorsOf(palette());
    QPainter painter(this);
    painter.fillRect(rect(), colors.sunken);
    painter.fillRect(QRect(width() - 1, 0, 1, height()), colors.border);
}

}  // namespace millrace::gui

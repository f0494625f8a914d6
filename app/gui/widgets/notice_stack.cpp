#include "app/gui/widgets/notice_stack.h"

#include <QApplication>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QTimerEvent>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/widgets/badge.h"
#include "app/gui/widgets/icons.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kWidth = 440, kTickMs = 500, kInfoMs = 6000, kActionMs = 12'000;

Tone toneOf(Notice::Kind kind) {
    return kind == Notice::Kind::kError  ? Tone::kBad
           : kind == Notice::Kind::kDone ? Tone::kGood
                                         : Tone::kInfo;
}

Glyph glyphOf(Notice::Kind kind) {
    return kind == Notice::Kind::kError  ? Glyph::kWarning
           : kind == Notice::Kind::kDone ? Glyph::kTick
                                         : Glyph::kInfo;
}

}  // namespace

ToastCard::ToastCard(const Notice& notice, QWidget* parent) : QFrame(parent), notice_(notice) {
    setAccessibleName(notice.text);
    auto* row = boxIn<QHBoxLayout>(this, kSpaceSmall, {38, kSpaceSmall, kSpaceSmall, kSpaceSmall});
    auto* text = new QLabel(notice.text, this);
    text->setWordWrap(true);
    text->setTextFormat(Qt::PlainText);
    text->setTextInteractionFlags(Qt::TextSelectableByMouse);
    row->addWidget(text, 1);
    if (!notice.actionText.isEmpty()) {
        auto* action = new QPushButton(notice.actionText, this);
        connect(action, &QPushButton::clicked, this, &ToastCard::act);
        row->addWidget(action);
    }
    auto* close = iconButton(Glyph::kClose, tr("Close"), this);
    close->setAccessibleName(tr("Close this notice"));
    connect(close, &QToolButton::clicked, this, &ToastCard::done);
    row->addWidget(close, 0, Qt::AlignTop);
    if (notice.kind != Notice::Kind::kError) {
        msLeft_ = notice.actionText.isEmpty() ? kInfoMs : kActionMs;
        startTimer(kTickMs);
    }
}

void ToastCard::act() {
    if (notice_.action) {
        notice_.action();
    }
    Q_EMIT done();
}

void ToastCard::timerEvent(QTimerEvent* event) {
    QWidget* focus = QApplication::focusWidget();
    if (underMouse() || (focus != nullptr && isAncestorOf(focus))) {
        return;
    }
    msLeft_ -= kTickMs;
    if (msLeft_ <= 0) {
        killTimer(event->timerId());
        Q_EMIT done();
    }
}

void ToastCard::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Escape) {
        Q_EMIT done();
        return;
    }
    QFrame::keyPressEvent(event);
}

void ToastCard::paintEvent(QPaintEvent*) {
    const ThemeColors& colors = colorsOf(palette());
    const Tone tone = toneOf(notice_.kind);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(toneColor(tone, palette()), 1));
    painter.setBrush(mixed(colors.raised, toneBack(tone, palette()), 0.6));
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), kCornerRadius,
                            kCornerRadius);
    paintGlyph(painter, QRectF(12, height() / 2.0 - 8, 16, 16), glyphOf(notice_.kind),
               toneColor(tone, palette()));
}

NoticeStack::NoticeStack(QWidget* area) : QWidget(area) {
    column_ = boxIn<QVBoxLayout>(this, kSpaceSmall);
    area->installEventFilter(this);
    hide();
}

void NoticeStack::add(const Notice& notice) {
    // A repeated sentence stays one notice.
    for (ToastCard* card : std::vector<ToastCard*>(cards_)) {
        if (card->notice().text == notice.text && card->notice().kind == notice.kind) {
            drop(card);
        }
    }
    if (static_cast<int>(cards_.size()) >= kMostShown) {
        const auto old = std::ranges::find_if(cards_, [](const ToastCard* card) {
            return card->notice().kind != Notice::Kind::kError;
        });
        drop(old == cards_.end() ? cards_.front() : *old);
    }
    auto* card = new ToastCard(notice, this);
    connect(card, &ToastCard::done, this, [this, card] { drop(card); });
    cards_.push_back(card);
    column_->addWidget(card);
    card->show();
    place();
}

void NoticeStack::drop(ToastCard* card) {
    const auto at = std::ranges::find(cards_, card);
    if (at == cards_.end()) {
        return;
    }
    cards_.erase(at);
    column_->removeWidget(card);
    card->hide();
    card->deleteLater();
    place();
}

ToastCard* NoticeStack::newestAction() const {
    const auto at = std::find_if(cards_.rbegin(), cards_.rend(), [](const ToastCard* card) {
        return !card->notice().actionText.isEmpty();
    });
    return at == cards_.rend() ? nullptr : *at;
}

void NoticeStack::closeNewest() {
    if (!cards_.empty()) {
        drop(cards_.back());
    }
}

void NoticeStack::place() {
    setVisible(!cards_.empty());
    if (cards_.empty()) {
        return;
    }
    const QWidget* area = parentWidget();
    const int width = std::min(kWidth, area->width() - 2 * kSpaceLarge);
    const int height = std::min(column_->heightForWidth(width) > 0 ? column_->heightForWidth(width)
                                                                   : column_->sizeHint().height(),
                                area->height() - kSpaceLarge);
    int bottom = area->height();
    for (const QWidget* foot : area->findChildren<QWidget*>(QLatin1String(kFoot))) {
        bottom = foot->isVisible() ? std::min(bottom, foot->mapTo(area, QPoint()).y()) : bottom;
    }
    setGeometry(area->width() - width - kSpaceLarge, std::max(0, bottom - height - kSpaceLarge),
                width, height);
    raise();
}

bool NoticeStack::eventFilter(QObject* watched, QEvent* event) {
    if (watched == parentWidget() && event->type() == QEvent::Resize) {
        place();
    }
    return QWidget::eventFilter(watched, event);
}

}  // namespace millrace::gui

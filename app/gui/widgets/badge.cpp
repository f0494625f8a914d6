#include "app/gui/widgets/badge.h"

#include <QFontMetrics>
#include <QPaintEvent>
#include <algorithm>
#include <utility>

#include "app/gui/models/run_text.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kSide = 8, kMarkSize = 8, kMarkGap = 6;

QPen linePen(const QColor& color, double width) {
    return {color, width, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin};
}

void paintCrossing(QPainter& painter, const QRectF& r, Mark mark) {
    if (mark == Mark::kTick) {
        const QPointF points[] = {{r.left(), r.center().y()},
                                  {r.left() + r.width() * 0.38, r.bottom() - r.height() * 0.1},
                                  {r.right(), r.top() + r.height() * 0.1}};
        painter.drawPolyline(points, 3);
    } else if (mark == Mark::kCross) {
        painter.drawLine(r.topLeft(), r.bottomRight());
        painter.drawLine(r.topRight(), r.bottomLeft());
    } else {
        painter.drawLine(QPointF(r.left(), r.center().y()), QPointF(r.right(), r.center().y()));
    }
}

}  // namespace

BadgeLook badgeOf(values::RunState state) {
    const std::string_view name = values::nameOf(state);
    const QString text = qtext(name);
    switch (state) {
        case values::RunState::kQueued:
            return {text, Tone::kNeutral, Mark::kRing};
        case values::RunState::kStarting:
            return {text, Tone::kInfo, Mark::kHalf};
        case values::RunState::kRunning:
            return {text, Tone::kInfo, Mark::kDot};
        case values::RunState::kStopping:
            return {text, Tone::kWarn, Mark::kHalf};
        case values::RunState::kFinished:
            return {text, Tone::kGood, Mark::kTick};
        case values::RunState::kFailed:
            return {text, Tone::kBad, Mark::kCross};
        case values::RunState::kCancelled:
            return {text, Tone::kNeutral, Mark::kDash};
        case values::RunState::kUnknown:
            break;
    }
    return {text, Tone::kNeutral, Mark::kNone};
}

BadgeLook badgeOf(const values::RunSummary& run) {
    BadgeLook look = badgeOf(run.state);
    if (run.isStalled() || run.isPurged()) {
        const std::string_view word = run.stateWord();
        return {qtext(word), run.isPurged() ? Tone::kNeutral : Tone::kBad, Mark::kDash};
    }
    if (!run.trouble.empty() && !values::isEnded(run.state)) {
        look.tone = Tone::kWarn;
    }
    return look;
}

namespace {

/// Returns the colours of text and of the ground behind it.
std::pair<QColor, QColor> toneColors(Tone tone, const ThemeColors& c) {
    switch (tone) {
        case Tone::kGood:
            return {c.good, c.goodBack};
        case Tone::kWarn:
            return {c.warn, c.warnBack};
        case Tone::kBad:
            return {c.bad, c.badBack};
        case Tone::kInfo:
            return {c.info, c.infoBack};
        case Tone::kNeutral:
            break;
    }
    return {c.dim, c.neutralBack};
}

}  // namespace

QColor toneColor(Tone tone, const QPalette& palette) {
    return toneColors(tone, colorsOf(palette)).first;
}

QColor toneBack(Tone tone, const QPalette& palette) {
    return toneColors(tone, colorsOf(palette)).second;
}

void paintMark(QPainter& painter, const QRectF& square, Mark mark, const QColor& color) {
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF r = square.adjusted(0.5, 0.5, -0.5, -0.5);
    painter.setPen(mark == Mark::kDot ? QPen(Qt::NoPen) : linePen(color, 1.6));
    painter.setBrush(mark == Mark::kDot ? QBrush(color) : QBrush(Qt::NoBrush));
    switch (mark) {
        case Mark::kNone:
            break;
        case Mark::kHalf:
            painter.drawEllipse(r);
            painter.setBrush(color);
            painter.drawPie(r, 90 * 16, 180 * 16);
            break;
        case Mark::kDot:
        case Mark::kRing:
            painter.drawEllipse(r);
            break;
        case Mark::kTick:
        case Mark::kCross:
        case Mark::kDash:
            paintCrossing(painter, r, mark);
            break;
    }
    painter.restore();
}

QSize badgeSize(const BadgeLook& look, const QFont& font) {
    const QFontMetrics metrics(captionFont(font));
    const int mark = look.mark == Mark::kNone ? 0 : kMarkSize + kMarkGap;
    return {2 * kSide + mark + metrics.horizontalAdvance(look.text), metrics.height() + 6};
}

void paintBadge(QPainter& painter, const QRect& rect, const BadgeLook& look,
                const QPalette& palette) {
    if (look.text.isEmpty()) {
        return;
    }
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    const QSize size = badgeSize(look, painter.font());
    painter.setFont(captionFont(painter.font()));
    QRect pill(rect.left(), rect.top() + (rect.height() - size.height()) / 2,
               std::min(size.width(), rect.width()), size.height());
    painter.setPen(Qt::NoPen);
    painter.setBrush(toneBack(look.tone, palette));
    painter.drawRoundedRect(pill, pill.height() / 2.0, pill.height() / 2.0);
    const QColor color = toneColor(look.tone, palette);
    QRect text = pill.adjusted(kSide, 0, -kSide, 0);
    if (look.mark != Mark::kNone) {
        paintMark(
            painter,
            QRectF(text.left(), pill.center().y() + 0.5 - kMarkSize / 2.0, kMarkSize, kMarkSize),
            look.mark, color);
        text.setLeft(text.left() + kMarkSize + kMarkGap);
    }
    painter.setPen(color);
    painter.drawText(text, Qt::AlignVCenter | Qt::AlignLeft,
                     painter.fontMetrics().elidedText(look.text, Qt::ElideRight, text.width() + 1));
    painter.restore();
}

Badge::Badge(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

void Badge::setLook(const BadgeLook& look) {
    if (look == look_) {
        return;
    }
    look_ = look;
    setAccessibleName(look.text);
    updateGeometry();
    update();
}

QSize Badge::sizeHint() const {
    return look_.text.isEmpty() ? QSize(0, badgeSize(look_, font()).height())
                                : badgeSize(look_, font());
}

void Badge::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setFont(font());
    paintBadge(painter, rect(), look_, palette());
}

}  // namespace millrace::gui

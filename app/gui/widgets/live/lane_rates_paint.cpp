#include "app/gui/widgets/live/lane_rates_paint.h"

#include <QPainter>
#include <QWidget>
#include <cmath>

#include "app/gui/models/run_text.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

QString shareText(const std::optional<double>& percent) {
    return percent ? percentText(*percent) : noneText();
}

QString leftText(const LaneState& state, std::int64_t nowMs) {
    if (const std::optional<double> left = state.secondsLeft(nowMs)) {
        return durationText(std::ceil(*left) * 1e3);
    }
    return state.isEnded() && state.run.startedMs > 0
               ? QObject::tr("took %1").arg(durationText(state.elapsedMs(nowMs)))
               : QString();
}

// For an active run the stall now, and below it the share of the whole run; for one that has ended
// only the latter.
void paintStall(QPainter& painter, const RatesRow& row, bool isOfNow, const QWidget& in) {
    const ThemeColors& colors = colorsOf(in.palette());
    const LaneColumns& c = row.columns;
    const QRect rect(c.stall, row.rect.top(), c.left - c.stall, row.rect.height());
    const auto text = [&](const QRect& place, const QString& said,
                          const std::optional<double>& stall, const QColor& usual) {
        painter.setPen(stall.value_or(0) >= 20 ? colors.warn : stall ? usual : colors.faint);
        painter.drawText(place, Qt::AlignVCenter | Qt::AlignRight, said);
    };
    const std::optional<double> whole = row.state.run.stallPercent();
    if (!session::isGoing(row.state.run)) {
        return text(rect, shareText(whole), whole, colors.dim);
    }
    const std::optional<double> now = isOfNow ? session::stallNow(row.state.run) : std::nullopt;
    const int half = rect.height() / 2;
    text(rect.adjusted(0, 4, 0, -half), shareText(now), now, colors.text);
    if (whole) {
        painter.setFont(captionFont(in.font()));
        text(rect.adjusted(0, half, 0, -4), QObject::tr("run %1").arg(shareText(whole)), whole,
             colors.dim);
        painter.setFont(in.font());
    }
}

}  // namespace

void paintRates(QPainter& painter, const RatesRow& row, const QWidget& in) {
    const ThemeColors& colors = colorsOf(in.palette());
    const LaneColumns& c = row.columns;
    painter.setFont(in.font());
    const auto value = [&](int from, int to, const QString& text, const QColor& color) {
        painter.setPen(text.isEmpty() ? colors.faint : color);
        painter.drawText(QRect(from, row.rect.top(), to - from, row.rect.height()),
                         Qt::AlignVCenter | Qt::AlignRight, text.isEmpty() ? noneText() : text);
    };
    const bool isOfNow = !row.isAway || row.state.isEnded();
    const std::optional<double> rate = isOfNow ? row.state.run.rate() : std::nullopt;
    // An old rate must not look current: its age is shown instead.
    const auto old = isOfNow ? row.state.oldRatesSeconds(row.nowMs) : std::nullopt;
    if (old) {
        value(c.rate, c.stall, QObject::tr("%1 old").arg(durationText(std::floor(*old) * 1e3)),
              colors.dim);
    } else {
        value(c.rate, c.stall, rate ? shortCountText(*rate) : QString(), colors.text);
    }
    paintStall(painter, row, isOfNow && !old, in);
    if (c.hasLeft) {
        value(c.left, c.button - 6, isOfNow ? leftText(row.state, row.nowMs) : QString(),
              row.state.isEnded() ? colors.dim : colors.text);
    }
}

}  // namespace millrace::gui

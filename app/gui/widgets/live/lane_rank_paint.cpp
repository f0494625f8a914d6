#include "app/gui/widgets/live/lane_rank_paint.h"

#include <QPainter>
#include <QWidget>
#include <limits>

#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/metric_facts.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kIndent = 12;

QColor stateColor(const RankLane& rank, const ThemeColors& colors) {
    if (values::isEnded(rank.view.state) || rank.now.standsSinceMs == 0) {
        return colors.dim;
    }
    return rank.stands() ? colors.bad : colors.warn;
}

void paintRates(QPainter& painter, const RankRow& row, const ThemeColors& colors) {
    const LaneColumns& c = row.columns;
    const auto value = [&](int from, int to, const QString& text, const QColor& color) {
        painter.setPen(text.isEmpty() ? colors.faint : color);
        painter.drawText(QRect(from, row.rect.top(), to - from, row.rect.height()),
                         Qt::AlignVCenter | Qt::AlignRight, text.isEmpty() ? noneText() : text);
    };
    // An old step time must not look current: its age is shown instead.
    if (const QString old = row.rank.oldStepText(row.nowMs); !old.isEmpty()) {
        value(c.rate, c.stall, old, colors.dim);
        value(c.stall, c.left, QString(), colors.dim);
        return;
    }
    value(c.rate, c.stall, row.rank.stepTimeText(), colors.dim);
    const std::optional<double> stall = session::stallNow(row.rank.view);
    value(c.stall, c.left, stall ? percentText(*stall) : QString(),
          stall.value_or(0) >= 20 ? colors.warn : colors.dim);
}

}  // namespace

void paintRankRow(QPainter& painter, const RankRow& row, const QWidget& in) {
    const ThemeColors& colors = colorsOf(in.palette());
    const LaneColumns& c = row.columns;
    const QFont small = captionFont(in.font());
    painter.setFont(small);
    const QFontMetrics metrics(small);
    painter.setPen(colors.dim);
    painter.drawText(QRect(c.name + kIndent, row.rect.top(), c.state - c.name - kIndent - kLanePad,
                           row.rect.height()),
                     Qt::AlignVCenter, row.rank.title());
    const QRect state(c.state, row.rect.top(), c.strip - c.state - kLanePad, row.rect.height());
    // If only one fits, the step is omitted.
    const QString step = row.rank.stepText(), word = row.rank.state(row.nowMs);
    if (metrics.horizontalAdvance(word) + metrics.horizontalAdvance(step) + 6 <= state.width()) {
        painter.drawText(state, Qt::AlignVCenter | Qt::AlignRight, step);
    }
    painter.setPen(stateColor(row.rank, colors));
    painter.drawText(state, Qt::AlignVCenter,
                     metrics.elidedText(word, Qt::ElideRight, state.width()));
    if (row.strip.width() >= 20 && row.time.high > row.time.low) {
        painter.fillRect(row.strip, colors.sunken);
        // The job's own strip shows the names of phases.
        painter.setFont(in.font());
        paintLane(painter, row.strip, row.lane, row.time.low, row.time.high,
                  static_cast<double>(row.nowMs), in.palette());
        painter.setFont(small);
        painter.setRenderHint(QPainter::Antialiasing, true);
    }
    paintRates(painter, row, colors);
}

void paintFold(QPainter& painter, const QRect& rect, const LaneState& state, bool isOpen,
               const QWidget& in) {
    const ThemeColors& colors = colorsOf(in.palette());
    std::size_t standing = 0;
    for (const RankLane& rank : state.ranks) {
        standing += !state.isEnded() && rank.now.standsSinceMs != 0 ? 1 : 0;
    }
    painter.setFont(captionFont(in.font()));
    painter.setPen(standing > 0 ? colors.bad : colors.dim);
    const QString arrow = isOpen ? QStringLiteral("\u25be ") : QStringLiteral("\u25b8 ");
    const QString number = QString::number(state.ranks.size());
    const QString count = standing > 0 ? QObject::tr("%1 of %2 ranks").arg(standing).arg(number)
                                       : QObject::tr("%1 ranks").arg(number);
    const bool fits = painter.fontMetrics().horizontalAdvance(arrow + count) <= rect.width();
    painter.drawText(rect, Qt::AlignVCenter | Qt::AlignRight, arrow + (fits ? count : number));
}

Lane paintableLane(const LaneTracker& tracker, const values::RunSummary& run) {
    Lane lane;
    lane.spans.reserve(tracker.spans().size() + 1);
    for (const PhaseSpan& span : tracker.spans()) {
        lane.spans.push_back({span.fromMs, span.toMs, span.phase});
    }
    if (const auto open = tracker.open()) {
        lane.spans.push_back({open->fromMs, std::numeric_limits<double>::infinity(), open->phase});
    }
    const bool hasEnded = values::isEnded(run.state) && run.endedMs > 0;
    lane.endedMs = hasEnded ? std::optional(static_cast<double>(run.endedMs)) : std::nullopt;
    return lane;
}

}  // namespace millrace::gui

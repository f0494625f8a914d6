// Draws the lanes; lane_list.cpp handles the user's input.
#include <QPaintEvent>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>
#include <cmath>
#include <limits>

#include "app/gui/charts/parts/line_dash.h"
#include "app/gui/charts/parts/tick_marks.h"
#include "app/gui/charts/parts/tick_texts.h"
#include "app/gui/charts/parts/value_text.h"
#include "app/gui/models/run_text.h"
#include "app/gui/widgets/badge.h"
#include "app/gui/widgets/icons.h"
#include "app/gui/widgets/live/lane_list.h"
#include "app/gui/widgets/live/lane_rank_paint.h"
#include "app/gui/widgets/live/lane_rates_paint.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

// The area in which a run that has ended ran, even if its activity is unknown.
QRectF ranRect(const QRect& strip, const CurveRange& time, const values::RunSummary& run) {
    if (!values::isEnded(run.state) || run.startedMs <= 0 || run.endedMs <= run.startedMs) {
        return {};
    }
    const auto xOf = [&](std::int64_t timeMs) {
        const double share = (static_cast<double>(timeMs) - time.low) / (time.high - time.low);
        return strip.left() + std::clamp(share, 0.0, 1.0) * strip.width();
    };
    const double from = xOf(run.startedMs), to = xOf(run.endedMs);
    return {from, static_cast<double>(strip.top()), to - from, static_cast<double>(strip.height())};
}

// For a run that ended outside the shown range: shows on which side, and when.
void paintElsewhere(QPainter& painter, const QRect& strip, const CurveRange& time,
                    const values::RunSummary& run, const QColor& color) {
    if (!values::isEnded(run.state) || run.startedMs <= 0) {
        return;
    }
    const QString when = wallTimeText(static_cast<double>(run.startedMs));
    const QRect text = strip.adjusted(4, 0, -4, 0);
    painter.setPen(color);
    if (static_cast<double>(run.endedMs) < time.low) {
        painter.drawText(text, Qt::AlignVCenter | Qt::AlignLeft,
                         QObject::tr("\u2039 ran at %1").arg(when));
    } else if (static_cast<double>(run.startedMs) > time.high) {
        painter.drawText(text, Qt::AlignVCenter | Qt::AlignRight,
                         QObject::tr("ran at %1 \u203a").arg(when));
    }
}

}  // namespace

CurveRange LaneList::visibleTime() const {
    if (link_ != nullptr && link_->xAxis() == XAxis::kWallTime && !link_->view().isEmpty() &&
        link_->view().high > link_->view().low) {
        return link_->view();
    }
    double low = static_cast<double>(nowMs_) - 60'000;  // at least the last minute
    for (int row = 0; row < model_.numLanes(); ++row) {
        const LaneTracker& tracker = model_.lane(row).tracker;
        if (!tracker.spans().empty()) {
            low = std::min(low, tracker.spans().front().fromMs);
        } else if (tracker.open()) {
            low = std::min(low, tracker.open()->fromMs);
        }
    }
    return {low, static_cast<double>(nowMs_)};
}

const Lane& LaneList::laneOf(const QString& key, const LaneTracker& tracker,
                             const values::RunSummary& run) {
    Cached& cached = lanes_[key];
    if (cached.revision != tracker.revision()) {  // made again only after a change
        cached.revision = tracker.revision();
        cached.lane = paintableLane(tracker, run);
    }
    return cached.lane;
}

void LaneList::paintEvent(QPaintEvent* event) {
    QPainter painter(viewport());
    painter.fillRect(event->rect(), colorsOf(palette()).surface);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setFont(font());
    const QRect rows(0, layout_.headerHeight(), viewport()->width(),
                     viewport()->height() - layout_.headerHeight() - layout_.footHeight());
    painter.setOpacity(isAway_ ? kOldOpacity : 1);
    painter.save();
    painter.setClipRect(rows.intersected(event->rect()));
    for (int row = 0; row < model_.numLanes(); ++row) {
        const QRect whole = layout_.wholeRect(row);
        if (whole.intersects(event->rect()) && whole.intersects(rows)) {
            paintRow(painter, row);
        }
    }
    paintCrosshair(painter);
    painter.restore();
    paintHeader(painter);
    paintFoot(painter);
}

void LaneList::paintHeader(QPainter& painter) {
    const ThemeColors& colors = colorsOf(palette());
    const LaneColumns& c = layout_.columns();
    painter.setFont(captionFont(font()));
    painter.setPen(colors.faint);
    const auto title = [&](int from, int to, const QString& text, Qt::Alignment side) {
        painter.drawText(QRect(from, 0, to - from, layout_.headerHeight()), side | Qt::AlignVCenter,
                         text);
    };
    title(c.name, c.state, titleOf(word::kRun), Qt::AlignLeft);
    title(c.state, c.strip, titleOf(word::kState), Qt::AlignLeft);
    title(c.rate, c.stall, labelOf(word::kRate), Qt::AlignRight);
    title(c.stall, c.left, labelOf(word::kStall), Qt::AlignRight);
    if (c.hasLeft) {
        title(c.left, c.button - 6,
              labelOf(model_.numGoing() > 0 ? word::kTimeLeft : word::kDuration), Qt::AlignRight);
    }
    paintTimes(painter);
    painter.setPen(colors.border);
    painter.drawLine(0, layout_.headerHeight() - 1, viewport()->width(),
                     layout_.headerHeight() - 1);
}

void LaneList::paintTimes(QPainter& painter) {
    const QRect strip = stripRect(0);
    const CurveRange time = visibleTime();
    if (strip.width() < 80 || !(time.high > time.low)) {
        return;
    }
    TickMarks ticks =
        axisTicks(time.low, time.high, std::max(2, strip.width() / 90), XAxis::kWallTime);
    ticks.context.clear();  // the charts have the date
    const QFontMetricsF metrics(painter.font());
    const double base = (layout_.headerHeight() + metrics.ascent() - metrics.descent()) / 2;
    for (const TickText& text : placeTexts(ticks, {}, {QRectF(strip), time}, metrics)) {
        painter.drawText(QPointF(text.x, base), text.text);
    }
}

void LaneList::paintFoot(QPainter& painter) {
    const ThemeColors& colors = colorsOf(palette());
    const int top = viewport()->height() - layout_.footHeight();
    painter.fillRect(QRect(0, top, viewport()->width(), layout_.footHeight()), colors.surface);
    painter.setFont(captionFont(font()));
    const QFontMetrics metrics = painter.fontMetrics();
    int width = 0;
    for (int i = 0; i < kNumLanePhases; ++i) {
        width +=
            12 + metrics.horizontalAdvance(lanePhaseName(static_cast<LanePhase>(i))) + kLanePad;
    }
    int x = std::max(kLanePad, std::min(layout_.columns().strip, viewport()->width() - width));
    for (int i = 0; i < kNumLanePhases; ++i) {
        const auto phase = static_cast<LanePhase>(i);
        const QString name = lanePhaseName(phase);
        painter.fillRect(QRectF(x, top + layout_.footHeight() / 2.0 - 4, 8, 8),
                         lanePhaseColor(phase, palette()));
        painter.setPen(colors.dim);
        painter.drawText(
            QRect(x + 12, top, metrics.horizontalAdvance(name) + 2, layout_.footHeight()),
            Qt::AlignVCenter, name);
        x += 12 + metrics.horizontalAdvance(name) + kLanePad;
    }
}

void LaneList::paintRow(QPainter& painter, int row) {
    const ThemeColors& colors = colorsOf(palette());
    const LaneState& state = model_.lane(row);
    const QRect rect = layout_.rowRect(row), whole = layout_.wholeRect(row);
    const LaneColumns& c = layout_.columns();
    const bool isSelected = std::ranges::find(selected_, state.run.id) != selected_.end();
    const bool isCurrent = isSelected && state.run.id == current_;
    if (isSelected || row == hovered_) {
        painter.fillRect(whole, isCurrent    ? colors.selection
                                : isSelected ? mixed(colors.surface, colors.selection, 0.4)
                                             : colors.raised);
    }
    if (state.run.id == current_ && hasFocus()) {
        painter.setPen(QPen(colors.accent, 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(QRectF(whole).adjusted(0.5, 0.5, -0.5, -0.5));
    }
    const QRect inner = rect.adjusted(0, 5, 0, -5);
    paintName(painter, row, {c.name, inner.top(), c.state - c.name - kLanePad, inner.height()});
    paintState(painter, {c.state, inner.top(), c.strip - c.state - kLanePad, inner.height()},
               state);
    paintStrip(painter, row, state);
    paintRates(painter, {state, rect, c, nowMs_, isAway_}, *this);
    paintButton(painter, row, state);
    paintRanks(painter, row, state);
    painter.setPen(colors.border);
    painter.drawLine(whole.bottomLeft(), whole.bottomRight());
}

void LaneList::paintRanks(QPainter& painter, int row, const LaneState& state) {
    if (!LaneLayout::hasRanks(state)) {
        return;
    }
    const bool isOpen = layout_.isOpen(state);
    paintFold(painter, layout_.foldRect(row), state, isOpen, *this);
    const CurveRange time = visibleTime();
    for (int place = 0; isOpen && place < static_cast<int>(state.ranks.size()); ++place) {
        const QRect rect = layout_.rankRect(row, place);
        if (!rect.intersects(viewport()->rect())) {
            continue;
        }
        const RankLane& rank = state.ranks[static_cast<std::size_t>(place)];
        const QString key =
            QString::fromStdString(state.run.id) + QString("#%1").arg(rank.now.rank);
        paintRankRow(painter,
                     {rank, laneOf(key, rank.tracker, rank.view), rect,
                      layout_.rankStripRect(row, place), layout_.columns(), time, nowMs_},
                     *this);
    }
}

void LaneList::paintName(QPainter& painter, int row, const QRect& rect) {
    const ThemeColors& colors = colorsOf(palette());
    const LaneState& state = model_.lane(row);
    const auto [color, dash] = colors_.of(state.run.id);
    paintSwatch(painter, QRectF(rect.left(), rect.top() + 1, 4, rect.height() - 3), color, dash);
    const QRect text = rect.adjusted(12, 0, 0, 0);
    QFont bold = font();
    bold.setWeight(QFont::DemiBold);
    const QFontMetrics metrics(bold);
    painter.setFont(bold);
    painter.setPen(colors.text);
    painter.drawText(QRect(text.left(), text.top(), text.width(), metrics.height()),
                     Qt::AlignVCenter,
                     metrics.elidedText(state.title(), Qt::ElideMiddle, text.width()));
    const QFont small = captionFont(font());
    const QFontMetrics smallMetrics(small);
    const QString id = QString::fromStdString(state.run.id);
    const QString detail = state.run.variation.empty() ? id
                                                       : QString::fromStdString(state.run.name) +
                                                             QStringLiteral(" · ") + id;
    painter.setFont(small);
    painter.setPen(colors.dim);
    painter.drawText(QRect(text.left(), text.bottom() - smallMetrics.height() + 1, text.width(),
                           smallMetrics.height()),
                     Qt::AlignVCenter,
                     smallMetrics.elidedText(detail, Qt::ElideLeft,
                                             text.width() - layout_.foldRect(row).width()));
}

void LaneList::paintState(QPainter& painter, const QRect& rect, const LaneState& state) {
    const ThemeColors& colors = colorsOf(palette());
    const QFont small = captionFont(font());
    const QFontMetrics smallMetrics(small);
    painter.setFont(small);
    const BadgeLook badge = badgeOf(state.run);
    const QRect top(rect.left(), rect.top() - 1, rect.width(), fontMetrics().height() + 1);
    paintBadge(painter, top, badge, palette());
    const int badgeWidth = badgeSize(badge, small).width() + 6;
    painter.setFont(small);
    painter.setPen(colors.dim);
    const QString epoch = epochText(state.run.progress);
    painter.drawText(top.adjusted(badgeWidth, 0, 0, 0), Qt::AlignVCenter | Qt::AlignRight,
                     smallMetrics.elidedText(epoch, Qt::ElideRight, top.width() - badgeWidth));
    const QRect bottom(rect.left(), rect.bottom() - smallMetrics.height() - 2, rect.width(),
                       smallMetrics.height());
    const std::optional<double> share = state.progressShare();
    const QString shareText = share ? percentText(100 * *share) : QString();
    painter.drawText(bottom, Qt::AlignVCenter | Qt::AlignRight, shareText);
    painter.drawText(
        bottom, Qt::AlignVCenter,
        smallMetrics.elidedText(stepText(state.run.progress), Qt::ElideRight,
                                bottom.width() - smallMetrics.horizontalAdvance(shareText) - 6));
    if (share && !state.isEnded()) {
        const QRectF bar(rect.left(), rect.bottom(), rect.width(), 3);
        painter.setPen(Qt::NoPen);
        painter.setBrush(colors.neutralBack);
        painter.drawRoundedRect(bar, 1.5, 1.5);
        painter.setBrush(colors_.of(state.run.id).color);
        painter.drawRoundedRect(QRectF(bar.left(), bar.top(), bar.width() * *share, 3), 1.5, 1.5);
    }
}

void LaneList::paintStrip(QPainter& painter, int row, const LaneState& state) {
    const ThemeColors& colors = colorsOf(palette());
    const QRect strip = stripRect(row);
    const CurveRange time = visibleTime();
    if (strip.width() < 20) {
        return;
    }
    painter.fillRect(strip, colors.sunken);
    if (time.high > time.low) {
        painter.setRenderHint(QPainter::Antialiasing, false);  // spans meet at whole pixels
        painter.fillRect(ranRect(strip, time, state.run), mixed(colors.sunken, colors.faint, 0.35));
        paintLane(painter, strip,
                  laneOf(QString::fromStdString(state.run.id), state.tracker, state.run), time.low,
                  time.high, static_cast<double>(nowMs_), palette());
        painter.setRenderHint(QPainter::Antialiasing, true);
    }
    const QFont small = captionFont(font());
    const QFontMetrics metrics(small);
    const bool isBad = state.run.state == values::RunState::kFailed || state.run.isStalled();
    const bool isTrouble = !state.isEnded() && !state.run.trouble.empty();
    painter.setFont(small);
    paintElsewhere(painter, strip, time, state.run, colors.dim);
    painter.setPen(isBad ? colors.bad : isTrouble ? colors.warn : colors.dim);
    painter.drawText(QRect(strip.left(), strip.bottom() + 3, strip.width(), metrics.height()),
                     Qt::AlignVCenter,
                     metrics.elidedText(state.sentence(nowMs_), Qt::ElideRight, strip.width()));
}

void LaneList::paintButton(QPainter& painter, int row, const LaneState& state) {
    const ThemeColors& colors = colorsOf(palette());
    const bool canStop = !state.isEnded() && state.run.state != values::RunState::kStopping;
    const bool canResume = state.isEnded() && state.run.state != values::RunState::kFinished;
    if (!canStop && !canResume) {
        return;
    }
    const QRectF rect = QRectF(layout_.buttonRect(row));
    const bool isNear = row == hovered_ || state.run.id == current_;
    if (isNear) {
        painter.setPen(QPen(colors.border, 1));
        painter.setBrush(colors.raised);
        painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    }
    paintGlyph(painter, rect.adjusted(5, 5, -5, -5), canStop ? Glyph::kStop : Glyph::kPlay,
               isNear ? (canStop ? colors.bad : colors.accent) : colors.faint);
}

void LaneList::paintCrosshair(QPainter& painter) {
    if (link_ == nullptr || link_->xAxis() != XAxis::kWallTime || !link_->crosshair()) {
        return;
    }
    const QRect strip = stripRect(0);
    const CurveRange time = visibleTime();
    const double x =
        strip.left() + (*link_->crosshair() - time.low) / (time.high - time.low) * strip.width();
    if (x >= strip.left() && x <= strip.right()) {
        painter.setPen(QPen(colorsOf(palette()).text, 1, Qt::DotLine));
        painter.drawLine(QPointF(x, layout_.headerHeight()), QPointF(x, viewport()->height()));
    }
}

}  // namespace millrace::gui

#include "app/gui/charts/parts/lane_strip.h"

#include <QFontMetricsF>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QLocale>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "app/gui/charts/parts/chart_style.h"
#include "app/gui/charts/parts/tick_marks.h"
#include "app/gui/charts/parts/value_text.h"

namespace millrace::gui {
namespace {

constexpr double kSide = 10, kRowHeight = 30, kStripHeight = 18, kTop = 6;
constexpr double kNameMax = 200, kNameMin = 64;

QString clockText(double ms) {
    return wallTimeText(ms).section(QStringLiteral(", "), 1);
}

double spanEnd(const LaneSpan& span, const Lane& lane, double nowMs) {
    return std::min(span.toMs, std::min(lane.endedMs.value_or(nowMs), nowMs));
}

}  // namespace

LaneStrip::LaneStrip(QWidget* parent) : QWidget(parent) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Minimum);
    emptyText_ = tr("No jobs are running.");
}

void LaneStrip::setLanes(std::vector<Lane> lanes) {
    const bool isOtherHeight = lanes.size() != lanes_.size();
    lanes_ = std::move(lanes);
    for (Lane& lane : lanes_) {
        std::erase_if(lane.spans, [](const LaneSpan& span) { return !(span.toMs > span.fromMs); });
    }
    if (isOtherHeight) {
        updateGeometry();
    }
    describe();
    update();
}

void LaneStrip::setNow(double nowMs) {
    nowMs_ = nowMs;
    update();
}

void LaneStrip::setWindow(double widthMs) {
    windowMs_ = widthMs;
    update();
}

void LaneStrip::setLink(ChartLink* link) {
    if (link_ != nullptr) {
        link_->disconnect(this);
    }
    link_ = link;
    if (link != nullptr) {
        const auto repaint = [this] { update(); };
        connect(link, &ChartLink::viewChanged, this, repaint);
        connect(link, &ChartLink::axisChanged, this, repaint);
        connect(link, &ChartLink::crosshairChanged, this, repaint);
    }
    update();
}

void LaneStrip::setNameWidth(int pixels) {
    nameWidth_ = pixels;
    update();
}

void LaneStrip::setEmptyText(const QString& text) {
    emptyText_ = text;
    update();
}

void LaneStrip::setSelected(const QString& id) {
    selected_ = id;
    update();
}

bool LaneStrip::isLinkedInTime() const {
    return link_ != nullptr && !link_->view().isEmpty() &&
           (link_->xAxis() == XAxis::kWallTime || link_->xAxis() == XAxis::kRelativeTime);
}

double LaneStrip::offsetOf(const Lane& lane) const {
    const bool isRelative = isLinkedInTime() && link_->xAxis() == XAxis::kRelativeTime;
    return isRelative && !lane.spans.empty() ? lane.spans.front().fromMs : 0;
}

CurveRange LaneStrip::visibleRange() const {
    if (isLinkedInTime()) {
        return link_->view();
    }
    if (windowMs_ > 0) {
        return {nowMs_ - windowMs_, nowMs_};
    }
    CurveRange range{nowMs_, nowMs_};
    for (const Lane& lane : lanes_) {
        if (!lane.spans.empty()) {
            range.low = std::min(range.low, lane.spans.front().fromMs);
        }
    }
    range.low = std::min(range.low, range.high - 1000);
    return range;
}

double LaneStrip::nameWidth() const {
    if (nameWidth_ > 0) {
        return nameWidth_;
    }
    double widest = kNameMin;
    const QFontMetricsF metrics(font());
    for (const Lane& lane : lanes_) {
        widest = std::max(widest, metrics.horizontalAdvance(lane.name) + 18);
    }
    return kSide + std::min({widest, kNameMax, width() * 0.3}) + 8;
}

QRectF LaneStrip::stripRect(int lane) const {
    const double left = nameWidth();
    return {left, kTop + lane * kRowHeight + (kRowHeight - kStripHeight) / 2,
            std::max(10.0, width() - left - kSide - 4), kStripHeight};
}

double LaneStrip::axisTop() const {
    return kTop + kRowHeight * static_cast<double>(std::max<std::size_t>(1, lanes_.size()));
}

double LaneStrip::pixelAt(double place) const {
    const CurveRange range = visibleRange();
    const QRectF strip = stripRect(0);
    return strip.left() + (place - range.low) / (range.high - range.low) * strip.width();
}

double LaneStrip::timeAt(int lane, double pixel) const {
    const CurveRange range = visibleRange();
    const QRectF strip = stripRect(0);
    return range.low + (pixel - strip.left()) / strip.width() * (range.high - range.low) +
           offsetOf(lanes_[static_cast<std::size_t>(lane)]);
}

int LaneStrip::laneAt(const QPoint& position) const {
    const int row = static_cast<int>(std::floor((position.y() - kTop) / kRowHeight));
    return row >= 0 && row < static_cast<int>(lanes_.size()) ? row : -1;
}

std::vector<double> LaneStrip::durations(const Lane& lane) const {
    std::vector<double> all(kNumLanePhases, 0.0);
    for (const LaneSpan& span : lane.spans) {
        all[static_cast<std::size_t>(span.phase)] +=
            std::max(0.0, spanEnd(span, lane, nowMs_) - span.fromMs);
    }
    return all;
}

QString LaneStrip::textAt(const QPoint& position) const {
    const int row = laneAt(position);
    if (row < 0) {
        return {};
    }
    const Lane& lane = lanes_[static_cast<std::size_t>(row)];
    QStringList lines{lane.name};
    if (position.x() >= stripRect(row).left()) {
        const double at = timeAt(row, position.x());
        for (const LaneSpan& span : lane.spans) {
            const double end = spanEnd(span, lane, nowMs_);
            if (at >= span.fromMs && at < end) {
                lines << tr("%1 for %2, %3 to %4")
                             .arg(lanePhaseName(span.phase), durationLabel(end - span.fromMs),
                                  clockText(span.fromMs),
                                  span.toMs > nowMs_ ? tr("now") : clockText(end));
                break;
            }
        }
    }
    const std::vector<double> spent = durations(lane);
    double total = 0;
    for (const double ms : spent) {
        total += ms;
    }
    QStringList shares;
    for (std::size_t phase = 0; phase < spent.size() && total > 0; ++phase) {
        if (spent[phase] > 0) {
            shares << tr("%1 %2 %").arg(lanePhaseName(static_cast<LanePhase>(phase)),
                                        groupedText(100 * spent[phase] / total, 1));
        }
    }
    if (!shares.isEmpty()) {
        lines << tr("In all: ") + shares.join(QStringLiteral(", "));
    }
    return lines.join(QLatin1Char('\n'));
}

QSize LaneStrip::sizeHint() const {
    const QFontMetricsF small(chartSmallFont(font()));
    return {480, static_cast<int>(std::ceil(axisTop() + 2 * (small.height() + 6) + 4))};
}

QSize LaneStrip::minimumSizeHint() const {
    return {240, sizeHint().height()};
}

void LaneStrip::describe() {
    QStringList lanes;
    for (const Lane& lane : lanes_) {
        if (!lane.spans.empty()) {
            lanes << lane.name + QStringLiteral(": ") + lanePhaseName(lane.spans.back().phase);
        }
    }
    setAccessibleDescription(lanes.isEmpty() ? emptyText_ : lanes.join(QStringLiteral("; ")));
}

void LaneStrip::paintRow(QPainter& painter, int row) const {
    const Lane& lane = lanes_[static_cast<std::size_t>(row)];
    const ChartColors colors = ChartColors::of(palette());
    const QRectF strip = stripRect(row);
    const QRectF whole(4, kTop + row * kRowHeight, width() - 8, kRowHeight);
    if (lane.id == selected_ && !selected_.isEmpty()) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(blended(colors.background, colors.accent, 0.16));
        painter.drawRoundedRect(whole, 5, 5);
    }
    const double middle = strip.center().y();
    painter.setPen(Qt::NoPen);
    painter.setBrush(lane.color);
    painter.drawRoundedRect(QRectF(kSide, middle - 4, 8, 8), 2, 2);
    painter.setFont(font());
    painter.setPen(colors.text);
    const double room = strip.left() - kSide - 14 - 8;
    painter.drawText(QRectF(kSide + 14, whole.top(), room, kRowHeight),
                     Qt::AlignVCenter | Qt::AlignLeft,
                     QFontMetricsF(font()).elidedText(lane.name, Qt::ElideMiddle, room));
    painter.setFont(chartSmallFont(font()));
    const CurveRange range = visibleRange();
    const double offset = offsetOf(lane);
    paintLane(painter, strip, lane, range.low + offset, range.high + offset, nowMs_, palette());
}

void LaneStrip::paintTimeAxis(QPainter& painter) const {
    const ChartColors colors = ChartColors::of(palette());
    const QFontMetricsF metrics(chartSmallFont(font()));
    const CurveRange range = visibleRange();
    const QRectF strip = stripRect(0);
    const XAxis axis = isLinkedInTime() ? link_->xAxis() : XAxis::kWallTime;
    const TickMarks ticks = axisTicks(
        range.low, range.high, std::clamp(static_cast<int>(strip.width() / 90), 2, 12), axis);
    painter.setFont(chartSmallFont(font()));
    const double top = axisTop();
    const double ratio = devicePixelRatioF();
    for (const TickMark& mark : ticks.marks) {
        const double x = pixelAt(mark.value);
        if (x < strip.left() - 1 || x > strip.right() + 1) {
            continue;
        }
        const double crisp = (std::floor(x * ratio) + 0.5) / ratio;
        painter.setPen(QPen(colors.axis, 1 / ratio));
        painter.drawLine(QPointF(crisp, top), QPointF(crisp, top + 4));
        const double textWidth = metrics.horizontalAdvance(mark.text);
        const double left = std::min(x - textWidth / 2, strip.right() - textWidth);
        painter.setPen(colors.muted);
        painter.drawText(QPointF(std::max(strip.left(), left), top + 5 + metrics.ascent()),
                         mark.text);
    }
}

void LaneStrip::paintLegend(QPainter& painter) const {
    const ChartColors colors = ChartColors::of(palette());
    const QFontMetricsF metrics(chartSmallFont(font()));
    const double row = axisTop() + metrics.height() + 8;
    double x = stripRect(0).left();
    painter.setFont(chartSmallFont(font()));
    for (int i = 0; i < kNumLanePhases; ++i) {
        const auto phase = static_cast<LanePhase>(i);
        const QString name = lanePhaseName(phase);
        painter.setPen(Qt::NoPen);
        painter.setBrush(lanePhaseColor(phase, palette()));
        painter.drawRoundedRect(QRectF(x, row + metrics.height() / 2 - 4, 10, 8), 2, 2);
        painter.setPen(colors.muted);
        painter.drawText(QPointF(x + 15, row + metrics.ascent()), name);
        x += 15 + metrics.horizontalAdvance(name) + 16;
    }
}

void LaneStrip::paintHover(QPainter& painter) const {
    const std::optional<double> place = isLinkedInTime() ? link_->crosshair() : hover_;
    const CurveRange range = visibleRange();
    if (!place || *place < range.low || *place > range.high) {
        return;
    }
    const double ratio = devicePixelRatioF();
    const double x = (std::floor(pixelAt(*place) * ratio) + 0.5) / ratio;
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(QPen(ChartColors::of(palette()).text, 1 / ratio));
    painter.drawLine(QPointF(x, kTop), QPointF(x, axisTop()));
}

void LaneStrip::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const ChartColors colors = ChartColors::of(palette());
    painter.fillRect(rect(), colors.background);
    if (lanes_.empty()) {
        paintEmptyText(painter, rect(), emptyText_, colors, font());
        return;
    }
    painter.setRenderHint(QPainter::Antialiasing);
    for (int row = 0; row < static_cast<int>(lanes_.size()); ++row) {
        paintRow(painter, row);
    }
    paintTimeAxis(painter);
    paintLegend(painter);
    paintHover(painter);
    if (hasFocus()) {
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(colors.accent, 1.5));
        painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 4, 4);
    }
}

bool LaneStrip::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        QToolTip::showText(help->globalPos(), textAt(help->pos()), this);
        return true;
    }
    return QWidget::event(event);
}

void LaneStrip::setHover(std::optional<double> place) {
    if (isLinkedInTime()) {
        link_->setCrosshair(place);
    }
    hover_ = place;
    update();
}

void LaneStrip::mouseMoveEvent(QMouseEvent* event) {
    const QRectF strip = stripRect(0);
    const double x = event->position().x();
    const bool isInside = laneAt(event->pos()) >= 0 && x >= strip.left() && x <= strip.right();
    const CurveRange range = visibleRange();
    setHover(isInside ? std::optional<double>(range.low + (x - strip.left()) / strip.width() *
                                                              (range.high - range.low))
                      : std::nullopt);
}

void LaneStrip::leaveEvent(QEvent* event) {
    setHover(std::nullopt);
    QWidget::leaveEvent(event);
}

void LaneStrip::select(int lane) {
    setSelected(lanes_[static_cast<std::size_t>(lane)].id);
    Q_EMIT laneClicked(selected_);
}

void LaneStrip::mousePressEvent(QMouseEvent* event) {
    const int lane = laneAt(event->pos());
    if (event->button() == Qt::LeftButton && lane >= 0) {
        select(lane);
    }
}

void LaneStrip::mouseDoubleClickEvent(QMouseEvent* event) {
    const int lane = laneAt(event->pos());
    if (lane >= 0) {
        Q_EMIT laneActivated(lanes_[static_cast<std::size_t>(lane)].id);
    }
}

void LaneStrip::keyPressEvent(QKeyEvent* event) {
    const auto current = std::find_if(lanes_.begin(), lanes_.end(),
                                      [this](const Lane& lane) { return lane.id == selected_; });
    const int row = current == lanes_.end() ? -1 : static_cast<int>(current - lanes_.begin());
    const int last = static_cast<int>(lanes_.size()) - 1;
    if (event->key() == Qt::Key_Down && last >= 0) {
        select(std::min(row + 1, last));
    } else if (event->key() == Qt::Key_Up && last >= 0) {
        select(std::max(row - 1, 0));
    } else if ((event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) && row >= 0) {
        Q_EMIT laneActivated(selected_);
    } else {
        QWidget::keyPressEvent(event);
    }
}

}  // namespace millrace::gui

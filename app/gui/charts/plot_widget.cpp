#include "app/gui/charts/plot_widget.h"

#include <QCoreApplication>
#include <QEvent>
#include <QFontMetricsF>
#include <algorithm>
#include <cmath>

#include "app/gui/charts/chart_accessible.h"
#include "app/gui/charts/parts/chart_style.h"
#include "app/gui/charts/parts/value_text.h"
#include "app/gui/charts/plot_state.h"

namespace millrace::gui {
namespace {

constexpr double kSide = 10, kHeader = 26, kBottom = 6;
constexpr double kAxisWidthMin = 46;  // charts below each other are aligned
constexpr int kSummaryCurvesMax = 8;

QString unitName(const Unit& unit) {
    switch (unit.kind) {
        case UnitKind::kPlain:
        case UnitKind::kCount:
            return unit.suffix;
        default:
            return {};
    }
}

// The ranks behind a median, and which of them hold the extremes.
QString ranksText(const Curve& curve, const CurvePoint& point, const Unit& unit) {
    if (!curve.band) {
        return {};
    }
    const CurveStore& low = curve.band->low();
    const std::size_t i = low.lowerBound(CurveAxis::kX, point.x);
    const bool isThere = i < low.size() && low.at(i).x == point.x;
    const std::optional<double> high = isThere ? curve.band->highAbove(i) : std::nullopt;
    if (!high) {
        return {};
    }
    const CurveBand::Holder* holder = curve.band->holderAt(point.x);
    const QString least = valueText(low.value(i), unit), greatest = valueText(*high, unit);
    return holder == nullptr ? PlotWidget::tr("%1 to %2").arg(least, greatest)
                             : PlotWidget::tr("%1 (rank %2) to %3 (rank %4)")
                                   .arg(least)
                                   .arg(holder->least)
                                   .arg(greatest)
                                   .arg(holder->greatest);
}

}  // namespace

bool PlotWidget::State::hasPoints() const {
    const auto& all = curves();
    return std::ranges::any_of(all, [this](const Curve& curve) {
        return curve.store != nullptr && curve.store->has(axis());
    });
}

CurveRange PlotWidget::State::extent() const {
    CurveRange all;
    for (const Curve& curve : curves()) {
        const CurveRange own = curve.store->extent(axis());
        if (!own.isEmpty()) {
            const double offset = axisOffset(curve, link->xAxis());
            all.low = std::min(all.low, own.low - offset);
            all.high = std::max(all.high, own.high - offset);
        }
    }
    return all;
}

CurveRange PlotWidget::State::wantedY(CurveRange& data) const {
    YRangeRequest request;
    request.isLog = isLogY;
    request.low = yLow;
    request.high = yHigh;
    for (const Curve& curve : curves()) {
        if (!isVisible(curve)) {
            continue;
        }
        const double offset = axisOffset(curve, link->xAxis());
        const double from = scale.x.low + offset, to = scale.x.high + offset;
        const CurveRange own = curve.store->valueRange(axis(), from, to);
        request.data.low = std::min(request.data.low, own.low);
        request.data.high = std::max(request.data.high, own.high);
        if (curve.band) {
            request.data.low =
                std::min(request.data.low, curve.band->low().valueRange(axis(), from, to).low);
            request.data.high =
                std::max(request.data.high, curve.band->high().valueRange(axis(), from, to).high);
        }
        if (isLogY) {
            const std::optional<double> least = curve.store->leastPositive(axis(), from, to);
            request.leastPositive = least ? std::min(*least, request.leastPositive.value_or(*least))
                                          : request.leastPositive;
        }
    }
    data = request.data;
    return yRangeFor(request);
}

// The view in whole device columns: columns keep their borders while the view moves, and one extra
// column makes room for the newest point.
void PlotWidget::State::moveView() {
    const CurveRange view = link->view().isEmpty() ? CurveRange{0, 1} : link->view();
    const int columns = static_cast<int>(std::lround(scale.area.width() * geometry.scale));
    geometry.axis = link->xAxis();
    geometry.columns = std::max(2, columns);
    geometry.rows =
        std::max(2, static_cast<int>(std::lround(scale.area.height() * geometry.scale)));
    geometry.binWidth = (view.high - view.low) / (geometry.columns - 1);
    geometry.firstBin = static_cast<std::int64_t>(std::floor(view.low / geometry.binWidth));
    scale.x = {geometry.columnToX(0), geometry.columnToX(geometry.columns)};
}

QRect PlotWidget::State::dirtyRect(const DirtyColumns& dirty) const {
    if (dirty.isNone()) {
        return {};
    }
    const QRectF area = scale.area;
    const double left = area.left() + dirty.from / geometry.scale;
    const double right = area.left() + dirty.to / geometry.scale;
    return QRectF(left, area.top(), right - left, area.height()).toAlignedRect();
}

QRect PlotWidget::State::sync(PlotWidget& widget) {
    isSyncNeeded = false;
    if (isLeading) {
        link->reportExtent(&widget, extent());
    }
    const LayerGeometry geometryBefore = geometry;
    const double scaleBefore = geometry.scale;
    geometry.scale = widget.devicePixelRatioF();
    if (isLayoutStale || geometry.scale != scaleBefore) {
        placeLegend(widget);
        isFrameStale = true;
    }
    // The y axis determines the width of its texts, that the width of the view, and that the y axis
    // again: it settles after one more round.
    const bool isSteady =
        link->isLive() && scale.isLogY == isLogY && !isLayoutStale && !yLow && !yHigh;
    scale.isLogY = isLogY;
    QRectF areaBefore;
    for (int round = 0; round < 3 && (round == 0 || scale.area != areaBefore); ++round) {
        areaBefore = scale.area;
        moveView();
        CurveRange data;
        const CurveRange wanted = wantedY(data);
        scale.y = isSteady ? steadyRange(scale.y, data, wanted) : wanted;
        place(widget);
    }
    moveView();
    geometry.y = scale.y;
    geometry.isLogY = isLogY;
    isLayoutStale = false;
    if (moveNow() || geometry != geometryBefore) {
        isFrameStale = true;
    }
    // If only curves changed, repaints just the columns that they touched, up to twenty times a
    // second.
    const DirtyColumns dirty = layer.update(geometry);
    return isFrameStale ? widget.rect() : dirtyRect(dirty);
}

void PlotWidget::State::placeLegend(PlotWidget& widget) {
    std::vector<LegendEntry> entries;
    for (const Curve& curve : curves()) {
        entries.push_back({curve.id, curve.name, curve.color, !isVisible(curve), curve.dash});
    }
    const double width = widget.width() - 2 * kSide;
    const int numRows = widget.height() < 150 ? 1 : widget.height() < 320 ? 2 : 4;
    const bool isShown = isLegendVisible && widget.height() >= 90;
    legend.place(isShown ? std::move(entries) : std::vector<LegendEntry>{}, width, numRows,
                 chartSmallFont(widget.font()));
    legendRect = QRectF(kSide, widget.height() - kBottom - legend.height(), width, legend.height());
}

void PlotWidget::State::place(PlotWidget& widget) {
    const QFontMetricsF small(chartSmallFont(widget.font()));
    const double top = kHeader + small.height() / 2 - 2, tickRow = small.height() + 6;
    const double legendHeight = legend.height() > 0 ? legend.height() + 2 : 0;
    const double bottom = widget.height() - kBottom - legendHeight - tickRow;
    const int numY = std::clamp(static_cast<int>((bottom - top) / 32), 2, 9);
    yTicks = isLogY ? logTicks(scale.y.low, scale.y.high, numY, widget.unit())
                    : valueTicks(scale.y.low, scale.y.high, numY, widget.unit());
    double axisWidth = kAxisWidthMin;
    for (const TickMark& mark : yTicks.marks) {
        axisWidth = std::max(axisWidth, small.horizontalAdvance(mark.text) + 8);
    }
    axisWidth = std::ceil(axisWidth / 4) * 4;
    const double ratio = geometry.scale;
    const auto snap = [ratio](double value) { return std::round(value * ratio) / ratio; };
    const double left = snap(kSide + axisWidth - 8), right = snap(widget.width() - kSide - 4);
    scale.area = QRectF(left, snap(top), std::max(10.0, right - left),
                        std::max(10.0, snap(bottom) - snap(top)));
    headerRect = QRectF(kSide, 3, widget.width() - 2 * kSide, kHeader - 5);
    const double perTick = link->xAxis() == XAxis::kWallTime ? 80 : 64;
    const int numX = std::clamp(static_cast<int>(scale.area.width() / perTick), 2, 12);
    xTicks = axisTicks(scale.x.low, scale.x.high, numX, link->xAxis());
}

PlotWidget::PlotWidget(QWidget* parent) : Chart(parent), s_(std::make_unique<State>()) {
    s_->link = nullptr;
    setLink(nullptr);
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAttribute(Qt::WA_OpaquePaintEvent);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    setEmptyText(tr("No points yet."));
    installChartAccessibility();
}

PlotWidget::~PlotWidget() {
    if (s_->link != nullptr) {
        s_->link->forget(this);
        s_->link->disconnect(this);
    }
}

void PlotWidget::setLink(ChartLink* link) {
    ChartLink* next = link != nullptr ? link : &s_->ownLink;
    if (s_->link == next) {
        return;
    }
    if (s_->link != nullptr) {
        s_->link->forget(this);
        s_->link->disconnect(this);
    }
    s_->link = next;
    const auto resync = [this] { dataChanged(); };
    connect(next, &ChartLink::viewChanged, this, resync);
    connect(next, &ChartLink::axisChanged, this, [this] {
        s_->isLayoutStale = true;
        dataChanged();
    });
    connect(next, &ChartLink::liveChanged, this, [this] { update(); });
    connect(next, &ChartLink::crosshairChanged, this, [this] {
        s_->isSteered = false;
        update();
    });
    connect(next, &ChartLink::selectionChanged, this, [this] { update(); });
    connect(next, &QObject::destroyed, this, [this] { setLink(nullptr); });
    s_->isLayoutStale = true;
    dataChanged();
}

ChartLink* PlotWidget::link() const {
    return s_->link != nullptr ? s_->link.data() : &s_->ownLink;
}

void PlotWidget::setLogY(bool isLog) {
    if (isLog != s_->isLogY) {
        s_->isLogY = isLog;
        s_->isLayoutStale = true;
        dataChanged();
    }
}

bool PlotWidget::isLogY() const {
    return s_->isLogY;
}

void PlotWidget::setYBounds(std::optional<double> low, std::optional<double> high) {
    s_->yLow = low;
    s_->yHigh = high;
    s_->isLayoutStale = true;
    dataChanged();
}

void PlotWidget::setLegendVisible(bool isVisible) {
    s_->isLegendVisible = isVisible;
    s_->isLayoutStale = true;
    dataChanged();
}

void PlotWidget::setBadgeVisible(bool isVisible) {
    s_->isBadgeVisible = isVisible;
    s_->isFrameStale = true;
    update();
}

void PlotWidget::setLeading(bool isLeading) {
    if (isLeading != s_->isLeading) {
        s_->isLeading = isLeading;
        if (!isLeading) {
            link()->forget(this);
        }
        dataChanged();
    }
}

void PlotWidget::setCurveHidden(const QString& id, bool isHidden) {
    if (isHidden == s_->hidden.contains(id)) {
        return;
    }
    if (isHidden) {
        s_->hidden.insert(id);
    } else {
        s_->hidden.remove(id);
    }
    s_->layer.setHidden(s_->hidden);
    s_->isLayoutStale = true;
    dataChanged();
    Q_EMIT curveHiddenChanged(id, isHidden);
}

bool PlotWidget::isCurveHidden(const QString& id) const {
    return s_->hidden.contains(id);
}

void PlotWidget::setHighlighted(const QString& id) {
    if (id != s_->highlighted) {
        s_->highlighted = id;
        s_->layer.setHighlighted(id);
        s_->isFrameStale = true;
        dataChanged();
        Q_EMIT curveHighlighted(id);
    }
}

void PlotWidget::setContent(ChartContent content) {
    s_->content = std::move(content);
    if (auto* curves = std::get_if<Curves>(&s_->content)) {
        std::erase_if(curves->curves, [](const Curve& curve) { return curve.store == nullptr; });
    }
    s_->layer.setCurves(s_->curves());
    s_->isLayoutStale = true;
    dataChanged();
}

const ChartContent& PlotWidget::content() const {
    return s_->content;
}

void PlotWidget::dataChanged() {
    s_->isSyncNeeded = true;
    if (!s_->isSyncPosted) {
        s_->isSyncPosted = true;
        QCoreApplication::postEvent(this, new QEvent(QEvent::User));
    }
}

bool PlotWidget::isEmpty() const {
    return !s_->hasPoints();
}

void PlotWidget::appearanceChanged() {
    s_->isLayoutStale = true;
    dataChanged();
}

QRectF PlotWidget::plotArea() const {
    return s_->scale.area;
}
double PlotWidget::xToPixel(double x) const {
    return s_->scale.xToPixel(x);
}
double PlotWidget::pixelToX(double pixel) const {
    return s_->scale.pixelToX(pixel);
}
double PlotWidget::yToPixel(double y) const {
    return s_->scale.yToPixel(y);
}
CurveRange PlotWidget::yRange() const {
    return s_->scale.y;
}
QSize PlotWidget::sizeHint() const {
    return {480, 220};
}

std::vector<CrosshairValue> PlotWidget::crosshairValues() const {
    std::vector<CrosshairValue> values;
    const std::optional<double> at = link()->crosshair();
    if (!at) {
        return values;
    }
    const CurveAxis axis = s_->axis();
    const double slack = 0.01 * (s_->scale.x.high - s_->scale.x.low);
    for (std::size_t i = 0; i < s_->curves().size(); ++i) {
        const Curve& curve = s_->curves()[i];
        const double offset = axisOffset(curve, xAxis());
        const CurveRange own = curve.store->extent(axis);
        // A curve that ended long before has no value here.
        if (!s_->isVisible(curve) || own.isEmpty() || *at + offset < own.low - slack ||
            *at + offset > own.high + slack) {
            continue;
        }
        const std::optional<CurvePoint> point = curve.store->nearest(axis, *at + offset);
        if (!point) {
            continue;
        }
        CrosshairValue value{curve.id,
                             curve.name,
                             curve.color,
                             *point,
                             0,
                             std::nullopt,
                             ranksText(curve, *point, unit())};
        value.x = (axis == CurveAxis::kX      ? point->x
                   : axis == CurveAxis::kRows ? point->rows
                                              : point->timeMs) -
                  offset;
        if (const CurveStore* smoothed = s_->layer.smoothedStore(i)) {
            const auto average = smoothed->nearest(CurveAxis::kX, value.x + offset);
            value.smoothed = average ? std::optional<double>(average->y) : std::nullopt;
        }
        values.push_back(std::move(value));
    }
    return values;
}

QString PlotWidget::summary() const {
    QStringList parts;
    const QString unitText = unitName(unit());
    parts << (title().isEmpty() ? tr("Chart") : title()) +
                 (unitText.isEmpty() ? QString() : QStringLiteral(" (%1)").arg(unitText));
    if (isEmpty()) {
        return parts.front() + QStringLiteral(": ") + emptyText();
    }
    int numTold = 0;
    for (const Curve& curve : s_->curves()) {
        const std::optional<CurvePoint> newest = curve.store->newest();
        if (!newest || !s_->isVisible(curve) || numTold++ >= kSummaryCurvesMax) {
            continue;
        }
        parts << tr("%1 %2 at step %3")
                     .arg(curve.name, valueText(newest->y, unit()), groupedText(newest->x, 0));
    }
    if (numTold > kSummaryCurvesMax) {
        parts << tr("%1 more").arg(numTold - kSummaryCurvesMax);
    }
    return parts.front() + QStringLiteral(": ") + parts.mid(1).join(QStringLiteral("; "));
}

}  // namespace millrace::gui

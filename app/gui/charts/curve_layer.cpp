#include "app/gui/charts/curve_layer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "app/gui/charts/parts/line_dash.h"

namespace millrace::gui {
namespace {

constexpr double kLineWidth = 1.3, kSmoothWidth = 1.9, kHighlightExtra = 0.8;  // logical pixels
constexpr double kMarkerRadius = 2.2;
constexpr double kMarkerSpacing = 16;  // logical pixels between points that get a dot
constexpr double kRawOpacity = 0.28, kDimmedOpacity = 0.22, kBandOpacity = 0.2;
constexpr double kFlat = 1.5;  // device pixels: a smaller range is drawn as a line, a larger one as
                               // a span
// Rows are clamped to this: a value of 1e300 would overflow int in the raster.
constexpr double kFarAway = 1e5;

int floorToInt(double value) {
    return static_cast<int>(std::floor(std::clamp(value, -1e9, 1e9)));
}

// How many columns to the left round ends and dots may reach.
int reachOf(double scale) {
    return static_cast<int>(std::ceil(4 * scale)) + 1;
}

void clearColumns(QImage& image, int from, int to) {
    const auto bytes = static_cast<std::size_t>(to - from) * 4;
    for (int row = 0; row < image.height(); ++row) {
        std::memset(image.scanLine(row) + static_cast<std::ptrdiff_t>(from) * 4, 0, bytes);
    }
}

}  // namespace

CurveAxis storeAxis(XAxis axis) {
    switch (axis) {
        case XAxis::kStep:
            return CurveAxis::kX;
        case XAxis::kRows:
            return CurveAxis::kRows;
        case XAxis::kRelativeTime:
        case XAxis::kWallTime:
            break;
    }
    return CurveAxis::kTime;
}

double axisOffset(const Curve& curve, XAxis axis) {
    if (axis != XAxis::kRelativeTime) {
        return 0;
    }
    const CurveRange times = curve.store->extent(CurveAxis::kTime);
    return curve.startMs.value_or(times.isEmpty() ? 0 : times.low);
}

double LayerGeometry::yToRow(double value) const {
    if (isLogY && !(value > 0)) {
        return rows + kFarAway;  // no logarithm: the line leaves the plot at the bottom
    }
    const double part = isLogY ? std::log(value / y.low) / std::log(y.high / y.low)
                               : (value - y.low) / (y.high - y.low);
    return std::clamp(rows * (1 - part), -kFarAway, rows + kFarAway);
}

// A curve is the same while its store is: a new colour or name keeps the averages, which are
// expensive. The drawn image is stale in any case.
void CurveLayer::setCurves(const std::vector<Curve>& curves) {
    std::vector<Line> lines;
    lines.reserve(curves.size());
    for (const Curve& curve : curves) {
        const auto known = std::ranges::find_if(lines_, [&](const Line& line) {
            return line.curve.id == curve.id && line.curve.store == curve.store;
        });
        Line line = known == lines_.end() ? Line{} : std::move(*known);
        line.curve = curve;
        lines.push_back(std::move(line));
    }
    lines_ = std::move(lines);
    isStale_ = true;
}

void CurveLayer::setHidden(const QSet<QString>& ids) {
    hidden_ = ids;
    isStale_ = true;
}

void CurveLayer::setHighlighted(const QString& id) {
    isStale_ = isStale_ || id != highlighted_;
    highlighted_ = id;
}

const CurveStore* CurveLayer::smoothedStore(std::size_t i) const {
    return isSmoothed(lines_[i]) ? &lines_[i].smoothed.store() : nullptr;
}

CurveLayer::Source CurveLayer::rawSource(const Line& line) const {
    return {*line.curve.store, storeAxis(geometry_.axis), line.offset, isTime()};
}

CurveLayer::Source CurveLayer::smoothSource(const Line& line) const {
    return {line.smoothed.store(), CurveAxis::kX, line.offset, isTime()};
}

// Shifts only a view that moved right by whole columns and changed nothing else, which a live chart
// does all day. Moves to the left are rare and not worth it. 0: no shift.
int CurveLayer::shiftFor(const LayerGeometry& geometry) const {
    LayerGeometry moved = geometry_;
    moved.firstBin = geometry.firstBin;
    const std::int64_t columns = geometry.firstBin - geometry_.firstBin;
    return moved == geometry && columns > 0 && columns < geometry.columns
               ? static_cast<int>(columns)
               : 0;
}

void CurveLayer::shiftTrace(Trace& trace, const Source& source, int columns) {
    if (trace.density != Density::kDense || !trace.isFresh) {
        return;
    }
    // The envelope of a column depends only on its borders, which are multiples of binWidth: it
    // stays valid when the column moves.
    std::move(trace.bins.begin() + columns, trace.bins.end(), trace.bins.begin());
    const int first = geometry_.columns - columns;
    source.store.envelope(source.axis, source.offset, geometry_.binWidth,
                          std::span(trace.bins).subspan(static_cast<std::size_t>(first)),
                          geometry_.firstBin + first);
}

void CurveLayer::shift(int columns) {
    const auto bytes = static_cast<std::size_t>(geometry_.columns - columns) * 4;
    for (int row = 0; row < image_.height(); ++row) {
        uchar* line = image_.scanLine(row);
        std::memmove(line, line + static_cast<std::ptrdiff_t>(columns) * 4, bytes);
    }
    for (Line& line : lines_) {
        shiftTrace(line.raw, rawSource(line), columns);
        if (isSmoothed(line)) {
            shiftTrace(line.smooth, smoothSource(line), columns);
        }
    }
}

CurveLayer::Density CurveLayer::densityOf(const Source& source) const {
    const double low = geometry_.columnToX(0) + source.offset;
    const double high = geometry_.columnToX(geometry_.columns) + source.offset;
    const auto numVisible = static_cast<double>(source.store.lowerBound(source.axis, high) -
                                                source.store.lowerBound(source.axis, low));
    if (numVisible * kMarkerSpacing * geometry_.scale <= geometry_.columns) {
        return Density::kMarked;
    }
    // Below two points per column an envelope has more columns than points to draw.
    return 2 * numVisible <= geometry_.columns ? Density::kSparse : Density::kDense;
}

// Returns the first column to redraw; geometry_.columns: none.
int CurveLayer::refreshTrace(Trace& trace, const Source& source) {
    const CurveStore& store = source.store;
    if (trace.isFresh && trace.revision == store.revision()) {
        return geometry_.columns;
    }
    const Density density = densityOf(source);
    // Unless the store reports a rewrite, points are only appended: everything left of the newest
    // drawn point is unchanged. Its own column has changed, and the line from it to the next point.
    int first = 0;
    if (trace.isFresh && trace.rewrites == store.rewrites() && density == trace.density) {
        first = std::max(0, floorToInt(geometry_.xToColumn(trace.lastX - source.offset)));
    }
    trace.density = density;
    if (density == Density::kDense && first < geometry_.columns) {
        trace.bins.resize(static_cast<std::size_t>(geometry_.columns));
        store.envelope(source.axis, source.offset, geometry_.binWidth,
                       std::span(trace.bins).subspan(static_cast<std::size_t>(first)),
                       geometry_.firstBin + first);
    }
    if (density != Density::kDense) {
        trace.bins.clear();
    }
    const CurveRange extent = store.extent(source.axis);
    trace.lastX = extent.isEmpty() ? -std::numeric_limits<double>::infinity() : extent.high;
    trace.isFresh = true;
    trace.revision = store.revision();
    trace.rewrites = store.rewrites();
    return std::min(first, geometry_.columns);
}

int CurveLayer::refresh(Line& line) {
    if (hidden_.contains(line.curve.id)) {
        return geometry_.columns;
    }
    const CurveAxis axis = storeAxis(geometry_.axis);
    line.offset = axisOffset(line.curve, geometry_.axis);
    int first = refreshTrace(line.raw, rawSource(line));
    if (isSmoothed(line)) {
        line.smoothed.update(*line.curve.store, axis, line.curve.smoothing);
        first = std::min(first, refreshTrace(line.smooth, smoothSource(line)));
    }
    return first;
}

DirtyColumns CurveLayer::update(const LayerGeometry& geometry) {
    if (geometry.columns <= 0 || geometry.rows <= 0) {
        return {};
    }
    const int shifted = isStale_ ? 0 : shiftFor(geometry);
    const bool isAnew = isStale_ || (shifted == 0 && geometry != geometry_);
    if (geometry.columns != image_.width() || geometry.rows != image_.height()) {
        image_ = QImage(geometry.columns, geometry.rows, QImage::Format_ARGB32_Premultiplied);
        raster_.resize(geometry.columns, geometry.rows);
    }
    geometry_ = geometry;
    int first = isAnew ? 0 : geometry.columns - shifted;
    if (shifted > 0) {
        shift(shifted);
    }
    for (Line& line : lines_) {
        if (isAnew) {
            line.raw.isFresh = line.smooth.isFresh = false;
        }
        first = std::min(first, refresh(line));
    }
    isStale_ = false;
    if (first >= geometry.columns) {
        return {};
    }
    // Columns are cleared as a whole: redraw also the parts that reach in from the left.
    first = std::max(0, first - reachOf(geometry.scale));
    const int last = isAnew || first == 0 || shifted > 0 ? geometry.columns : lastColumn();
    draw(first, std::max(first, last));
    return {shifted > 0 ? 0 : first, last};
}

// The column of the newest points: columns after it are empty.
int CurveLayer::lastColumn() const {
    int last = 0;
    for (const Line& line : lines_) {
        last = std::max(last, floorToInt(geometry_.xToColumn(line.raw.lastX - line.offset)));
    }
    return std::clamp(last + 1 + reachOf(geometry_.scale), 0, geometry_.columns);
}

void CurveLayer::draw(int from, int to) {
    clearColumns(image_, from, to);
    numColumnsDrawn_ += static_cast<std::uint64_t>(to - from);
    for (const bool isTop : {false, true}) {  // the highlighted curve is drawn last, on top
        for (const Line& line : lines_) {
            if ((line.curve.id == highlighted_) == isTop && !hidden_.contains(line.curve.id)) {
                drawLine(line, from, to);
            }
        }
    }
}

// Dashes are measured from the axis' zero, not from the image's edge: they move with the curve.
LineRaster::Dashes CurveLayer::dashesOf(const Curve& curve) const {
    const DashLengths lengths = dashLengths(curve.dash);
    LineRaster::Dashes dashes;
    dashes.on = static_cast<int>(std::lround(lengths.on * geometry_.scale));
    dashes.off = static_cast<int>(std::lround(lengths.off * geometry_.scale));
    const int period = std::max(1, dashes.on + dashes.off);
    dashes.phase = static_cast<int>(((geometry_.firstBin % period) + period) % period);
    return dashes;
}

void CurveLayer::drawLine(const Line& line, int from, int to) {
    const bool isHighlighted = line.curve.id == highlighted_;
    const double opacity = highlighted_.isEmpty() || isHighlighted ? 1 : kDimmedOpacity;
    const double extra = isHighlighted ? kHighlightExtra : 0;
    const auto half = [&](double width) { return (width + extra) * geometry_.scale / 2; };
    const LineRaster::Dashes dashes = dashesOf(line.curve);
    if (line.curve.band) {
        drawBand(line, from, to);
        raster_.blend(image_, line.curve.color, opacity * kBandOpacity);
    }
    drawTrace(line.raw, rawSource(line), {half(kLineWidth), from, to});
    raster_.blend(image_, line.curve.color, opacity * (isSmoothed(line) ? kRawOpacity : 1), dashes);
    if (dashes.off > 0 && line.raw.density == Density::kMarked) {
        // The gaps between dashes show the marks of the points too.
        drawTrace(line.raw, rawSource(line), {half(kLineWidth), from, to, false});
        raster_.blend(image_, line.curve.color, opacity);
    }
    if (isSmoothed(line)) {
        drawTrace(line.smooth, smoothSource(line), {half(kSmoothWidth), from, to});
        raster_.blend(image_, line.curve.color, opacity, dashes);
    }
}

// Fills the area between the smallest and the largest value at each position. A logged gap ends the
// band, as it ends the line.
void CurveLayer::drawBand(const Line& line, int from, int to) {
    raster_.begin(from, to);
    const CurveAxis axis = storeAxis(geometry_.axis);
    if (line.curve.band->low().has(axis) && line.curve.band->high().has(axis)) {
        drawBandColumns(line, from, to);
        drawBandEdges(line, from, to);
    }
}

// Columns that have points: from the smallest to the largest value.
void CurveLayer::drawBandColumns(const Line& line, int from, int to) {
    const CurveStore &low = line.curve.band->low(), &high = line.curve.band->high();
    const CurveAxis axis = storeAxis(geometry_.axis);
    // Two more columns on the left: the edge starts there.
    const int first = std::max(0, from - 2);
    std::vector<CurveBin> lows(static_cast<std::size_t>(to - first)), highs(lows.size());
    low.envelope(axis, line.offset, geometry_.binWidth, lows, geometry_.firstBin + first);
    high.envelope(axis, line.offset, geometry_.binWidth, highs, geometry_.firstBin + first);
    for (std::size_t k = 0; k < lows.size(); ++k) {
        if (lows[k].hasValue() && highs[k].hasValue()) {
            raster_.addSpan(first + static_cast<int>(k), geometry_.yToRow(highs[k].max),
                            geometry_.yToRow(lows[k].min), 0);
        }
    }
}

// Columns between two points of a sparse band: both edges are straight.
void CurveLayer::drawBandEdges(const Line& line, int from, int to) {
    const CurveStore& low = line.curve.band->low();
    const CurveAxis axis = storeAxis(geometry_.axis);
    const double left = geometry_.columnToX(from) + line.offset;
    const double right = geometry_.columnToX(to) + line.offset;
    std::size_t i = low.lowerBound(axis, left);
    for (i = i > 0 ? i - 1 : 0; i + 1 < low.size() && low.place(i, axis) <= right; ++i) {
        const double place = geometry_.xToColumn(low.place(i, axis) - line.offset);
        const double next = geometry_.xToColumn(low.place(i + 1, axis) - line.offset);
        if (isTime() && low.isAfterPause(i + 1, axis)) {
            continue;
        }
        const int begin = std::max(from, floorToInt(place) + 1);
        const int end = std::min(to, floorToInt(next));
        if (begin >= end) {
            continue;
        }
        const double above = line.curve.band->highAbove(i).value_or(kNoValue);
        const double aboveNext = line.curve.band->highAbove(i + 1).value_or(kNoValue);
        for (int column = begin; column < end; ++column) {
            const double part = (column + 0.5 - place) / (next - place);
            const double top = above + part * (aboveNext - above);
            const double bottom = low.value(i) + part * (low.value(i + 1) - low.value(i));
            if (std::isfinite(top) && std::isfinite(bottom)) {
                raster_.addSpan(column, geometry_.yToRow(top), geometry_.yToRow(bottom), 0);
            }
        }
    }
}

void CurveLayer::drawTrace(const Trace& trace, const Source& source, const Pen& pen) {
    raster_.begin(pen.from, pen.to);
    if (!trace.isFresh || !source.store.has(source.axis)) {
        return;
    }
    if (trace.density == Density::kDense) {
        drawBins(trace, source, pen);
        drawEdges(trace, source, pen);
    } else {
        drawPoints(trace, source, pen);
    }
}

// From one point before the view to one after it, so that lines leave through its edges.
void CurveLayer::drawPoints(const Trace& trace, const Source& source, const Pen& pen) {
    const CurveStore& store = source.store;
    const double left = geometry_.columnToX(pen.from - reachOf(geometry_.scale)) + source.offset;
    const double right = geometry_.columnToX(geometry_.columns) + source.offset;
    std::size_t begin = store.lowerBound(source.axis, left);
    begin = begin > 0 ? begin - 1 : 0;
    const std::size_t end = std::min(store.size(), store.lowerBound(source.axis, right) + 1);
    const auto isValue = [&](std::size_t i) {
        return i < store.size() && std::isfinite(store.at(i).y);
    };
    // A NaN between two values is a gap, and so is a pause.
    const auto isJoinedTo = [&](std::size_t i) {
        return i > 0 && isValue(i - 1) && isValue(i) && !source.isCut(i);
    };
    double column = 0, row = 0;
    for (std::size_t i = begin; i < end; ++i) {
        if (!isValue(i)) {
            continue;
        }
        const double toColumn = geometry_.xToColumn(store.place(i, source.axis) - source.offset);
        const double toRow = geometry_.yToRow(store.at(i).y);
        const bool isJoined = isJoinedTo(i);
        if (i > begin && isJoined && pen.hasLines) {
            raster_.addSegment(column, row, toColumn, toRow, pen.halfWidth);
        }
        if (trace.density == Density::kMarked || (!isJoined && !isJoinedTo(i + 1))) {
            raster_.addDot(toColumn, toRow,
                           std::max(pen.halfWidth, kMarkerRadius * geometry_.scale));
        }
        column = toColumn;
        row = toRow;
    }
}

void CurveLayer::drawBins(const Trace& trace, const Source& source, const Pen& pen) {
    const auto hasValue = [&](int k) { return trace.bins[static_cast<std::size_t>(k)].hasValue(); };
    // Round ends span several columns: begin a little further left.
    const int from = std::max(0, pen.from - reachOf(geometry_.scale));
    int left = from - 1;
    while (left >= 0 && !hasValue(left)) {
        --left;
    }
    for (int k = from; k < geometry_.columns; ++k) {
        if (!hasValue(k)) {
            continue;
        }
        drawBin(trace.bins[static_cast<std::size_t>(k)], k, pen);
        const auto isCut = [&] {
            const double border = geometry_.columnToX(k) + source.offset;
            return source.isCut(source.store.lowerBound(source.axis, border));
        };
        if (left >= 0 && (left + 1 == k || !isCut())) {
            joinBins(trace, left, k, pen);
        }
        left = k;
    }
}

// A column of many points is a span from the smallest to the largest value. A column that only
// rises or falls is a slanted line: neighbouring spans would turn a smooth curve into stairs.
void CurveLayer::drawBin(const CurveBin& bin, int column, const Pen& pen) {
    const double top = geometry_.yToRow(bin.max), bottom = geometry_.yToRow(bin.min);
    const double middle = column + 0.5;
    if (bottom - top < kFlat) {
        raster_.addDot(middle, (top + bottom) / 2, pen.halfWidth);
        return;
    }
    const bool isRising = bin.first == bin.min && bin.last == bin.max;
    const bool isFalling = bin.first == bin.max && bin.last == bin.min;
    if ((isRising || isFalling) && bin.numPoints > 1) {
        raster_.addSegment(column, isRising ? bottom : top, column + 1, isRising ? top : bottom,
                           pen.halfWidth);
        return;
    }
    raster_.addSpan(column, top, bottom, pen.halfWidth / 2);
}

// Connects the values of two columns that have no values between them. Spans that overlap are one
// shape already; otherwise the vertical distance between them is filled. Flat ones are joined by a
// line.
void CurveLayer::joinBins(const Trace& trace, int left, int right, const Pen& pen) {
    const CurveBin& a = trace.bins[static_cast<std::size_t>(left)];
    const CurveBin& b = trace.bins[static_cast<std::size_t>(right)];
    if (a.isGapLast || b.isGapFirst) {
        return;
    }
    for (int k = left + 1; k < right; ++k) {
        if (trace.bins[static_cast<std::size_t>(k)].hasGap) {
            return;
        }
    }
    const double aTop = geometry_.yToRow(a.max), aBottom = geometry_.yToRow(a.min);
    const double bTop = geometry_.yToRow(b.max), bBottom = geometry_.yToRow(b.min);
    const bool isFlat = aBottom - aTop < kFlat && bBottom - bTop < kFlat;
    if (right == left + 1 && !isFlat) {
        if (aBottom < bTop) {
            raster_.addSpan(right, aBottom, bTop, 0);
        } else if (bBottom < aTop) {
            raster_.addSpan(right, bBottom, aTop, 0);
        }
        return;
    }
    raster_.addSegment(left + 0.5, geometry_.yToRow(a.last), right + 0.5, geometry_.yToRow(b.first),
                       pen.halfWidth);
}

void CurveLayer::drawToPoint(const Source& source, std::size_t i, double column, double row,
                             const Pen& pen) {
    const CurvePoint point = source.store.at(i);
    if (!std::isfinite(point.y)) {
        return;
    }
    const double atColumn = geometry_.xToColumn(source.store.place(i, source.axis) - source.offset);
    const double atRow = geometry_.yToRow(point.y);
    const bool isBefore = atColumn < column;
    if (source.isCut(isBefore ? i + 1 : i)) {
        return;
    }
    if (isBefore) {
        raster_.addSegment(atColumn, atRow, column, row, pen.halfWidth);
    } else {
        raster_.addSegment(column, row, atColumn, atRow, pen.halfWidth);
    }
}

// Extends the line to the nearest points outside the view.
void CurveLayer::drawEdges(const Trace& trace, const Source& source, const Pen& pen) {
    const auto first =
        std::ranges::find_if(trace.bins, [](const CurveBin& bin) { return bin.numPoints > 0; });
    if (first == trace.bins.end()) {
        return;
    }
    const double left = geometry_.columnToX(0) + source.offset;
    const double right = geometry_.columnToX(geometry_.columns) + source.offset;
    const std::size_t before = source.store.lowerBound(source.axis, left);
    const std::size_t after = source.store.lowerBound(source.axis, right);
    if (pen.from == 0 && before > 0 && first->hasValue() && !first->isGapFirst) {
        drawToPoint(source, before - 1, static_cast<double>(first - trace.bins.begin()) + 0.5,
                    geometry_.yToRow(first->first), pen);
    }
    const auto last = std::find_if(trace.bins.rbegin(), trace.bins.rend(),
                                   [](const CurveBin& bin) { return bin.numPoints > 0; });
    if (after < source.store.size() && last->hasValue() && !last->isGapLast) {
        const auto column = static_cast<double>(trace.bins.rend() - last) - 0.5;
        drawToPoint(source, after, column, geometry_.yToRow(last->last), pen);
    }
}

}  // namespace millrace::gui

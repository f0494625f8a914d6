#include "app/gui/charts/parts/chart_link.h"

#include <algorithm>

namespace millrace::gui {
namespace {

/// How far ahead of growing data the view extends.
constexpr double kHeadroom = 0.03;

}  // namespace

ChartLink::ChartLink(QObject* parent) : QObject(parent) {}

void ChartLink::setXAxis(XAxis axis) {
    if (axis == xAxis_) {
        return;
    }
    xAxis_ = axis;
    extents_.clear();
    extent_ = view_ = CurveRange{};
    crosshair_.reset();
    selection_.reset();
    const bool wasLive = isLive_;
    isLive_ = true;
    Q_EMIT axisChanged();
    if (!wasLive) {
        Q_EMIT liveChanged(true);
    }
}

void ChartLink::setLive(bool isLive) {
    if (isLive == isLive_) {
        return;
    }
    isLive_ = isLive;
    if (isLive_) {
        view_ = CurveRange{};
        followNewest();
    }
    Q_EMIT liveChanged(isLive_);
}

void ChartLink::setLiveWindow(double width) {
    liveWindow_ = std::max(0.0, width);
    if (isLive_) {
        view_ = CurveRange{};
        followNewest();
    }
}

void ChartLink::setView(CurveRange view) {
    if (view.isEmpty() || !(view.high > view.low)) {
        return;
    }
    moveView(view);
    setLive(false);
}

void ChartLink::fit() {
    if (!extent_.isEmpty()) {
        moveView(extent_);
        setLive(false);
    }
}

void ChartLink::setCrosshair(std::optional<double> x) {
    if (x != crosshair_) {
        crosshair_ = x;
        Q_EMIT crosshairChanged();
    }
}

void ChartLink::setSelection(std::optional<CurveRange> range) {
    if (range != selection_) {
        selection_ = range;
        Q_EMIT selectionChanged();
    }
}

void ChartLink::reportExtent(const QObject* member, CurveRange extent) {
    const auto known = extents_.find(member);
    if (known == extents_.end()) {
        connect(member, &QObject::destroyed, this, &ChartLink::forget);
    } else if (*known == extent) {
        return;
    }
    extents_.insert(member, extent);
    mergeExtents();
}

void ChartLink::forget(const QObject* member) {
    disconnect(member, &QObject::destroyed, this, &ChartLink::forget);
    if (extents_.remove(member)) {
        mergeExtents();
    }
}

void ChartLink::mergeExtents() {
    CurveRange merged;
    for (const CurveRange& extent : std::as_const(extents_)) {
        merged.low = std::min(merged.low, extent.low);
        merged.high = std::max(merged.high, extent.high);
    }
    if (merged == extent_) {
        return;
    }
    extent_ = merged;
    if (isLive_ || view_.isEmpty()) {
        followNewest();
    }
}

void ChartLink::followNewest() {
    if (extent_.isEmpty()) {
        moveView({});
        return;
    }
    if (liveWindow_ > 0) {
        moveView({std::max(extent_.low, extent_.high - liveWindow_), extent_.high});
        return;
    }
    const bool isInside =
        !view_.isEmpty() && extent_.low == view_.low && extent_.high <= view_.high &&
        extent_.high - extent_.low >= (view_.high - view_.low) * (1 - 2 * kHeadroom);
    if (isInside) {
        return;
    }
    const bool isGrowing =
        !view_.isEmpty() && extent_.low == view_.low && extent_.high > view_.high;
    const double ahead = isGrowing ? kHeadroom * (extent_.high - extent_.low) : 0;
    moveView({extent_.low, extent_.high + ahead});
}

void ChartLink::moveView(CurveRange view) {
    if (!view.isEmpty() && view.low == view.high) {
        view.low -= 0.5;
        view.high += 0.5;
    }
    if (view != view_) {
        view_ = view;
        Q_EMIT viewChanged();
    }
}

}  // namespace millrace::gui

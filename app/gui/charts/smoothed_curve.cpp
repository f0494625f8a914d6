#include "app/gui/charts/smoothed_curve.h"

#include <algorithm>
#include <cmath>

namespace millrace::gui {
namespace {

constexpr double kUnitsPerRange = 1000;

// A power of two at or above the range: a growing curve is recomputed only at each doubling.
double roundedRange(const CurveRange& extent) {
    const double range = extent.high - extent.low;
    return range > 0 ? std::exp2(std::ceil(std::log2(range))) : 1;
}

}  // namespace

void SmoothedCurve::restart(const CurveStore& store, CurveAxis axis, double smoothing) {
    store_.clear();
    rewrites_ = store.rewrites();
    numTaken_ = 0;
    axis_ = axis;
    smoothing_ = smoothing;
    sum_ = weight_ = lastX_ = 0;
}

void SmoothedCurve::update(const CurveStore& store, CurveAxis axis, double smoothing) {
    const double range = roundedRange(store.extent(axis));
    if (axis != axis_ || smoothing != smoothing_ || store.rewrites() != rewrites_ ||
        range != range_ || store.size() < numTaken_) {
        restart(store, axis, smoothing);
        range_ = range;
    }
    if (!store.has(axis)) {
        return;
    }
    std::vector<CurvePoint> added;
    added.reserve(store.size() - numTaken_);
    const double perUnit = kUnitsPerRange / range_;
    const double logSmoothing = std::log(std::clamp(smoothing, 1e-6, 0.9999));
    for (std::size_t i = numTaken_; i < store.size(); ++i) {
        const CurvePoint point = store.at(i);
        const double x = axis == CurveAxis::kX      ? point.x
                         : axis == CurveAxis::kRows ? point.rows
                                                    : point.timeMs;
        if (!std::isfinite(point.y)) {
            added.push_back({x, kNoValue});
            continue;
        }
        const double distance = weight_ > 0 ? std::min(1.0, (x - lastX_) * perUnit) : 1;
        const double past = std::exp(logSmoothing * std::max(distance, 1e-6));
        sum_ = past * sum_ + (1 - past) * point.y;
        weight_ = past * weight_ + (1 - past);
        lastX_ = x;
        added.push_back({x, sum_ / weight_});
    }
    store_.append(added);
    numTaken_ = store.size();
}

}  // namespace millrace::gui

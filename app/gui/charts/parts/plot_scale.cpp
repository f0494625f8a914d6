#include "app/gui/charts/parts/plot_scale.h"

#include <algorithm>
#include <cmath>

namespace millrace::gui {
namespace {

constexpr double kFarAway = 1e5;  // pixels
constexpr double kAir = 0.06;     // of the range, above and below the data

double share(const CurveRange& range, double value) {
    return (value - range.low) / (range.high - range.low);
}

CurveRange logRange(const YRangeRequest& request) {
    double high = request.data.high > 0 ? request.data.high : 1;
    double low = request.leastPositive.value_or(high / 10);
    // At most nine decades: one value near zero must not squeeze all others.
    low = std::max(low, high * 1e-9);
    const double decades = std::max(std::log10(high / low), 0.1);
    low = request.low && *request.low > 0 ? *request.low : low / std::pow(10, kAir * decades);
    high =
        request.high && *request.high > low ? *request.high : high * std::pow(10, kAir * decades);
    return {low, high};
}

}  // namespace

double PlotScale::xToPixel(double value) const {
    return area.left() + share(x, value) * area.width();
}

double PlotScale::pixelToX(double pixel) const {
    return x.low + (pixel - area.left()) / area.width() * (x.high - x.low);
}

double PlotScale::yToPixel(double value) const {
    double part = 0;
    if (isLogY) {
        if (!(value > 0)) {
            return area.bottom() + kFarAway;
        }
        part = std::log(value / y.low) / std::log(y.high / y.low);
    } else {
        part = share(y, value);
    }
    return std::clamp(area.bottom() - part * area.height(), area.top() - kFarAway,
                      area.bottom() + kFarAway);
}

CurveRange zoomed(const CurveRange& range, double factor, double at) {
    return {at - (at - range.low) * factor, at + (range.high - at) * factor};
}

CurveRange panned(const CurveRange& range, double distance) {
    return {range.low + distance, range.high + distance};
}

CurveRange keptNear(const CurveRange& view, const CurveRange& extent, double widest) {
    if (extent.isEmpty() || view.isEmpty()) {
        return view;
    }
    const double span = std::max(extent.high - extent.low, 1e-9 * std::abs(extent.high) + 1e-9);
    const double widthMax = widest * span;
    double width = view.high - view.low;
    double middle = (view.low + view.high) / 2;
    const double widthMin = std::max(1e-6 * span, 1e-12 * std::abs(middle));
    width = std::clamp(width, widthMin, std::max(widthMin, widthMax));
    middle = std::clamp(middle, extent.low, extent.high);
    return {middle - width / 2, middle + width / 2};
}

CurveRange yRangeFor(const YRangeRequest& request) {
    if (request.isLog) {
        return logRange(request);
    }
    CurveRange data = request.data.isEmpty() ? CurveRange{0, 1} : request.data;
    double low = data.low, high = data.high;
    if (low == high) {
        const double air = low == 0 ? 1 : std::abs(low) * 0.5;
        low = low > 0 ? std::max(0.0, low - air) : low - air;
        high += air;
    } else if (low > 0 && low < 0.35 * high) {
        low = 0;
    } else if (high < 0 && high > 0.35 * low) {
        high = 0;
    }
    const double air = kAir * (high - low);
    low = low == 0 && data.low >= 0 ? 0 : low - air;
    high = high == 0 && data.high <= 0 ? 0 : high + air;
    low = request.low.value_or(low);
    high = request.high.value_or(high);
    if (!(high > low)) {
        high = low + 1;
    }
    return {low, high};
}

CurveRange steadyRange(const CurveRange& soFar, const CurveRange& data, const CurveRange& wanted) {
    if (soFar.isEmpty() || data.isEmpty() || data.low < soFar.low || data.high > soFar.high) {
        return wanted;
    }
    return wanted.high - wanted.low < 0.7 * (soFar.high - soFar.low) ? wanted : soFar;
}

}  // namespace millrace::gui

#pragma once
// The coordinates of an x/y plot as pure values: axis to pixel and back, zoom, pan, and the y range
// for given data.
//
// Threads: any.
#include <QRectF>
#include <optional>

#include "app/gui/models/curve_store.h"

namespace millrace::gui {

struct PlotScale {
    QRectF area;  ///< in widget coordinates
    CurveRange x{0, 1};
    CurveRange y{0, 1};
    bool isLogY = false;

    double xToPixel(double value) const;
    double pixelToX(double pixel) const;
    /// Values that a logarithmic axis cannot show map to far below the plot.
    double yToPixel(double value) const;
};

/// `factor` < 1 zooms in; `at` keeps its position.
CurveRange zoomed(const CurveRange& range, double factor, double at);
CurveRange panned(const CurveRange& range, double distance);
/// Keeps a view near the data: they fill at least half of it, and it shows at most `widest` times
/// their extent.
CurveRange keptNear(const CurveRange& view, const CurveRange& extent, double widest = 4);

struct YRangeRequest {
    CurveRange data;
    bool isLog = false;
    std::optional<double> leastPositive;  ///< for the logarithmic axis
    std::optional<double> low, high;      ///< fixed bounds
};
/// The data with a margin; starts at zero if they are not far from it. Never empty.
CurveRange yRangeFor(const YRangeRequest& request);
/// Keeps the previous range if it still fits (nothing outside, not far too wide), else takes the
/// wanted one.
CurveRange steadyRange(const CurveRange& soFar, const CurveRange& data, const CurveRange& wanted);

}  // namespace millrace::gui

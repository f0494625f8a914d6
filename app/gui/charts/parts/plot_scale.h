#pragma once
// Places of an x/y plot as pure values: axis to pixel and back, zoom, pan, and the y range that
// data get.
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
    /// Values that a logarithmic axis cannot show lie far below the plot.
    double yToPixel(double value) const;
};

/// `factor` < 1 zooms in; what lies at `at` stays there.
CurveRange zoomed(const CurveRange& range, double factor, double at);
CurveRange panned(const CurveRange& range, double distance);
/// Keeps a view within reach of the data: it never shows less than half of itself of them, nor more
/// than `widest` of their extent.
CurveRange keptNear(const CurveRange& view, const CurveRange& extent, double widest = 4);

struct YRangeRequest {
    CurveRange data;
    bool isLog = false;
    std::optional<double> leastPositive;  ///< for the logarithmic axis
    std::optional<double> low, high;      ///< bounds that stay
};
/// The data with some air; from zero where they are not far from it. Never empty.
CurveRange yRangeFor(const YRangeRequest& request);
/// The range so far where it still serves (nothing outside, not far too wide), else the wanted one.
CurveRange steadyRange(const CurveRange& soFar, const CurveRange& data, const CurveRange& wanted);

}  // namespace millrace::gui

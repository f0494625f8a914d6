#pragma once
// Paints a curve the size of a word into a table cell; called by delegates, so no widget per cell.
//
// Threads: the GUI thread. Owns: nothing.
#include <QColor>
#include <QRectF>
#include <span>
#include <vector>

#include "app/gui/models/curve_store.h"

class QPainter;

namespace millrace::gui {

struct SparklineStyle {
    QColor line;
    QColor fill;             ///< under the line; invalid: none
    bool hasLastDot = true;  ///< marks the newest value
    /// Fixed bounds of y; empty: from the values.
    CurveRange bounds;
};

/// Values from left to right; NaN is a gap. Several values in a pixel are drawn as their smallest
/// and largest.
void paintSparkline(QPainter& painter, const QRectF& rect, std::span<const double> values,
                    const SparklineStyle& style);

}  // namespace millrace::gui

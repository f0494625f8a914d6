#pragma once
// A curve the size of a word, for table cells: painted by the delegate, no widget a cell.
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
    QColor fill;             ///< under the line; not valid: none
    bool hasLastDot = true;  ///< the newest value
    /// Fixed bounds of y; empty: by the values.
    CurveRange bounds;
};

/// Values from left to right; NaN is a gap. Several values a pixel are drawn as their least and
/// greatest.
void paintSparkline(QPainter& painter, const QRectF& rect, std::span<const double> values,
                    const SparklineStyle& style);

}  // namespace millrace::gui

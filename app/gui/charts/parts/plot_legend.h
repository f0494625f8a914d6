#pragma once
// PlotLegend: lays out the names of the curves in rows below a plot, paints them, and finds the one
// under the mouse.
//
// Threads: the GUI thread. Owns: the layout.
#include <QColor>
#include <QFont>
#include <QRectF>
#include <QString>
#include <vector>

class QPainter;

namespace millrace::gui {

struct ChartColors;

struct LegendEntry {
    QString id, name;
    QColor color;
    bool isHidden = false;
    int dash = 0;  ///< of line_dash.h
    bool operator==(const LegendEntry&) const = default;
};

class PlotLegend {
 public:
    /// Places the entries from left to right in at most `numRowsMax` rows of `width`; counts those
    /// that do not fit.
    void place(std::vector<LegendEntry> entries, double width, int numRowsMax, const QFont& font);
    double height() const { return height_; }
    void paint(QPainter& painter, const QPointF& at, const QString& highlighted,
               const ChartColors& colors) const;
    /// Relative to the painted position; empty: none.
    QString idAt(const QPointF& position) const;
    /// The full name if it was elided; for "+ 3" the names that did not fit.
    QString toolTipAt(const QPointF& position) const;

 private:
    struct Placed {
        QRectF rect;
        QString text;
    };
    bool placeAll(double width, int numRowsMax, double nameMax);
    void placeMore(double width);

    QFont font_;
    std::vector<LegendEntry> entries_;
    std::vector<Placed> placed_;
    QRectF more_;
    double height_ = 0, width_ = 0;
};

}  // namespace millrace::gui

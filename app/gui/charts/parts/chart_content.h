#pragma once
// The content of charts as plain values.
//
// Threads: the GUI thread; stores are shared with the model that appends to them.
#include <QColor>
#include <QString>
#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "app/gui/models/curve_band.h"
#include "app/gui/models/curve_store.h"

namespace millrace::gui {

/// How values are formatted. kPercent: 42 is "42 %"; kFraction: 0.42 is "42 %"; kBytes in kB, MB;
/// kCount with k, M, G; kPlain unchanged.
enum class UnitKind : std::uint8_t {
    kPlain,
    kCount,
    kBytes,
    kBytesPerSecond,
    kPercent,
    kFraction,
    kSeconds,
    kMilliseconds
};
struct Unit {
    UnitKind kind = UnitKind::kPlain;
    QString suffix;  ///< after the value: "samples/s", "W", "°C"; may be empty
    bool operator==(const Unit&) const = default;
};

/// The x axis of curves. Steps and rows are counts, relative time is from the curve's first point,
/// wall time is in the machine's time zone.
enum class XAxis : std::uint8_t { kStep, kRows, kRelativeTime, kWallTime };

/// The axis of a curve's points that is drawn along `axis`.
inline CurveAxis columnOf(XAxis axis) {
    return axis == XAxis::kStep   ? CurveAxis::kX
           : axis == XAxis::kRows ? CurveAxis::kRows
                                  : CurveAxis::kTime;
}

struct Curve {
    QString id;    ///< stable: hidden and highlighted curves are remembered by it
    QString name;  ///< in the legend, elided if long
    QColor color;
    std::shared_ptr<const CurveStore> store;
    std::shared_ptr<const CurveBand> band;  ///< if ranks differ: `store` has their medians
    double smoothing = 0;                   ///< 0: none; 0.9: strong. The raw line stays, faint
    int dash = 0;                           ///< of line_dash.h
    /// Start of relative time, ms since 1970 (the run's start); without it the first point.
    std::optional<double> startMs;
};
struct Curves {
    std::vector<Curve> curves;
};

/// Bin i counts the values in [edges[i], edges[i + 1]).
struct Histogram {
    std::vector<double> edges;
    std::vector<double> counts;  ///< one fewer than edges
    QColor color;
    std::optional<double> marker;  ///< a vertical line (a median, a budget)
    QString markerName;
};

/// Rows in and out of a recipe's steps, in order.
struct FunnelStep {
    QString name;    ///< "filter", "join movies.csv"
    QString detail;  ///< the expression; in the tooltip
    double rowsIn = 0, rowsOut = 0;
};
struct Funnel {
    std::vector<FunnelStep> steps;
    QColor color;
};

using ChartContent = std::variant<std::monostate, Curves, Histogram, Funnel>;
enum class ChartKind : std::uint8_t { kCurves, kHistogram, kFunnel };

}  // namespace millrace::gui

#pragma once
// The positions and texts of an axis' tick marks.
//
// Threads: any.
#include <QString>
#include <vector>

#include "app/gui/charts/parts/chart_content.h"

namespace millrace::gui {

struct TickMark {
    double value = 0;
    QString text;  ///< empty: a minor mark (logarithmic axes)
};
struct TickMarks {
    std::vector<TickMark> marks;
    QString context;  ///< the part that the texts omit: the date of times of day
};

/// 1, 2, 2.5 or 5 times a power of ten: the smallest such step with at most `numMax` marks over
/// `range`.
double niceStep(double range, int numMax);
/// Marks of a linear value axis inside [low, high]; needs low < high and numMax >= 2.
TickMarks valueTicks(double low, double high, int numMax, const Unit& unit);
/// Powers of ten (also of 2 or 5 times them if few decades are visible), with minor marks between.
/// Needs 0 < low < high.
TickMarks logTicks(double low, double high, int numMax, const Unit& unit);
/// Marks of the x axis: whole steps and rows, durations, times of day in the machine's time zone.
TickMarks axisTicks(double low, double high, int numMax, XAxis axis);

}  // namespace millrace::gui

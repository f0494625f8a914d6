#pragma once
// Places the texts below a horizontal axis: those of its marks, and its name.
//
// The name is at the right, if there is room. A date (TickMarks::context) is at the left instead:
// the right end shows the newest time, which users look for more often. That is "now", or the axis'
// end if no mark is near it. A date that leaves no room for a time is omitted. Texts do not
// overlap. Threads: any.
#include <QFontMetricsF>
#include <QString>
#include <optional>
#include <vector>

#include "app/gui/charts/parts/plot_scale.h"
#include "app/gui/charts/parts/tick_marks.h"

namespace millrace::gui {

struct TickText {
    double x = 0;  ///< its left edge, in pixels
    QString text;
};
/// `nowMs`: the present moment, if the axis shows times of day that include it.
std::vector<TickText> placeTexts(const TickMarks& ticks, const QString& axisName,
                                 const PlotScale& scale, const QFontMetricsF& metrics,
                                 std::optional<double> nowMs = {});

}  // namespace millrace::gui

#pragma once
// Which texts stand below a horizontal axis, and where: those of its marks, and its name.
//
// The name stands at the right, where there is room for it. A date (TickMarks::context) stands at
// the left instead: at the right is the newest time, which is looked for more often. It is "now",
// or where the axis ends, if no mark stands close to it. A date that leaves room for no time is
// left out. Texts do not overlap. Threads: any.
#include <QFontMetricsF>
#include <QString>
#include <optional>
#include <vector>

#include "app/gui/charts/parts/plot_scale.h"
#include "app/gui/charts/parts/tick_marks.h"

namespace millrace::gui {

struct TickText {
    double x = 0;  ///< its left end, as a pixel
    QString text;
};
/// `nowMs`: the present moment, on an axis of times of day that has it in sight.
std::vector<TickText> placeTexts(const TickMarks& ticks, const QString& axisName,
                                 const PlotScale& scale, const QFontMetricsF& metrics,
                                 std::optional<double> nowMs = {});

}  // namespace millrace::gui

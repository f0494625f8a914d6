#pragma once
// Formats chart values by their unit, on top of session/figures.h. Always with "." and ",", so that
// screenshots, CSV and sentences agree.
//
// Threads: any.
#include <QString>

#include "app/gui/charts/parts/chart_content.h"
#include "app/session/metric_catalogue.h"

namespace millrace::gui {

/// The chart unit of a metric's unit.
Unit chartUnit(session::MetricUnit unit);

/// "12,345"; "0.4931"; "1.2e-5": `decimals` digits after the point, thousands separated.
QString groupedText(double value, int decimals);
/// For a value box: as logged if that is short, else 7 significant digits. "n/a" for NaN.
QString valueText(double value, const Unit& unit);
/// Short: "1.23 M", "45 %", "3.1 GB", "2 h 05 m".
QString shortText(double value, const Unit& unit);
/// All digits, so that reading it back gives the same double. For CSV; empty for NaN.
QString exactText(double value);
/// "850 ms", "12.3 s", "4 m 05 s", "2 h 05 m", "3 d 04 h".
QString durationLabel(double ms);
/// "21 Nov 2026, 14:03:10" in the machine's time zone.
QString wallTimeText(double msSinceEpoch);
/// A position on the axis: "step 1,200", "1.5 M rows", "12 m 04 s", a wall time.
QString axisPlaceText(double x, XAxis axis);
/// "step", "rows", "time since the start", "time".
QString axisName(XAxis axis);

}  // namespace millrace::gui

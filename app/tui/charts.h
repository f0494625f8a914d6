#pragma once
// Small charts made of characters for the terminal views: progress bars, sparklines, line charts in
// braille dots.
//
// Values that are not finite are gaps. A column of a line chart that covers several values shows
// all of them (a stroke from the smallest to the largest), so a spike is never lost. Without UTF-8:
// ASCII.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/tui/cell_grid.h"

namespace millrace::tui {

/// A bar of `width` columns, `fraction` in [0, 1] of it filled.
std::string progressBar(double fraction, int width, bool isUtf8 = true);

/// Chooses the value that a column shows if it stands for several: dips matter for a throughput,
/// spikes for a stall.
enum class Pick { kMean, kMax, kMin };
/// The last values, at most `width` columns; scaled from `low` to `high`, or to the values' own
/// range if low >= high.
std::string sparkline(std::span<const double> values, int width, bool isUtf8 = true,
                      Pick pick = Pick::kMean, double low = 0, double high = 0);

struct ChartPoint {
    double x = 0, y = 0;
};
struct ChartSeries {
    std::vector<ChartPoint> points;  ///< by rising x
    Tone tone = Tone::kInfo;
};
/// Draws axes with rounded labels and the series inside `rect`; "no values yet" if there are none.
void drawLineChart(CellGrid& grid, const Rect& rect, const std::vector<ChartSeries>& series,
                   std::string_view xTitle = "");

}  // namespace millrace::tui

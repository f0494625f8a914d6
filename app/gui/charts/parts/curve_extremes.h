#pragma once
// Thins a curve to few of its own points and keeps spikes and gaps, for data copied from a chart.
//
// Threads: the GUI thread.
#include <cstddef>
#include <vector>

#include "app/gui/models/curve_store.h"

namespace millrace::gui {

/// The indices of the points in [from, to]: all of them if at most 2 * numColumns. Otherwise the
/// smallest, the largest and the first gap of each of numColumns parts of the range; in order,
/// always with the newest.
std::vector<std::size_t> extremeIndices(const CurveStore& store, CurveAxis axis, double from,
                                        double to, std::size_t numColumns);

}  // namespace millrace::gui

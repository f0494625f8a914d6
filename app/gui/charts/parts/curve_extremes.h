#pragma once
// A curve in few of its own points, spikes and gaps kept: for what is copied of a chart.
//
// Threads: the GUI thread.
#include <cstddef>
#include <vector>

#include "app/gui/models/curve_store.h"

namespace millrace::gui {

/// The indices of the points of [from, to], all of them where they are at most 2 * numColumns, else
/// of the least, the greatest and the first gap of each of numColumns parts of the range; in their
/// order, the newest always.
std::vector<std::size_t> extremeIndices(const CurveStore& store, CurveAxis axis, double from,
                                        double to, std::size_t numColumns);

}  // namespace millrace::gui

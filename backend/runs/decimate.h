#pragma once
// Thinning out of a series for a plot, such that no spike is lost.
#include <vector>

#include "backend/runs/run_record.h"

namespace millrace::runs {

/// At most `maxPoints` (>= 4) of `points` in their order: the first, the last, and of each bucket
/// of neighbours its minimum and maximum. A bucket of nothing but NaN keeps one.
std::vector<MetricPoint> decimate(const std::vector<MetricPoint>& points, int maxPoints);

}  // namespace millrace::runs

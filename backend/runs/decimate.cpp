#include "backend/runs/decimate.h"

#include <algorithm>
#include <cmath>

namespace millrace::runs {
namespace {

void keepExtremes(const std::vector<MetricPoint>& points, std::size_t from, std::size_t to,
                  std::vector<MetricPoint>& out) {
    std::size_t lowest = from, highest = from;
    for (std::size_t i = from + 1; i < to; ++i) {
        const double value = points[i].value;
        if (std::isnan(points[lowest].value) || value < points[lowest].value) {
            lowest = i;
        }
        if (std::isnan(points[highest].value) || value > points[highest].value) {
            highest = i;
        }
    }
    out.push_back(points[std::min(lowest, highest)]);
    if (lowest != highest) {
        out.push_back(points[std::max(lowest, highest)]);
    }
}

}  // namespace

std::vector<MetricPoint> decimate(const std::vector<MetricPoint>& points, int maxPoints) {
    const auto most = static_cast<std::size_t>(std::max(maxPoints, 4));
    if (points.size() <= most) {
        return points;
    }
    const std::size_t numBuckets = (most - 2) / 2;
    const std::size_t inner = points.size() - 2;
    std::vector<MetricPoint> out{points.front()};
    for (std::size_t bucket = 0; bucket < numBuckets; ++bucket) {
        keepExtremes(points, 1 + bucket * inner / numBuckets, 1 + (bucket + 1) * inner / numBuckets,
                     out);
    }
    out.push_back(points.back());
    return out;
}

}  // namespace millrace::runs

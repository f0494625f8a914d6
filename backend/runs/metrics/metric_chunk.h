#pragma once
// Encodes sealed points of one metric as bytes: the points themselves and, for plots, the extremes
// of buckets of adjacent points. The layout is in docs/formats/metrics.md.
//
// Pure functions. Failure: kDataLoss with half a sentence about bytes that differ from what was
// written; the caller adds the place. No input makes them read beyond it.
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/runs/run_record.h"

namespace millrace::runs {

inline constexpr int kChunkPoints = 4096;  ///< points in a full chunk
/// Points per bucket of each level, coarsest first.
inline constexpr std::array<int, 4> kLevelBuckets = {1024, 256, 64, 16};
/// A chunk has the levels that save space: those with at least four buckets.
constexpr bool hasLevel(std::int64_t numPoints, int bucketPoints) {
    return numPoints >= std::int64_t{4} * bucketPoints;
}

/// A point and its place in the chunk, from 0.
struct PlacedPoint {
    std::int64_t place = 0;
    values::MetricPoint point;
    bool operator==(const PlacedPoint&) const = default;
};

std::string encodePoints(std::span<const values::MetricPoint> points);
Result<std::vector<values::MetricPoint>> decodePoints(std::string_view bytes);

/// The first and the last point, and the extremes of every `bucketPoints` adjacent points (as
/// addExtremes() selects them), in order of place.
std::string encodeLevel(std::span<const values::MetricPoint> points, int bucketPoints);
Result<std::vector<PlacedPoint>> decodeLevel(std::string_view bytes);

}  // namespace millrace::runs

#pragma once
// Sealed points of one metric as bytes: the points themselves and, for plots, the extremes of
// buckets of neighbours. The layout is docs/formats/metrics.md.
//
// Pure functions. Failure: kDataLoss with half a sentence about bytes that are not what was
// written; the caller says where they lie. No input makes them read beyond it.
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/runs/run_record.h"

namespace millrace::runs {

inline constexpr int kChunkPoints = 4096;  ///< of a full chunk
/// Points of a level's bucket, coarsest first.
inline constexpr std::array<int, 4> kLevelBuckets = {1024, 256, 64, 16};
/// A chunk has the levels that save something: those with at least four buckets.
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

/// The first and the last point, and of every `bucketPoints` neighbours their extremes (as
/// addExtremes has them), in order of place.
std::string encodeLevel(std::span<const values::MetricPoint> points, int bucketPoints);
Result<std::vector<PlacedPoint>> decodeLevel(std::string_view bytes);

}  // namespace millrace::runs

#pragma once
// Decimates a series for a plot such that no spike is lost.
#include <cstdint>
#include <span>
#include <vector>

#include "backend/runs/run_record.h"

namespace millrace::runs {

/// Adds the places in [from, to) that a plot must show, in order: those of the least and the
/// greatest value (the first of equals, NaN only if there is nothing else). If points summarize
/// several ranks, also those of the least and the greatest value of any rank.
void addExtremes(std::span<const values::MetricPoint> points, std::size_t from, std::size_t to,
                 std::vector<std::size_t>& places);
/// Maximum number of points that a bucket keeps.
constexpr int bucketKeeps(bool isOfRanks) {
    return isOfRanks ? 4 : 2;
}

/// Decimates a series of `numPoints`, given in order and piece by piece, to at most `maxPoints` (>=
/// 4): the first, the last, and the extremes of each bucket of adjacent points.
///
/// A piece belongs as a whole to the bucket in which it begins. It may represent more points than
/// it has: its extremes suffice.
class Thinner {
 public:
    /// `isOfRanks`: points may summarize several ranks.
    Thinner(std::int64_t numPoints, int maxPoints, bool isOfRanks);

    /// `place`: index of the piece's first point in the series, from 0.
    void add(std::int64_t place, std::span<const values::MetricPoint> piece);
    /// The first and last points of the whole series, which are always kept.
    void addEnd(const values::MetricPoint& point) { last_ = point; }
    void addStart(const values::MetricPoint& point) { out_.push_back(point); }
    std::vector<values::MetricPoint> take();

    /// Points of the series per bucket.
    std::int64_t bucketPoints() const { return inner_ / numBuckets_; }

 private:
    void close();

    const std::int64_t inner_, numBuckets_;
    std::int64_t bucket_ = 0;
    std::vector<std::size_t> places_;
    std::vector<values::MetricPoint>
        open_;  // of the bucket that fills: its extremes so far, in order
    values::MetricPoint last_;
    std::vector<values::MetricPoint> out_;
};

/// At most `maxPoints` (>= 4) of `points` in their order, decimated as by Thinner.
std::vector<values::MetricPoint> decimate(const std::vector<values::MetricPoint>& points,
                                          int maxPoints);

}  // namespace millrace::runs

#pragma once
// Thinning out of a series for a plot, such that no spike is lost.
#include <cstdint>
#include <span>
#include <vector>

#include "backend/runs/run_record.h"

namespace millrace::runs {

/// Adds the places in [from, to) that a plot must show, in order: of the least and of the greatest
/// value (the first of equals, NaN only where there is nothing else) and, where points stand for
/// several ranks, of the least and the greatest that any rank told.
void addExtremes(std::span<const values::MetricPoint> points, std::size_t from, std::size_t to,
                 std::vector<std::size_t>& places);
/// Points that a bucket keeps at most.
constexpr int bucketKeeps(bool isOfRanks) {
    return isOfRanks ? 4 : 2;
}

/// Takes a series of `numPoints` in order, piece by piece, and keeps at most `maxPoints` (>= 4):
/// the first, the last, and of each bucket of neighbours its extremes.
///
/// A piece belongs to the bucket in which it begins, as a whole. It may stand for more points than
/// it has: its extremes are enough.
class Thinner {
 public:
    /// `isOfRanks`: points may stand for several ranks.
    Thinner(std::int64_t numPoints, int maxPoints, bool isOfRanks);

    /// `place` of the piece's first point in the series, from 0.
    void add(std::int64_t place, std::span<const values::MetricPoint> piece);
    /// The series' own first and last points: they are always kept.
    void addEnd(const values::MetricPoint& point) { last_ = point; }
    void addStart(const values::MetricPoint& point) { out_.push_back(point); }
    std::vector<values::MetricPoint> take();

    /// Points of the series that one bucket stands for.
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

/// At most `maxPoints` (>= 4) of `points` in their order, as Thinner keeps them.
std::vector<values::MetricPoint> decimate(const std::vector<values::MetricPoint>& points,
                                          int maxPoints);

}  // namespace millrace::runs

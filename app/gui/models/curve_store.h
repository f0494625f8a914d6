#pragma once
// CurveStore: the points of one curve in columns, with a min/max pyramid over y, for charts.
//
// A point is what was logged: x (the step), y, and optionally the rows trained so far and the wall
// time. Points are kept in the order of x; each column is made non-decreasing, so that any of them
// can be the axis. y may be NaN, which is a gap and differs from a missing point. Infinities are
// kept as logged, and drawn as gaps.
//
// Costs: append is O(1) a point and copies no existing point; an envelope of N bins is O(N) for any
// number of points; a look-up by x is O(log points). Memory: 16 bytes a point, 8 more for each of
// rows and time once one was given, and 1.5 for the pyramid.
//
// Bounded: beyond Options::numPointsMax the older half is thinned: of four neighbours the smallest,
// the largest and the first gap are kept, with their own x, rows and time. Spikes survive, kept
// points are exact, and the newest half is complete.
//
// Threads: the GUI thread only. Owns: its columns. Failure: points that cannot be placed (x not
// finite, or below the last x) are refused and counted, never stored out of order.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "app/gui/models/curve_column.h"

namespace millrace::gui {

inline constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

struct CurvePoint {
    double x = 0;
    double y = kNoValue;       ///< NaN: a gap
    double rows = kNoValue;    ///< rows trained up to here; NaN: unknown
    double timeMs = kNoValue;  ///< wall time, ms since 1970 UTC; NaN: unknown
};

/// Columns for a bulk replacement: rows and timeMs are empty or as long as x.
struct CurveColumns {
    std::span<const double> x, y, rows, timeMs;
};

/// The column that is the axis.
enum class CurveAxis : std::uint8_t { kX, kRows, kTime };

/// Summary of the points of one pixel column. min > max: no value in it.
struct CurveBin {
    double min = std::numeric_limits<double>::infinity();
    double max = -std::numeric_limits<double>::infinity();
    double first = kNoValue;      ///< the first value, where the line enters
    double last = kNoValue;       ///< the last value, where it leaves
    std::uint32_t numPoints = 0;  ///< gaps included
    bool hasGap = false;          ///< a NaN is among the points
    bool isGapFirst = false;      ///< a NaN before the first value: no line from the left
    bool isGapLast = false;       ///< a NaN after the last value: no line to the right
    bool hasValue() const { return min <= max; }
};

struct CurveRange {
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();
    bool isEmpty() const { return !(low <= high); }
    bool operator==(const CurveRange&) const = default;
};

class CurveStore {
 public:
    struct Options {
        std::size_t numPointsMax = 1'000'000;
    };
    CurveStore();
    explicit CurveStore(const Options& options);

    /// Appends points after the last one; returns how many were accepted.
    std::size_t append(std::span<const CurvePoint> points);
    std::size_t append(const CurveColumns& columns);
    /// Removes the points with an x above `x` (a run resumed from a checkpoint logs them again).
    void dropAfter(double x);
    std::size_t replaceAll(const CurveColumns& columns);
    /// The same for columns that the caller gives away: copies nothing if they are in order.
    std::size_t adopt(std::vector<double> x, std::vector<double> y, std::vector<double> rows = {},
                      std::vector<double> timeMs = {});
    void clear();

    std::size_t size() const { return x_.size(); }
    bool isEmpty() const { return x_.empty(); }
    bool has(CurveAxis axis) const { return !column(axis).empty(); }
    CurvePoint at(std::size_t i) const;
    double value(std::size_t i) const { return y_[i]; }
    /// The position of point i on the axis; the store must have the point.
    double place(std::size_t i, CurveAxis axis) const { return column(axis)[i]; }
    /// Points refused since the start, and points thinned out to stay within the bound.
    std::uint64_t numRefused() const { return numRefused_; }
    std::uint64_t numThinned() const { return numThinned_; }
    std::size_t bytesUsed() const;

    /// Changes with every change.
    std::uint64_t revision() const { return revision_; }
    /// Changes only when existing points changed: caches must start over.
    std::uint64_t rewrites() const { return rewrites_; }

    /// The first and last value of the axis column; empty without points or without that column.
    CurveRange extent(CurveAxis axis) const;
    /// The smallest and largest y of the points with `from` <= axis <= `to`.
    CurveRange valueRange(CurveAxis axis, double from, double to) const;
    /// The smallest y above zero of these points, for a logarithmic axis.
    std::optional<double> leastPositive(CurveAxis axis, double from, double to) const;
    /// Bin k holds the points of [from + (firstBin + k) * width, from + (firstBin + k + 1) *
    /// width): a call for other bins of the same grid has exactly the same borders.
    void envelope(CurveAxis axis, double from, double width, std::span<CurveBin> bins,
                  std::int64_t firstBin = 0) const;
    /// On a time axis: no point came for several of the usual intervals, so point i is not joined
    /// with the one before.
    bool isAfterPause(std::size_t i, CurveAxis axis) const;
    /// The index of the first point at or after `value`; size() if there is none.
    std::size_t lowerBound(CurveAxis axis, double value) const;
    /// The logged point nearest to `value`, ignoring gaps; if equally near, the newest.
    std::optional<CurvePoint> nearest(CurveAxis axis, double value) const;
    /// The last point with a value.
    std::optional<CurvePoint> newest() const;

 private:
    struct Block {
        double min = std::numeric_limits<double>::infinity();
        double max = -std::numeric_limits<double>::infinity();
        double leastPositive = std::numeric_limits<double>::infinity();
        void take(double value);
        void take(const Block& other);
    };
    const CurveColumn& column(CurveAxis axis) const;
    void push(const CurvePoint& point);
    void pushOptional(CurveColumn& column, double value);
    void appended(std::size_t before);
    void cut(std::size_t size);
    void thin();
    std::size_t keepOfFour(std::size_t begin, std::size_t end, std::size_t to);
    void move(std::size_t from, std::size_t to);
    void index() const;
    void indexLevel(std::size_t level, std::size_t numBelow, std::size_t firstBlock) const;
    void forgetIndex();
    Block blockOf(std::size_t begin, std::size_t end) const;
    Block blockBetween(CurveAxis axis, double from, double to) const;
    void takeBlocks(std::size_t level, std::size_t begin, std::size_t end, Block& result) const;
    void fillBin(std::size_t begin, std::size_t end, CurveBin& bin) const;
    void fillGaps(std::size_t begin, std::size_t end, CurveBin& bin) const;

    Options options_;
    CurveColumn x_, y_, rows_, timeMs_;
    std::uint64_t numRefused_ = 0, numThinned_ = 0, revision_ = 0, rewrites_ = 0;
    // Built on first use: a curve that is not shown costs only its points.
    mutable std::vector<std::vector<Block>>
        levels_;                             // [0]: blocks of 16 points; above: of 4 blocks
    mutable std::vector<std::size_t> gaps_;  // indices of y that are not finite
    mutable std::size_t numIndexed_ = 0;
};

}  // namespace millrace::gui

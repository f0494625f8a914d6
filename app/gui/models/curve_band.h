#pragma once
// CurveBand: the band of a curve whose values are medians over ranks: the smallest and the largest
// value of each point, and which ranks have them.
//
// Threads: the GUI thread. Owns: both edges, which are bounded as every curve is, and the ranks of
// the newest kHoldersMax points; a look-up further back finds none. Failure: none.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "app/gui/models/curve_store.h"

namespace millrace::gui {

class CurveBand {
 public:
    static constexpr std::size_t kHoldersMax = 64'000;

    struct Holder {
        double x = 0;
        int least = 0, greatest = 0;  ///< ranks
    };
    /// A point's edges; `at.y` is ignored.
    struct Point {
        CurvePoint at;
        double least = 0, greatest = 0;
        int leastRank = 0, greatestRank = 0;
    };

    explicit CurveBand(const CurveStore::Options& options) : low_(options), high_(options) {}

    /// Appends points after the last one, in order of x.
    void append(std::span<const Point> points) {
        for (const Point& point : points) {
            CurvePoint edge = point.at;
            edge.y = point.least;
            low_.append(std::span(&edge, 1));
            edge.y = point.greatest;
            high_.append(std::span(&edge, 1));
            holders_.push_back({point.at.x, point.leastRank, point.greatestRank});
        }
        if (holders_.size() > kHoldersMax) {
            holders_.erase(holders_.begin(),
                           holders_.end() - static_cast<std::ptrdiff_t>(kHoldersMax / 2));
        }
    }
    void dropAfter(double x) {
        low_.dropAfter(x);
        high_.dropAfter(x);
        std::erase_if(holders_, [x](const Holder& holder) { return holder.x > x; });
    }
    void clear() { dropAfter(-std::numeric_limits<double>::infinity()); }

    /// Replaces the points of [from, to] by `points`.
    void replace(std::span<const Point> points, double from, double to) {
        std::vector<Point> all;
        take(all, 0, low_.lowerBound(CurveAxis::kX, from));
        std::ranges::copy_if(points, std::back_inserter(all), [&](const Point& point) {
            return point.at.x >= from && point.at.x <= to;
        });
        std::size_t behind = low_.lowerBound(CurveAxis::kX, to);
        while (behind < low_.size() && low_.at(behind).x <= to) {
            ++behind;
        }
        take(all, behind, low_.size());
        clear();
        append(all);
    }

    const CurveStore& low() const { return low_; }
    const CurveStore& high() const { return high_; }
    /// The upper edge above point i of the lower one. Returns nothing if either was thinned out:
    /// each edge keeps its own extremes.
    std::optional<double> highAbove(std::size_t i) const {
        const double x = low_.at(i).x;
        const std::size_t j = high_.lowerBound(CurveAxis::kX, x);
        return j < high_.size() && high_.at(j).x == x ? std::optional(high_.value(j))
                                                      : std::nullopt;
    }
    /// Null if unknown.
    const Holder* holderAt(double x) const {
        const auto found =
            std::lower_bound(holders_.begin(), holders_.end(), x,
                             [](const Holder& holder, double at) { return holder.x < at; });
        return found != holders_.end() && found->x == x ? &*found : nullptr;
    }

 private:
    void take(std::vector<Point>& to, std::size_t from, std::size_t end) const {
        for (std::size_t i = from; i < end; ++i) {
            Point point{low_.at(i), low_.at(i).y, highAbove(i).value_or(kNoValue), 0, 0};
            if (const Holder* holder = holderAt(point.at.x)) {
                point.leastRank = holder->least;
                point.greatestRank = holder->greatest;
            }
            to.push_back(point);
        }
    }

    CurveStore low_, high_;
    std::vector<Holder> holders_;  // sorted by x
};

}  // namespace millrace::gui

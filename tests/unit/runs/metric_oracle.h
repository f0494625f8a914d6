#pragma once
// The expected metrics of a run in a plain vector, to check the store's chunks and levels.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/runs/run_store.h"

namespace millrace::runs {

inline bool isSamePoint(const values::MetricPoint& a, const values::MetricPoint& b) {
    const bool isSameValue =
        std::bit_cast<std::uint64_t>(a.value) == std::bit_cast<std::uint64_t>(b.value);
    return isSameValue && a.step == b.step && a.epoch == b.epoch && a.rows == b.rows &&
           a.timeMs == b.timeMs && a.attempt == b.attempt;
}

class MetricOracle {
 public:
    void add(int attempt, const ReportedLine& line) {
        for (const auto& [key, value] : line.values) {
            points_[key].push_back({line.step, line.epoch, line.rows, line.timeMs, value, attempt});
        }
    }
    void begin(int attempt, std::int64_t resumeStep) { resumes_.emplace_back(attempt, resumeStep); }

    /// By step, then by arrival. A step has the points of its newest attempt, and no points of an
    /// attempt after the step from which a newer one resumed.
    std::vector<values::MetricPoint> series(const std::string& key, std::int64_t from = INT64_MIN,
                                            std::int64_t to = INT64_MAX) const {
        std::vector<values::MetricPoint> seen;
        const auto found = points_.find(key);
        if (found == points_.end()) {
            return seen;
        }
        std::map<std::int64_t, int> newest;
        for (const values::MetricPoint& point : found->second) {
            if (isVisible(point)) {
                newest[point.step] = std::max(newest[point.step], point.attempt);
            }
        }
        for (const values::MetricPoint& point : found->second) {
            if (isVisible(point) && newest[point.step] == point.attempt && point.step >= from &&
                point.step <= to) {
                seen.push_back(point);
            }
        }
        std::stable_sort(seen.begin(), seen.end(),
                         [](const auto& a, const auto& b) { return a.step < b.step; });
        return seen;
    }
    std::vector<std::string> keys() const {
        std::vector<std::string> names;
        for (const auto& [key, points] : points_) {
            names.push_back(key);
        }
        return names;
    }

 private:
    bool isVisible(const values::MetricPoint& point) const {
        return std::none_of(resumes_.begin(), resumes_.end(), [&](const auto& resume) {
            return resume.first > point.attempt && point.step > resume.second;
        });
    }

    std::map<std::string, std::vector<values::MetricPoint>> points_;
    std::vector<std::pair<int, std::int64_t>> resumes_;
};

inline void expectWhole(const values::MetricSeries& got,
                        const std::vector<values::MetricPoint>& expected) {
    EXPECT_EQ(got.problem, "");
    EXPECT_FALSE(got.isDecimated);
    EXPECT_EQ(got.numPoints, static_cast<std::int64_t>(expected.size()));
    ASSERT_EQ(got.points.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_TRUE(isSamePoint(got.points[i], expected[i])) << "point " << i;
    }
}

/// The answer has real points in order and both ends; near every true point it has one at least as
/// low and one at least as high, at most two buckets of the plot away.
inline void expectThin(const values::MetricSeries& got,
                       const std::vector<values::MetricPoint>& expected, int maxPoints) {
    EXPECT_EQ(got.problem, "");
    EXPECT_TRUE(got.isDecimated);
    EXPECT_EQ(got.numPoints, static_cast<std::int64_t>(expected.size()));
    ASSERT_LE(got.points.size(), static_cast<std::size_t>(maxPoints));
    std::vector<std::size_t> places;
    std::size_t at = 0;
    for (const values::MetricPoint& point : got.points) {
        while (at < expected.size() && !isSamePoint(expected[at], point)) {
            ++at;
        }
        ASSERT_LT(at, expected.size()) << "step " << point.step << " is not a point of the series";
        places.push_back(at++);
    }
    ASSERT_EQ(places.front(), 0U);
    ASSERT_EQ(places.back(), expected.size() - 1);
    const std::size_t buckets = static_cast<std::size_t>((maxPoints - 2) / 2);
    const std::size_t reach = 2 * (expected.size() / buckets + 1);
    std::size_t from = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double value = expected[i].value;
        if (std::isnan(value)) {
            continue;
        }
        bool hasLow = false, hasHigh = false;
        while (places[from] + reach < i) {
            ++from;
        }
        for (std::size_t k = from; k < places.size() && places[k] <= i + reach; ++k) {
            hasLow = hasLow || got.points[k].value <= value;
            hasHigh = hasHigh || got.points[k].value >= value;
        }
        ASSERT_TRUE(hasLow && hasHigh) << "the point at " << i << " of " << expected.size();
    }
}

}  // namespace millrace::runs

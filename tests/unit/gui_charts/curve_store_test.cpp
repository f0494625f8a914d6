#include "app/gui/models/curve_store.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "app/gui/charts/parts/curve_extremes.h"
#include "app/gui/charts/smoothed_curve.h"

namespace millrace::gui {
namespace {

struct Oracle {
    std::vector<CurvePoint> points;

    CurveBin bin(double from, double to) const {
        CurveBin bin;
        for (const CurvePoint& point : points) {
            if (point.x < from || point.x >= to) {
                continue;
            }
            const bool isGap = !std::isfinite(point.y);
            bin.hasGap = bin.hasGap || isGap;
            bin.isGapFirst = bin.numPoints == 0 ? isGap : bin.isGapFirst;
            bin.isGapLast = isGap;
            ++bin.numPoints;
            if (!isGap) {
                bin.first = bin.hasValue() ? bin.first : point.y;
                bin.last = point.y;
                bin.min = std::min(bin.min, point.y);
                bin.max = std::max(bin.max, point.y);
            }
        }
        return bin;
    }
};

void expectSame(const CurveBin& got, const CurveBin& want) {
    EXPECT_EQ(got.numPoints, want.numPoints);
    EXPECT_EQ(got.hasGap, want.hasGap);
    EXPECT_EQ(got.isGapFirst, want.isGapFirst);
    EXPECT_EQ(got.isGapLast, want.isGapLast);
    ASSERT_EQ(got.hasValue(), want.hasValue());
    if (want.hasValue()) {
        EXPECT_EQ(got.min, want.min);
        EXPECT_EQ(got.max, want.max);
        EXPECT_EQ(got.first, want.first);
        EXPECT_EQ(got.last, want.last);
    }
}

class RandomCurve {
 public:
    explicit RandomCurve(unsigned seed) : random_(seed) {}

    void grow(int numPoints) {
        std::vector<CurvePoint> added;
        for (int i = 0; i < numPoints; ++i) {
            x_ += draw(0, 3) < 1 ? 0 : draw(0, 2);
            added.push_back({x_, draw(0, 20) < 1 ? kNoValue : draw(-1, 1)});
        }
        EXPECT_EQ(store.append(added), added.size());
        oracle.points.insert(oracle.points.end(), added.begin(), added.end());
    }
    void drop() {
        const double at = draw(0.5, 1.0) * x_;
        store.dropAfter(at);
        std::erase_if(oracle.points, [at](const CurvePoint& point) { return point.x > at; });
        x_ = at;
    }
    void compare() {
        const double from = draw(-0.2, 0.9) * x_, width = draw(0.001, 0.05) * (x_ + 1);
        std::vector<CurveBin> bins(20);
        const auto firstBin = static_cast<std::int64_t>(draw(-3, 3));
        store.envelope(CurveAxis::kX, from, width, bins, firstBin);
        for (std::size_t k = 0; k < bins.size(); ++k) {
            const auto at = static_cast<double>(firstBin + static_cast<std::int64_t>(k));
            expectSame(bins[k], oracle.bin(from + at * width, from + (at + 1) * width));
        }
        const CurveRange range = store.valueRange(CurveAxis::kX, from, from + width);
        const CurveBin want = oracle.bin(from, std::nextafter(from + width, 1e300));
        EXPECT_EQ(range.isEmpty(), !want.hasValue());
        if (want.hasValue()) {
            EXPECT_EQ(range, (CurveRange{want.min, want.max}));
        }
    }
    double draw(double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(random_);
    }

    CurveStore store;
    Oracle oracle;

 private:
    std::mt19937 random_;
    double x_ = 0;
};

TEST(CurveStore, SaysWhatAPlainListSaysUnderRandomAppendsDropsAndRanges) {
    for (unsigned seed = 0; seed < 12; ++seed) {
        RandomCurve curve(seed);
        for (int round = 0; round < 40; ++round) {
            curve.grow(1 + static_cast<int>(curve.draw(0, 200)));
            if (round % 7 == 6) {
                curve.drop();
            }
            curve.compare();
            ASSERT_EQ(curve.store.size(), curve.oracle.points.size());
        }
    }
}

TEST(CurveStore, KeepsASpikeOfOnePointAtAnyZoom) {
    CurveStore store;
    std::vector<double> x(100'000), y(100'000, 1.0);
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<double>(i);
    }
    y[54'321] = 99;
    store.adopt(x, y);
    for (std::size_t numBins : {1U, 3U, 97U, 800U, 5000U}) {
        std::vector<CurveBin> bins(numBins);
        store.envelope(CurveAxis::kX, 0, 100'000.0 / static_cast<double>(numBins), bins);
        EXPECT_EQ(std::max_element(bins.begin(), bins.end(),
                                   [](const auto& a, const auto& b) { return a.max < b.max; })
                      ->max,
                  99);
    }
}

TEST(CurveStore, HoldsTenMillionPointsAndAnswersInTimeThatDoesNotGrowWithThem) {
    CurveStore store(CurveStore::Options{20'000'000});
    std::vector<double> x(10'000'000), y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<double>(i);
        y[i] = std::sin(static_cast<double>(i) * 1e-5);
    }
    EXPECT_EQ(store.adopt(std::move(x), std::move(y)), 10'000'000U);
    std::vector<CurveBin> bins(1000);
    store.envelope(CurveAxis::kX, 0, 10'000, bins);
    EXPECT_EQ(bins[17].numPoints, 10'000U);
    EXPECT_EQ(store.nearest(CurveAxis::kX, 7'654'321.2)->x, 7'654'321);
    EXPECT_LT(store.bytesUsed(), 10'000'000U * 19);
}

TEST(CurveStore, ThinsTheOlderHalfButKeepsSpikesGapsAndTheNewest) {
    CurveStore store(CurveStore::Options{4096});
    for (int i = 0; i < 100'000; ++i) {
        const double y = i == 1234 ? 50 : i == 2345 ? -50 : i == 3456 ? kNoValue : std::sin(i);
        const CurvePoint point{static_cast<double>(i), y, i * 10.0, i * 100.0};
        ASSERT_EQ(store.append(std::span(&point, 1)), 1U);
        ASSERT_LE(store.size(), 4096U);
    }
    EXPECT_GT(store.numThinned(), 90'000U);
    std::vector<CurveBin> bins(100);
    store.envelope(CurveAxis::kX, 0, 1000, bins);
    EXPECT_EQ(bins[1].max, 50);
    EXPECT_EQ(bins[2].min, -50);
    EXPECT_TRUE(bins[3].hasGap);
    EXPECT_EQ(store.nearest(CurveAxis::kX, 1234)->y, 50);
    EXPECT_EQ(store.nearest(CurveAxis::kX, 1234)->rows, 12'340);
    for (int i = 99'000; i < 100'000; ++i) {
        ASSERT_EQ(store.nearest(CurveAxis::kX, i)->x, i);
    }
}

TEST(CurveStore, RefusesPointsThatWouldStandOutOfOrderAndCountsThem) {
    CurveStore store;
    const CurvePoint points[] = {{1, 1}, {0.5, 2}, {std::nan(""), 3}, {1, 4}, {2, 5}};
    EXPECT_EQ(store.append(points), 3U);
    EXPECT_EQ(store.numRefused(), 2U);
    EXPECT_EQ(store.nearest(CurveAxis::kX, 1)->y, 4);  // of equals the newest
}

TEST(CurveStore, FindsTheNearestLoggedValueExactlyAndSkipsGaps) {
    CurveStore store;
    const CurvePoint points[] = {{0, 0.1234567890123}, {10, kNoValue}, {20, 2}, {30, kNoValue}};
    store.append(points);
    EXPECT_EQ(store.nearest(CurveAxis::kX, 9)->y, 0.1234567890123);
    EXPECT_EQ(store.nearest(CurveAxis::kX, 11)->y, 2);
    EXPECT_EQ(store.newest()->y, 2);
    EXPECT_FALSE(CurveStore().nearest(CurveAxis::kX, 1).has_value());
}

TEST(CurveStore, HasTheAxesThatWereGivenAndFillsTheirHoles) {
    CurveStore store;
    const CurvePoint points[] = {
        {1, 1}, {2, 1, 100, kNoValue}, {3, 1}, {4, 1, 90, kNoValue}, {5, 1, 300, kNoValue}};
    store.append(points);
    EXPECT_TRUE(store.has(CurveAxis::kRows));
    EXPECT_FALSE(store.has(CurveAxis::kTime));
    EXPECT_EQ(store.extent(CurveAxis::kRows), (CurveRange{100, 300}));
    EXPECT_EQ(store.at(3).rows, 100);  // never backwards
    EXPECT_TRUE(store.extent(CurveAxis::kTime).isEmpty());
}

TEST(CurveStore, TellsCachesWhenPointsThatWereThereChanged) {
    CurveStore store;
    const CurvePoint points[] = {{1, 1}, {2, 2}};
    store.append(points);
    const std::uint64_t rewrites = store.rewrites(), revision = store.revision();
    const CurvePoint more[] = {{3, 3}};
    store.append(more);
    EXPECT_EQ(store.rewrites(), rewrites);
    EXPECT_NE(store.revision(), revision);
    store.dropAfter(2);
    EXPECT_NE(store.rewrites(), rewrites);
    EXPECT_EQ(store.size(), 2U);
}

TEST(CurveStore, LeavesInfinitiesOutOfRangesAndKeepsThemAsLogged) {
    CurveStore store;
    const double inf = std::numeric_limits<double>::infinity();
    const CurvePoint points[] = {{1, 1}, {2, inf}, {3, -2}};
    store.append(points);
    EXPECT_EQ(store.valueRange(CurveAxis::kX, 0, 10), (CurveRange{-2, 1}));
    EXPECT_EQ(store.nearest(CurveAxis::kX, 2)->y, inf);
    EXPECT_EQ(store.leastPositive(CurveAxis::kX, 0, 10), std::optional<double>(1));
}

TEST(SmoothedCurve, IsTheSameWhetherPointsCameAtOnceOrOneByOne) {
    std::mt19937 random(4);
    std::normal_distribution<double> noise(0, 1);
    std::vector<double> x, y;
    for (int i = 0; i < 5000; ++i) {
        x.push_back(i);
        y.push_back(i % 97 == 0 ? kNoValue : noise(random));
    }
    CurveStore whole, grown;
    whole.adopt(x, y);
    SmoothedCurve atOnce, byParts;
    atOnce.update(whole, CurveAxis::kX, 0.9);
    for (std::size_t i = 0; i < x.size(); i += 13) {
        const std::size_t size = std::min<std::size_t>(13, x.size() - i);
        grown.append(
            CurveColumns{std::span(x).subspan(i, size), std::span(y).subspan(i, size), {}, {}});
        byParts.update(grown, CurveAxis::kX, 0.9);
    }
    ASSERT_EQ(atOnce.store().size(), byParts.store().size());
    for (std::size_t i = 1; i < x.size(); ++i) {
        const double a = atOnce.store().value(i), b = byParts.store().value(i);
        ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << i;
    }
}

TEST(SmoothedCurve, IsTensorBoardsAverageWherePointsAreFew) {
    CurveStore store;
    const CurvePoint points[] = {{0, 1}, {100, 3}, {200, 2}};
    store.append(points);
    SmoothedCurve smoothed;
    smoothed.update(store, CurveAxis::kX, 0.6);
    EXPECT_DOUBLE_EQ(smoothed.store().value(0), 1);
    EXPECT_NEAR(smoothed.store().value(1), (0.6 * 0.4 * 1 + 0.4 * 3) / (1 - 0.36), 1e-12);
}

TEST(CurveExtremes, KeepSpikesAndTheNewestPointInFewPoints) {
    CurveStore store;
    std::vector<CurvePoint> points;
    for (int i = 0; i < 10'000; ++i) {
        points.push_back({static_cast<double>(i), i == 777 ? 9.0 : 0.1 * std::sin(i)});
    }
    store.append(points);
    const auto indices = extremeIndices(store, CurveAxis::kX, 0, 9999, 50);
    EXPECT_LE(indices.size(), 151U);
    EXPECT_TRUE(std::is_sorted(indices.begin(), indices.end()));
    EXPECT_NE(std::find(indices.begin(), indices.end(), 777U), indices.end());
    EXPECT_EQ(indices.back(), 9999U);
}

// Points with a time each, in ms.
CurveStore timesOf(const std::vector<double>& times) {
    CurveStore store;
    for (const double time : times) {
        const CurvePoint point{time, 1, kNoValue, time};
        store.append(std::span(&point, 1));
    }
    return store;
}

TEST(CurveStore, KnowsAPauseFromTheIntervalsThatAreUsualAboutIt) {
    std::vector<double> times;
    for (int i = 0; i < 100; ++i) {
        times.push_back(i * 100.0 + (i >= 50 ? 4'000 : 0));
    }
    for (int i = 1; i <= 100; ++i) {
        times.push_back(20'000 + i * 5'000.0);  // slower from here on
    }
    const CurveStore store = timesOf(times);
    std::vector<std::size_t> pauses;
    for (std::size_t i = 0; i < store.size(); ++i) {
        if (store.isAfterPause(i, CurveAxis::kTime)) {
            pauses.push_back(i);
        }
    }
    EXPECT_EQ(pauses, (std::vector<std::size_t>{50}));
}

TEST(CurveStore, FindsNoPauseInPointsThatWereThinnedOut) {
    std::mt19937_64 random(3);
    std::vector<double> times;
    for (int bucket = 0; bucket < 500; ++bucket) {  // minimum and maximum of ten seconds
        double a = static_cast<double>(random() % 10'000),
               b = static_cast<double>(random() % 10'000);
        times.push_back(bucket * 10'000 + std::min(a, b));
        times.push_back(bucket * 10'000 + std::max(a, b));
    }
    for (int i = 0; i < 2'000; ++i) {
        times.push_back(5'000'000 + i * 100.0);  // and the live points
    }
    const CurveStore store = timesOf(times);
    for (std::size_t i = 0; i < store.size(); ++i) {
        EXPECT_FALSE(store.isAfterPause(i, CurveAxis::kTime)) << i;
    }
    EXPECT_FALSE(timesOf({0, 100, 9'000}).isAfterPause(2, CurveAxis::kTime)) << "too few to tell";
}

}  // namespace
}  // namespace millrace::gui

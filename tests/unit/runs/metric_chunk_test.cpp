#include "backend/runs/metrics/metric_chunk.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "backend/runs/metrics/decimate.h"

namespace millrace::runs {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::uint64_t bitsOf(double value) {
    return std::bit_cast<std::uint64_t>(value);
}

void expectSame(const values::MetricPoint& a, const values::MetricPoint& b) {
    EXPECT_EQ(bitsOf(a.value), bitsOf(b.value));
    values::MetricPoint left = a, right = b;
    left.value = right.value = 0;
    EXPECT_EQ(left, right);
}

std::vector<values::MetricPoint> curve(int count) {
    std::mt19937_64 random(3);
    std::vector<values::MetricPoint> points;
    for (int i = 0; i < count; ++i) {
        const double noise = static_cast<double>(random() % 1000) * 1e-4;
        points.push_back({i + 1, i / 500, (i + 1) * 1024LL,
                          1'700'000'000'000 + i * 80LL + static_cast<int>(random() % 9),
                          std::exp(-i * 1e-3) + noise, 1 + i / 3000});
    }
    return points;
}

TEST(MetricChunk, PointsComeBackBitForBit) {
    const std::vector<values::MetricPoint> points = curve(kChunkPoints);
    const std::string bytes = encodePoints(points);
    const auto back = decodePoints(bytes);
    ASSERT_TRUE(back.ok()) << back.status();
    ASSERT_EQ(back->size(), points.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
        expectSame((*back)[i], points[i]);
    }
    EXPECT_LT(bytes.size(), points.size() * sizeof(values::MetricPoint) / 4) << "it is compressed";
}

TEST(MetricChunk, TheEndsOfEveryRangeSurvive) {
    const double payload = std::bit_cast<double>(0xfff8'0000'dead'beefU);
    const std::vector<values::MetricPoint> points = {
        {INT64_MIN, INT64_MAX, INT64_MIN, 0, payload, INT32_MAX},
        {INT64_MAX, INT64_MIN, INT64_MAX, -1, -0.0, INT32_MIN},
        {0, 0, 0, INT64_MAX, kInf, 0},
        {-1, 1, -1, INT64_MIN, -kInf, 1},
        {7, 7, 7, 7, std::numeric_limits<double>::denorm_min(), 1}};
    const auto back = decodePoints(encodePoints(points));
    ASSERT_TRUE(back.ok()) << back.status();
    ASSERT_EQ(back->size(), points.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
        expectSame((*back)[i], points[i]);
    }
}

TEST(MetricChunk, WhatRanksSaidComesBackBesideValuesOfNone) {
    std::vector<values::MetricPoint> points = curve(200);
    for (std::size_t i = 0; i < points.size(); i += 3) {
        points[i].ranks = values::RankSpread{-1.0 * static_cast<double>(i), kInf,
                                             static_cast<int>(i % 512), 511, 512};
        points[i].line = static_cast<std::int64_t>(i) * 7;
    }
    const auto back = decodePoints(encodePoints(points));
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, points);
    const auto level = decodeLevel(encodeLevel(points, 16));
    ASSERT_TRUE(level.ok()) << level.status();
    for (const PlacedPoint& kept : *level) {
        EXPECT_EQ(kept.point, points[static_cast<std::size_t>(kept.place)]);
    }
}

TEST(MetricChunk, OnePointIsAChunk) {
    const std::vector<values::MetricPoint> one = {{5, 1, 2, 3, 0.5, 4}};
    EXPECT_EQ(*decodePoints(encodePoints(one)), one);
    EXPECT_EQ(*decodeLevel(encodeLevel(one, 16)), (std::vector<PlacedPoint>{{0, one[0]}}));
}

TEST(MetricChunk, ALevelHasEveryBucketsExtremesAndBothEnds) {
    std::vector<values::MetricPoint> points = curve(1000);
    points[100].value = std::nan("");
    for (int i = 320; i < 336; ++i) {
        points[static_cast<std::size_t>(i)].value = std::nan("");
    }
    points[500].value = kInf;
    points[501].value = -kInf;
    const auto level = decodeLevel(encodeLevel(points, 16));
    ASSERT_TRUE(level.ok()) << level.status();
    EXPECT_EQ(level->front().place, 0);
    EXPECT_EQ(level->back().place, 999);
    for (std::size_t i = 0; i < level->size(); ++i) {
        expectSame((*level)[i].point, points[static_cast<std::size_t>((*level)[i].place)]);
        EXPECT_TRUE(i == 0 || (*level)[i - 1].place < (*level)[i].place);
    }
    for (std::size_t from = 0; from < points.size(); from += 16) {
        std::vector<std::size_t> places;
        addExtremes(points, from, std::min(from + 16, points.size()), places);
        for (const std::size_t place : places) {
            EXPECT_TRUE(std::any_of(level->begin(), level->end(), [&](const PlacedPoint& p) {
                return p.place == static_cast<std::int64_t>(place);
            })) << place;
        }
    }
}

TEST(MetricChunk, AnyDamageIsNoticed) {
    const std::string points = encodePoints(curve(40)), level = encodeLevel(curve(200), 16);
    for (const std::string& whole : {points, level}) {
        for (std::size_t i = 0; i < whole.size(); ++i) {
            std::string bytes = whole;
            bytes[i] = static_cast<char>(bytes[i] ^ (1 << (i % 8)));
            EXPECT_EQ(decodePoints(bytes).status().code(), absl::StatusCode::kDataLoss) << i;
            EXPECT_EQ(decodeLevel(bytes).status().code(), absl::StatusCode::kDataLoss) << i;
            EXPECT_FALSE(decodePoints(whole.substr(0, i)).ok()) << i;
            EXPECT_FALSE(decodeLevel(whole.substr(0, i)).ok()) << i;
        }
    }
    EXPECT_FALSE(decodePoints(level).ok()) << "a level is not a chunk of points";
    EXPECT_FALSE(decodeLevel(points).ok());
}

}  // namespace
}  // namespace millrace::runs

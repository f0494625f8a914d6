#include "backend/recipe/join/bucket_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::recipe {
namespace {

TEST(BucketRows, AreTheNumberOfBoundariesReached) {
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> unit(-1, 1);
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    for (const std::size_t count : {0, 1, 2, 3, 7, 8, 23, 24, 25, 26, 64, 1001}) {
        std::vector<double> boundaries(count);
        for (double& boundary : boundaries) {
            boundary = unit(random);
        }
        std::sort(boundaries.begin(), boundaries.end());
        std::vector<double> values = {std::nan(""), -std::nan(""), kInfinite, -kInfinite, 0, -0.0};
        for (const double boundary : boundaries) {
            values.push_back(boundary);
            values.push_back(std::nextafter(boundary, -2));
            values.push_back(std::nextafter(boundary, 2));
        }
        std::vector<std::int64_t> plain(values.size()), wide(values.size());
        bucketsOf(values, boundaries, false, plain.data());
        bucketsOf(values, boundaries, wide.data());
        for (std::size_t i = 0; i < values.size(); ++i) {
            const auto above =
                std::isnan(values[i])
                    ? boundaries.end()
                    : std::upper_bound(boundaries.begin(), boundaries.end(), values[i]);
            EXPECT_EQ(plain[i], 1 + (above - boundaries.begin())) << values[i] << " of " << count;
            EXPECT_EQ(wide[i], plain[i]) << values[i] << " of " << count;
        }
    }
}

}  // namespace
}  // namespace millrace::recipe

#include "backend/elementary/elementary.h"

#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::elementary {
namespace {

constexpr Elementary kFunctions[] = {Elementary::kLn, Elementary::kLog1p, Elementary::kLog2,
                                     Elementary::kLog10, Elementary::kExp};

/// The results of C's long double functions, which have 11 more bits than a double.
long double exact(Elementary function, double x) {
    const long double wide = x;
    switch (function) {
        case Elementary::kLn:
            return ::logl(wide);
        case Elementary::kLog1p:
            return ::log1pl(wide);
        case Elementary::kLog2:
            return ::log2l(wide);
        case Elementary::kLog10:
            return ::log10l(wide);
        default:
            return ::expl(wide);
    }
}

/// Distance in units of the exact value's last place as a double; 0 for two NaN or equal ones.
double ulpsBetween(double value, long double truth) {
    const auto nearest = static_cast<double>(truth);
    if ((std::isnan(value) && std::isnan(nearest)) || value == nearest) {
        return 0;
    }
    if (std::isinf(value) && std::fabs(nearest) > kElementaryLargest) {
        return std::signbit(value) == std::signbit(nearest) ? 0 : HUGE_VAL;
    }
    if (!std::isfinite(value) || !std::isfinite(nearest)) {
        return HUGE_VAL;
    }
    int exponent = 0;
    std::frexp(nearest, &exponent);
    const long double ulp = std::ldexp(1.0L, std::max(exponent - 53, -1074));
    return static_cast<double>(std::fabs(static_cast<long double>(value) - truth) / ulp);
}

std::vector<double> specials() {
    std::vector<double> values = {0.0, 1.0, 2.0, 3.0, 0.5, 0.3, 1e-5, 10, 1e5, 709.78, 709.79};
    for (const double more : {745.1, 745.2, 708.4, 1e300, 1e307, 1.1e307, 1.7e308, 0x1p-54, 0x1p-53,
                              0x1p52, 0x1p53, 0x1p53 + 2, 5e-324, 2e-308, 1e-300, 0x1p-1074}) {
        values.push_back(more);
    }
    for (const double one :
         {std::nextafter(1.0, 0.0), std::nextafter(1.0, 2.0),
          std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(),
          std::numeric_limits<double>::max(), std::numeric_limits<double>::min()}) {
        values.push_back(one);
    }
    const std::size_t count = values.size();
    for (std::size_t i = 0; i < count; ++i) {
        values.push_back(-values[i]);
    }
    return values;
}

/// Numbers of all sizes, numbers typical of recipes, and random bits.
std::vector<double> manyNumbers(std::uint64_t seed, std::size_t count) {
    std::mt19937_64 bits(seed);
    std::uniform_real_distribution<double> unit(0, 1);
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        switch (i % 5) {
            case 0:
                values[i] = std::bit_cast<double>(bits());
                break;
            case 1:
                values[i] = unit(bits) * 2 - 1;
                break;
            case 2:
                values[i] = 1 + (unit(bits) - 0.5) * 1e-3;
                break;
            case 3:
                values[i] = (unit(bits) - 0.5) * 1500;
                break;
            default:
                values[i] = std::floor(unit(bits) * 1e6);
        }
    }
    return values;
}

std::vector<double> withSpecials(std::uint64_t seed, std::size_t count) {
    std::vector<double> values = manyNumbers(seed, count);
    const std::vector<double> ends = specials();
    values.insert(values.begin(), ends.begin(), ends.end());
    return values;
}

int bitDifferences(const std::vector<double>& a, const std::vector<double>& b) {
    int count = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        count += std::bit_cast<std::uint64_t>(a[i]) != std::bit_cast<std::uint64_t>(b[i]) ? 1 : 0;
    }
    return count;
}

std::int64_t sizeOf(const std::vector<double>& values) {
    return static_cast<std::int64_t>(values.size());
}

TEST(Elementary, EveryMachineComputesTheSameBits) {
    const std::vector<double> x = withSpecials(1, 1'000'000);
    for (const Elementary function : kFunctions) {
        std::vector<double> plain(x.size()), other(x.size());
        evalElementary(*elementaryCodes().front(), function, x.data(), plain.data(), sizeOf(x));
        for (const ElementaryCode* code : elementaryCodes()) {
            evalElementary(*code, function, x.data(), other.data(), sizeOf(x));
            EXPECT_EQ(bitDifferences(plain, other), 0)
                << code->name << ", function " << static_cast<int>(function);
        }
    }
}

TEST(Elementary, WhatIsNoNumberIsOneNan) {
    const double x[] = {-1,  -0.5, -1e300, -INFINITY, std::bit_cast<double>(0xfff8000000000123U),
                        NAN, -NAN, -2,     -3};
    for (const ElementaryCode* code : elementaryCodes()) {
        for (const Elementary function : {Elementary::kLn, Elementary::kLog2, Elementary::kLog10}) {
            double out[std::size(x)];
            evalElementary(*code, function, x, out, std::ssize(x));
            for (const double value : out) {
                EXPECT_EQ(std::bit_cast<std::uint64_t>(value), 0x7ff8000000000000U)
                    << code->name << ", function " << static_cast<int>(function);
            }
        }
    }
}

TEST(Elementary, EveryMachineComputesTheSamePowers) {
    const std::vector<double> x = manyNumbers(2, 1'000'000), y = manyNumbers(3, 1'000'000);
    std::vector<double> plain(x.size()), other(x.size());
    evalPow(*elementaryCodes().front(), x.data(), y.data(), plain.data(), sizeOf(x));
    for (const ElementaryCode* code : elementaryCodes()) {
        evalPow(*code, x.data(), y.data(), other.data(), sizeOf(x));
        EXPECT_EQ(bitDifferences(plain, other), 0) << code->name;
    }
}

TEST(Elementary, ValuesAreWithinTheBound) {
    const std::vector<double> x = withSpecials(4, 1'000'000);
    for (const Elementary function : kFunctions) {
        std::vector<double> values(x.size());
        evalElementary(function, x.data(), values.data(), sizeOf(x));
        double worst = 0, worstAt = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double ulps = ulpsBetween(values[i], exact(function, x[i]));
            worstAt = ulps > worst ? x[i] : worstAt;
            worst = std::max(worst, ulps);
        }
        EXPECT_LE(worst, kElementaryUlp)
            << "function " << static_cast<int>(function) << " of " << worstAt;
        EXPECT_GT(worst, 0.5) << "so near that the measure itself must be wrong";
    }
}

TEST(Elementary, PowersAreWithinTheBound) {
    std::vector<double> x, y;
    for (const double a : specials()) {
        for (const double b : specials()) {
            x.push_back(a);
            y.push_back(b);
        }
    }
    // Bases and exponents whose powers are mostly finite.
    std::mt19937_64 bits(5);
    std::uniform_real_distribution<double> unit(0, 1);
    for (int i = 0; i < 1'000'000; ++i) {
        x.push_back(std::exp2((unit(bits) - 0.5) * (i % 2 == 0 ? 20 : 2000)));
        y.push_back((unit(bits) - 0.5) * (i % 3 == 0 ? 1 : 100));
    }
    std::vector<double> values(x.size());
    evalPow(x.data(), y.data(), values.data(), sizeOf(x));
    for (std::size_t i = 0; i < x.size(); ++i) {
        const long double truth =
            ::powl(static_cast<long double>(x[i]), static_cast<long double>(y[i]));
        ASSERT_LE(ulpsBetween(values[i], truth), kElementaryUlp)
            << "pow(" << x[i] << ", " << y[i] << ") = " << values[i];
    }
}

TEST(Elementary, SquaresReciprocalsAndFirstPowersAreRoundedOnce) {
    const std::vector<double> x = withSpecials(6, 100'000);
    for (const double power : {2.0, 1.0, -1.0}) {
        const std::vector<double> y(x.size(), power);
        std::vector<double> values(x.size());
        evalPow(x.data(), y.data(), values.data(), sizeOf(x));
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double wanted = power == 2 ? x[i] * x[i] : power == 1 ? x[i] : 1 / x[i];
            ASSERT_TRUE(values[i] == wanted || (std::isnan(values[i]) && std::isnan(x[i])))
                << x[i] << " to the power of " << power;
        }
    }
}

TEST(Elementary, AnyNumberOfValuesIsComputedInPlace) {
    const std::vector<double> x = manyNumbers(7, 1100);
    for (const std::int64_t n : {0, 1, 3, 5, 7, 8, 9, 511, 512, 513, 1100}) {
        std::vector<double> whole(x.size(), -7), inPlace = x;
        evalElementary(Elementary::kLog1p, x.data(), whole.data(), n);
        evalElementary(Elementary::kLog1p, inPlace.data(), inPlace.data(), n);
        for (std::size_t i = 0; i < x.size(); ++i) {
            const bool isIn = static_cast<std::int64_t>(i) < n;
            ASSERT_EQ(std::bit_cast<std::uint64_t>(inPlace[i]),
                      std::bit_cast<std::uint64_t>(isIn ? whole[i] : x[i]));
            ASSERT_TRUE(isIn || whole[i] == -7);
        }
    }
}

}  // namespace
}  // namespace millrace::elementary

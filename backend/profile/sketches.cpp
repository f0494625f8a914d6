#include "backend/profile/sketches.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <xxhash.h>

namespace millrace::profile {

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
std::uint64_t hashOf(std::uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

std::uint64_t hashOf(std::string_view text) {
    return XXH3_64bits(text.data(), text.size());
}

double DistinctSketch::estimate() const {
    if (isExact_) {
        return static_cast<double>(few_.size());
    }
    const auto m = static_cast<double>(registers_.size());
    double sum = 0;
    int zeros = 0;
    for (const std::uint8_t rank : registers_) {
        sum += std::ldexp(1.0, -rank);
        zeros += rank == 0 ? 1 : 0;
    }
    const double raw = 0.7213 / (1 + 1.079 / m) * m * m / sum;
    return raw <= 2.5 * m && zeros > 0 ? m * std::log(m / zeros) : raw;
}

double QuantileSketch::shareBelow(double value) const {
    const auto below =
        std::count_if(kept_.begin(), kept_.end(), [=](double v) { return v < value; });
    return kept_.empty() ? 0 : static_cast<double>(below) / static_cast<double>(kept_.size());
}

double QuantileSketch::quantile(double q) const {
    if (kept_.empty()) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    std::vector<double> values = kept_;
    const auto at = static_cast<std::ptrdiff_t>(
        std::lround(std::clamp(q, 0.0, 1.0) * static_cast<double>(values.size() - 1)));
    std::nth_element(values.begin(), values.begin() + at, values.end());
    return values[static_cast<std::size_t>(at)];
}

}  // namespace millrace::profile

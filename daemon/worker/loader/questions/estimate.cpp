#include "daemon/worker/loader/questions/estimate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace millrace::loader {

double studentT95(std::int64_t degrees) {
    static constexpr std::array<double, 30> kTable{
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
        2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
        2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
    if (degrees < 1) {
        return 0;
    }
    return degrees <= 30 ? kTable[static_cast<std::size_t>(degrees - 1)] : 1.96;
}

Estimate ratioPerRow(const std::vector<ClusterValue>& sample, std::int64_t numClusters) {
    const auto n = static_cast<std::int64_t>(sample.size());
    double rows = 0, values = 0;
    for (const ClusterValue& cluster : sample) {
        rows += cluster.rows;
        values += cluster.value;
    }
    Estimate estimate;
    if (rows <= 0) {
        return estimate;
    }
    estimate.value = values / rows;
    estimate.isExact = numClusters > 0 && n >= numClusters;
    estimate.isErrorKnown = estimate.isExact || n > 1;
    if (n > 1 && !estimate.isExact) {
        double squares = 0;
        for (const ClusterValue& cluster : sample) {
            const double residual = cluster.value - estimate.value * cluster.rows;
            squares += residual * residual;
        }
        const auto count = static_cast<double>(n);
        const double correction =
            numClusters > 0 ? 1 - count / static_cast<double>(numClusters) : 1;
        estimate.standardError =
            std::sqrt(correction * squares / (count - 1) / count) / (rows / count);
    }
    const double margin = studentT95(n - 1) * estimate.standardError;
    estimate.low = std::max(0.0, estimate.value - margin);
    estimate.high = estimate.value + margin;
    return estimate;
}

Estimate Estimate::scaled(double factor) const {
    Estimate out = *this;
    out.value *= factor;
    out.standardError *= factor;
    out.low *= factor;
    out.high *= factor;
    return out;
}

// The relative error stays the same, to first order; the bounds change places.
Estimate Estimate::inverted(double factor) const {
    Estimate out = *this;
    out.value = value > 0 ? factor / value : 0;
    out.standardError = value > 0 ? out.value * standardError / value : 0;
    out.low = high > 0 ? factor / high : 0;
    out.high = low > 0 ? factor / low : std::numeric_limits<double>::infinity();
    return out;
}

Json Estimate::toJson() const {
    const auto orNull = [this](double x) {
        return isErrorKnown && std::isfinite(x) ? Json(x) : Json();
    };
    return {{"value", value},
            {"low", orNull(low)},
            {"high", orNull(high)},
            {"standard_error", orNull(standardError)},
            {"exact", isExact}};
}

}  // namespace millrace::loader

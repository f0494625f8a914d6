#pragma once
// Estimates for a whole dataset from some of its splits.
//
// The sample is a cluster sample: whole splits, drawn without replacement, each with the same
// probability. A figure y (rows kept, bytes, seconds) is estimated by the ratio of its sum to that
// of the rows, times all rows: Cochran, Sampling Techniques, 3rd ed., section 6.4. The standard
// error is that of the linearised ratio with the finite population correction; the interval is +-
// Student's t (n - 1 degrees, 95 %) times it. Both treat splits as the unit of variation, so rows
// that resemble their neighbours make the interval wider, as they should. With few splits it is
// rough. Threads: pure.
#include <cstdint>
#include <vector>

#include "backend/text/json.h"

namespace millrace::loader {

/// One split: its rows, and the figure.
struct ClusterValue {
    double rows = 0, value = 0;
};

struct Estimate {
    double value = 0;
    double standardError = 0;
    double low = 0, high = 0;  ///< 95 %
    bool isExact = false;      ///< every split was read
    bool isErrorKnown = true;  ///< false: one split of several shows nothing about the others

    Estimate scaled(double factor) const;
    /// value, low and high become factor / themselves: seconds a row to rows a second.
    Estimate inverted(double factor) const;
    /// {value, low, high, standard_error, exact}; bounds are null if they are not known.
    Json toJson() const;
};

/// The figure per row. `numClusters`: splits of the dataset; 0: without the correction (times vary
/// even when every split was read).
Estimate ratioPerRow(const std::vector<ClusterValue>& sample, std::int64_t numClusters);

/// Student's t for a 95 % interval.
double studentT95(std::int64_t degrees);

}  // namespace millrace::loader

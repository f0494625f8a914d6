#pragma once
// RunMetrics: a run's metrics as series, for plots, and as lines, for clients that follow it.
//
// Threads: any. Failure: as of RunStore; damaged points are left out and reported in their series.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/runs/run_record.h"
#include "backend/values/metric_line.h"

namespace millrace::runs {

class StoreFile;

/// The part of a metric that a reader requests.
struct MetricRange {
    std::int64_t fromStep = 0, toStep = INT64_MAX;  ///< inclusive
    int maxPoints = 2000;                           ///< 0: all of them; at least 6
    /// Only reports of this rank; kNoRank: the run's own values, or the summary of all ranks.
    int rank = values::kNoRank;
};

/// One of several metrics that are read at once.
struct MetricRequest {
    std::string key;
    MetricRange range;
};

struct SeriesAtCursor {
    std::vector<values::MetricSeries> series;  ///< in the order of the requests
    values::MetricCursor cursor;
};

/// Lines of any metrics that were stored after a cursor.
struct MetricLines {
    std::vector<values::MetricLine> lines;          ///< by number
    values::MetricCursor cursor;                    ///< behind these lines
    std::optional<std::int64_t> replacesAfterStep;  ///< as of values::MetricChunk
    bool isMore = false;                            ///< the store already has more
    bool hasEnded = false;                          ///< the run is in a terminal state
};

class RunMetrics {
 public:
    explicit RunMetrics(StoreFile& file) : file_(file) {}

    Result<values::MetricSeries> metrics(std::string_view id, std::string_view key,
                                         const MetricRange& range = {}) const;
    /// Several metrics of a run at one moment, in the order of the requests; much cheaper than one
    /// by one.
    Result<std::vector<values::MetricSeries>> metrics(
        std::string_view id, const std::vector<MetricRequest>& requests) const;
    /// Names of the run's metrics, sorted.
    Result<std::vector<std::string>> metricKeys(std::string_view id) const;

    /// The next lines behind a cursor, about `most` of them, each exactly once and in their order;
    /// `rank`: as of MetricRange. Lines that are void by the time of the call are not returned.
    Result<MetricLines> metricLines(std::string_view id, const values::MetricCursor& after,
                                    std::size_t most, int rank = values::kNoRank) const;
    /// Series, and the cursor from which metricLines() continues behind everything stored at that
    /// moment.
    Result<SeriesAtCursor> metricsAtCursor(std::string_view id,
                                           const std::vector<MetricRequest>& requests) const;
    /// Names of the key numbers in MetricLines.
    Result<values::MetricNames> metricNames(
        const std::vector<std::uint32_t>& metricKeyNumbers) const;

 private:
    StoreFile& file_;
};

}  // namespace millrace::runs

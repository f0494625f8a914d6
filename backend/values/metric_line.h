#pragma once
// Metrics as values: a point of a series, a line with its number in the store, and the requests and
// replies about them. Store, daemon, wire and user interfaces share these.
//
// Plain values; Threads: any. Times are UTC ms since 1970; steps count from 1, epochs from 0; a
// value may be NaN or infinite.
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::values {

/// For a value without a rank: the run's own, or the summary of all ranks.
inline constexpr int kNoRank = -1;

/// How several ranks' values of one step spread around their median: the ends, and the ranks that
/// have them (the lowest rank among equals).
struct RankSpread {
    double least = 0, greatest = 0;
    int leastRank = 0, greatestRank = 0;
    int numRanks = 0;  ///< number of ranks with a value of this step
    bool operator==(const RankSpread&) const = default;
};

/// One value of a metric; the median if ranks differ.
struct MetricPoint {
    std::int64_t step = 0;
    std::int64_t epoch = 0;
    std::int64_t rows = 0;  ///< trained so far
    std::int64_t timeMs = 0;
    double value = 0;
    int attempt = 1;
    std::optional<RankSpread> ranks{};
    std::int64_t line = 0;  ///< the run's line that reported it, from 1; 0: not stored
    bool operator==(const MetricPoint&) const = default;
};

/// A metric over a range of steps, ordered by step.
struct MetricSeries {
    std::string key;
    std::vector<MetricPoint> points;
    std::int64_t numPoints = 0;  ///< in the range before decimation
    bool isDecimated = false;    ///< each bucket keeps its lowest and highest point
    std::string problem;         ///< one sentence if damaged stored points were left out
    int rank = kNoRank;

    /// Whether ranks differ at any point.
    bool isOfRanks() const;
};

/// Selects a range of a run's metrics.
struct MetricRangeRequest {
    std::string run;                        ///< id, uid, name, or a unique prefix
    std::vector<std::string> names;         ///< empty: all of the run's own
    std::int64_t fromStep = 0, toStep = 0;  ///< inclusive; 0: from the first, to the last
    int maxPoints = 0;                      ///< per series; 0: the daemon's 2000
    bool withSystem = false;                ///< without names: includes "system.*"
    int rank = kNoRank;  ///< only this rank's metrics; kNoRank: the run's, over all ranks
    bool operator==(const MetricRangeRequest&) const = default;
};

/// A reader's position in a run's lines: nothing stored up to here is delivered again.
struct MetricCursor {
    int attempt = 0;        ///< the newest attempt that had begun; 0: none
    std::int64_t line = 0;  ///< the newest line that was read
    bool operator==(const MetricCursor&) const = default;
};

/// A range of metrics as stored at one moment.
struct MetricHistory {
    std::string runId;
    std::vector<MetricSeries> series;
    MetricCursor cursor;  ///< after everything that was stored then, in any metric
};

/// Selects the lines of a run to follow: those after a cursor, and new ones.
struct MetricsRequest {
    std::string run;                 ///< as in MetricRangeRequest
    std::vector<std::string> names;  ///< empty: all of the run's own
    std::int64_t fromStep = 0;       ///< inclusive
    bool withSystem = false;         ///< without names: includes "system.*"
    int rank = kNoRank;              ///< only this rank's lines; kNoRank: the run's own
    MetricCursor after{};            ///< default: from the first line
    bool operator==(const MetricsRequest&) const = default;
};

/// A value of a line; `key` is the metric's number in MetricChunk::names.
struct MetricValue {
    std::uint32_t key = 0;
    double value = 0;
    std::optional<RankSpread> ranks{};
    bool operator==(const MetricValue&) const = default;
};

/// A line of metrics as stored: the values reported at one moment of one step.
struct MetricLine {
    std::int64_t number = 0;  ///< grows with every line of the run, from 1
    std::int64_t step = 0, epoch = 0, rows = 0, timeMs = 0;
    int attempt = 1;
    int rank = kNoRank;
    std::vector<MetricValue> values;  ///< by key
    bool operator==(const MetricLine&) const = default;
};

using MetricNames = std::map<std::uint32_t, std::string>;

/// The next part of a run's lines.
struct MetricChunk {
    MetricNames names;  ///< of keys that are new in this stream
    std::vector<MetricLine> lines;
    MetricCursor cursor;  ///< resumes after these lines, also in another stream
    /// Set at a new attempt: values of steps after this one are void (0: all of them).
    std::optional<std::int64_t> replacesAfterStep;
    bool isCaughtUp = false;  ///< everything stored was sent; the next chunk is new
    bool isEnd = false;       ///< the run has ended and everything was sent
};

/// Metrics that a rank measures of itself. All others are the run's own: they have no rank and come
/// from rank 0.
constexpr bool isRankMetric(std::string_view name) {
    return name == "input_stall_percent" || name.starts_with("trainer.") ||
           name.starts_with("rank.") || name.starts_with("system.rank.");
}

/// The value of one rank.
struct RankValue {
    int rank = 0;
    double value = 0;
};

struct RankSummary {
    double median = 0;
    RankSpread ranks;
};

/// Least, median (the lower of two middle ones) and greatest of `values`, which must not be empty.
/// Only the last value of each rank counts. NaN only if there are no other values.
RankSummary summarize(std::vector<RankValue> values);
/// Merges two summaries of the same step: the ends are exact, the median is taken from the summary
/// with more ranks.
RankSummary joined(const RankSummary& a, const RankSummary& b);

/// An extreme of a series: the value, its step, and its rank (kNoRank: the run's own).
struct SeriesEnd {
    double value = 0;
    std::int64_t step = 0;
    int rank = kNoRank;
    bool operator==(const SeriesEnd&) const = default;
};
struct SeriesEnds {
    SeriesEnd least, greatest;
};
/// Over all points and ranks, the first among equals; nothing if no value is a number.
std::optional<SeriesEnds> endsOf(std::span<const MetricPoint> points);

/// The lowest and the highest value that a point covers.
constexpr double leastOf(const MetricPoint& point) {
    return point.ranks ? point.ranks->least : point.value;
}
constexpr double greatestOf(const MetricPoint& point) {
    return point.ranks ? point.ranks->greatest : point.value;
}

}  // namespace millrace::values

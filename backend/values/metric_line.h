#pragma once
// Metrics as values: a point of a series, a line as the store numbered it, and what is asked and
// answered about them. Store, daemon, wire and faces share these.
//
// Plain values; Threads: any. Times are UTC ms since 1970, steps count from 1, epochs from 0; a
// value may be NaN or infinite.
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::values {

/// A value that belongs to no rank: the run's own, or the summary of all ranks.
inline constexpr int kNoRank = -1;

/// What several ranks say of one step, beside their median: the ends and who holds them (of equals
/// the lowest rank).
struct RankSpread {
    double least = 0, greatest = 0;
    int leastRank = 0, greatestRank = 0;
    int numRanks = 0;  ///< that told a value of this step
    bool operator==(const RankSpread&) const = default;
};

/// One value of a metric; where ranks differ `value` is their median.
struct MetricPoint {
    std::int64_t step = 0;
    std::int64_t epoch = 0;
    std::int64_t rows = 0;  ///< trained so far
    std::int64_t timeMs = 0;
    double value = 0;
    int attempt = 1;
    std::optional<RankSpread> ranks{};
    std::int64_t line = 0;  ///< of the run, from 1: the line that told it; 0: not stored
    bool operator==(const MetricPoint&) const = default;
};

/// A metric over a range of steps, in order of step.
struct MetricSeries {
    std::string key;
    std::vector<MetricPoint> points;
    std::int64_t numPoints = 0;  ///< in the range before thinning out
    bool isDecimated = false;    ///< the ends of each bucket were kept
    std::string problem;         ///< one sentence when stored points are damaged and left out
    int rank = kNoRank;

    /// Whether ranks differ at any point.
    bool isOfRanks() const;
};

/// What a range of a run's metrics is asked for.
struct MetricRangeRequest {
    std::string run;                        ///< id, uid, name, or a unique prefix
    std::vector<std::string> names;         ///< none: all of the run's own
    std::int64_t fromStep = 0, toStep = 0;  ///< inclusive; 0: from the first, to the last
    int maxPoints = 0;                      ///< a series; 0: the daemon's 2000
    bool withSystem = false;                ///< without names: also "system.*"
    int rank = kNoRank;  ///< only what this rank measured; kNoRank: the run's, all ranks'
    bool operator==(const MetricRangeRequest&) const = default;
};

/// Where a reader of a run's lines stands: nothing that was stored up to here comes again.
struct MetricCursor {
    int attempt = 0;        ///< the newest that had begun; 0: none
    std::int64_t line = 0;  ///< the newest line that was read
    bool operator==(const MetricCursor&) const = default;
};

/// A range of metrics as it was stored at one moment.
struct MetricHistory {
    std::string runId;
    std::vector<MetricSeries> series;
    MetricCursor cursor;  ///< behind all that was stored then, of whatever metrics
};

/// Which lines of a run are followed: those behind a cursor, and those that come.
struct MetricsRequest {
    std::string run;                 ///< as of MetricRangeRequest
    std::vector<std::string> names;  ///< none: all of the run's own
    std::int64_t fromStep = 0;       ///< inclusive
    bool withSystem = false;         ///< without names: also "system.*"
    int rank = kNoRank;              ///< only what this rank told; kNoRank: the run's own
    MetricCursor after{};            ///< none: from the first
    bool operator==(const MetricsRequest&) const = default;
};

/// A value of a line; its metric by the number that MetricChunk::names has told.
struct MetricValue {
    std::uint32_t key = 0;
    double value = 0;
    std::optional<RankSpread> ranks{};
    bool operator==(const MetricValue&) const = default;
};

/// A line of metrics as the store has it: what was told at one moment of one step.
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
    MetricNames names;  ///< of keys that no chunk of this stream has told before
    std::vector<MetricLine> lines;
    MetricCursor cursor;  ///< to go on behind these lines, also with another stream
    /// A new attempt: what was told of steps after this one is void (0: all of it).
    std::optional<std::int64_t> replacesAfterStep;
    bool isCaughtUp = false;  ///< what the store has is told; the next chunk is new
    bool isEnd = false;       ///< the run has ended and all was told
};

/// What a rank measures of itself. All other figures are the run's own: they have no rank and come
/// from rank 0.
constexpr bool isRankMetric(std::string_view name) {
    return name == "input_stall_percent" || name.starts_with("trainer.") ||
           name.starts_with("rank.") || name.starts_with("system.rank.");
}

/// One rank's value.
struct RankValue {
    int rank = 0;
    double value = 0;
};

struct RankSummary {
    double median = 0;
    RankSpread ranks;
};

/// Least, median (the lower of two middle ones) and greatest of `values`, which has one at least;
/// the last of a rank counts. NaN only where there is nothing else.
RankSummary summarize(std::vector<RankValue> values);
/// Two summaries of the same step as one: the ends are exact, the median is that of the one with
/// more ranks.
RankSummary joined(const RankSummary& a, const RankSummary& b);

/// An end of a series: the value, where, and which rank's (kNoRank: the run's own).
struct SeriesEnd {
    double value = 0;
    std::int64_t step = 0;
    int rank = kNoRank;
    bool operator==(const SeriesEnd&) const = default;
};
struct SeriesEnds {
    SeriesEnd least, greatest;
};
/// Over all points and ranks, the first of equals; nothing where no value is a number.
std::optional<SeriesEnds> endsOf(std::span<const MetricPoint> points);

/// The least and the greatest value that a point stands for.
constexpr double leastOf(const MetricPoint& point) {
    return point.ranks ? point.ranks->least : point.value;
}
constexpr double greatestOf(const MetricPoint& point) {
    return point.ranks ? point.ranks->greatest : point.value;
}

}  // namespace millrace::values

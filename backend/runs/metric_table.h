#pragma once
// MetricTable: where a run's metric points lie in the store. New lines go to a tail, one row each,
// safe with their commit; seal() turns the tail into compressed chunks, one metric a chunk, with
// the extremes that plots are drawn from. docs/formats/metrics.md has the layout.
//
// The order of a metric's points is by step, then as they came; of the points of one step only the
// newest attempt's count. Threads: one at a time, inside the caller's transaction. Failure: as of
// Database; a damaged chunk takes nothing with it: it stays where it is and reading names it.
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/runs/database.h"
#include "backend/runs/run_rows.h"
#include "backend/runs/run_store.h"

namespace millrace::runs {

/// A chunk without its points.
struct ChunkHead {
    std::int64_t no = 0, position = 0;
    std::int64_t firstStep = 0, lastStep = 0, numPoints = 0;
};

/// Brings points into the order of the store and drops those of a step's older attempts.
void settle(std::vector<MetricPoint>& points);

/// Adds to the tail and makes chunks of it.
class MetricWriter {
 public:
    MetricWriter(Database& db, std::int64_t runNo) : db_(db), runNo_(runNo) {}

    /// A line of an attempt, at the end of the tail.
    Status append(int attempt, const MetricLine& line);
    /// Seals a tail that has become long.
    Status sealIfLong();
    Status seal();
    /// Drops all points after `step`; the tail is sealed first.
    Status cutAfter(std::int64_t step);
    /// A whole metric at once, in any order.
    Status addSealed(std::int64_t keyNo, std::vector<MetricPoint> points);

 private:
    using ByKey = std::map<std::int64_t, std::vector<MetricPoint>>;

    Result<std::int64_t> keyNo(const std::string& key);
    Result<ByKey> readTail();
    Status cutKey(std::int64_t keyNo, std::int64_t step);
    Status writeChunk(std::int64_t keyNo, std::int64_t position, std::span<const MetricPoint> part);
    Status removeChunk(std::int64_t no);

    Database& db_;
    const std::int64_t runNo_;
    std::map<std::string, std::int64_t, std::less<>> keyNos_;
    std::int64_t nextLine_ = -1;
};

/// Reads one run's metrics, several at once.
class MetricReader {
 public:
    MetricReader(Database& db, std::int64_t runNo, std::string_view runId)
        : db_(db), runNo_(runNo), runId_(runId) {}

    /// In the order of the requests; an unknown key gives an empty series.
    Result<std::vector<MetricSeries>> read(const std::vector<MetricRequest>& requests);
    /// The newest point; nothing for a key without points.
    Result<std::optional<MetricPoint>> last(const std::string& key);

 private:
    struct Piece {
        std::vector<ChunkHead> chunks;    ///< of which `points` is the content when `isLoaded`
        std::vector<MetricPoint> points;  ///< in range, with the tail's
        bool isLoaded = false;
        std::int64_t numPoints() const;
    };

    Status readTail(const std::vector<MetricRequest>& requests);
    Result<MetricSeries> readOne(const MetricRequest& request, std::size_t index);
    Result<std::vector<Piece>> piecesOf(std::size_t index, const MetricRange& range);
    Status load(Piece& piece, const MetricRange& range);
    Status readThin(std::vector<Piece>& pieces, int maxPoints, MetricSeries& series);
    Status readRaw(std::vector<Piece>& pieces, const MetricRange& range, MetricSeries& series);
    /// What is left of a metric with damaged chunks, and which they are.
    Status readAround(std::size_t index, const MetricRange& range, MetricSeries& series);

    Database& db_;
    const std::int64_t runNo_;
    const std::string runId_;
    std::vector<std::int64_t> keyNos_;             // of the requests; 0: not known
    std::vector<std::vector<MetricPoint>> tails_;  // of the requests, in range
};

/// The chunks of a metric that touch a range of steps, in order of position.
Result<std::vector<ChunkHead>> readChunkHeads(Database& db, std::int64_t runNo, std::int64_t keyNo,
                                              std::int64_t fromStep, std::int64_t toStep);
/// kDataLoss when the chunk is damaged.
Result<std::vector<MetricPoint>> readChunk(Database& db, const ChunkHead& head);
/// Nothing for a key that no run has.
Result<std::int64_t> findMetricKey(Database& db, std::string_view key);
/// The row numbers that a run's lines may have in metric_line: each run has its own stretch of
/// them, so that they lie together and grow as the lines come.
struct TailRows {
    std::int64_t first = 0, last = 0;
};
TailRows tailRowsOf(std::int64_t runNo);

/// Turns the rows of an older schema's metric_point into chunks.
Status sealOldPoints(Database& db);

}  // namespace millrace::runs

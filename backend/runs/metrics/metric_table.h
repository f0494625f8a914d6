#pragma once
// MetricTable: the storage of a run's metric points. New lines go to a tail, one row each, durable
// with their commit. seal() turns the tail into compressed chunks, one metric per chunk, with the
// extremes for plots. The layout is in docs/formats/metrics.md.
//
// A metric's points are ordered by step, then by arrival; for one step only points of the newest
// attempt count. The reports of all ranks about a step are one point; each rank's own points are a
// separate series. Threads: one at a time, inside the caller's transaction. Failure: as of
// Database. A damaged chunk affects nothing else: it stays in place and readers report it.
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/runs/database.h"
#include "backend/runs/metrics/run_metrics.h"
#include "backend/runs/run_lines.h"
#include "backend/runs/run_rows.h"

namespace millrace::runs {

/// A series: of a metric, and of one rank or (kNoRank) of the run.
struct SeriesNo {
    std::int64_t key = 0;  ///< metric_key.no; 0: no metric
    int rank = values::kNoRank;
    auto operator<=>(const SeriesNo&) const = default;
};

/// A chunk without its points.
struct ChunkHead {
    std::int64_t no = 0, position = 0;
    std::int64_t firstStep = 0, lastStep = 0, numPoints = 0;
    std::int64_t numRanks = 0;  ///< maximum number of ranks that a point summarizes; 0: none
};

/// Sorts points into the order of the store, drops those of a step's older attempts, and merges the
/// summaries of one step.
void settle(std::vector<values::MetricPoint>& points);

/// Adds lines to the tail and seals the tail into chunks.
class MetricWriter {
 public:
    MetricWriter(Database& db, std::int64_t runNo) : db_(db), runNo_(runNo) {}

    /// Appends a line of an attempt to the tail.
    Status append(int attempt, const ReportedLine& line);
    /// Seals the tail if it has become long.
    Status sealIfLong();
    Status seal();
    /// Drops all points after `step`; seals the tail first.
    Status cutAfter(std::int64_t step);

 private:
    struct Tail {
        std::map<SeriesNo, std::vector<values::MetricPoint>> points;
        std::int64_t lastLine = 0;
    };

    Result<std::int64_t> keyNo(const std::string& key);
    Status findNextLine();
    Result<Tail> readTail();
    Status addSealed(const SeriesNo& series, std::vector<values::MetricPoint> points);
    Status cutSeries(const SeriesNo& series, std::int64_t step);
    Status writeChunk(const SeriesNo& series, std::int64_t position,
                      std::span<const values::MetricPoint> part);
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

    /// In the order of the requests; an unknown key yields an empty series.
    Result<std::vector<values::MetricSeries>> read(const std::vector<MetricRequest>& requests);
    /// The newest point; nothing for a key without points.
    Result<std::optional<values::MetricPoint>> last(const std::string& key);

 private:
    struct Piece {
        std::vector<ChunkHead> chunks;  ///< if `isLoaded`, `points` holds the content of these
        std::vector<values::MetricPoint> points;  ///< in range, including the tail's
        bool isLoaded = false;
        std::int64_t numPoints() const;
        bool isOfRanks() const;
    };

    Status readTail(const std::vector<MetricRequest>& requests);
    void addTailRow(const Statement& row, const std::vector<MetricRequest>& requests);
    Result<values::MetricSeries> readOne(const MetricRequest& request, std::size_t index);
    Result<std::vector<Piece>> piecesOf(std::size_t index, const MetricRange& range);
    Status load(Piece& piece, const MetricRange& range);
    Status readThin(std::vector<Piece>& pieces, int maxPoints, values::MetricSeries& series);
    Status readRaw(const std::vector<Piece>& pieces, values::MetricSeries& series);
    /// Reads the readable points of a metric with damaged chunks, and reports those chunks.
    Status readAround(std::size_t index, const MetricRange& range, values::MetricSeries& series);

    Database& db_;
    const std::int64_t runNo_;
    const std::string runId_;
    std::vector<SeriesNo> series_;                               // of the requests
    std::vector<std::vector<values::MetricPoint>> tails_;        // of the requests, in range
    std::vector<std::pair<std::uint32_t, std::size_t>> wanted_;  // (key number, request), sorted
};

/// The columns of metric_chunk that readChunkHead() expects first.
extern const std::string_view kChunkHeadColumns;
ChunkHead readChunkHead(const Statement& row);
/// The chunks of a series that overlap a range of steps, in order of position.
Result<std::vector<ChunkHead>> readChunkHeads(Database& db, std::int64_t runNo,
                                              const SeriesNo& series, std::int64_t fromStep,
                                              std::int64_t toStep);
/// kDataLoss when the chunk is damaged.
Result<std::vector<values::MetricPoint>> readChunk(Database& db, const ChunkHead& head);
/// Returns 0 for a key that no run has.
Result<std::int64_t> findMetricKey(Database& db, std::string_view key);
/// The row numbers reserved for a run's lines in metric_line. Each run has its own range, so that
/// its rows are adjacent and grow in order of arrival. A line's number in the run is its row's
/// number minus `first`. No number is used twice, even after its line was sealed or cut.
struct TailRows {
    std::int64_t first = 0, last = 0;
};
TailRows tailRowsOf(std::int64_t runNo);
/// The columns of a row of the tail. readTailPoint() reads those that all values of the row share;
/// the caller reads the others (data 5, summaries 6, rank 7).
extern const std::string_view kTailColumns;
values::MetricPoint readTailPoint(const Statement& row, const TailRows& rows);

}  // namespace millrace::runs

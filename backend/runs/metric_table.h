#pragma once
// MetricTable: where a run's metric points lie in the store. New lines go to a tail, one row each,
// safe with their commit; seal() turns the tail into compressed chunks, one metric a chunk, with
// the extremes that plots are drawn from. docs/formats/metrics.md has the layout.
//
// The order of a metric's points is by step, then as they came; of the points of one step only the
// newest attempt's count. What all ranks said of a step is one point; each rank's own points are a
// series by themselves. Threads: one at a time, inside the caller's transaction. Failure: as of
// Database; a damaged chunk takes nothing with it: it stays where it is and reading names it.
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/runs/database.h"
#include "backend/runs/run_lines.h"
#include "backend/runs/run_metrics.h"
#include "backend/runs/run_rows.h"

namespace millrace::runs {

/// Which points: of a metric, and of one rank or (kNoRank) of none.
struct SeriesNo {
    std::int64_t key = 0;  ///< metric_key.no; 0: no metric
    int rank = values::kNoRank;
    auto operator<=>(const SeriesNo&) const = default;
};

/// A chunk without its points.
struct ChunkHead {
    std::int64_t no = 0, position = 0;
    std::int64_t firstStep = 0, lastStep = 0, numPoints = 0;
    std::int64_t numRanks = 0;  ///< that its points stand for at most; 0: none
};

/// Brings points into the order of the store, drops those of a step's older attempts, and makes the
/// summaries of one step one.
void settle(std::vector<values::MetricPoint>& points);

/// Adds to the tail and makes chunks of it.
class MetricWriter {
 public:
    MetricWriter(Database& db, std::int64_t runNo) : db_(db), runNo_(runNo) {}

    /// A line of an attempt, at the end of the tail.
    Status append(int attempt, const ReportedLine& line);
    /// Seals a tail that has become long.
    Status sealIfLong();
    Status seal();
    /// Drops all points after `step`; the tail is sealed first.
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

    /// In the order of the requests; an unknown key gives an empty series.
    Result<std::vector<values::MetricSeries>> read(const std::vector<MetricRequest>& requests);
    /// The newest point; nothing for a key without points.
    Result<std::optional<values::MetricPoint>> last(const std::string& key);

 private:
    struct Piece {
        std::vector<ChunkHead> chunks;  ///< of which `points` is the content when `isLoaded`
        std::vector<values::MetricPoint> points;  ///< in range, with the tail's
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
    /// What is left of a metric with damaged chunks, and which they are.
    Status readAround(std::size_t index, const MetricRange& range, values::MetricSeries& series);

    Database& db_;
    const std::int64_t runNo_;
    const std::string runId_;
    std::vector<SeriesNo> series_;                               // of the requests
    std::vector<std::vector<values::MetricPoint>> tails_;        // of the requests, in range
    std::vector<std::pair<std::uint32_t, std::size_t>> wanted_;  // (key number, request), sorted
};

/// The columns that readChunkHead expects first, of metric_chunk.
extern const std::string_view kChunkHeadColumns;
ChunkHead readChunkHead(const Statement& row);
/// The chunks of a series that touch a range of steps, in order of position.
Result<std::vector<ChunkHead>> readChunkHeads(Database& db, std::int64_t runNo,
                                              const SeriesNo& series, std::int64_t fromStep,
                                              std::int64_t toStep);
/// kDataLoss when the chunk is damaged.
Result<std::vector<values::MetricPoint>> readChunk(Database& db, const ChunkHead& head);
/// Nothing for a key that no run has.
Result<std::int64_t> findMetricKey(Database& db, std::string_view key);
/// The row numbers that a run's lines may have in metric_line: each run has its own range of them,
/// so that they lie together and grow as the lines come. A line's number in the run is that of its
/// row above `first`; none is used twice, also after its line was sealed or cut.
struct TailRows {
    std::int64_t first = 0, last = 0;
};
TailRows tailRowsOf(std::int64_t runNo);
/// The columns of a row of the tail; those of them that the values of the row have in common are
/// read by readTailPoint, the others (data 5, summaries 6, rank 7) by who asks.
extern const std::string_view kTailColumns;
values::MetricPoint readTailPoint(const Statement& row, const TailRows& rows);

}  // namespace millrace::runs

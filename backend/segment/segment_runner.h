#pragma once
// Computes a segment: reads its splits, runs the recipe, puts the kept rows in order.
//
// A pure function of (stream hash, plan, epoch, index): only open files and memory are kept between
// segments. Threads: one runner per thread. Failure: data errors name file and row or row group;
// kResourceExhausted when the segment does not fit the memory limit.
// Memory: columns that expressions make count against the pool too. If they do not fit and the
// runner works alone, it runs its rows in shorter pieces. It halves the piece after each failure,
// down to one row.
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/dataset/split_reader.h"
#include "backend/segment/key_order.h"
#include "backend/segment/memory/buffer_pool.h"
#include "backend/segment/row_records.h"
#include "backend/segment/segment_output.h"
#include "backend/segment/split_columns.h"
#include "backend/segment/stage_counters.h"
#include "backend/segment/stream_input.h"
#include "backend/segment/work_stealing.h"

namespace millrace::segment {

/// Name under which the counters report the time that labels took.
inline constexpr std::string_view kLabelsStep = "(labels)";

class SegmentRunner {
 public:
    /// `pool` and `counters` outlive the runner and its outputs. `readAhead`: shared by the
    /// stream's runners; null: the runner makes its own if it needs one. `epochs`: of the stream,
    /// so that the next epoch's objects are fetched before this one ends; 0: the runner announces
    /// only the segment that it computes. `jobs`: work stealing between the stream's runners; null:
    /// the runner works alone.
    SegmentRunner(std::shared_ptr<const StreamInput> input, BufferPool& pool,
                  StageCounters& counters, std::shared_ptr<dataset::ReadAhead> readAhead = nullptr,
                  std::uint32_t epochs = 1, WorkStealing* jobs = nullptr);

    /// `flightNumber`: as in SplitPosition; none: no other thread helps.
    Result<SegmentOutput> run(std::uint32_t epoch, std::int64_t segment,
                              const SegmentPart& part = {},
                              std::optional<std::int64_t> flightNumber = std::nullopt);
    /// Steals and runs a split, a column or a piece of another runner. Returns false if there is
    /// none.
    bool help();

 private:
    using RequestStarts = std::shared_ptr<const std::vector<std::uint64_t>>;
    /// The result of one split.
    struct SplitOutput {
        RowCounts counts;
        std::vector<Chunk> chunks;
        std::vector<RequestStarts> requestStarts;  ///< by chunk
        std::int64_t decodedBytes = 0;
    };
    /// Runs of adjacent rows of one chunk.
    struct Runs {
        std::size_t count = 0;
        std::vector<std::uint32_t> ends;
    };
    void announce(std::uint32_t epoch, std::int64_t segment);
    /// Rows of a split, counted from its first.
    struct RowRange {
        std::int64_t begin = 0, end = 0;
    };
    Result<RowRange> rowRangeOf(const std::vector<stream::SplitRef>& splits, std::size_t index,
                                const SegmentPart& part, dataset::SplitReader& reader) const;
    Status runSplits(const SegmentPart& part, SegmentOutput& output);
    Result<SplitOutput> runSplit(const stream::SplitRef& ref, const RowRange& wanted,
                                 std::uint32_t epoch, const Sharing& sharing,
                                 const Readers& readers) const;
    /// A split's rows, and what is needed to compute them.
    struct SplitRows {
        const recipe::SplitInput& in;
        SplitColumns& columns;
        const std::uint32_t epoch;
        const Sharing& sharing;
        const Readers& readers;
        RequestStarts requests;      ///< null if requests do not matter
        std::int64_t countedNs = 0;  ///< busy time so far that is already counted
    };
    Status runRows(SplitRows& rows, SplitOutput& output) const;
    Status runAtOnce(SplitRows& rows, SplitOutput& output) const;
    Status runShort(SplitRows& rows, SplitOutput& output) const;
    Status runPiece(const SplitRows& rows, PiecesOfSplit& pieces, std::size_t index,
                    SplitOutput& output) const;
    Status tooLarge(const SplitRows& rows, const recipe::SplitInput& piece,
                    const Status& status) const;
    Result<std::vector<recipe::FeatureBatch>> batchesOf(const SplitRows& rows,
                                                        PiecesOfSplit& pieces) const;
    Result<Chunk> chunkOf(recipe::FeatureBatch batch, const SplitRows& rows) const;
    bool isDeduplicated() const;
    Status eachChunk(Stage stage, const SegmentOutput& output,
                     const std::function<Status(std::size_t)>& work);
    void keyRuns(std::uint32_t epoch, std::size_t c, const Chunk& chunk, std::span<KeyedRow> out,
                 Runs& runs) const;
    dataset::SplitReader& helper();
    Readers readers();
    std::int64_t pieceRows(std::int64_t rows) const;
    void countSteps(const recipe::FeatureBatch& batch, RowCounts& counts) const;
    std::int64_t orderRows(std::uint32_t epoch, SegmentOutput& output);
    std::uint64_t keyRow(std::size_t chunk, std::uint64_t row) const;

    const std::shared_ptr<const StreamInput> input_;
    BufferPool& pool_;
    StageCounters& counters_;
    const RecordLayout records_;
    const std::shared_ptr<dataset::ReadAhead> readAhead_;
    dataset::SplitReader reader_;
    std::optional<dataset::SplitReader> helper_;  ///< reads other threads' columns; made on demand
    WorkStealing* const jobs_;
    Sharing sharing_;  ///< of the segment that is being computed
    const std::uint32_t epochs_;
    const std::vector<std::string> columnsAhead_;  ///< columns to fetch ahead; empty: local files
    /// Limit on the rows of a piece after memory ran out; 0: it did not run out.
    mutable std::atomic<std::int64_t> shortRows_ = 0;
    /// By chunk, if requests matter: the rows of the file at which they start, ascending.
    std::vector<RequestStarts> requestStarts_;
};

}  // namespace millrace::segment

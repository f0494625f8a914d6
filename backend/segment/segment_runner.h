#pragma once
// Computes a segment: reads its splits, runs the recipe, puts the kept rows in order.
//
// A pure function of (stream hash, plan, epoch, index): nothing is kept between segments but open
// files and memory. Threads: one runner a thread. Failure: data errors name file and row or row
// group; kResourceExhausted when the memory limit does not hold the segment.
// Memory: what expressions make is of the pool too. Where it does not fit, a runner that nobody
// helps runs its rows in pieces, each half as long as the one that did not fit, down to one row.
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/dataset/split_reader.h"
#include "backend/segment/buffer_pool.h"
#include "backend/segment/key_order.h"
#include "backend/segment/open_work.h"
#include "backend/segment/row_records.h"
#include "backend/segment/segment_output.h"
#include "backend/segment/split_columns.h"
#include "backend/segment/stage_counters.h"
#include "backend/segment/stream_input.h"

namespace millrace::segment {

/// What the counters call the time that labels took.
inline constexpr std::string_view kLabelsStep = "(labels)";

class SegmentRunner {
 public:
    /// `pool` and `counters` outlive the runner and what it made.
    /// `readAhead`: shared by the stream's runners; null: the runner's own where it needs one.
    /// `epochs`: of the stream, so that the next one is fetched before this one ends; 0: the runner
    /// announces no segment but the one that it computes.
    /// `jobs`: through which the stream's runners help each other; null: each is alone.
    SegmentRunner(std::shared_ptr<const StreamInput> input, BufferPool& pool,
                  StageCounters& counters, std::shared_ptr<dataset::ReadAhead> readAhead = nullptr,
                  std::uint32_t epochs = 1, OpenWork* jobs = nullptr);

    /// `flightNumber`: as SplitPlace's; none: nobody helps.
    Result<SegmentOutput> run(std::uint32_t epoch, std::int64_t segment,
                              const SegmentPart& part = {},
                              std::optional<std::int64_t> flightNumber = std::nullopt);
    /// Runs a split, reads a column, or runs a piece, for another runner; false: none is open.
    bool help();

 private:
    using RequestStarts = std::shared_ptr<const std::vector<std::uint64_t>>;
    /// What one split yields.
    struct SplitOutput {
        RowCounts counts;
        std::vector<Chunk> chunks;
        std::vector<RequestStarts> requestStarts;  ///< by chunk
        std::int64_t decodedBytes = 0;
    };
    /// Of one chunk.
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
    /// A split's rows, and what they are computed with.
    struct SplitRows {
        const recipe::SplitInput& in;
        SplitColumns& columns;
        const std::uint32_t epoch;
        const Sharing& sharing;
        const Readers& readers;
        RequestStarts requests;      ///< where requests matter
        std::int64_t countedNs = 0;  ///< of what was done so far, counted already
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
    std::optional<dataset::SplitReader> helper_;  ///< of others' columns; made when first needed
    OpenWork* const jobs_;
    Sharing sharing_;  ///< of the segment that is computed
    const std::uint32_t epochs_;
    const std::vector<std::string> columnsAhead_;  ///< what to fetch ahead; empty: local files
    /// Rows of a piece, at most, after memory was short; 0: it was not.
    mutable std::atomic<std::int64_t> shortRows_ = 0;
    /// By chunk, where requests matter: the rows in the file at which they start, ascending.
    std::vector<RequestStarts> requestStarts_;
};

}  // namespace millrace::segment

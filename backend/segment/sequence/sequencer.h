#pragma once
// The global sequence: segments computed by several threads, delivered in plan order (SEMANTICS 1).
//
// Threads compute segments ahead of use, as far as memory allows; whoever is free takes the next
// frame of the foremost segment, asks the sink for a slot, and gathers it there. Slots are asked
// for by one thread at a time, in order; filled by any. Tails join through the open rest. The same
// bytes come out for any number of threads.
//
// Threads: run() belongs to one owner and starts its own, named "loader-N", joined before it
// returns; position() and totals() from any. Owns: the segments in flight.
// Failure: the sink hears an error's sentence in its place in the sequence; run() returns it.
#include <cstdint>
#include <memory>
#include <stop_token>

#include "backend/core/status.h"
#include "backend/ring/frame_sink.h"
#include "backend/segment/buffer_pool.h"
#include "backend/segment/open_work.h"
#include "backend/segment/row_counts.h"
#include "backend/segment/sequence/segment_desk.h"
#include "backend/segment/stage_counters.h"
#include "backend/segment/stream_input.h"
#include "backend/stream/state/cursor.h"

namespace millrace::segment {

struct SequencerOptions {
    int threads = 1;
    /// One more thread that only delivers, so that a lone computing thread never waits for the
    /// sink.
    bool hasDeliveryThread = false;
    std::uint32_t epochs = 1;
    /// Where to go on (checked against the input); its stream hash empty: from the start.
    stream::Cursor start;
    /// Segments computed or computing, the foremost among them; 0: by the threads.
    int window = 0;
    /// Where rows keep their order, so many of the first segment (whole micro-batches) are computed
    /// and delivered ahead of its others; 0: none.
    std::int64_t headRows = 8192;
    /// Threads help each other with a split's columns from so many values on.
    std::int64_t valuesToShare = 1 << 17;
    std::int64_t pieceRows = kPieceRows;  ///< recipes are run on pieces of so many rows
    /// False: segments come as they are ready, with no order and no cursor to rely on, for
    /// measuring what the order costs.
    bool isOrdered = true;
    /// What its segments may hold of the pool together; 0: all of it.
    std::int64_t limitBytes = 0;
    /// What may be computed elsewhere, through desk(); nothing: the threads here are alone.
    DeskLimits elsewhere;
    /// Of the rows that segments leave over; null: the pool of the segments. Outlives the
    /// sequencer.
    BufferPool* framePool = nullptr;
};

/// What was delivered so far.
struct SequencerTotals : RowCounts {
    std::int64_t segments = 0;
    std::int64_t microBatches = 0;
    std::int64_t rowsDelivered = 0;
};

class Sequencer {
 public:
    /// `pool` is what the segments live in, and its limit what bounds them; everything outlives the
    /// sequencer. kFailedPrecondition / kInvalidArgument for a cursor of another stream.
    static Result<std::unique_ptr<Sequencer>> make(std::shared_ptr<const StreamInput> input,
                                                   SequencerOptions options, BufferPool& pool,
                                                   StageCounters& counters, ring::FrameSink& sink);
    ~Sequencer();

    /// To the end of the stream: OK, kCancelled on stop, or the first error in sequence order.
    Status run(std::stop_token stop);

    /// Behind the last micro-batch that was given a slot; after run() all of them are filled.
    stream::Cursor position() const;
    SequencerTotals totals() const;
    /// For whoever has segments computed elsewhere (SequencerOptions::elsewhere, ordered streams
    /// only). When run() returns all frames from elsewhere are released, and no answer is taken
    /// any more.
    SegmentDesk& desk();

 private:
    class Impl;
    explicit Sequencer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::segment

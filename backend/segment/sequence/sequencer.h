#pragma once
// The global sequence: segments computed by several threads, delivered in plan order.
//
// Threads compute segments ahead of delivery, as far as memory allows. A free thread takes the next
// frame of the earliest segment, reserves a slot of the sink, and gathers the frame there. One
// thread at a time reserves slots, in order; any thread fills them. Tails are joined through the
// open rest. The output bytes are the same for any number of threads.
//
// Threads: run() belongs to one owner and starts threads named "loader-N", which it joins before it
// returns; position() and totals() from any. Owns: the segments in flight.
// Failure: the sink receives an error at its position in the sequence; run() returns it.
#include <cstdint>
#include <memory>
#include <stop_token>

#include "backend/core/status.h"
#include "backend/ring/frame_sink.h"
#include "backend/segment/memory/buffer_pool.h"
#include "backend/segment/row_counts.h"
#include "backend/segment/sequence/remote_segment_queue.h"
#include "backend/segment/stage_counters.h"
#include "backend/segment/stream_input.h"
#include "backend/segment/work_stealing.h"
#include "backend/stream/state/cursor.h"

namespace millrace::segment {

struct SequencerOptions {
    int threads = 1;
    /// Adds a thread that only delivers, so that a lone computing thread never waits for the sink.
    bool hasDeliveryThread = false;
    std::uint32_t epochs = 1;
    /// The position to resume from (checked against the input); with an empty stream hash: from the
    /// start.
    stream::Cursor start;
    /// Segments computed or computing, including the earliest; 0: derived from `threads`.
    int window = 0;
    /// If rows keep their order, this many rows of the first segment (whole micro-batches) are
    /// computed and delivered ahead of its others; 0: none.
    std::int64_t headRows = 8192;
    /// Number of values from which on threads help each other with a split's columns.
    std::int64_t valuesToShare = 1 << 17;
    std::int64_t pieceRows = kPieceRows;  ///< rows per piece on which recipes run
    Stealing stealing;
    /// False: segments are delivered as they become ready, in no order and without a usable cursor.
    /// For measuring the cost of the order.
    bool isOrdered = true;
    /// Limit on the pool's bytes that all segments hold together; 0: all of the pool.
    std::int64_t limitBytes = 0;
    /// Limits for segments that are computed elsewhere, through queue(); empty: only threads here
    /// compute.
    RemoteQueueLimits elsewhere;
    /// Readers of the sink may fetch frames from other processes themselves.
    bool readersFetch = false;
    /// For the rows that segments leave over; null: the pool of the segments. Outlives the
    /// sequencer.
    BufferPool* framePool = nullptr;
};

/// Totals of everything delivered so far.
struct SequencerTotals : RowCounts {
    std::int64_t segments = 0;
    std::int64_t microBatches = 0;
    std::int64_t rowsDelivered = 0;
};

class Sequencer {
 public:
    /// `pool` holds the segments, and its limit bounds them. All arguments outlive the sequencer.
    /// kFailedPrecondition / kInvalidArgument for a cursor of another stream.
    static Result<std::unique_ptr<Sequencer>> make(std::shared_ptr<const StreamInput> input,
                                                   SequencerOptions options, BufferPool& pool,
                                                   StageCounters& counters, ring::FrameSink& sink);
    virtual ~Sequencer() = default;

    /// Runs to the end of the stream: OK, kCancelled on stop, or the first error in sequence order.
    virtual Status run(std::stop_token stop) = 0;

    /// Position behind the last micro-batch that was given a slot; after run() all of them are
    /// filled.
    virtual stream::Cursor position() const = 0;
    virtual SequencerTotals totals() const = 0;
    /// For having segments computed elsewhere (SequencerOptions::elsewhere, ordered streams only).
    /// When run() returns, all frames from elsewhere are released, and answers are no longer taken.
    virtual RemoteSegmentQueue& queue() = 0;
};

}  // namespace millrace::segment

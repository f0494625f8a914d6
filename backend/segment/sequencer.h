#pragma once
// The global sequence: segments computed by several threads, delivered in plan order (SEMANTICS 1).
//
// Threads compute segments ahead of use, as far as memory allows; whoever is free takes the next
// frame of the foremost segment, asks the sink for its place, and gathers it there. Places are
// asked for by one thread at a time, in order; filled by any. Tails join through the open rest. The
// same bytes come out for any number of threads.
//
// Threads: run() belongs to one owner and starts its own, named "loader-N", joined before it
// returns; position() and totals() from any. Owns: the segments in flight.
// Failure: the sink hears an error's sentence in its place in the sequence; run() returns it.
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "backend/core/status.h"
#include "backend/segment/buffer_pool.h"
#include "backend/segment/stage_counters.h"
#include "backend/segment/stream_input.h"
#include "backend/stream/cursor.h"

namespace millrace::segment {

struct SegmentRecord {
    std::uint32_t epoch = 0;
    std::int64_t segment = 0;
    std::int64_t first = 0;     ///< number of its first micro-batch
    std::int64_t count = 0;     ///< the joined one included
    std::int64_t tailRows = 0;  ///< what it adds to the open rest
    std::int64_t rowsScanned = 0, rowsPruned = 0, rowsKept = 0;
    std::vector<recipe::StepCount> steps;       ///< as CompiledRecipe::stepNames()
    std::vector<recipe::IdCount> vocabularies;  ///< as CompiledRecipe::vocabularies()
};

/// Where the sequence goes. All but commit() are called by one thread at a time, in order.
class SequenceSink {
 public:
    struct Place {
        std::span<std::byte> bytes;
        std::uint64_t ticket = 0;
    };
    virtual ~SequenceSink() = default;

    /// False: this micro-batch is somebody else's, or was delivered before; it is left out.
    virtual bool wants(std::uint32_t epoch, std::int64_t number) const {
        (void)epoch, (void)number;
        return true;
    }
    /// Room for a frame, 64-byte aligned; may block until `stop`.
    virtual Result<Place> reserve(std::uint64_t bytes, std::uint32_t epoch, std::int64_t number,
                                  std::stop_token stop) = 0;
    /// From any thread, in any order.
    virtual Status commit(const Place& place, std::uint32_t epoch, std::int64_t number) = 0;
    /// Before the first frame of a later segment, and before the joined micro-batch of its own.
    /// Where rowsKept less tailRows is no multiple of the micro-batch's rows, the joined one comes
    /// first, and the others of these rows stand in it (stream::SegmentShare::lead).
    virtual Status segment(const SegmentRecord& record, std::stop_token stop) = 0;
    virtual Status endOfEpoch(std::uint32_t epoch, std::int64_t total, std::stop_token stop) = 0;
    virtual Status endOfStream(std::stop_token stop) = 0;
    /// The stream ends with `why`; nothing follows.
    virtual Status error(const Status& why, std::stop_token stop) = 0;
};

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
    /// Threads help each other with a split's columns from so many values (rows times columns) on.
    std::int64_t valuesToShare = 1 << 17;
    /// False: segments come as they are ready, with no order and no cursor to rely on, for
    /// measuring what the order costs.
    bool isOrdered = true;
    /// What its segments may hold of the pool together; 0: all of it.
    std::int64_t limitBytes = 0;
    /// Of the rows that segments leave over; null: the pool of the segments. Outlives the
    /// sequencer.
    BufferPool* framePool = nullptr;
};

/// What was delivered so far.
struct SequencerTotals {
    std::int64_t segments = 0;
    std::int64_t microBatches = 0;
    std::int64_t rowsScanned = 0, rowsPruned = 0, rowsKept = 0, rowsDelivered = 0;
    std::vector<recipe::StepCount> steps;
    std::vector<recipe::IdCount> vocabularies;
};

class Sequencer {
 public:
    /// `pool` is what the segments live in, and its limit what bounds them; everything outlives the
    /// sequencer. kFailedPrecondition / kInvalidArgument for a cursor of another stream.
    static Result<std::unique_ptr<Sequencer>> make(std::shared_ptr<const StreamInput> input,
                                                   SequencerOptions options, BufferPool& pool,
                                                   StageCounters& counters, SequenceSink& sink);
    ~Sequencer();

    /// To the end of the stream: OK, kCancelled on stop, or the first error in sequence order.
    Status run(std::stop_token stop);

    /// Behind the last micro-batch that was given a place; after run() all of them are filled.
    stream::Cursor position() const;
    SequencerTotals totals() const;

 private:
    class Impl;
    explicit Sequencer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::segment

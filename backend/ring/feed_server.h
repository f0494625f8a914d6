#pragma once
// Where ranks come to their feed: listens on feed.sock, reads each rank's hello, gives it a ring.
//
// Threads: one, named "feed-socket"; callbacks run on it, the first maybe before start()
// returns, and must not block: hand the writer to a producer thread. Owns: the connections; a
// writer is shared with its producer. When a rank's connection ends its writer turns kUnavailable.
// Failure: a wrong hello or state is answered with a sentence and logged, and so is none in time;
// the server goes on. What the frames' columns are comes through the ring (RingSink::Options): a
// reader is answered before the feed has opened its data, so that what is wrong there reaches it.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backend/core/json.h"
#include "backend/core/status.h"
#include "backend/ring/ring_writer.h"
#include "backend/stream/state/step_mark.h"
#include "backend/stream/state/stream_state.h"
#include "backend/system/unix_listener.h"

namespace millrace::ring {

/// Where a reader wants to go on: the number is of its own rank's next micro-batch.
struct FeedPosition {
    std::uint32_t epoch = 0;
    std::int64_t number = 0;
};

struct FeedHello {
    std::int64_t attempt = 0;
    int rank = 0;
    int worldSize = 1;
    std::string stream;  ///< "train" or "eval"
    bool join = false;   ///< its micro-batches of a step as one frame: RingSink::Rank::join
    /// For RingSink::Options::last; the same for all ranks of a stream that are connected.
    stream::LastStep last = stream::LastStep::kKeep;
    int numaNode = -1;  ///< where its ring's memory lies already; -1: anywhere
    /// Of the last step's end, its hashes already checked against the options; none: the start.
    /// Frames below its cursor are never wanted.
    std::optional<stream::StreamState> state;
    /// The first micro-batch that the reader lacks; not below the cursor.
    std::optional<FeedPosition> next;
};

struct FeedServerOptions {
    std::string socketPath;
    std::string streamHash;  ///< 32 hex digits
    std::string planHash;
    std::int64_t microRows = 0;
    std::int64_t stepBatches = 1;  ///< micro-batches of a step over all ranks
    int worldSize = 1;
    std::int64_t attempt = 0;  ///< hellos of another attempt are refused
    RingWriterOptions ring;
    RingWriterOptions evalRing;
    std::size_t maxConnections = 1024;
    std::chrono::milliseconds helloLimit = kHelloLimit;
};

class FeedServer {
 public:
    /// A reader came. An earlier writer of the same stream and rank is already kUnavailable.
    /// An error is answered to the reader as its sentence.
    using OnOpen = std::function<Status(const FeedHello&, std::shared_ptr<RingWriter>)>;
    /// A reader's connection ended.
    using OnClosed = std::function<void(const FeedHello&)>;

    static Result<std::unique_ptr<FeedServer>> start(FeedServerOptions options, OnOpen onOpen,
                                                     OnClosed onClosed = {});
    /// Ends every connection and joins.
    ~FeedServer();

 private:
    class Impl;
    explicit FeedServer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::ring

#pragma once
// The server that ranks connect to: listens on feed.sock, reads each rank's hello, and gives it a
// ring.
//
// Threads: one, named "feed-socket". Callbacks run on it, the first possibly before start()
// returns, and must not block: hand the writer to a producer thread. Owns: the connections; a
// writer is shared with its producer. When a rank's connection ends its writer becomes
// kUnavailable.
// Failure: a wrong hello or state, or no hello in time, is answered with a message and logged; the
// server continues. The columns of frames are sent through the ring (RingSink::Options), because a
// reader is answered before the feed has opened its data. Errors in the data thus reach the reader.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "backend/core/status.h"
#include "backend/ring/feed_hello.h"
#include "backend/ring/ring_writer.h"
#include "backend/system/unix_listener.h"

namespace millrace::ring {

struct FeedServerOptions {
    std::string socketPath;
    std::string streamHash;  ///< 32 hex digits
    std::string planHash;
    /// The features of frames, sent at hello: spec::inputsOf() as text; "": not sent.
    std::string inputs, evalInputs;
    std::int64_t microRows = 0;
    std::int64_t stepBatches = 1;  ///< micro-batches per step over all ranks
    int worldSize = 1;
    std::int64_t attempt = 0;  ///< hellos of another attempt are refused
    RingWriterOptions ring;
    RingWriterOptions evalRing;
    std::size_t maxConnections = 1024;
    std::chrono::milliseconds helloLimit = kHelloLimit;
};

class FeedServer {
 public:
    /// A reader connected. An earlier writer of the same stream and rank is already kUnavailable.
    /// An error is sent to the reader as its message.
    using OnOpen = std::function<Status(const FeedHello&, std::shared_ptr<RingWriter>)>;
    /// A reader's connection ended.
    using OnClosed = std::function<void(const FeedHello&)>;

    static Result<std::unique_ptr<FeedServer>> start(FeedServerOptions options, OnOpen onOpen,
                                                     OnClosed onClosed = {});
    /// Ends every connection and joins.
    virtual ~FeedServer() = default;
};

}  // namespace millrace::ring

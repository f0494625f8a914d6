#pragma once
// RelayRing: one ring of a rank behind this relay. It requests the contents of the rank's ring at
// the leading feed, and fills the local ring. Used by Relay.
//
// A call that breaks before anything arrived is retried. Later, the relay hangs up on the rank,
// which reconnects and sends its position. Refusals of the feed, and entries that do not fit into
// memory, are reported to the rank as an error of its stream. A frame that a data worker does not
// hold, or that cannot be used, counts as a call that breaks. Threads: one of its own
// ("relay-ring"). Owns: its call. The destructor ends both; if the rank has taken the end, only
// after the feed knows it. Failure: reported to the rank and to the log.
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "backend/core/status.h"
#include "backend/ring/feed_hello.h"
#include "backend/ring/ring_writer.h"
#include "daemon/transport/join_file.h"
#include "daemon/worker/relay/frame_fetcher.h"
#include "daemon/worker/relay/ring_copy.h"
#include "daemon/worker/wire/busy_clock.h"

namespace millrace::relay {

/// Counts of arrivals, over all rings.
struct RelayCounters {
    std::atomic<std::uint64_t> bytes{0};
    /// Time in which rings held a message of the feed and read no further one.
    wire::BusyClock busy;
};

struct RelayRingOptions {
    std::string joinPath, buildId;
    std::string session;              ///< of the relay
    FrameFetcher* fetcher = nullptr;  ///< null: no frames are fetched from data workers
    std::string hello;                ///< one line without a line feed
    std::shared_ptr<ring::RingWriter> writer;
    RelayCounters* counters = nullptr;
};

class RelayRing {
 public:
    explicit RelayRing(RelayRingOptions options);
    ~RelayRing();

 private:
    class Call;
    void run(const std::stop_token& stop);
    Status copy(RingCopy& to, const std::stop_token& stop);
    Status copy(RingCopy& to, Call& call, PartsFiller& filler, const std::stop_token& stop);
    static Status report(Call& call, const Status& why, std::uint64_t worker);
    Status tellEnd(Call& call, const std::stop_token& stop);

    const RelayRingOptions options_;
    std::jthread thread_;
};

}  // namespace millrace::relay

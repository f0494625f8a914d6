#pragma once
// One ring of a rank behind this relay: asks the leading feed for what stands in the rank's ring
// there, and fills the one here.
//
// A call that breaks before anything came is made again; later the rank is hung up on, comes again
// and says where it goes on. What the feed refuses, and what does not fit into memory, is told to
// the rank as an error of its stream.
// Threads: one of its own ("relay-ring"). Owns: its call. The destructor ends both; where the rank
// has taken the end, not before the feed knows it. Failure: told to the rank and to the log.
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
#include "daemon/worker/relay/ring_copy.h"

namespace millrace::relay {

/// What came, of all rings.
struct RelayCounters {
    std::atomic<std::uint64_t> bytes{0};
};

struct RelayRingOptions {
    std::string joinPath, buildId;
    std::string hello;  ///< a line without its end
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
    Status tellEnd(Call& call, const std::stop_token& stop);

    const RelayRingOptions options_;
    std::jthread thread_;
};

}  // namespace millrace::relay

#pragma once
// RankServer: the daemon's side of the rank socket. Accepts workers and parses their lines, with
// limits.
//
// Threads: one, named "rank-server"; callbacks run on it, the first maybe before start() returns,
// and must not block for long; none after the destructor. ack(),
// stop() from any thread. It keeps nothing: lines come again until ack(), and
// the store drops what it has seen by (run, attempt, role, rank, seq). Failure: a line that does
// not parse arrives as Dropped where it has a seq. One without, one over 1 MB, one before hello, no
// hello in time, or a reader that does not read, closes that connection with a logged sentence.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "backend/core/status.h"
#include "backend/rank/rank_line.h"
#include "backend/system/unix_listener.h"

namespace millrace::rank {

using ConnectionId = std::uint64_t;

struct RankServerOptions {
    std::string socketPath;
    std::size_t maxConnections = 4096;
    std::chrono::milliseconds helloLimit = kHelloLimit;
    /// An error rejects the hello; the worker connects again later.
    std::function<Status(ConnectionId, const Sender&)> onHello;
    /// Called for every line except hello, in order; Alive has no seq and needs no ack.
    /// line.attempt is filled in (the sender's if the line has none). Return false if there is no
    /// room: the connection is then dropped, together with later lines.
    std::function<bool(ConnectionId, const Sender&, const RankLine&)> onLine;
    /// Called only after hello. `why` is empty for a clean end.
    std::function<void(ConnectionId, const Sender&, const std::string& why)> onClosed;
};

class RankServer {
 public:
    static Result<std::unique_ptr<RankServer>> start(RankServerOptions options);
    virtual ~RankServer() = default;

    /// Call it after the store's commit: acknowledges everything of that sender's `attempt` up to
    /// `seq`. Ignores a closed connection: the worker sends again.
    virtual void ack(ConnectionId connection, std::int64_t attempt, std::uint64_t seq) = 0;
    virtual void stop(ConnectionId connection, const Stop& how) = 0;
    virtual void close(ConnectionId connection) = 0;
};

}  // namespace millrace::rank

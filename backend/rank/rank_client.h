#pragma once
// A worker's side of the rank socket: nothing it sends is lost while the daemon is away.
//
// Lines are kept until acknowledged and sent again after a reconnect; beyond 16 MB they spill to a
// file in the worker's directory. Once a second its thread says that the process lives, whatever
// the others do. Threads: one, named "rank-socket"; send() and setTrouble() from any thread, send()
// never waits for the daemon. Callbacks run on the thread and must be short. Owns: socket, spill
// file. Failure: a daemon that is away is no error before waitAcked's time is up.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/rank/line_queue.h"
#include "backend/rank/rank_line.h"

namespace millrace::rank {

struct RankClientOptions {
    std::string socketPath;
    std::string directory;  ///< for the spill file; it is removed at the end
    Sender sender;
    std::size_t memoryBytes = std::size_t{16} << 20;
    std::uint64_t spillBytes = LineQueue::kSpillBytes;  ///< of the spill file
    std::chrono::milliseconds backoffFirst{20};
    std::chrono::milliseconds backoffMax{1'000};
    std::uint64_t firstSeq = 1;  ///< of a worker that takes another's place: behind all of that one
    std::chrono::milliseconds alivePeriod{1'000};  ///< between two Alive lines
    std::function<void()> onStop;
    std::function<void()> onCheckpointNow;
};

class RankClient {
 public:
    /// `preload`: unacked() of the checkpoint that this attempt starts from; sent first.
    static Result<std::unique_ptr<RankClient>> start(RankClientOptions options,
                                                     const std::vector<std::string>& preload = {});
    /// Gives up what is not acknowledged: call finish() before.
    ~RankClient();

    /// Its seq. kInvalidArgument for a line over 1 MB, kResourceExhausted when the spill file
    /// cannot be written or is full.
    Result<std::uint64_t> send(Body body);
    /// Waits until everything sent so far is acknowledged; kDeadlineExceeded says how much is not.
    Status waitAcked(std::chrono::milliseconds timeout);
    /// Sends the last line (Done or ErrorLine) and waits for its ack up to the orphan lease.
    Status finish(Body body, std::chrono::milliseconds lease = std::chrono::minutes(10));

    /// What is wrong with `what` now ("checkpoint"), one sentence; "" when it is well again. The
    /// daemon is told at once and as long as it lasts, also a daemon that comes later.
    void setTrouble(const std::string& what, std::string sentence);

    /// The lines not yet acknowledged, oldest first, each with its attempt: for the checkpoint. An
    /// error when the spill file cannot be read: fewer lines than there are would be lost ones.
    Result<std::vector<std::string>> unacked() const;
    /// Everything of this attempt up to it is stored; 0: nothing yet.
    std::uint64_t ackedSeq() const;

    bool stopRequested() const;
    /// Once for each request.
    bool takeCheckpointRequest();
    /// Becomes and stays readable when a stop arrives: an abort_fd for millrace_feed_open.
    int stopFd() const;
    bool isConnected() const;

 private:
    class Impl;
    explicit RankClient(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::rank

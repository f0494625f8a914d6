#pragma once
// A worker's side of the rank socket, for values: ring::LineLink does the work.
//
// Nothing it sends is lost while the daemon is away: lines are kept until acknowledged and sent
// again after a reconnect; beyond 16 MB they lie in a file of the worker's directory. Threads: the
// link's; send() and setTrouble() from any thread, send() never waits for the daemon. Owns: the
// link, the mapping of the page. Failure: a daemon that is away is no error before waitAcked's time
// is up.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"
#include "backend/rank/rank_line.h"
#include "backend/ring/link/page_link.h"

namespace millrace::rank {

struct RankClientOptions {
    std::string socketPath;
    std::string directory;  ///< for the file of lines; it is removed at the end
    std::string page;       ///< the file that a rank agrees on stops through; "": it is none
    Sender sender;
    std::size_t memoryBytes = std::size_t{16} << 20;
    std::uint64_t spillBytes = ring::LineSpool::kFileBytes;  ///< of the file of lines
    std::chrono::milliseconds backoffFirst{20};
    std::chrono::milliseconds backoffMax{1'000};
    std::uint64_t firstSeq = 1;  ///< of a worker that takes another's place: behind all of that one
    std::chrono::milliseconds alivePeriod{1'000};  ///< between two Alive lines
};

class RankClient {
 public:
    /// `preload`: unacked() of the checkpoint that this attempt starts from; sent first.
    static Result<std::unique_ptr<RankClient>> start(const RankClientOptions& options,
                                                     const std::vector<std::string>& preload = {});

    /// Its seq. kInvalidArgument for a line over 1 MB, kResourceExhausted when the file of lines
    /// cannot be written or is full.
    Result<std::uint64_t> send(const Body& body);
    /// Waits until everything sent so far is acknowledged; kDeadlineExceeded says how much is not.
    Status waitAcked(std::chrono::milliseconds timeout);
    /// Sends the last line (Done or ErrorLine) and waits for its ack up to the orphan lease.
    Status finish(const Body& body, std::chrono::milliseconds lease = std::chrono::minutes(10));

    /// As ring::LineLink.
    void setTrouble(const std::string& what, std::string sentence);
    void setAwaited(std::int64_t rank) { link_->setAwaited(rank); }

    /// The lines not yet acknowledged, oldest first, each with its attempt: for the checkpoint.
    /// kDataLoss when their file cannot be read: fewer lines than there are would be lost ones.
    Result<std::vector<std::string>> unacked() const;
    /// Everything of this attempt up to it is stored; 0: nothing yet.
    std::uint64_t ackedSeq() const { return link_->acked(); }

    /// A stop was asked for.
    bool stopRequested() const { return stopRequested_.load(); }
    /// Becomes and stays readable when this worker is to end: at a stop, of a rank with a page only
    /// where it may not begin another step. An abort_fd for millrace_feed_open.
    int stopFd() const { return stopEvent_.get(); }
    /// As if the daemon asked all ranks of this machine to stop; also from a signal handler.
    void stop();
    /// With a page: whether the rank may begin `step`, whose data it has. It waits while ranks of
    /// several machines agree.
    bool begin(std::int64_t step);
    /// With a page: whether the run stops before `step`, which the rank waits for.
    bool isOver(std::int64_t step);
    bool isConnected() const { return link_->isConnected(); }

 private:
    RankClient() = default;
    ring::LineLinkOptions linkOptions(const RankClientOptions& options);

    std::string socketPath_;
    UniqueFd stopEvent_;
    void endIfOver();

    std::optional<ring::StepPage> page_;
    std::int64_t rank_ = 0;
    std::atomic<std::int64_t> begun_{0};  // the step that the rank began last
    std::atomic<bool> stopRequested_{false};
    std::unique_ptr<ring::LineLink> link_;  // its thread uses the others
};

}  // namespace millrace::rank

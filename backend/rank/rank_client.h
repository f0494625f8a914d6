#pragma once
// RankClient: a worker's side of the rank socket, for values; ring::LineLink does the work.
//
// Nothing it sends is lost while the daemon is away: lines are kept until acknowledged and sent
// again after a reconnect. Lines beyond 16 MB are kept in a file in the worker's directory.
// Threads: the link's; send() and setTrouble() from any thread, send() never blocks on the daemon.
// Owns: the link, and the page's mapping. Failure: an absent daemon is not an error until a wait
// for acknowledgement times out.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"
#include "backend/feed/link/page_link.h"
#include "backend/rank/rank_line.h"

namespace millrace::rank {

struct RankClientOptions {
    std::string socketPath;
    std::string directory;  ///< for the file of lines, which is removed at the end
    std::string page;       ///< file through which ranks agree on stops; "": not used
    Sender sender;
    std::size_t memoryBytes = std::size_t{16} << 20;
    std::uint64_t spillBytes = ring::LineSpool::kFileBytes;  ///< limit of the file of lines
    std::chrono::milliseconds backoffFirst{20};
    std::chrono::milliseconds backoffMax{1'000};
    std::uint64_t firstSeq = 1;  ///< for a worker that replaces another: after all of the other's
    std::chrono::milliseconds alivePeriod{1'000};  ///< between two Alive lines
};

class RankClient {
 public:
    /// `preload`: unacked() from the checkpoint with which this attempt starts; sent first.
    static Result<std::unique_ptr<RankClient>> start(const RankClientOptions& options,
                                                     const std::vector<std::string>& preload = {});

    /// Returns the line's seq. kInvalidArgument for a line over 1 MB, kResourceExhausted if the
    /// file of lines cannot be written or is full.
    Result<std::uint64_t> send(const Body& body);
    /// Waits until everything sent so far is acknowledged; kDeadlineExceeded has the remaining
    /// number.
    Status waitAcked(std::chrono::milliseconds timeout);
    /// Sends the last line (Done or ErrorLine) and waits for its ack, for at most `lease`.
    Status finish(const Body& body, std::chrono::milliseconds lease = std::chrono::minutes(10));

    /// See ring::LineLink.
    void setTrouble(const std::string& what, std::string sentence);
    void setAwaited(std::int64_t rank) { link_->setAwaited(rank); }

    /// The unacknowledged lines, oldest first, each with its attempt: for the checkpoint. kDataLoss
    /// if their file is unreadable, since omitted lines would be lost.
    Result<std::vector<std::string>> unacked() const;
    /// Everything of this attempt up to this seq is stored; 0: nothing yet.
    std::uint64_t ackedSeq() const { return link_->acked(); }

    /// Whether a stop was requested.
    bool stopRequested() const { return stopRequested_.load(); }
    /// Becomes and stays readable when this worker must end: at a stop or, for a rank with a page,
    /// only once it may not begin another step. Serves as abort_fd for millrace_feed_open.
    int stopFd() const { return stopEvent_.get(); }
    /// Acts as if the daemon had asked all ranks of this machine to stop; also from a signal
    /// handler.
    void stop();
    /// With a page: whether the rank may begin `step`, whose data it has. Waits while ranks of
    /// several machines agree.
    bool begin(std::int64_t step);
    /// With a page: whether the run stops before `step`, for which the rank waits.
    bool isOver(std::int64_t step) { return ring::isOverBefore(*page_, rank_, step); }
    bool isConnected() const { return link_->isConnected(); }

 private:
    RankClient() = default;
    ring::LineLinkOptions linkOptions(const RankClientOptions& options);

    std::string socketPath_;
    UniqueFd stopEvent_;
    void endIfOver();

    std::optional<ring::StepPage> page_;
    std::int64_t rank_ = 0;
    std::atomic<std::int64_t> begun_{0};  // the last step that the rank began
    std::atomic<bool> stopRequested_{false};
    std::unique_ptr<ring::LineLink> link_;  // declared last: its thread uses the members above
};

}  // namespace millrace::rank

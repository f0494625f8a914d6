#pragma once
// FeedOwner: the process that a feed works for. That is a run's daemon, which gets reports and may
// stop the feed, or the process that started the feed for itself and shows with a life line that it
// is alive.
//
// Threads: one owner, the feed's main thread. Owns: the connection to the daemon, or the life line
// and the removal of the socket's directory. Failure: a daemon that is away only causes a warning
// in the log.
#include <memory>
#include <string>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"
#include "backend/rank/rank_client.h"
#include "daemon/worker/loader/exit.h"
#include "daemon/worker/loader/feed/job.h"

namespace millrace::loader {

class FeedOwner {
 public:
    virtual ~FeedOwner() = default;
    /// A descriptor that is readable, or at its end, when wantsEnd() must be called again; -1: the
    /// owner never wants an end.
    virtual int fd() const = 0;
    virtual bool wantsEnd() = 0;
    /// The feed's status if that was the reason for its end.
    virtual Status endWanted() const = 0;
    virtual void failed(const Status& error) = 0;
    virtual void figures(rank::Metrics figures) = 0;
    /// A rank that was hung up on and has not reconnected; -1: none.
    virtual void awaits(int rank) = 0;
    /// A part of the run's receipt; replaces an earlier version of that part.
    virtual void receipt(Json part) = 0;
    /// The feed is over and its socket closed: waits until the reports have arrived, then cleans
    /// up.
    virtual void finish() = 0;
};

/// The daemon behind a job's rank socket.
class DaemonOwner final : public FeedOwner {
 public:
    static Result<std::unique_ptr<FeedOwner>> connect(const FeedJob& job);

    int fd() const override { return client_->stopFd(); }
    bool wantsEnd() override { return client_->stopRequested(); }
    Status endWanted() const override { return toldToEnd(); }
    void failed(const Status& error) override;
    void figures(rank::Metrics figures) override;
    void awaits(int rank) override { client_->setAwaited(rank); }
    void receipt(Json part) override;
    void finish() override;

 private:
    std::unique_ptr<rank::RankClient> client_;
};

/// The process at the other end of a pipe or socket; the end of that means that the process is
/// gone.
class ProcessOwner final : public FeedOwner {
 public:
    /// `fd` -1: an owner that is not known. Processes that this one starts do not inherit it. If
    /// the owner is gone at the end, removes the directory of `socketPath` if it is empty.
    static Result<std::unique_ptr<FeedOwner>> open(int fd, const std::string& socketPath);

    int fd() const override { return life_.get(); }
    bool wantsEnd() override;
    Status endWanted() const override { return okStatus(); }
    void failed(const Status&) override {}
    void figures(rank::Metrics) override {}
    void awaits(int) override {}
    void receipt(Json) override {}
    void finish() override;

 private:
    UniqueFd life_;
    std::string directory_;
};

}  // namespace millrace::loader

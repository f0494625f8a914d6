#pragma once
// Who a feed works for: a run's daemon, which hears how it goes and may stop it, or the process
// that started the feed for itself, which says that it is there by a life line.
//
// Threads: one owner, the feed's main thread. Owns: the connection to the daemon, or the life line
// and the end of the socket's directory. Failure: a daemon that is away costs a warning in the log.
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
    /// Readable, or at its end, when wantsEnd() is to be asked again; -1: it never wants one.
    virtual int fd() const = 0;
    virtual bool wantsEnd() = 0;
    /// What the feed ends with when that was its reason.
    virtual Status endWanted() const = 0;
    virtual void failed(const Status& error) = 0;
    virtual void figures(rank::Metrics figures) = 0;
    /// A rank that was hung up on and has not come again; -1: none.
    virtual void awaits(int rank) = 0;
    /// A part of the run's receipt; takes the place of what was said of it before.
    virtual void receipt(Json part) = 0;
    /// The feed is over and its socket gone: waits until what was told has arrived, puts away the
    /// rest.
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

/// The process at the other end of a pipe or socket; it is gone when that comes to its end.
class ProcessOwner final : public FeedOwner {
 public:
    /// `fd` -1: an owner of which nothing is known. Nothing that this process starts inherits it.
    /// Where the owner is gone at the end, so is the directory of `socketPath`, if it is empty.
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

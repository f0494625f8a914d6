#pragma once
// Keeps the connection to one daemon: says hello, reads the runs, follows runs and nodes.
//
// A session::Follower greets, keeps the streams and begins again when they were lost; here is what
// is asked beside them. When the stream of changes has told what there is, the list is read, and
// then what changed since the list's first page: nothing falls in between. After a lost connection
// only what changed since is read. Threads: one ("mr-link") beside the follower's, joined in the
// destructor; call cancelAll() of the client before. Failure: a Link in the mailbox.
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "app/client/daemon_client.h"
#include "app/gui/bridge/mailbox.h"
#include "app/session/follower.h"
#include "backend/core/clock.h"

namespace millrace::gui {

class DaemonLink {
 public:
    static constexpr int kFirstPage = 500, kPage = 1'000;

    /// Both must outlive the link.
    DaemonLink(client::DaemonClient& client, Mailbox& mailbox);
    ~DaemonLink();
    DaemonLink(const DaemonLink&) = delete;
    DaemonLink& operator=(const DaemonLink&) = delete;

    /// Ends waiting for the next try.
    void retryNow() { follower_->retryNow(); }

 private:
    void run();
    /// The connection that has something to be asked; nothing at the end.
    std::optional<std::uint64_t> waitForWork() MR_EXCLUDES(mutex_);
    Status ask(std::uint64_t connection) MR_EXCLUDES(mutex_);
    void giveUp(std::uint64_t connection, const Status& status) MR_EXCLUDES(mutex_);
    Status greet() MR_EXCLUDES(mutex_);
    Status readFacts() MR_EXCLUDES(mutex_);
    void takeNodes(std::vector<values::NodeInfo> nodes) MR_EXCLUDES(mutex_);
    Status readRuns();
    Status readAll();
    Status readChanges();
    void take(session::FollowEvent event) MR_EXCLUDES(mutex_);
    void notify() MR_EXCLUDES(mutex_);

    client::DaemonClient& client_;
    Mailbox& mailbox_;
    const SystemClock clock_;
    // Of the link's thread:
    std::uint64_t revision_ = 0;  // of the last list
    bool isListed_ = false;

    mutable Mutex mutex_;
    CondVar changed_;
    bool isStopping_ MR_GUARDED_BY(mutex_) = false, hasNews_ MR_GUARDED_BY(mutex_) = false;
    std::uint64_t connection_ MR_GUARDED_BY(mutex_) = 0;  // counts greetings
    bool hasSnapshot_ MR_GUARDED_BY(mutex_) = false;      // of this connection, likewise:
    bool isRead_ MR_GUARDED_BY(mutex_) = false;
    DaemonFacts facts_ MR_GUARDED_BY(mutex_);  // as the mailbox was told last
    std::unique_ptr<session::Follower> follower_;
    std::jthread thread_;
};

}  // namespace millrace::gui

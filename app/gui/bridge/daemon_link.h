#pragma once
// DaemonLink: keeps the bridge's connection to one daemon: greets it, reads the runs, follows runs
// and nodes.
//
// A session::Follower greets, keeps the streams and restarts them after a loss; this class makes
// the requests beside them. After the stream's snapshot it reads the list, and then the changes
// since the list's first page, so that no change is missed. After a lost connection it reads only
// the changes. Threads: one ("mr-link") beside the follower's, joined in the destructor; call
// cancelAll() of the client first. Failure: a Link in the mailbox.
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

    /// Retries now instead of after the pause.
    void retryNow() { follower_->retryNow(); }

 private:
    void run();
    /// The connection that needs requests; nothing when the link ends.
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
    // Used by the link's thread only:
    std::uint64_t revision_ = 0;  // of the last list
    bool isListed_ = false;

    mutable Mutex mutex_;
    CondVar changed_;
    bool isStopping_ MR_GUARDED_BY(mutex_) = false, hasNews_ MR_GUARDED_BY(mutex_) = false;
    std::uint64_t connection_ MR_GUARDED_BY(mutex_) = 0;  // counts greetings
    bool hasSnapshot_ MR_GUARDED_BY(mutex_) = false;      // for this connection:
    bool isRead_ MR_GUARDED_BY(mutex_) = false;
    DaemonInfo facts_ MR_GUARDED_BY(mutex_);  // as last passed to the mailbox
    std::unique_ptr<session::Follower> follower_;
    std::jthread thread_;
};

}  // namespace millrace::gui

#pragma once
// Keeps the connection to one daemon: says hello, reads the runs, follows runs and nodes, and
// begins again when it was lost.
//
// The stream of changes is opened before the list is read, and once both are there, what changed
// since the list's first page is asked for: nothing falls in between. After a lost connection only
// what changed since is read. Threads: one ("mr-link") and one a stream, joined in the destructor;
// call cancelAll() of the client before. Failure: a Link in the mailbox.
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "app/client/daemon_client.h"
#include "app/gui/bridge/mailbox.h"
#include "app/session/link.h"
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
    void retryNow() MR_EXCLUDES(mutex_);

 private:
    void run();
    Status converse() MR_EXCLUDES(mutex_);
    Status greet();
    void openStreams() MR_EXCLUDES(mutex_);
    void closeStreams();
    Status readRuns() MR_EXCLUDES(mutex_);
    Status readAll();
    Status readChanges();
    Status waitForSnapshot() MR_EXCLUDES(mutex_);
    Status attend() MR_EXCLUDES(mutex_);
    std::optional<Status> endedLocked() const MR_REQUIRES(mutex_);
    void ended(const Status& status, bool isTelemetry) MR_EXCLUDES(mutex_);
    void takeUpdate(client::RunUpdate update) MR_EXCLUDES(mutex_);
    void takeSample(client::NodeSample sample) MR_EXCLUDES(mutex_);
    void notify() MR_EXCLUDES(mutex_);
    bool isStopping() const MR_EXCLUDES(mutex_);
    void setLink(session::LinkState state, const std::string& sentence);
    void failed(const Status& status) MR_EXCLUDES(mutex_);

    client::DaemonClient& client_;
    Mailbox& mailbox_;
    const SystemClock clock_;
    // Of the link's thread:
    std::unique_ptr<client::Subscription> runs_, telemetry_;
    session::Link link_;
    session::Backoff backoff_;
    std::uint64_t revision_ = 0;  // of the last list
    bool isListed_ = false;

    mutable Mutex mutex_;
    CondVar changed_;
    bool isStopping_ MR_GUARDED_BY(mutex_) = false, isHurried_ MR_GUARDED_BY(mutex_) = false;
    bool hasSnapshot_ MR_GUARDED_BY(mutex_) = false, hasNews_ MR_GUARDED_BY(mutex_) = false;
    std::optional<Status> runsEnded_ MR_GUARDED_BY(mutex_), telemetryEnded_ MR_GUARDED_BY(mutex_);
    std::jthread thread_;
};

}  // namespace millrace::gui

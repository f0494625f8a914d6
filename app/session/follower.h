#pragma once
// Follows runs and nodes of a daemon and goes on where it was after the connection was lost.
//
// Threads: next() from one thread. Inside: one supervisor ("mr-follow") and one thread a stream;
// all end in the destructor. Bounded: streams wait when next() is not called. Failure: a lost
// connection is a LinkChanged and is tried again for ever; what cannot be mended is a Problem.
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/client/daemon_client.h"
#include "app/session/follow_events.h"
#include "backend/core/bounded_queue.h"
#include "backend/core/clock.h"
#include "backend/core/mutex.h"

namespace millrace::session {

struct FollowOptions {
    std::vector<std::string> runIds;             ///< none: all active runs, and those that come
    bool withRuns = true;                        ///< states and progress
    bool withMetrics = false, withLogs = false;  ///< of runIds
    std::vector<std::string> logWorkers;         ///< none: all
    bool followLogs = true;                      ///< else: what is there, then the end
    int logTail = 0;                             ///< lines to begin with; 0: all
    bool withTelemetry = false;
};

class Follower {
 public:
    /// `client` must outlive the follower.
    Follower(client::DaemonClient& client, const Clock& clock, FollowOptions options);
    ~Follower();
    Follower(const Follower&) = delete;
    Follower& operator=(const Follower&) = delete;

    /// The next event; nothing when the time is up.
    std::optional<FollowEvent> next(std::chrono::milliseconds timeout);

 private:
    enum class Kind { kRuns, kMetrics, kLogs, kTelemetry };
    struct Feed {
        Kind kind;
        std::string runId;
        std::unique_ptr<client::Subscription> stream;
        Backoff backoff;
        std::int64_t nextTryNs = 0;
        bool isOpen = false, isDone = false;
        // Written by the stream's thread, read after it ended:
        std::map<std::string, std::int64_t> lastSteps;
        std::string logCursor;
        bool sawEnd = false, sawItem = false;
        std::optional<Status> ended;  // guarded by mutex_
    };

    void run(std::stop_token stop);
    void open(Feed& feed);
    /// Looks at a stream that ended and decides whether it is opened again.
    void settle(Feed& feed, const Status& status);
    bool takeEnded(Feed& feed, Status& status) MR_EXCLUDES(mutex_);
    void ended(Feed& feed, const Status& status) MR_EXCLUDES(mutex_);
    void heard(Feed& feed);
    void emit(FollowEvent event);
    void setLink(LinkState state, std::string sentence, int tries);
    void takeMetrics(Feed& feed, client::MetricChunk chunk);
    void takeLogs(Feed& feed, client::LogChunk chunk);
    void takeRun(client::RunUpdate update);
    std::int64_t resumeStep(const Feed& feed) const;

    client::DaemonClient& client_;
    const Clock& clock_;
    const FollowOptions options_;
    std::vector<std::unique_ptr<Feed>> feeds_;
    BoundedQueue<FollowEvent> events_{1024};
    mutable Mutex mutex_;
    CondVar changed_;
    bool isStopping_ MR_GUARDED_BY(mutex_) = false;
    Link link_ MR_GUARDED_BY(mutex_);
    std::jthread supervisor_;
};

}  // namespace millrace::session

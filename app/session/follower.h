#pragma once
// Follows runs and nodes of a daemon and goes on where it was after the connection was lost.
//
// Events are either asked for with next(), from one thread, or given to a sink. Threads: inside,
// one supervisor ("mr-follow") and one thread a stream; all end in the destructor. The sink is
// called from all of these, a run's events in order. Bounded: streams wait while next() is not
// called or the sink does not return. Failure: a lost connection is a LinkChanged and is tried
// again for ever; what cannot be mended is a Problem.
#include <chrono>
#include <functional>
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
    /// Of runs whose metrics are known up to there; of others all are told.
    std::map<std::string, values::MetricCursor> metricsAfter;
    bool withSystem = false;    ///< also "system.*", which the daemon measures
};

class Follower {
 public:
    /// `client` must outlive the follower.
    Follower(client::DaemonClient& client, const Clock& clock, FollowOptions options);
    using Sink = std::function<void(FollowEvent)>;
    /// Events go to `sink`; next() has none. A sink that waits must return before the destructor.
    Follower(client::DaemonClient& client, const Clock& clock, FollowOptions options, Sink sink);
    ~Follower();
    Follower(const Follower&) = delete;
    Follower& operator=(const Follower&) = delete;

    /// The next event; nothing when the time is up.
    std::optional<FollowEvent> next(std::chrono::milliseconds timeout);
    /// The daemon is back: streams that wait for their next try are opened now. Any thread.
    void retryNow() MR_EXCLUDES(mutex_);

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
        values::MetricCursor metricCursor;
        std::shared_ptr<const values::MetricNames> names;
        bool hasCaughtUp = false;
        std::string logCursor;
        bool sawEnd = false, sawItem = false;
        std::optional<Status> ended;  // guarded by mutex_
    };

    void run(std::stop_token stop);
    bool visit(Feed& feed);
    void rest(bool isAllDone) MR_EXCLUDES(mutex_);
    void open(Feed& feed);
    /// Looks at a stream that ended and decides whether it is opened again.
    void settle(Feed& feed, const Status& status);
    bool takeEnded(Feed& feed, Status& status) MR_EXCLUDES(mutex_);
    void ended(Feed& feed, const Status& status) MR_EXCLUDES(mutex_);
    void heard(Feed& feed);
    void tell(FollowEvent event);
    void setLink(LinkState state, std::string sentence, int tries);
    void takeMetrics(Feed& feed, client::MetricChunk chunk);
    void takeLogs(Feed& feed, client::LogChunk chunk);
    void takeRun(client::RunUpdate update);

    client::DaemonClient& client_;
    const Clock& clock_;
    const FollowOptions options_;
    const Sink sink_;
    std::vector<std::unique_ptr<Feed>> feeds_;
    BoundedQueue<FollowEvent> events_{1024};
    mutable Mutex mutex_;
    CondVar changed_;
    bool isStopping_ MR_GUARDED_BY(mutex_) = false, isHurried_ MR_GUARDED_BY(mutex_) = false;
    Link link_ MR_GUARDED_BY(mutex_);
    std::jthread supervisor_;
};

}  // namespace millrace::session

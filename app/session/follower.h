#pragma once
// Follows runs and nodes of a daemon for the command line, the terminal views and the console, and
// resumes where it was after the connection was lost.
//
// Events are either polled with next(), from one thread, or passed to a sink. Threads: inside, one
// supervisor ("mr-follow") and one thread per stream; all end in the destructor. The sink is called
// from all of them, a run's events in order. Bounded: streams wait while next() is not called or
// the sink does not return. Failure: a lost connection is a LinkChanged and is retried forever; a
// failure that a retry cannot fix is a Problem. With a greeting the streams are one connection:
// when one ends all end, the daemon is greeted again with the same backoff, and nothing is a
// Problem. A daemon that refuses is retried every 5 s, because another daemon may replace it.
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
    std::vector<std::string> runIds;             ///< empty: all active runs, and new ones
    bool withRuns = true;                        ///< states and progress
    bool withMetrics = false, withLogs = false;  ///< of runIds
    std::vector<std::string> logWorkers;         ///< empty: all
    bool followLogs = true;                      ///< else: what is there, then the end
    int logTail = 0;                             ///< lines to begin with; 0: all
    /// Leaves out lines of a lower level: debug has the routine messages of Millrace's own workers.
    values::LogLevel logLevelMin = values::LogLevel::kInfo;
    bool withTelemetry = false;
    bool withNodes = false;  ///< nodes and their states, requested every 2 s
    /// Positions up to which the metrics of runs were read already; other runs are read whole.
    std::map<std::string, values::MetricCursor> metricsAfter;
    bool withSystem = false;  ///< also "system.*", which the daemon measures
    /// Greets the daemon: called before the streams are opened, and again after a lost connection.
    /// May block on calls of the client, which cancelAll() ends. If empty, each stream reconnects
    /// by itself.
    std::function<Status()> greet;
};

class Follower {
 public:
    /// `client` must outlive the follower.
    Follower(client::DaemonClient& client, const Clock& clock, FollowOptions options);
    using Sink = std::function<void(FollowEvent)>;
    /// Events go to `sink`, and next() returns none. A sink that waits must return before the
    /// destructor.
    Follower(client::DaemonClient& client, const Clock& clock, FollowOptions options, Sink sink);
    ~Follower();

    /// The next event; nothing if the time runs out.
    std::optional<FollowEvent> next(std::chrono::milliseconds timeout);
    /// Call this when the daemon is back: opens all waiting streams without backoff. Any thread.
    void retryNow() MR_EXCLUDES(mutex_);
    /// With a greeting: greets the daemon again, because another request to it failed. Does nothing
    /// without a connection. Any thread.
    void beginAgain(const Status& status) MR_EXCLUDES(mutex_);

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
    void greet();
    void lose(const Status& status) MR_EXCLUDES(mutex_);
    bool hasLost(Status& status) MR_EXCLUDES(mutex_);
    bool visit(Feed& feed);
    bool mayAskNodes() const;
    void askNodes();
    std::chrono::milliseconds untilNextTry() const;
    void rest() MR_EXCLUDES(mutex_);
    void open(Feed& feed);
    /// Decides whether a stream that ended is opened again.
    void settle(Feed& feed, const Status& status);
    bool takeEnded(Feed& feed, Status& status) MR_EXCLUDES(mutex_);
    void ended(Feed& feed, const Status& status) MR_EXCLUDES(mutex_);
    void heard(Feed& feed);
    void tell(FollowEvent event);
    void setLink(LinkState state, std::string sentence, int tries);
    void takeMetrics(Feed& feed, values::MetricChunk chunk);
    void takeLogs(Feed& feed, values::LogChunk chunk);
    void takeRun(values::RunUpdate update);

    client::DaemonClient& client_;
    const Clock& clock_;
    const FollowOptions options_;
    const Sink sink_;
    std::vector<std::unique_ptr<Feed>> feeds_;
    // Used by the supervisor only, with a greeting:
    bool isGreeted_ = false;
    Backoff backoff_;
    std::int64_t nextGreetingNs_ = 0;
    std::int64_t nextNodesNs_ = 0;  // used by the supervisor only
    BoundedQueue<FollowEvent> events_{1024};
    mutable Mutex mutex_;
    CondVar changed_;
    bool isStopping_ MR_GUARDED_BY(mutex_) = false, isHurried_ MR_GUARDED_BY(mutex_) = false;
    std::optional<Status> lost_ MR_GUARDED_BY(mutex_);  // the status that beginAgain() was given
    Link link_ MR_GUARDED_BY(mutex_);
    std::jthread supervisor_;
};

}  // namespace millrace::session

#pragma once
// LiveFollowings: the live streams that pages have opened, for one connection of the bridge.
//
// Threads: the GUI thread for every function; inside, a session::Follower each (its threads put
// their events into the mailbox) and one thread that ends followers, so that the GUI thread does
// not wait for a stream to end. Owns: the followers. Shut the mailbox before the destructor.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "app/client/daemon_client.h"
#include "app/gui/bridge/mailbox.h"
#include "app/session/follower.h"
#include "backend/core/clock.h"
#include "backend/core/mutex.h"

namespace millrace::gui {

class LiveFollowings {
 public:
    using OnMetrics = std::function<void(const std::string& run, const MetricsDelta&)>;
    using OnLogs = std::function<void(const LogsDelta&)>;

    LiveFollowings(client::DaemonClient& client, Mailbox& mailbox);
    ~LiveFollowings();

    /// Returns the number of the following. `after`: where to resume in runs whose metrics are
    /// known.
    std::uint64_t followMetrics(std::vector<std::string> runs, MetricCursors after,
                                OnMetrics onMetrics);
    std::uint64_t followLogs(const std::string& run, int tailLines, OnLogs onLogs);
    void end(std::uint64_t following);
    /// Call when the daemon is back.
    void retryNow();
    /// Runs the callbacks, which may destroy `this`.
    void deliver(std::uint64_t following, LiveInbox::Content content);

 private:
    struct Live {
        OnMetrics onMetrics;
        OnLogs onLogs;
        bool hasEnded = false;
        std::unique_ptr<session::Follower> follower;
    };
    std::uint64_t begin(session::FollowOptions options, std::shared_ptr<Live> live);
    void take(std::uint64_t following, session::FollowEvent event);
    void reap(std::stop_token stop) MR_EXCLUDES(mutex_);

    client::DaemonClient& client_;
    Mailbox& mailbox_;
    const SystemClock clock_;
    std::uint64_t lastId_ = 0;
    std::map<std::uint64_t, std::shared_ptr<Live>> all_;
    Mutex mutex_;
    CondVar changed_;
    std::vector<std::unique_ptr<session::Follower>> dead_ MR_GUARDED_BY(mutex_);
    bool isEnding_ MR_GUARDED_BY(mutex_) = false;
    std::jthread reaper_;
};

}  // namespace millrace::gui

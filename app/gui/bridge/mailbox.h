#pragma once
// Mailbox: the threads of one connection put here what the GUI thread shall deliver, and wait while
// it is full.
//
// Threads: any; take() from the GUI thread. Bounded: a stream with too many waiting points is
// blocked until the next take(). A stream with too many waiting log lines is blocked for a second;
// then the oldest lines are left out and counted. After shut() it accepts nothing and nobody waits.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/bridge/live_inbox.h"
#include "app/gui/bridge/run_inbox.h"
#include "app/session/link.h"
#include "backend/core/mutex.h"
#include "backend/values/daemon_info.h"

namespace millrace::gui {

struct DaemonInfo {
    values::Handshake handshake;
    std::vector<values::NodeInfo> nodes;
};

/// One delivery.
struct Parcel {
    std::optional<session::Link> link;
    std::optional<DaemonInfo> facts;
    std::optional<RunsDelta> runs;
    std::vector<values::NodeSample> samples;                         ///< the newest of each node
    std::vector<std::pair<std::uint64_t, LiveInbox::Content>> live;  ///< by following
};

class Mailbox {
 public:
    static constexpr std::size_t kPointsMax = 20'000;  ///< waiting, per following
    static constexpr std::size_t kLinesMax = 5'000;
    static constexpr std::size_t kListedMax = 2'000;
    static constexpr std::chrono::milliseconds kLinesWait{1'000};

    /// `wake` is called, from any thread, when the first item begins to wait.
    explicit Mailbox(std::function<void()> wake) : wake_(std::move(wake)) {}

    void setLink(session::Link link);
    void setFacts(DaemonInfo facts);
    /// Returns true if setFacts() did not include this node; takeUnknownNode() then reports that
    /// once.
    bool addSample(values::NodeSample sample);
    bool takeUnknownNode();

    void addListed(std::vector<values::RunSummary> runs, bool isReset);
    /// Ignored before the first list, which includes it. Returns true if no list has included the
    /// run; takeUnlisted() then reports that once.
    bool addUpdate(values::RunUpdate update);
    void setListComplete();
    bool takeUnlisted();

    void open(std::uint64_t following);
    /// Releases threads that wait for room in it.
    void close(std::uint64_t following);
    void addMetrics(std::uint64_t following, session::MetricsAdded added);
    void dropAfter(std::uint64_t following, const std::string& run, std::int64_t step);
    void endMetrics(std::uint64_t following, const std::string& run);
    void addLines(std::uint64_t following, std::vector<values::LogLine> lines,
                  std::uint64_t dropped);
    void endLogs(std::uint64_t following);

    Parcel take();
    std::uint64_t numDropped() const;
    void shut();

 private:
    template <class Change>
    void change(Change change) MR_EXCLUDES(mutex_);
    LiveInbox* findLocked(std::uint64_t following) MR_REQUIRES(mutex_);
    bool waitForLinesLocked(std::uint64_t following, std::size_t numNew) MR_REQUIRES(mutex_);

    const std::function<void()> wake_;
    mutable Mutex mutex_;
    CondVar taken_;
    bool isShut_ MR_GUARDED_BY(mutex_) = false;
    bool isWaiting_ MR_GUARDED_BY(mutex_) = false;
    std::optional<session::Link> link_ MR_GUARDED_BY(mutex_);
    std::optional<DaemonInfo> facts_ MR_GUARDED_BY(mutex_);
    std::vector<std::string> nodeNames_ MR_GUARDED_BY(mutex_);
    bool hasUnknownNode_ MR_GUARDED_BY(mutex_) = false;
    RunInbox runs_ MR_GUARDED_BY(mutex_);
    bool hasList_ MR_GUARDED_BY(mutex_) = false;
    std::map<std::string, values::NodeSample> samples_ MR_GUARDED_BY(mutex_);
    std::map<std::uint64_t, LiveInbox> live_ MR_GUARDED_BY(mutex_);
    std::uint64_t numDropped_ MR_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace::gui

#pragma once
// Where the threads of one connection put what the GUI thread shall see, and wait when it is full.
//
// Threads: any; take() from the GUI thread. Bounded: a stream whose points wait in too large a
// number is held until the next take(); so are log lines, for a second, then the oldest
// are left out and counted. After shut() nothing is taken in and nobody waits.
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

namespace millrace::gui {

struct DaemonFacts {
    values::Handshake handshake;
    std::vector<values::NodeInfo> nodes;
};

/// One delivery.
struct Parcel {
    std::optional<session::Link> link;
    std::optional<DaemonFacts> facts;
    std::optional<RunsDelta> runs;
    std::vector<values::NodeSample> samples;                         ///< the newest of each node
    std::vector<std::pair<std::uint64_t, LiveInbox::Content>> live;  ///< by following
};

class Mailbox {
 public:
    static constexpr std::size_t kPointsMax = 20'000;  ///< that wait, a following
    static constexpr std::size_t kLinesMax = 5'000;
    static constexpr std::size_t kListedMax = 2'000;
    static constexpr std::chrono::milliseconds kLinesWait{1'000};

    /// `wake` is called, from any thread, when something begins to wait.
    explicit Mailbox(std::function<void()> wake) : wake_(std::move(wake)) {}

    void setLink(session::Link link);
    void setFacts(DaemonFacts facts);
    /// True when setFacts() did not have this node; takeUnknownNode() then says so once.
    bool addSample(values::NodeSample sample);
    bool takeUnknownNode();

    void addListed(std::vector<values::RunSummary> runs, bool isReset);
    /// Left out before the first list, which has it. True when no list has told of the run;
    /// takeUnlisted() then says so once.
    bool addUpdate(values::RunUpdate update);
    void setListComplete();
    bool takeUnlisted();

    void open(std::uint64_t following);
    /// Whoever waits for room in it goes on.
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
    std::optional<DaemonFacts> facts_ MR_GUARDED_BY(mutex_);
    std::vector<std::string> nodeNames_ MR_GUARDED_BY(mutex_);
    bool hasUnknownNode_ MR_GUARDED_BY(mutex_) = false;
    RunInbox runs_ MR_GUARDED_BY(mutex_);
    bool hasList_ MR_GUARDED_BY(mutex_) = false;
    std::map<std::string, values::NodeSample> samples_ MR_GUARDED_BY(mutex_);
    std::map<std::uint64_t, LiveInbox> live_ MR_GUARDED_BY(mutex_);
    std::uint64_t numDropped_ MR_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace::gui

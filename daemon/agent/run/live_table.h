#pragma once
// LiveTable: what the daemon knows of runs beside the store, and the news that something changed.
//
// Threads: any. Owns: nothing of the runs; entries of runs that have ended stay until erased.
// A Subscription is called after each change, on the changing thread, and must be quick; its death
// unsubscribes (and waits for a call in progress).
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/core/mutex.h"

namespace millrace::agent {

struct LiveWorker {
    std::string name;   ///< "feed", "rank0"
    /// "starting", "running", "ended"; of one that stands still "stopped", "silent", "hung",
    /// "waiting"; "unguarded" while its guardian does not answer
    std::string state;
    int pid = 0;
    int exitCode = 0;
    int attempt = 1;
    bool operator==(const LiveWorker&) const = default;
};

struct LiveRun {
    std::string queuedReason;
    double busyMs = 0, stallMs = 0;
    std::int64_t progressMs = 0;
    std::int64_t epochs = 0;
    int attempt = 0;
    std::int64_t resumeStep = 0;  ///< the step that `attempt` started after
    std::string trouble;             ///< what is wrong now, sentences; "": nothing
    std::int64_t standsSinceMs = 0;  ///< it has not got on since, UTC ms; 0: it gets on
    std::vector<LiveWorker> workers;
    bool operator==(const LiveRun&) const = default;
};

class LiveTable {
 public:
    class Subscription {
     public:
        Subscription(LiveTable* table, std::uint64_t id) : table_(table), id_(id) {}
        ~Subscription() { table_->unsubscribe(id_); }
        Subscription(const Subscription&) = delete;
        Subscription& operator=(const Subscription&) = delete;

     private:
        LiveTable* table_;
        std::uint64_t id_;
    };

    /// A default entry for a run that is not known.
    LiveRun get(const std::string& runId) const;
    std::map<std::string, LiveRun> all() const;
    void set(const std::string& runId, LiveRun run);
    void erase(const std::string& runId);
    /// Something in the store changed.
    void touch();
    /// Grows with every change.
    std::uint64_t version() const;

    std::unique_ptr<Subscription> subscribe(std::function<void()> onChange);

 private:
    void unsubscribe(std::uint64_t id);
    void notify();

    mutable Mutex mutex_;
    std::map<std::string, LiveRun> runs_ MR_GUARDED_BY(mutex_);
    std::uint64_t version_ MR_GUARDED_BY(mutex_) = 0;
    Mutex listenersMutex_;
    std::map<std::uint64_t, std::function<void()>> listeners_ MR_GUARDED_BY(listenersMutex_);
    std::uint64_t nextListener_ MR_GUARDED_BY(listenersMutex_) = 1;
};

}  // namespace millrace::agent

#pragma once
// LiveTable: what the daemon knows of runs beside the store, and notifications that something
// changed. Written by the controller, read by the services.
//
// Threads: any. Owns: nothing of the runs; entries of runs that have ended stay until erased. A
// Subscription is called after each change, on the changing thread, and must be quick; its
// destructor unsubscribes (and waits for a call in progress).
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/values/run_live.h"

namespace millrace::agent {

class LiveTable {
 public:
    /// A default entry for a run that is not known.
    values::RunLive get(const std::string& runId) const;
    std::map<std::string, values::RunLive> all() const;
    void set(const std::string& runId, values::RunLive run);
    /// Bytes per second of frames that a node sends and receives, over all runs; only nodes with
    /// traffic between machines.
    std::map<std::string, std::pair<double, double>> frameRates() const;
    /// Replaces all entries by these.
    void setAll(std::map<std::string, values::RunLive> runs);
    void erase(const std::string& runId);
    /// Call when something in the store changed.
    void touch();
    /// A number that grows with every change.
    std::uint64_t version() const;

    /// The destruction of the result unsubscribes (and waits for a call in progress).
    std::shared_ptr<void> subscribe(std::function<void()> onChange);

 private:
    void unsubscribe(std::uint64_t id);
    void notify();

    mutable Mutex mutex_;
    std::map<std::string, values::RunLive> runs_ MR_GUARDED_BY(mutex_);
    std::uint64_t version_ MR_GUARDED_BY(mutex_) = 0;
    Mutex listenersMutex_;
    std::map<std::uint64_t, std::function<void()>> listeners_ MR_GUARDED_BY(listenersMutex_);
    std::uint64_t nextListener_ MR_GUARDED_BY(listenersMutex_) = 1;
};

}  // namespace millrace::agent

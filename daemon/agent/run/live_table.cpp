#include "daemon/agent/run/live_table.h"

namespace millrace::agent {

values::RunLive LiveTable::get(const std::string& runId) const {
    MutexLock lock(mutex_);
    const auto found = runs_.find(runId);
    return found == runs_.end() ? values::RunLive{} : found->second;
}

std::map<std::string, values::RunLive> LiveTable::all() const {
    MutexLock lock(mutex_);
    return runs_;
}

void LiveTable::set(const std::string& runId, values::RunLive run) {
    {
        MutexLock lock(mutex_);
        values::RunLive& entry = runs_[runId];
        if (entry == run) {
            return;
        }
        entry = std::move(run);
        ++version_;
    }
    notify();
}

std::map<std::string, std::pair<double, double>> LiveTable::frameRates() const {
    std::map<std::string, std::pair<double, double>> rates;
    MutexLock lock(mutex_);
    for (const auto& [run, live] : runs_) {
        for (const values::NodeTraffic& node : live.traffic.nodes) {
            auto& [send, receive] = rates[node.node];
            send += node.sent.bytesPerSecond;
            receive += node.received.bytesPerSecond;
        }
    }
    return rates;
}

void LiveTable::setAll(std::map<std::string, values::RunLive> runs) {
    for (const auto& [run, live] : all()) {
        if (!runs.contains(run)) {
            erase(run);
        }
    }
    for (auto& [run, live] : runs) {
        set(run, std::move(live));
    }
}

void LiveTable::erase(const std::string& runId) {
    {
        MutexLock lock(mutex_);
        runs_.erase(runId);
        ++version_;
    }
    notify();
}

void LiveTable::touch() {
    {
        MutexLock lock(mutex_);
        ++version_;
    }
    notify();
}

std::uint64_t LiveTable::version() const {
    MutexLock lock(mutex_);
    return version_;
}

std::shared_ptr<void> LiveTable::subscribe(std::function<void()> onChange) {
    MutexLock lock(listenersMutex_);
    const std::uint64_t id = nextListener_++;
    listeners_[id] = std::move(onChange);
    return {this, [id](LiveTable* table) { table->unsubscribe(id); }};
}

void LiveTable::unsubscribe(std::uint64_t id) {
    MutexLock lock(listenersMutex_);
    listeners_.erase(id);
}

// Called under the listeners' lock on purpose: unsubscribe() then waits for a call in progress.
void LiveTable::notify() {
    MutexLock lock(listenersMutex_);
    for (const auto& [id, listener] : listeners_) {
        listener();
    }
}

}  // namespace millrace::agent

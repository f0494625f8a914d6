#pragma once
// RunInbox: changes of the list of runs that wait for the GUI thread; only the newest of every run.
//
// Pages of a list and updates of a stream come in any order. The value with the higher revision
// wins (if equal the later one, because progress changes no revision). A plain value without locks.
// Bounded by the number of runs.
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "app/gui/bridge/live_values.h"

namespace millrace::gui {

class RunInbox {
 public:
    /// Discards all known runs; the next delivery reports it.
    void reset();
    /// From a list, which has parameters and may contain deleted runs.
    void addListed(values::RunSummary run);
    /// From a stream, which has no parameters.
    void addUpdate(values::RunUpdate update);
    /// Every run of the store has been added.
    void setComplete() { isComplete_ = isPending_ = true; }

    bool isPending() const { return isPending_; }
    std::size_t numPending() const { return changed_.size() + removed_.size(); }
    RunsDelta take();

    /// Runs came that no list has included: their parameters are unknown.
    bool hasUnlisted() const { return hasUnlisted_; }
    bool takeUnlisted() { return std::exchange(hasUnlisted_, false); }

 private:
    struct Known {
        std::uint64_t revision = 0;
        bool isListed = false;
    };
    void put(values::RunSummary run, bool isRemoved);

    std::unordered_map<std::string, Known> known_;
    std::unordered_map<std::string, values::RunSummary> changed_;
    std::vector<std::string> order_;  // ids in changed_, oldest first
    std::unordered_set<std::string> removed_;
    bool isReset_ = false, isComplete_ = false, isPending_ = false, hasUnlisted_ = false;
};

}  // namespace millrace::gui

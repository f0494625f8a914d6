#include "app/gui/bridge/run_inbox.h"

#include <utility>

namespace millrace::gui {

void RunInbox::reset() {
    *this = RunInbox();
    isReset_ = isPending_ = true;
}

void RunInbox::addListed(values::RunSummary run) {
    Known& known = known_[run.id];
    known.isListed = true;
    if (run.revision < known.revision) {
        // The stream was faster: its values are kept, and get the parameters.
        const auto waiting = changed_.find(run.id);
        if (waiting != changed_.end()) {
            waiting->second.params = std::move(run.params);
        } else {
            known.isListed = false;
            hasUnlisted_ = true;
        }
        return;
    }
    known.revision = run.revision;
    const bool isRemoved = run.deletedMs != 0;
    put(std::move(run), isRemoved);
}

void RunInbox::addUpdate(values::RunUpdate update) {
    Known& known = known_[update.run.id];
    if (update.run.revision < known.revision) {
        return;
    }
    known.revision = update.run.revision;
    hasUnlisted_ = hasUnlisted_ || (!known.isListed && !update.isRemoved);
    const auto waiting = changed_.find(update.run.id);
    if (waiting != changed_.end() && update.run.params.empty()) {
        update.run.params = std::move(waiting->second.params);
    }
    put(std::move(update.run), update.isRemoved);
}

void RunInbox::put(values::RunSummary run, bool isRemoved) {
    isPending_ = true;
    if (isRemoved) {
        known_[run.id].isListed = false;  // its parameters are removed too
        changed_.erase(run.id);
        removed_.insert(std::move(run.id));
        return;
    }
    removed_.erase(run.id);
    const std::string id = run.id;
    if (changed_.insert_or_assign(id, std::move(run)).second) {
        order_.push_back(id);
    }
}

RunsDelta RunInbox::take() {
    RunsDelta delta;
    delta.isReset = std::exchange(isReset_, false);
    delta.isComplete = isComplete_;
    delta.changed.reserve(changed_.size());
    for (const std::string& id : order_) {
        const auto run = changed_.find(id);
        if (run != changed_.end()) {
            delta.changed.push_back(std::move(run->second));
            changed_.erase(run);
        }
    }
    delta.removed.assign(removed_.begin(), removed_.end());
    order_.clear();
    changed_.clear();
    removed_.clear();
    isPending_ = false;
    return delta;
}

}  // namespace millrace::gui

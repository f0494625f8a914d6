#include "app/gui/bridge/mailbox.h"

#include <algorithm>

namespace millrace::gui {

// Changes the content under the lock; wakes the clock after it, and only for the first waiting
// item.
template <class Change>
void Mailbox::change(Change change) {
    bool isFirst = false;
    {
        MutexLock lock(mutex_);
        if (isShut_ || !change()) {
            return;
        }
        isFirst = !std::exchange(isWaiting_, true);
    }
    if (isFirst) {
        wake_();
    }
}

void Mailbox::setLink(session::Link link) {
    change([&]() MR_REQUIRES(mutex_) {
        link_ = std::move(link);
        return true;
    });
}

void Mailbox::setFacts(DaemonInfo facts) {
    change([&]() MR_REQUIRES(mutex_) {
        for (const values::NodeInfo& node : facts.nodes) {
            if (std::ranges::find(nodeNames_, node.name) == nodeNames_.end()) {
                nodeNames_.push_back(node.name);
            }
        }
        facts_ = std::move(facts);
        return true;
    });
}

bool Mailbox::addSample(values::NodeSample sample) {
    bool isUnknown = false;
    change([&]() MR_REQUIRES(mutex_) {
        if (std::ranges::find(nodeNames_, sample.node) == nodeNames_.end()) {
            nodeNames_.push_back(sample.node);
            hasUnknownNode_ = isUnknown = true;
        }
        const std::string node = sample.node;
        samples_.insert_or_assign(node, std::move(sample));
        return true;
    });
    return isUnknown;
}

bool Mailbox::takeUnknownNode() {
    MutexLock lock(mutex_);
    return std::exchange(hasUnknownNode_, false);
}

void Mailbox::addListed(std::vector<values::RunSummary> runs, bool isReset) {
    change([&]() MR_REQUIRES(mutex_) {
        while (!isShut_ && !isReset && runs_.numPending() > kListedMax) {
            taken_.wait(mutex_);
        }
        if (isReset) {
            hasList_ = true;
            runs_.reset();
        }
        for (values::RunSummary& run : runs) {
            runs_.addListed(std::move(run));
        }
        return true;
    });
}

bool Mailbox::addUpdate(values::RunUpdate update) {
    bool isUnlisted = false;
    change([&]() MR_REQUIRES(mutex_) {
        if (!hasList_) {
            return false;
        }
        runs_.addUpdate(std::move(update));
        isUnlisted = runs_.hasUnlisted();
        return runs_.isPending();
    });
    return isUnlisted;
}

void Mailbox::setListComplete() {
    change([&]() MR_REQUIRES(mutex_) {
        runs_.setComplete();
        return true;
    });
}

bool Mailbox::takeUnlisted() {
    MutexLock lock(mutex_);
    return runs_.takeUnlisted();
}

void Mailbox::open(std::uint64_t following) {
    MutexLock lock(mutex_);
    live_.try_emplace(following);
}

void Mailbox::close(std::uint64_t following) {
    MutexLock lock(mutex_);
    live_.erase(following);
    taken_.notifyAll();
}

LiveInbox* Mailbox::findLocked(std::uint64_t following) {
    const auto found = live_.find(following);
    return isShut_ || found == live_.end() ? nullptr : &found->second;
}

void Mailbox::addMetrics(std::uint64_t following, session::MetricsAdded added) {
    change([&]() MR_REQUIRES(mutex_) {
        LiveInbox* inbox = findLocked(following);
        while (inbox != nullptr && inbox->numPoints() >= kPointsMax) {
            taken_.wait(mutex_);
            inbox = findLocked(following);
        }
        if (inbox != nullptr) {
            inbox->addMetrics(std::move(added));
        }
        return inbox != nullptr;
    });
}

void Mailbox::dropAfter(std::uint64_t following, const std::string& run, std::int64_t step) {
    change([&]() MR_REQUIRES(mutex_) {
        LiveInbox* inbox = findLocked(following);
        if (inbox != nullptr) {
            inbox->dropAfter(run, step);
        }
        return inbox != nullptr;
    });
}

void Mailbox::endMetrics(std::uint64_t following, const std::string& run) {
    change([&]() MR_REQUIRES(mutex_) {
        LiveInbox* inbox = findLocked(following);
        if (inbox != nullptr) {
            inbox->endMetrics(run);
        }
        return inbox != nullptr;
    });
}

// Returns false if the lines do not fit within kLinesWait.
bool Mailbox::waitForLinesLocked(std::uint64_t following, std::size_t numNew) {
    const auto end = std::chrono::steady_clock::now() + kLinesWait;
    const LiveInbox* inbox = findLocked(following);
    while (inbox != nullptr && inbox->numLines() > 0 && inbox->numLines() + numNew > kLinesMax) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            end - std::chrono::steady_clock::now());
        if (left.count() <= 0) {
            return false;
        }
        taken_.waitFor(mutex_, left);
        inbox = findLocked(following);
    }
    return true;
}

void Mailbox::addLines(std::uint64_t following, std::vector<values::LogLine> lines,
                       std::uint64_t dropped) {
    change([&]() MR_REQUIRES(mutex_) {
        waitForLinesLocked(following, lines.size());
        LiveInbox* inbox = findLocked(following);
        if (inbox != nullptr) {
            inbox->addLines(std::move(lines), dropped);
            numDropped_ += inbox->dropLines(kLinesMax);
        }
        return inbox != nullptr;
    });
}

void Mailbox::endLogs(std::uint64_t following) {
    change([&]() MR_REQUIRES(mutex_) {
        LiveInbox* inbox = findLocked(following);
        if (inbox != nullptr) {
            inbox->endLogs();
        }
        return inbox != nullptr;
    });
}

Parcel Mailbox::take() {
    Parcel parcel;
    MutexLock lock(mutex_);
    parcel.link = std::exchange(link_, std::nullopt);
    parcel.facts = std::exchange(facts_, std::nullopt);
    if (runs_.isPending()) {
        parcel.runs = runs_.take();
    }
    for (auto& [node, sample] : samples_) {
        parcel.samples.push_back(std::move(sample));
    }
    samples_.clear();
    for (auto& [following, inbox] : live_) {
        if (inbox.isPending()) {
            parcel.live.emplace_back(following, inbox.take());
        }
    }
    isWaiting_ = false;
    taken_.notifyAll();
    return parcel;
}

std::uint64_t Mailbox::numDropped() const {
    MutexLock lock(mutex_);
    return numDropped_;
}

void Mailbox::shut() {
    MutexLock lock(mutex_);
    isShut_ = true;
    live_.clear();
    taken_.notifyAll();
}

}  // namespace millrace::gui

#include "backend/objects/handed_credentials.h"

#include <utility>

namespace millrace::objects {

void HandedCredentials::hand(Credentials credentials) {
    MutexLock lock(mutex_);
    handed_ = std::move(credentials);
    ++numHanded_;
    changed_.notifyAll();
}

std::optional<std::string> HandedCredentials::question() const {
    MutexLock lock(mutex_);
    return numWaiting_ > 0 ? std::optional(handed_.accessKey) : std::nullopt;
}

Credentials HandedCredentials::current() {
    {
        MutexLock lock(mutex_);
        if (!handed_.isEmpty()) {
            return handed_;
        }
    }
    return own_->current();
}

std::optional<Credentials> HandedCredentials::after(const Credentials& refused,
                                                    const std::stop_token& stop) {
    using Clock = std::chrono::steady_clock;
    const std::stop_callback wake(stop, [this] {
        MutexLock lock(mutex_);
        changed_.notifyAll();
    });
    {
        MutexLock lock(mutex_);
        if (!handed_.isEmpty()) {
            const auto until = Clock::now() + patience_;
            const std::uint64_t asked = numHanded_;
            ++numWaiting_;
            while (handed_ == refused && numHanded_ == asked && !stop.stop_requested() &&
                   Clock::now() < until) {
                changed_.waitFor(
                    mutex_, std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()));
            }
            --numWaiting_;
            return handed_ == refused ? std::nullopt : std::optional(handed_);
        }
    }
    return own_->after(refused, stop);
}

}  // namespace millrace::objects

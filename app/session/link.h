#pragma once
// How the session stands with its daemon, and when to try again.
#include <algorithm>
#include <cstdint>
#include <string>

namespace millrace::session {

enum class LinkState {
    kConnecting,  ///< nothing has been heard yet
    kConnected,
    kReconnecting,  ///< it was lost; tried again with growing pauses
    kRefused,       ///< a newer protocol, or not allowed: tried again seldom, or not at all
};

struct Link {
    LinkState state = LinkState::kConnecting;
    std::string sentence;      ///< why, when not connected
    std::int64_t sinceMs = 0;  ///< when this state began, UTC ms
    int tries = 0;             ///< since it was lost
};

/// 250 ms, 500 ms, 1 s, 1 s, ...; back to the first after something was heard. Short to the end: a
/// network that comes back after hours is noticed at once, and a try costs little.
class Backoff {
 public:
    static constexpr std::int64_t kMostMs = 1'000;
    /// Between tries where a person has to act first.
    static constexpr std::int64_t kRefusedMs = 5'000;

    std::int64_t nextMs() {
        const std::int64_t wait = std::min(kMostMs, std::int64_t{250} << tries_);
        tries_ = std::min(tries_ + 1, 8);
        return wait;
    }
    void reset() { tries_ = 0; }
    int tries() const { return tries_; }

 private:
    int tries_ = 0;
};

}  // namespace millrace::session

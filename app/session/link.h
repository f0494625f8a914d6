#pragma once
// The state of the session's connection to its daemon, and when to retry it.
#include <algorithm>
#include <cstdint>
#include <string>

namespace millrace::session {

enum class LinkState {
    kConnecting,  ///< nothing has been received yet
    kConnected,
    kReconnecting,  ///< it was lost; retried with growing pauses
    kRefused,       ///< a newer protocol, or not allowed: retried rarely, or not at all
};

struct Link {
    LinkState state = LinkState::kConnecting;
    std::string sentence;      ///< why, when not connected
    std::int64_t sinceMs = 0;  ///< when this state began, UTC ms
    int tries = 0;             ///< since it was lost
};

/// 250 ms, 500 ms, 1 s, 1 s, ...; starts over after anything was received. The last pause is short
/// too: a network that returns after hours is noticed at once, and a retry costs little.
class Backoff {
 public:
    static constexpr std::int64_t kMostMs = 1'000;
    /// Between retries that need a person to act first.
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

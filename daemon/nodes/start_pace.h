#pragma once
// StartPace: decides when the agent of one host is started (again). Used by HostAgents.
//
// An agent that lost its connection reconnects by itself within seconds, so it is waited for first.
// Pauses grow while starts fail. Pure, the time is an argument (steady ns). Threads: one owner.
#include <algorithm>
#include <cstdint>

namespace millrace::nodes {

class StartPace {
 public:
    static constexpr std::int64_t kComesBackNs = 5'000'000'000, kFirstNs = 5'000'000'000,
                                  kMostNs = 60'000'000'000;

    /// `mayComeBack`: agents of an earlier daemon may be running.
    StartPace(std::int64_t nowNs, bool mayComeBack)
        : nextNs_(mayComeBack ? nowNs + kComesBackNs : nowNs) {}

    bool isDue(std::int64_t nowNs, bool isThere) {
        if (isThere) {
            nextNs_ = nowNs + kComesBackNs;
            waitNs_ = kFirstNs;
        }
        return !isThere && nowNs >= nextNs_;
    }
    void started(std::int64_t nowNs) {
        nextNs_ = nowNs + waitNs_;
        waitNs_ = std::min(2 * waitNs_, kMostNs);
    }

 private:
    std::int64_t nextNs_;
    std::int64_t waitNs_ = kFirstNs;
};

}  // namespace millrace::nodes

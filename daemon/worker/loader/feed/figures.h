#pragma once
// FeedFigures: what a feed reports about itself to its owner: rates once a second, and at longer
// intervals what data workers did for it, as a part of the run's receipt.
//
// Threads: one owner. Failure: none.
#include <chrono>
#include <cstdint>

#include "daemon/worker/loader/elsewhere.h"
#include "daemon/worker/loader/feed/job.h"
#include "daemon/worker/loader/feed/metrics.h"
#include "daemon/worker/loader/feed/owner.h"
#include "daemon/worker/loader/feed/producer.h"

namespace millrace::loader {

class FeedFigures {
 public:
    /// All three outlive it.
    FeedFigures(const FeedJob& job, const segment::StageCounters& counters, FeedOwner& owner)
        : job_(job), counters_(counters), owner_(owner) {}

    bool isDue() const;
    /// Takes the position of the train stream, for reports after its end.
    void note(const Producer& train);
    /// `train`: null before and after there is one. `elsewhere`: null if everything is computed
    /// here; its frames have `layout`. `isLast`: reports all that is left.
    void send(const Producer* train, SegmentsElsewhere* elsewhere, const frame::FrameLayout* layout,
              bool isLast);

 private:
    using SteadyClock = std::chrono::steady_clock;
    void sendTraffic(const values::FrameTraffic& traffic);
    void sendAccount(SegmentsElsewhere& elsewhere, const frame::FrameLayout& layout, bool isLast);

    const FeedJob& job_;
    const segment::StageCounters& counters_;
    FeedOwner& owner_;
    rank::Metrics at_;  ///< epoch, step and rows of the train stream
    StageMetrics stages_{counters_};
    SteadyClock::time_point last_ = SteadyClock::now(), lastAccount_ = SteadyClock::now();
    SegmentsElsewhere::Account account_;  ///< as it was reported last, like traffic_
    values::FrameTraffic traffic_;
    std::int64_t lastRead_ = 0, lastKept_ = 0;
    double lastCpu_ = 0;
    bool hasTold_ = false;
};

}  // namespace millrace::loader

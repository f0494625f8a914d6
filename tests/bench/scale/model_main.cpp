// A model of many data workers for one feed: the real StreamMaster on a simulated clock; workers,
// link and feed each take the time that tests/bench/scale/run measured. It predicts the throughput
// for a number of workers, and which resource is the limit.
//
//   bench_stream_model NAME WORKER_US FEED_US BYTES [ROWS_A_SEGMENT]
//       WORKER_US and FEED_US: processor time per delivered row, microseconds; BYTES: bytes per row
//       on the link
//
// Prints one line of JSON for each number of workers and each link. Segments travel in the order of
// the stream and are decoded on the feed's threads in that order.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "backend/core/philox.h"
#include "backend/stream/stream_master.h"

namespace millrace::stream {
namespace {

struct Costs {
    double workerUs = 0, feedUs = 0, bytes = 0, rows = 20'000;
};

constexpr std::int64_t kSegments = 20'000, kWarm = 2'000;
constexpr int kWorkerThreads = 8, kFeedThreads = 16, kPlaces = 2 * kWorkerThreads;
constexpr std::int64_t kReportNs = 500'000'000;
constexpr std::uint64_t kSeed = 7, kKey = 11;

/// Threads, or a link: the time at which it is free again, and the time for which it was busy.
class Place {
 public:
    explicit Place(int lanes) : free_(static_cast<std::size_t>(lanes)) {}
    /// The time at which work that could begin at `readyNs` is done.
    std::int64_t take(std::int64_t readyNs, std::int64_t ns) {
        const auto lane = std::min_element(free_.begin(), free_.end());
        *lane = std::max(*lane, readyNs) + ns;
        busyNs_ += ns;
        return *lane;
    }
    double share(std::int64_t overNs) const {
        return static_cast<double>(busyNs_) / static_cast<double>(overNs) /
               static_cast<double>(free_.size());
    }

 private:
    std::vector<std::int64_t> free_;
    std::int64_t busyNs_ = 0;
};

class Model {
 public:
    Model(const Costs& costs, int workers, double megabytesPerSecond)
        : costs_(costs),
          linkNs_(static_cast<std::int64_t>(costs.rows * costs.bytes * 1e3 / megabytesPerSecond)),
          feedNs_(static_cast<std::int64_t>(costs.rows * costs.feedUs * 1e3)) {
        for (int w = 0; w < workers; ++w) {
            workers_.emplace(master_.join("w", kPlaces, kWorkerThreads, 0), kWorkerThreads);
        }
    }
    /// Rows per second once all workers are busy.
    double run() {
        while (delivered_ < kSegments) {
            give();
            const auto [atNs, number] = events_.top();
            events_.pop();
            nowNs_ = atNs;
            if (number < 0) {
                deliverOne(~number);
            } else {
                arrive(number);
            }
        }
        return costs_.rows * static_cast<double>(kSegments - kWarm) * 1e9 /
               static_cast<double>(nowNs_ - warmNs_);
    }
    double workersBusy() const {
        double sum = 0;
        for (const auto& [id, place] : workers_) {
            sum += place.share(nowNs_);
        }
        return sum / static_cast<double>(workers_.size());
    }
    double linkBusy() const { return link_.share(nowNs_); }
    double feedBusy() const { return feed_.share(nowNs_); }

 private:
    using Event = std::pair<std::int64_t, std::int64_t>;  // time; segment, or ~segment: delivered

    void give() {
        if (nowNs_ - reportedNs_ >= kReportNs) {
            reportedNs_ = nowNs_;
            for (const auto& [id, place] : workers_) {
                master_.report(id, kPlaces, nowNs_);
            }
        }
        for (; added_ < kSegments && added_ - delivered_ < kAhead && master_.room() > 0; ++added_) {
            const std::uint32_t file = static_cast<std::uint32_t>(added_ / 8);
            master_.add(added_, {&file, 1});
        }
        for (const StreamMaster::Hand& hand : master_.decide(nowNs_).orders) {
            master_.started(hand);
            // Segments differ in cost by up to a third.
            const double share =
                static_cast<double>(philox64(kSeed, kKey, static_cast<std::uint64_t>(hand.number)) %
                                    1000) /
                1000;
            const double us = costs_.rows * costs_.workerUs * (0.83 + 0.34 * share);
            hands_[hand.number] = hand;
            events_.emplace(
                workers_.at(hand.worker).take(nowNs_, static_cast<std::int64_t>(us * 1e3)),
                hand.number);
        }
    }
    void arrive(std::int64_t number) {
        if (!master_.done(hands_.at(number), nowNs_)) {
            return;  // another worker was earlier
        }
        arrived_.insert(number);
        while (!arrived_.empty() && *arrived_.begin() == sent_) {
            const std::int64_t here = link_.take(nowNs_, linkNs_);
            events_.emplace(feed_.take(here, feedNs_), ~sent_);
            arrived_.erase(arrived_.begin());
            ++sent_;
        }
    }
    void deliverOne(std::int64_t number) {
        master_.delivered(number);
        ++delivered_;
        warmNs_ = delivered_ == kWarm ? nowNs_ : warmNs_;
    }

    static constexpr std::int64_t kAhead = 256;  // like Producer::Request::shareWithElsewhere
    const Costs costs_;
    const std::int64_t linkNs_, feedNs_;
    StreamMaster master_{StreamMaster::Options{}};
    std::map<WorkerId, Place> workers_;
    Place link_{1}, feed_{kFeedThreads};
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::map<std::int64_t, StreamMaster::Hand> hands_;
    std::set<std::int64_t> arrived_;
    std::int64_t nowNs_ = 0, reportedNs_ = 0, warmNs_ = 0, added_ = 0, sent_ = 0, delivered_ = 0;
};

int run(int argc, char** argv) {
    if (argc < 5) {
        std::fprintf(stderr, "bench_stream_model NAME WORKER_US FEED_US BYTES [ROWS_A_SEGMENT]\n");
        return EXIT_FAILURE;
    }
    Costs costs{std::atof(argv[2]), std::atof(argv[3]), std::atof(argv[4])};
    costs.rows = argc > 5 ? std::atof(argv[5]) : costs.rows;
    for (const double gigabits : {10.0, 25.0, 100.0}) {
        for (const int workers : {1, 2, 4, 8, 16, 32, 64}) {
            Model model(costs, workers, gigabits * 125);
            const double rows = model.run();
            std::printf(
                "{\"task\": \"%s\", \"gigabits\": %.0f, \"workers\": %d, \"rows_per_second\": "
                "%.0f, \"busy\": {\"workers\": %.2f, \"link\": %.2f, \"feed\": %.2f}}\n",
                argv[1], gigabits, workers, rows, model.workersBusy(), model.linkBusy(),
                model.feedBusy());
        }
    }
    return EXIT_SUCCESS;
}

}  // namespace
}  // namespace millrace::stream

int main(int argc, char** argv) {
    return millrace::stream::run(argc, argv);
}

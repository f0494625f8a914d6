// A model of ranks on many nodes that fetch their frames from as many data workers: the real
// StreamMaster on a simulated clock. Threads and links take the times that tests/bench/scale has
// measured. It predicts rows/s, the use of the leading feed and its link, and memory.
//
//   bench_stream_model NAME KEY=VALUE...
//       for a delivered row: worker_us, relay_us (the copy from the socket and TLS), fill_us (the
//       relay's decoding thread), lead_us, bytes (on a link), memory (bytes of a frame in memory)
//       for a frame: lead_frame_us, lead_frame_bytes; of both the leading feed
//       segment_rows, frame_rows, carried (share of the rows that the leading feed sends itself)
//       before_us: of a leading feed that decodes and sends every row
//       with defaults: threads (8, of a worker), ranks (8, of a node), ahead (256 segments in
//       flight), credit_mb (64, of frames in memory that are owed to a rank), mbit (10,000 and
//       25,000: of a link)
//
// Prints one row of a table for each speed of the links and each number of nodes. Ranks take
// everything at once.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <queue>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "backend/core/philox.h"
#include "backend/stream/stream_master.h"

namespace millrace::stream {
namespace {

using Costs = std::map<std::string, double>;

constexpr std::int64_t kWarm = 100;
constexpr int kLeadCores = 16;
constexpr std::int64_t kReportNs = 500'000'000;
constexpr std::uint64_t kSeed = 7, kKey = 11;

/// Threads, or a link: the time at which it is free again, and the time for which it was busy.
class Place {
 public:
    explicit Place(int lanes = 1) : free_(static_cast<std::size_t>(lanes)) {}
    /// The time at which work that could begin at `readyNs` is done.
    std::int64_t take(std::int64_t readyNs, double ns) {
        const auto lane = std::min_element(free_.begin(), free_.end());
        *lane = std::max(*lane, readyNs) + static_cast<std::int64_t>(ns);
        busyNs_ += ns;
        return *lane;
    }
    double share(std::int64_t overNs) const {
        return busyNs_ / static_cast<double>(overNs) / static_cast<double>(free_.size());
    }

 private:
    std::vector<std::int64_t> free_;
    double busyNs_ = 0;
};

class Model {
 public:
    Model(const Costs& costs, int nodes, double bytesPerNs)
        : costs_(costs),
          rows_(at("segment_rows")),
          framesOfSegment_(static_cast<std::int64_t>(at("segment_rows") / at("frame_rows"))),
          numSegments_(kWarm + std::int64_t{60} * nodes + 200),
          bytesPerNs_(bytesPerNs),
          ranksOfNode_(static_cast<std::size_t>(at("ranks"))),
          threads_(static_cast<int>(at("threads"))),
          ranks_(static_cast<std::size_t>(nodes) * ranksOfNode_),
          down_(static_cast<std::size_t>(nodes)) {
        for (int w = 0; w < nodes; ++w) {
            workers_.emplace(master_.join("w", 2 * threads_, threads_, 0), Worker{Place(threads_)});
        }
    }
    /// Rows per second once all workers are busy.
    double run() {
        while (delivered_ < numSegments_) {
            give();
            const Event event = events_.top();
            events_.pop();
            nowNs_ = event.atNs;
            handle(event);
        }
        const double rows = static_cast<double>(framesOfSegment_) * at("frame_rows");
        return rows * static_cast<double>(numSegments_ - kWarm) * 1e9 /
               static_cast<double>(nowNs_ - warmNs_);
    }
    struct Use {
        double workers = 0, up = 0, down = 0, fill = 0, sequencer = 0, leadLink = 0;
        double heldMb = 0, owedMb = 0;  ///< at most, of a worker and of a node of ranks
    };
    Use use() const {
        Use use;
        for (const auto& [id, worker] : workers_) {
            use.workers += worker.threads.share(nowNs_) / static_cast<double>(workers_.size());
            use.up += worker.up.share(nowNs_) / static_cast<double>(workers_.size());
            use.heldMb = std::max(use.heldMb, worker.heldMost * rows_ * at("bytes") * 1e-6);
        }
        for (const Place& down : down_) {
            use.down += down.share(nowNs_) / static_cast<double>(down_.size());
        }
        for (const Rank& rank : ranks_) {
            use.fill += rank.filler.share(nowNs_) / static_cast<double>(ranks_.size());
            use.owedMb = std::max(use.owedMb, at("ranks") * rank.owedMost * 1e-6);
        }
        use.sequencer = sequencer_.share(nowNs_);
        use.leadLink = leadLink_.share(nowNs_);
        return use;
    }

 private:
    enum class Kind : std::uint8_t { kComputed, kSent, kArrived, kFilled };
    struct Event {
        std::int64_t atNs = 0;
        Kind kind{};
        std::int64_t segment = 0;
        std::size_t rank = 0;
        std::int64_t order = 0;  ///< of the frame, among those of its rank
        bool operator>(const Event& other) const { return atNs > other.atNs; }
    };
    struct Worker {
        Place threads, up{};
        double held = 0, heldMost = 0;  ///< segments
    };
    struct Rank {
        Place filler;
        double owed = 0, owedMost = 0;
        std::deque<std::pair<std::int64_t, bool>> expected;  ///< segments; whether it has arrived
        std::int64_t firstExpected = 0;
    };
    double at(const char* key) const { return costs_.at(key); }

    void give() {
        if (nowNs_ - reportedNs_ >= kReportNs) {
            reportedNs_ = nowNs_;
            for (const auto& [id, worker] : workers_) {
                master_.report(id, 2 * threads_, nowNs_);
            }
        }
        for (; added_ < numSegments_ && static_cast<double>(added_ - delivered_) < at("ahead") &&
               master_.room() > 0;
             ++added_) {
            const auto file = static_cast<std::uint32_t>(added_ / 8);
            master_.add(added_, {&file, 1});
        }
        for (const StreamMaster::Hand& hand : master_.decide(nowNs_).orders) {
            master_.started(hand);
            // Segments differ in cost by up to a third.
            const auto random = philox64(kSeed, kKey, static_cast<std::uint64_t>(hand.number));
            const double part = static_cast<double>(random % 1000) / 1000;
            hands_[hand.number] = hand;
            const double ns = rows_ * at("worker_us") * 1e3 * (0.83 + 0.34 * part);
            events_.push({workers_.at(hand.worker).threads.take(nowNs_, ns), Kind::kComputed,
                          hand.number, 0, 0});
        }
    }
    void handle(const Event& event) {
        switch (event.kind) {
            case Kind::kComputed:
                if (master_.done(hands_.at(event.segment), nowNs_)) {
                    Worker& worker = workers_.at(hands_.at(event.segment).worker);
                    worker.heldMost = std::max(worker.heldMost, ++worker.held);
                    remaining_[event.segment] = framesOfSegment_;
                }
                break;
            case Kind::kSent:
                events_.push({down_[event.rank / ranksOfNode_].take(nowNs_, frameNs()),
                              Kind::kArrived, event.segment, event.rank, event.order});
                return;
            case Kind::kArrived:
                arrived(event);
                return;
            case Kind::kFilled:
                ranks_[event.rank].owed -= at("frame_rows") * at("memory");
                if (--remaining_.at(event.segment) == 0) {
                    deliver(event.segment);
                }
                break;
        }
        refer();
    }
    double frameNs() const { return at("frame_rows") * at("bytes") / bytesPerNs_; }
    /// Gives references in the order of the stream, until a segment or a rank's credit is missing.
    void refer() {
        for (auto segment = remaining_.find(next_); segment != remaining_.end();
             segment = remaining_.find(next_)) {
            for (; nextFrame_ < framesOfSegment_; ++nextFrame_) {
                const std::size_t number = nextRank_ % ranks_.size();
                Rank& rank = ranks_[number];
                const double bytes = at("frame_rows") * at("memory");
                if (rank.owed > 0 && rank.owed + bytes > at("credit_mb") * 1e6) {
                    return;
                }
                ++nextRank_;
                rank.owedMost = std::max(rank.owedMost, rank.owed += bytes);
                const std::int64_t order =
                    rank.firstExpected + static_cast<std::int64_t>(rank.expected.size());
                rank.expected.emplace_back(next_, false);
                std::int64_t then = sequencer_.take(nowNs_, at("lead_frame_us") * 1e3);
                then = leadLink_.take(then, (at("lead_frame_bytes") +
                                             at("carried") * at("frame_rows") * at("memory")) /
                                                bytesPerNs_);
                events_.push({workers_.at(hands_.at(next_).worker).up.take(then, frameNs()),
                              Kind::kSent, next_, number, order});
            }
            ++next_;
            nextFrame_ = 0;
        }
    }
    /// A rank's frames are decoded in their order.
    void arrived(const Event& event) {
        Rank& rank = ranks_[event.rank];
        rank.expected[static_cast<std::size_t>(event.order - rank.firstExpected)].second = true;
        for (; !rank.expected.empty() && rank.expected.front().second; ++rank.firstExpected) {
            events_.push({rank.filler.take(nowNs_, at("frame_rows") * at("fill_us") * 1e3),
                          Kind::kFilled, rank.expected.front().first, event.rank, 0});
            rank.expected.pop_front();
        }
    }
    void deliver(std::int64_t segment) {
        remaining_.erase(segment);
        --workers_.at(hands_.at(segment).worker).held;
        master_.delivered(segment);
        warmNs_ = ++delivered_ == kWarm ? nowNs_ : warmNs_;
    }

    const Costs& costs_;
    const double rows_;
    const std::int64_t framesOfSegment_, numSegments_;
    const double bytesPerNs_;
    const std::size_t ranksOfNode_;
    const int threads_;
    StreamMaster master_{StreamMaster::Options{}};
    std::map<WorkerId, Worker> workers_;
    std::vector<Rank> ranks_;
    std::vector<Place> down_;
    Place sequencer_, leadLink_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::map<std::int64_t, StreamMaster::Hand> hands_;
    std::map<std::int64_t, std::int64_t> remaining_;  ///< frames of computed segments
    std::int64_t nowNs_ = 0, reportedNs_ = 0, warmNs_ = 0, added_ = 0, delivered_ = 0;
    std::int64_t next_ = 0, nextFrame_ = 0;  ///< the next reference
    std::size_t nextRank_ = 0;
};

/// Rows/s if the leading feed decodes and sends every row.
double before(const Costs& costs, int nodes, double bytesPerNs) {
    const double workers = nodes * costs.at("threads") * 1e6 / costs.at("worker_us");
    return std::min(
        {workers, bytesPerNs * 1e9 / costs.at("memory"), kLeadCores * 1e6 / costs.at("before_us")});
}

int run(int argc, char** argv) {
    Costs costs = {{"threads", 8}, {"ranks", 8}, {"ahead", 256}, {"credit_mb", 64}, {"mbit", 0}};
    for (int i = 2; i < argc; ++i) {
        const std::string word = argv[i];
        const std::size_t equals = word.find('=');
        costs[word.substr(0, equals)] = std::atof(word.c_str() + std::min(word.size(), equals + 1));
    }
    if (costs.size() != 17) {
        std::fprintf(stderr,
                     "bench_stream_model NAME KEY=VALUE... (12 keys, others have defaults; see its "
                     "source)\n");
        return EXIT_FAILURE;
    }
    std::printf(
        "| task | Gbit/s | nodes | M rows/s | before | workers | their links | ranks' links | "
        "decoding threads | sequencer | lead, cores | lead's link | a relay, cores | a worker "
        "holds, MB | owed to a node, MB |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    const double one = costs.at("mbit") / 1000;
    for (const double gigabits : one > 0 ? std::vector{one} : std::vector{10.0, 25.0}) {
        for (const int nodes : {1, 2, 4, 8, 16, 32}) {
            Model model(costs, nodes, gigabits / 8);
            const double rows = model.run();
            const Model::Use use = model.use();
            const double lead =
                rows * 1e-6 *
                (costs.at("lead_us") + costs.at("lead_frame_us") / costs.at("frame_rows") +
                 costs.at("carried") * costs.at("before_us"));
            const double relay = rows * 1e-6 * (costs.at("relay_us") + costs.at("fill_us")) / nodes;
            std::printf(
                "| %s | %.3g | %d | %.4g | %.4g | %.0f %% | %.0f %% | %.0f %% | %.0f %% | %.0f %% "
                "| %.2f | %.0f %% | %.1f | %.0f | %.0f |\n",
                argv[1], gigabits, nodes, rows * 1e-6, before(costs, nodes, gigabits / 8) * 1e-6,
                100 * use.workers, 100 * use.up, 100 * use.down, 100 * use.fill,
                100 * use.sequencer, lead, 100 * use.leadLink, relay, use.heldMb, use.owedMb);
            std::fflush(stdout);
        }
    }
    return EXIT_SUCCESS;
}

}  // namespace
}  // namespace millrace::stream

int main(int argc, char** argv) {
    try {
        return millrace::stream::run(argc, argv);
    } catch (const std::out_of_range&) {
        std::fprintf(stderr, "bench_stream_model: a key is missing; see its source\n");
        return EXIT_FAILURE;
    }
}

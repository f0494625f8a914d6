#include "daemon/worker/loader/stream/ring_reader.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/core/thread.h"
#include "backend/feed/feed_reader.h"
#include "backend/filesystem/files.h"
#include "backend/stream/read_state.h"
#include "backend/stream/state/order_hash.h"
#include "backend/text/json.h"
#include "daemon/worker/loader/checksum.h"
#include "daemon/worker/loader/exit.h"

namespace millrace::loader {
namespace {

using FeedPtr = std::unique_ptr<millrace_feed, decltype(&millrace_feed_close)>;
using Place = std::pair<std::uint32_t, std::uint64_t>;  // epoch, number

double wallNow() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

// Sums over micro-batches that arrived.
struct OwnSums {
    stream::OrderHash order;
    std::int64_t rows = 0, batches = 0;

    void add(const OwnSums& other) {
        order.add(other.order);
        rows += other.rows;
        batches += other.batches;
    }
};

// The combined results of all readers.
class Readings {
 public:
    explicit Readings(std::size_t ranks) : ranks_(ranks) {}

    void firstBatch() {
        MutexLock lock(mutex_);
        first_ = first_ < 0 ? wallNow() : first_;
    }

    // Notes how long a rank waited for a batch other than its first.
    void waited(double seconds) {
        MutexLock lock(mutex_);
        longestWait_ = std::max(longestWait_, seconds);
    }

    // Adds the values of one micro-batch; they are summed in the order of the sequence.
    void addValues(Place at, Checksum sums) {
        MutexLock lock(mutex_);
        if (ranks_ == 1) {
            sums_.merge(sums);
        } else {
            waiting_.emplace(at, std::move(sums));
        }
    }

    // Adds a rank's state at the end of a step.
    Status addState(Place at, std::string text) {
        MutexLock lock(mutex_);
        auto& [state, numRanks] = states_.try_emplace(at, text, 0).first->second;
        if (state != text) {
            return dataLoss("--through-ring: two ranks disagree before micro-batch ", at.second,
                            " of epoch ", at.first, ": ", state, " and ", text);
        }
        if (++numRanks == ranks_) {
            last_ = std::move(text);
            states_.erase(at);
            for (auto next = waiting_.begin(); next != waiting_.end() && next->first < at;
                 next = waiting_.erase(next)) {
                sums_.merge(next->second);
            }
        }
        return okStatus();
    }

    // Adds a rank that has come to its end.
    Status addRank(const OwnSums& own, const OwnSums& leftOut, std::int64_t steps) {
        MutexLock lock(mutex_);
        if (steps_ && *steps_ != steps) {
            return dataLoss("--through-ring: one rank saw ", *steps_, " steps, another ", steps);
        }
        steps_ = steps;
        own_.add(own);
        leftOut_.add(leftOut);
        return okStatus();
    }

    // Valid after all ranks have come to their end.
    Result<Json> result(bool reads) const {
        MutexLock lock(mutex_);
        stream::StreamState state;
        if (!last_.empty()) {
            ASSIGN_OR_RETURN(state, stream::readState(last_));
        }
        if (state.orderHash != own_.order || state.rowsDelivered != own_.rows ||
            state.rowsLeftOut != leftOut_.rows || !states_.empty()) {
            return dataLoss("--through-ring: the marks tell of order hash ", state.orderHash.hex(),
                            ", ", state.rowsDelivered, " rows and ", state.rowsLeftOut,
                            " left out, what came has ", own_.order.hex(), ", ", own_.rows, " and ",
                            leftOut_.rows);
        }
        return Json{{"checksum", reads ? sums_.text() : ""},
                    {"order_hash", state.orderHash.hex()},
                    {"rows", own_.rows},
                    {"rows_left_out", leftOut_.rows},
                    {"batches_left_out", leftOut_.batches},
                    {"steps", steps_.value_or(0)},
                    {"first_batch_wall", first_},
                    {"longest_wait_seconds", longestWait_}};
    }

 private:
    const std::size_t ranks_;
    mutable Mutex mutex_;
    /// By position: the text, and how many ranks have reported it. Only positions that not all
    /// ranks have reached.
    std::map<Place, std::pair<std::string, std::size_t>> states_ MR_GUARDED_BY(mutex_);
    std::map<Place, Checksum> waiting_ MR_GUARDED_BY(mutex_);
    std::string last_ MR_GUARDED_BY(mutex_);
    Checksum sums_ MR_GUARDED_BY(mutex_);
    OwnSums own_ MR_GUARDED_BY(mutex_), leftOut_ MR_GUARDED_BY(mutex_);
    std::optional<std::int64_t> steps_ MR_GUARDED_BY(mutex_);
    double first_ MR_GUARDED_BY(mutex_) = -1;
    double longestWait_ MR_GUARDED_BY(mutex_) = 0;
};

// One rank's ring, from its first entry to its end.
class RankReader {
 public:
    RankReader(const RingReaderOptions& options, millrace_feed* feed, Readings& readings)
        : options_(options), feed_(feed), readings_(readings) {}

    Status run() {
        int result = MILLRACE_FEED_BATCH;
        event_.struct_size = sizeof event_;
        while ((result = next()) >= 0 && result != MILLRACE_FEED_END_OF_STREAM &&
               result != MILLRACE_FEED_ABORTED) {
            if (result == MILLRACE_FEED_BATCH) {
                takeBatch();
            } else if (result == MILLRACE_FEED_END_OF_EPOCH) {
                RETURN_IF_ERROR(tellState());
            } else if (result == MILLRACE_FEED_STEP) {
                ++steps_;
                endStep(event_.is_left_out != 0);
                // A single rank has no other to compare with; the end of the epoch compares too.
                if (options_.ranks > 1 && event_.is_last == 0) {
                    RETURN_IF_ERROR(tellState());
                }
            }
        }
        if (result == MILLRACE_FEED_ABORTED) {
            return cancelled("another rank failed");
        }
        return result == MILLRACE_FEED_END_OF_STREAM ? readings_.addRank(own_, leftOut_, steps_)
                                                     : dataLoss(millrace_feed_error(feed_));
    }

 private:
    int next() {
        using Clock = std::chrono::steady_clock;
        const Clock::time_point asked = Clock::now();
        const int result = millrace_feed_next(feed_, -1, &event_);
        if (result == MILLRACE_FEED_BATCH && own_.rows + step_.rows > 0) {
            readings_.waited(std::chrono::duration<double>(Clock::now() - asked).count());
        }
        return result;
    }

    void takeBatch() {
        if (own_.rows == 0) {
            readings_.firstBatch();
        }
        millrace_column columns[2];
        std::size_t count = 0;
        columns[0].struct_size = sizeof columns[0];
        millrace_batch_all_columns(event_.batch, columns, 2, &count);
        const millrace_column &files = columns[0], &rows = columns[1];
        step_.order.add(event_.epoch, event_.number,
                        {static_cast<const std::uint32_t*>(files.data), files.num_values},
                        {static_cast<const std::uint64_t*>(rows.data), rows.num_values});
        step_.rows += static_cast<std::int64_t>(rows.num_values);
        ++step_.batches;
        if (options_.reads) {
            Checksum sums;
            sums.add(event_.batch);
            stepValues_.emplace_back(Place{event_.epoch, event_.number}, std::move(sums));
        }
        millrace_batch_release(event_.batch);
    }

    // Sums count only at the step's end, because only then it is known whether the step is whole.
    void endStep(bool isLeftOut) {
        (isLeftOut ? leftOut_ : own_).add(step_);
        step_ = {};
        for (auto& [at, sums] : stepValues_) {
            if (!isLeftOut) {
                readings_.addValues(at, std::move(sums));
            }
        }
        stepValues_.clear();
    }

    Status tellState() {
        char* text = millrace_feed_state(feed_, event_.epoch, event_.number);
        if (text == nullptr) {
            return dataLoss(millrace_feed_error(feed_));
        }
        std::string copy = text;
        millrace_free(text);
        return readings_.addState({event_.epoch, event_.number}, std::move(copy));
    }

    const RingReaderOptions& options_;
    millrace_feed* const feed_;
    Readings& readings_;
    millrace_feed_event event_{};
    OwnSums own_, leftOut_, step_;
    std::vector<std::pair<Place, Checksum>> stepValues_;
    std::int64_t steps_ = 0;
};

Result<FeedPtr> openRank(const RingReaderOptions& options, int rank, const std::string& state) {
    millrace_feed_options feed{};
    feed.struct_size = sizeof feed;
    feed.rank = rank;
    feed.world_size = options.ranks;
    feed.abort_fd = feed.numa_node = -1;
    feed.stream = options.part.c_str();
    feed.last = options.dropsLast ? MILLRACE_LAST_DROP : MILLRACE_LAST_KEEP;
    feed.state = state.empty() ? nullptr : state.c_str();
    char error[512] = "";
    millrace_feed* opened = nullptr;
    const std::size_t place = options.socketPaths.size() > 1 ? static_cast<std::size_t>(rank) : 0;
    if (millrace_feed_open(options.socketPaths.at(place).c_str(), &feed, &opened, error,
                           sizeof error) != 0) {
        return unavailable(error);
    }
    return FeedPtr(opened, &millrace_feed_close);
}

// The first failure ends the other ranks.
Status readAll(const RingReaderOptions& options, const std::vector<FeedPtr>& feeds,
               Readings& readings) {
    Mutex mutex;
    Status failure;
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < feeds.size(); ++r) {
        threads.push_back(startThread(strCat("rank-", r), [&, r](std::stop_token) {
            const Status status = RankReader(options, feeds[r].get(), readings).run();
            if (status.ok()) {
                return;
            }
            {
                MutexLock lock(mutex);
                failure = failure.ok() ? status : failure;
            }
            for (const FeedPtr& feed : feeds) {
                millrace_feed_abort(feed.get());
            }
        }));
    }
    threads.clear();
    return failure;
}

Result<Json> readRings(const RingReaderOptions& options) {
    if (options.socketPaths.size() > 1 &&
        static_cast<int>(options.socketPaths.size()) != options.ranks) {
        return invalidArgument("--socket: one for all ranks, or one a rank");
    }
    std::string state;
    if (!options.statePath.empty()) {
        ASSIGN_OR_RETURN(state, readFile(options.statePath));
    }
    std::vector<FeedPtr> feeds;
    for (int rank = 0; rank < options.ranks; ++rank) {
        ASSIGN_OR_RETURN(FeedPtr feed, openRank(options, rank, state));
        feeds.push_back(std::move(feed));
    }
    Readings readings(feeds.size());
    RETURN_IF_ERROR(readAll(options, feeds, readings));
    return readings.result(options.reads);
}

}  // namespace

int runRingReader(const RingReaderOptions& options) {
    const Result<Json> read = readRings(options);
    if (!read.ok()) {
        return fail(read.status());
    }
    return endWith(dumpJson(*read) + "\n");
}

}  // namespace millrace::loader

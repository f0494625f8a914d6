#pragma once
// Ranks of a stream in this process, each on its own thread. They read as trainers do: through the
// C library, and they connect again when their feed is gone.
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "backend/core/mutex.h"
#include "backend/feed/feed_reader.h"

namespace millrace {

struct RankOptions {
    std::string stream = "train";
    bool join = false, dropsLast = false;
    /// Called on rank 0's thread before it releases batch 0, 1, ...; may block.
    std::function<void(std::int64_t)> happens = [](std::int64_t) {};
    /// Called when all ranks are at the end of the stream and none has closed its ring.
    std::function<void()> atEnd = [] {};
};

struct RankSeen {
    std::string state;  ///< state at the last step
    std::string error;
    int result = 0, reopens = 0;
    std::int64_t batches = 0, rows = 0;
};

class RankReaders {
 public:
    RankReaders(std::vector<std::string> sockets, RankOptions options)
        : sockets_(std::move(sockets)), options_(std::move(options)) {}

    /// Reads one ring per rank to its end.
    std::vector<RankSeen> read() {
        std::vector<RankSeen> seen(sockets_.size());
        std::vector<std::jthread> threads;
        for (std::size_t rank = 0; rank < sockets_.size(); ++rank) {
            threads.emplace_back([this, rank, &seen] { readRank(rank, seen[rank]); });
        }
        threads.clear();
        return seen;
    }
    /// Reads to the end; returns the final state, which is the same on all ranks.
    std::string readState() {
        std::set<std::string> states;
        for (const RankSeen& seen : read()) {
            EXPECT_EQ(seen.result, MILLRACE_FEED_END_OF_STREAM) << seen.error;
            states.insert(seen.state);
            reopens_ += seen.reopens;
        }
        EXPECT_EQ(states.size(), 1U);
        return *states.begin();
    }
    int reopens() const { return reopens_; }

 private:
    static constexpr int kWaitMs = 60'000;

    void readRank(std::size_t rank, RankSeen& seen) {
        millrace_feed_options options{};
        options.struct_size = sizeof options;
        options.rank = static_cast<int>(rank);
        options.world_size = static_cast<int>(sockets_.size());
        options.abort_fd = options.numa_node = -1;
        options.stream = options_.stream.c_str();
        options.connect_timeout_ms = kWaitMs;
        options.join = options_.join ? 1 : 0;
        options.last = options_.dropsLast ? MILLRACE_LAST_DROP : MILLRACE_LAST_KEEP;
        char error[512] = "";
        millrace_feed* feed = nullptr;
        seen.result =
            millrace_feed_open(sockets_[rank].c_str(), &options, &feed, error, sizeof error);
        seen.error = error;
        if (seen.result != 0) {
            awaitOthers(false);
            return;
        }
        while (take(feed, rank, seen)) {
        }
        seen.error = millrace_feed_error(feed);
        awaitOthers(seen.result == MILLRACE_FEED_END_OF_STREAM);
        millrace_feed_close(feed);
    }

    /// Takes one event; returns false at the end.
    bool take(millrace_feed* feed, std::size_t rank, RankSeen& seen) const {
        millrace_feed_event event{};
        event.struct_size = sizeof event;
        seen.result = millrace_feed_next(feed, kWaitMs, &event);
        switch (seen.result) {
            case MILLRACE_FEED_BATCH:
                if (rank == 0) {
                    options_.happens(seen.batches);
                }
                ++seen.batches;
                seen.rows += static_cast<std::int64_t>(event.rows);
                millrace_batch_release(event.batch);
                return true;
            case MILLRACE_FEED_STEP: {
                char* text = millrace_feed_state(feed, event.epoch, event.number);
                seen.state = text == nullptr ? "" : text;
                millrace_free(text);
                return true;
            }
            case MILLRACE_FEED_LOST:
                ++seen.reopens;
                seen.result = millrace_feed_reopen(feed, kWaitMs);
                return seen.result == 0 || seen.result == MILLRACE_FEED_LOST;
            case MILLRACE_FEED_END_OF_EPOCH:
            case MILLRACE_FEED_NOTICE:
                return true;
            default:
                return false;
        }
    }

    /// Waits for the other ranks; the last of them calls atEnd.
    void awaitOthers(bool isAtEnd) {
        MutexLock lock(mutex_);
        allAtEnd_ = allAtEnd_ && isAtEnd;
        if (++numThere_ == sockets_.size()) {
            if (allAtEnd_) {
                options_.atEnd();
            }
            isReleased_ = true;
            changed_.notifyAll();
        }
        while (!isReleased_) {
            changed_.wait(mutex_);
        }
    }

    const std::vector<std::string> sockets_;
    const RankOptions options_;
    int reopens_ = 0;
    Mutex mutex_;
    CondVar changed_;
    std::size_t numThere_ MR_GUARDED_BY(mutex_) = 0;
    bool allAtEnd_ MR_GUARDED_BY(mutex_) = true, isReleased_ MR_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace

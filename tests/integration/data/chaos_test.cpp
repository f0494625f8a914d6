// Data workers are killed, stopped and told to leave while others join: the stream stays the same,
// and its reader notices nothing.
#include <algorithm>
#include <map>
#include <random>

#include "tests/integration/data/data_program.h"

namespace millrace {
namespace {

/// Reads a long stream batch by batch, so that things can happen at moments of it.
class DataChaos : public DataProgram {
 protected:
    static constexpr const char* kEpochs = "batch.epochs=40";

    void SetUp() override {
        DataProgram::SetUp();
        const Json streamed = report({"--set", kEpochs});
        orderHash_ = streamed["order_hash"];
        batches_ = streamed["micro_batches"];
        startFeed("{min: 1, max: 8}", {"--set", kEpochs});
    }

    void addWorker() {
        const std::string name = strCat("worker-", numWorkers_++);
        workers_.emplace(name, startWorker(name));
    }
    Subprocess& worker(int number) { return *workers_.at(strCat("worker-", number)); }

    /// Calls `happen` before each batch is released; checks the order hash at the end.
    template <class Happen>
    void read(const Happen& happen) {
        millrace_feed_options options{};
        options.struct_size = sizeof options;
        options.world_size = 1;
        options.abort_fd = options.numa_node = -1;
        options.stream = "train";
        options.connect_timeout_ms = 20'000;
        char error[512] = "";
        millrace_feed* feed = nullptr;
        ASSERT_EQ(millrace_feed_open(socket().c_str(), &options, &feed, error, sizeof error), 0)
            << error;
        millrace_feed_event event{};
        event.struct_size = sizeof event;
        std::string state;
        std::int64_t batch = 0;
        int result = 0;
        while ((result = millrace_feed_next(feed, 60'000, &event)) >= 0 &&
               result != MILLRACE_FEED_END_OF_STREAM && result != MILLRACE_FEED_TIMEOUT) {
            if (result == MILLRACE_FEED_BATCH) {
                happen(batch++);
                millrace_batch_release(event.batch);
            } else if (result == MILLRACE_FEED_STEP) {
                char* text = millrace_feed_state(feed, event.epoch, event.number);
                state = text == nullptr ? "" : text;
                millrace_free(text);
            }
        }
        EXPECT_EQ(result, MILLRACE_FEED_END_OF_STREAM) << millrace_feed_error(feed) << said("feed");
        millrace_feed_close(feed);
        EXPECT_EQ(batch, batches_);
        const auto end = stream::readState(state);
        ASSERT_TRUE(end.ok()) << end.status();
        EXPECT_EQ(end->orderHash.hex(), orderHash_);
        expectEnd(feed_, 0);
    }

    std::string orderHash_;
    std::int64_t batches_ = 0;
    int numWorkers_ = 0;
    std::map<std::string, std::unique_ptr<Subprocess>> workers_;
};

// Half of the workers are killed after each sixth of the stream; a seed chooses them. New workers
// replace them.
TEST_F(DataChaos, AKillerThatEndsHalfOfTheWorkersAgainAndAgainChangesNothing) {
    std::mt19937 random(7);
    std::vector<int> alive;
    const auto add = [&] {
        alive.push_back(numWorkers_);
        addWorker();
    };
    for (int w = 0; w < 4; ++w) {
        add();
    }
    awaitJoined(4);
    const std::int64_t every = batches_ / 6;
    int killed = 0;
    read([&](std::int64_t batch) {
        if (batch % every != every - 1) {
            return;
        }
        std::shuffle(alive.begin(), alive.end(), random);
        for (int w = 0; w < 2; ++w, ++killed) {
            worker(alive.back()).signal(SIGKILL);
            alive.pop_back();
        }
        add();
        add();
        // A worker that starts after the feed's end finds no feed.
        awaitJoined(static_cast<std::size_t>(numWorkers_));
    });
    EXPECT_GE(killed, 10);
    EXPECT_GE(numSaid("feed", "data: worker gone"), 2U) << said("feed");
    for (const int survivor : alive) {
        expectEnd(workers_.at(strCat("worker-", survivor)), 0);
    }
}

TEST_F(DataChaos, AStoppedWorkerIsGivenUpAndComesBackWhenItWakes) {
    addWorker();
    addWorker();
    awaitJoined(2);
    read([&](std::int64_t batch) {
        if (batch == batches_ / 4) {
            worker(0).signal(SIGSTOP);
            EXPECT_TRUE(test::eventually([&] {
                return numSaid("feed", "no report came for too long") > 0;
            })) << said("feed");
        } else if (batch == batches_ / 2) {
            worker(0).signal(SIGCONT);
            EXPECT_TRUE(test::eventually([&] {
                return numSaid("feed", "data: worker joined") > 2;
            })) << said("feed")
                << said("worker-0");
        }
    });
    expectEnd(workers_.at("worker-0"), 0);
    expectEnd(workers_.at("worker-1"), 0);
}

TEST_F(DataChaos, AWorkerLeavesInOrderAndAnotherTakesItsPlace) {
    addWorker();
    awaitJoined(1);
    read([&](std::int64_t batch) {
        if (batch == batches_ / 3) {
            addWorker();
            awaitJoined(2);
            worker(0).signal(SIGTERM);
        } else if (batch == 2 * batches_ / 3) {
            expectEnd(workers_.at("worker-0"), 0);
        }
    });
    EXPECT_EQ(numSaid("feed", "data: worker leaves"), 1U) << said("feed");
    expectEnd(workers_.at("worker-1"), 0);
}

// The feed computes the segments itself after its only worker was lost.
TEST_F(DataChaos, WithTheLastWorkerGoneTheFeedComputesItself) {
    addWorker();
    awaitJoined(1);
    read([&](std::int64_t batch) {
        if (batch == batches_ / 2) {
            worker(0).signal(SIGKILL);
        }
    });
    EXPECT_EQ(numSaid("feed", "data: worker gone"), 1U) << said("feed");
}

}  // namespace
}  // namespace millrace

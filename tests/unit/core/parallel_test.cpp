#include "backend/core/parallel.h"

#include <set>

#include <gtest/gtest.h>

#include "backend/core/mutex.h"

namespace millrace {
namespace {

TEST(ParallelFor, RunsEveryTurnOnceOnAnyNumberOfThreads) {
    for (const int threads : {0, 1, 3, 100}) {
        std::vector<std::atomic<int>> turns(50);
        const Status status = parallelFor(turns.size(), threads, "test", [&](std::size_t i) {
            ++turns[i];
            return okStatus();
        });
        EXPECT_TRUE(status.ok());
        for (const auto& turn : turns) {
            EXPECT_EQ(turn, 1);
        }
    }
    EXPECT_TRUE(parallelFor(0, 4, "test", [](std::size_t) { return internalError("ran"); }).ok());
}

TEST(ParallelFor, UsesAtMostSoManyThreads) {
    Mutex mutex;
    std::set<std::thread::id> seen;
    ASSERT_TRUE(parallelFor(200, 3, "test", [&](std::size_t) {
                    MutexLock lock(mutex);
                    seen.insert(std::this_thread::get_id());
                    return okStatus();
                }).ok());
    EXPECT_LE(seen.size(), 3U);
}

TEST(ParallelFor, FailsWithTheLowestIndexAndBeginsNoMore) {
    for (int round = 0; round < 200; ++round) {
        std::atomic<int> begun = 0;
        const Status status = parallelFor(100'000, 4, "test", [&](std::size_t i) {
            ++begun;
            return i % 10 == 7 ? invalidArgument("turn ", i) : okStatus();
        });
        EXPECT_EQ(messageOf(status), "turn 7");
        EXPECT_LT(begun, 100'000);
    }
}

}  // namespace
}  // namespace millrace

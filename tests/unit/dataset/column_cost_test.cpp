// A clock that does not ask the kernel for the processor time at every reading.
#include "backend/dataset/column_cost.h"

#include <atomic>
#include <thread>

#include <time.h>

#include <gtest/gtest.h>

namespace millrace::dataset {
namespace {

std::int64_t askedNs() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void work(std::int64_t ns) {
    for (const std::int64_t until = askedNs() + ns; askedNs() < until;) {
    }
}

// Any number of laps sums to the thread's time: errors do not accumulate.
TEST(CostClock, LapsAddUpToTheProcessorsTime) {
    constexpr std::int64_t kAll = 20'000'000;
    const std::int64_t start = askedNs();
    BusyClock clock;
    std::int64_t sum = 0, laps = 0, last = 0;
    for (; askedNs() - start < kAll; ++laps) {
        const std::int64_t lap = clock.lap();
        EXPECT_GE(lap, 0);
        sum += lap;
        last = CostClock::threadNs();
    }
    sum += clock.lap();
    const std::int64_t took = askedNs() - start;
    EXPECT_GT(laps, 100);
    EXPECT_GE(CostClock::threadNs(), last);
    // Besides one wrong guess, the thread may lose its core between two readings of this test.
    EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(took),
                static_cast<double>(20 * CostClock::kTrustNs));
}

TEST(CostClock, WaitingIsNotWork) {
    CostClock clock;
    std::atomic<bool> isDone = false;
    std::thread other([&] {
        work(20'000'000);
        isDone = true;
    });
    other.join();
    const ColumnCost cost = clock.lap("c", 7);
    EXPECT_TRUE(isDone);
    EXPECT_GE(cost.waitNs, 10'000'000);
    EXPECT_LT(cost.busyNs, 10'000'000);
    EXPECT_EQ(cost.column, "c");
    EXPECT_EQ(cost.diskBytes, 7);
}

}  // namespace
}  // namespace millrace::dataset

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "backend/core/bounded_queue.h"
#include "backend/core/memory_budget.h"
#include "backend/core/thread.h"

namespace millrace {
namespace {

TEST(BoundedQueue, GivesBackInOrder) {
    BoundedQueue<int> queue(3);
    EXPECT_TRUE(queue.push(1));
    EXPECT_TRUE(queue.push(2));
    EXPECT_EQ(queue.pop(), 1);
    EXPECT_EQ(queue.pop(), 2);
}

TEST(BoundedQueue, RefusesWhatDoesNotFit) {
    BoundedQueue<int> queue(1);
    EXPECT_TRUE(queue.tryPush(1));
    EXPECT_FALSE(queue.tryPush(2));
    EXPECT_EQ(queue.size(), 1U);
}

TEST(BoundedQueue, ClosingWakesAWaitingConsumerAndDrainsFirst) {
    BoundedQueue<int> queue(2);
    queue.push(7);
    std::atomic<int> sum{0};
    auto consumer = startThread("consumer", [&](std::stop_token) {
        while (auto value = queue.pop()) {
            sum += *value;
        }
        sum += 100;
    });
    queue.close();
    consumer.join();
    EXPECT_EQ(sum, 107);
    EXPECT_FALSE(queue.push(1));
}

TEST(BoundedQueue, AProducerWaitsForRoomAndNothingIsLost) {
    BoundedQueue<int> queue(2);
    auto producer = startThread("producer", [&](std::stop_token) {
        for (int i = 1; i <= 1000; ++i) {
            queue.push(i);
        }
        queue.close();
    });
    int expected = 1;
    while (auto value = queue.pop()) {
        ASSERT_EQ(*value, expected++);
    }
    EXPECT_EQ(expected, 1001);
}

TEST(BoundedQueue, WaitingForATimeEndsWithNothing) {
    BoundedQueue<int> queue(1);
    EXPECT_EQ(queue.popFor(std::chrono::milliseconds(1)), std::nullopt);
}

TEST(MemoryBudget, RefusesOverTheLimitAndSaysTheNumbers) {
    MemoryBudget budget(100'000'000);
    const auto first = budget.reserve(60'000'000, "the join table");
    ASSERT_TRUE(first.ok());
    const auto second = budget.reserve(60'000'000, "the window");
    ASSERT_EQ(second.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(messageOf(second.status()),
              "the window needs 60 MB, but 60 MB of memory_limit_mb 100 are taken; raise "
              "memory_limit_mb");
}

TEST(MemoryBudget, GivesBackWhenAReservationDies) {
    MemoryBudget budget(10);
    {
        const auto held = budget.reserve(10, "x");
    }
    EXPECT_EQ(budget.usedBytes(), 0);
    auto moved = budget.reserve(4, "x").value();
    moved = budget.reserve(5, "y").value();
    EXPECT_EQ(budget.usedBytes(), 5);
}

}  // namespace
}  // namespace millrace

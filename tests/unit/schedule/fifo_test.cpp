#include "backend/schedule/fifo.h"

#include <gtest/gtest.h>

namespace millrace::schedule {
namespace {

using Ids = std::vector<std::string>;

constexpr std::uint64_t kGb = 1'000'000'000;

QueuedJob job(const std::string& id, double cpus, int gpus = 0, int priority = 0) {
    return {id, {cpus, gpus, kGb}, priority};
}

const Supply kMachine{{4, 1, 16 * kGb}, 0};

TEST(Fifo, AnEmptyQueueStartsNothing) {
    const Decision decision = decide({}, {}, kMachine);
    EXPECT_TRUE(decision.start.empty() && decision.waiting.empty() && decision.neverFits.empty());
}

TEST(Fifo, JobsStartInOrderWhileTheyFit) {
    const Decision decision = decide({job("a", 2), job("b", 2), job("c", 1)}, {}, kMachine);
    EXPECT_EQ(decision.start, (Ids{"a", "b"}));
    ASSERT_EQ(decision.waiting.size(), 1U);
    EXPECT_EQ(decision.waiting[0].reason, "needs 1 cores, 0 free");
}

TEST(Fifo, ASmallJobDoesNotOvertakeALargeOneThatWaits) {
    const Decision decision =
        decide({job("large", 4), job("small", 1)}, {{"r", {1, 0, kGb}}}, kMachine);
    EXPECT_TRUE(decision.start.empty());
    ASSERT_EQ(decision.waiting.size(), 2U);
    EXPECT_EQ(decision.waiting[0].reason, "needs 4 cores, 3 free");
    EXPECT_EQ(decision.waiting[1].reason, "2nd of 2 in the queue");
}

TEST(Fifo, AJobIsToldItsPlaceAmongThoseThatWait) {
    std::vector<QueuedJob> queue = {job("starts", 4), job("huge", 1, 2)};
    for (int i = 1; i <= 23; ++i) {
        queue.push_back(job("j" + std::to_string(i), 1));
    }
    const Decision decision = decide(queue, {}, kMachine);
    ASSERT_EQ(decision.waiting.size(), 23U);
    for (const int place : {1, 2, 3, 4, 11, 12, 13, 21, 22, 23}) {
        const Waiting& waiting = decision.waiting[static_cast<std::size_t>(place - 1)];
        EXPECT_EQ(waiting.id, "j" + std::to_string(place));
        const std::string ending = place == 2 || place == 22   ? "nd"
                                   : place == 3 || place == 23 ? "rd"
                                   : place == 21               ? "st"
                                                               : "th";
        EXPECT_EQ(waiting.reason, place == 1
                                      ? "needs 1 cores, 0 free"
                                      : std::to_string(place) + ending + " of 23 in the queue");
    }
}

TEST(Fifo, AJobThatNeverFitsIsRefusedAndHoldsBackNobody) {
    const Decision decision = decide({job("huge", 1, 2), job("b", 1)}, {}, kMachine);
    ASSERT_EQ(decision.neverFits.size(), 1U);
    EXPECT_EQ(decision.neverFits[0].reason, "needs 2 GPUs, 1 in all");
    EXPECT_EQ(decision.start, Ids{"b"});
}

TEST(Fifo, AHigherPriorityGoesFirstAndTiesKeepTheirOrder) {
    const Decision decision =
        decide({job("a", 1), job("b", 1, 0, 5), job("c", 1), job("d", 1, 0, 5)}, {}, kMachine);
    EXPECT_EQ(decision.start, (Ids{"b", "d", "a", "c"}));
}

TEST(Fifo, MemoryCountsToo) {
    QueuedJob hungry = job("hungry", 1);
    hungry.needs.memoryBytes = 12 * kGb;
    const Decision decision = decide({hungry}, {{"r", {1, 0, 8 * kGb}}}, kMachine);
    ASSERT_EQ(decision.waiting.size(), 1U);
    EXPECT_NE(decision.waiting[0].reason.find("of memory"), std::string::npos);
}

TEST(Fifo, TheLimitOfRunningJobsIsKept) {
    Supply supply = kMachine;
    supply.maxRunning = 2;
    const Decision decision = decide({job("a", 1), job("b", 1)}, {{"r", {1, 0, kGb}}}, supply);
    EXPECT_EQ(decision.start, Ids{"a"});
    ASSERT_EQ(decision.waiting.size(), 1U);
    EXPECT_EQ(decision.waiting[0].reason, "2 runs are going, which is the limit");
}

TEST(Fifo, TenthsOfCoresAddUp) {
    std::vector<QueuedJob> queue;
    for (int i = 0; i < 40; ++i) {
        queue.push_back(job("j" + std::to_string(i), 0.1));
        queue.back().needs.memoryBytes = 0;
    }
    EXPECT_EQ(decide(queue, {}, kMachine).start.size(), 40U);
}

TEST(Fifo, MoreHeldThanThereIsLeavesNothingFreeAndDoesNotWrapAround) {
    const Decision decision = decide({job("a", 1)}, {{"r", {99, 9, 99 * kGb}}}, kMachine);
    EXPECT_TRUE(decision.start.empty());
}

}  // namespace
}  // namespace millrace::schedule

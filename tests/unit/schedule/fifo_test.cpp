#include "backend/schedule/fifo.h"

#include <gtest/gtest.h>

namespace millrace::schedule {
namespace {

using Ids = std::vector<std::string>;

constexpr std::uint64_t kGb = 1'000'000'000;
using Where = Part::Where;

Job job(const std::string& id, double cpus, int gpus = 0) {
    return {id, {{{cpus, gpus, kGb}, Where::kHead, 0}}};
}

Job onNodes(const std::string& id, int count, double cpus) {
    return {id,
            std::vector<Part>(static_cast<std::size_t>(count), {{cpus, 0, 0}, Where::kOther, 0})};
}

Node node(const std::string& name, double cores) {
    return {name, {cores, 0, kGb}, {cores, 0, kGb}, true};
}

// A head's machine with this much taken.
std::vector<Node> machine(Resources held = {}) {
    Node head{"", {4, 1, 16 * kGb}, {4, 1, 16 * kGb}, true};
    head.free -= held;
    return {head};
}

TEST(Fifo, AnEmptyQueueStartsNothing) {
    const Decision decision = decide({}, {}, machine());
    EXPECT_TRUE(decision.start.empty() && decision.waiting.empty() && decision.neverFits.empty());
}

TEST(Fifo, JobsStartInOrderWhileTheyFit) {
    const Decision decision = decide({job("a", 2), job("b", 2), job("c", 1)}, {}, machine());
    EXPECT_EQ(decision.start, (Ids{"a", "b"}));
    ASSERT_EQ(decision.waiting.size(), 1U);
    EXPECT_EQ(decision.waiting[0].reason, "needs 1 core, 0 free on the head's machine");
}

TEST(Fifo, ASmallJobDoesNotOvertakeALargeOneThatWaits) {
    const Decision decision = decide({job("large", 4), job("small", 1)}, {}, machine({1, 0, kGb}));
    EXPECT_TRUE(decision.start.empty());
    ASSERT_EQ(decision.waiting.size(), 2U);
    EXPECT_EQ(decision.waiting[0].reason, "needs 4 cores, 3 free on the head's machine");
    EXPECT_EQ(decision.waiting[1].reason, "2nd of 2 in the queue");
}

TEST(Fifo, AJobIsToldItsPlaceAmongThoseThatWait) {
    std::vector<Job> queue = {job("starts", 4), job("huge", 1, 2)};
    for (int i = 1; i <= 23; ++i) {
        queue.push_back(job("j" + std::to_string(i), 1));
    }
    const Decision decision = decide(queue, {}, machine());
    ASSERT_EQ(decision.waiting.size(), 23U);
    for (const int place : {1, 2, 3, 4, 11, 12, 13, 21, 22, 23}) {
        const Waiting& waiting = decision.waiting[static_cast<std::size_t>(place - 1)];
        EXPECT_EQ(waiting.id, "j" + std::to_string(place));
        const std::string ending = place == 2 || place == 22   ? "nd"
                                   : place == 3 || place == 23 ? "rd"
                                   : place == 21               ? "st"
                                                               : "th";
        EXPECT_EQ(waiting.reason, place == 1
                                      ? "needs 1 core, 0 free on the head's machine"
                                      : std::to_string(place) + ending + " of 23 in the queue");
    }
}

TEST(Fifo, AJobThatNeverFitsIsRefusedAndHoldsBackNobody) {
    const Decision decision = decide({job("huge", 1, 2), job("b", 1)}, {}, machine());
    ASSERT_EQ(decision.neverFits.size(), 1U);
    EXPECT_EQ(decision.neverFits[0].reason, "needs 2 GPUs, 1 in all on the head's machine");
    EXPECT_EQ(decision.start, Ids{"b"});
}

TEST(Fifo, MemoryCountsToo) {
    Job hungry = job("hungry", 1);
    hungry.parts[0].needs.memoryBytes = 12 * kGb;
    const Decision decision = decide({hungry}, {}, machine({1, 0, 8 * kGb}));
    ASSERT_EQ(decision.waiting.size(), 1U);
    EXPECT_NE(decision.waiting[0].reason.find("of memory"), std::string::npos);
}

TEST(Fifo, TenthsOfCoresAddUp) {
    std::vector<Job> queue;
    for (int i = 0; i < 40; ++i) {
        queue.push_back(job("j" + std::to_string(i), 0.1));
        queue.back().parts[0].needs.memoryBytes = 0;
    }
    EXPECT_EQ(decide(queue, {}, machine()).start.size(), 40U);
}

TEST(Fifo, MoreHeldThanThereIsLeavesNothingFreeAndDoesNotWrapAround) {
    const Decision decision = decide({job("a", 1)}, {}, machine({99, 9, 99 * kGb}));
    EXPECT_TRUE(decision.start.empty());
}

TEST(Fifo, WhatHasStartedAndHasYetToGetItsNodesComesFirst) {
    const Decision decision = decide({job("b", 2), job("c", 2)}, {job("a", 2)}, machine());
    EXPECT_EQ(decision.start, Ids{"b"});
    const Decision later = decide({job("b", 1)}, {job("a", 4)}, machine({1, 0, kGb}));
    ASSERT_EQ(later.waiting.size(), 1U);
    EXPECT_EQ(later.waiting[0].reason, "waits until run a has its nodes");
    const Decision absent = decide({job("b", 1)}, {onNodes("a", 2, 1)}, machine());
    EXPECT_EQ(absent.start, Ids{"b"}) << "nobody knows when nodes come";
}

TEST(Fifo, AJobForNodesThatAreNotThereWaitsAndHoldsBackNobody) {
    std::vector<Node> nodes = machine();
    nodes.push_back(node("n1", 2));
    const Decision decision =
        decide({onNodes("two", 2, 1), onNodes("one", 1, 1), job("b", 1)}, {}, nodes);
    EXPECT_EQ(decision.start, (Ids{"one", "b"}));
    ASSERT_EQ(decision.lacksNodes.size(), 1U);
    EXPECT_EQ(decision.lacksNodes[0].reason,
              "needs 2 nodes with 1 core free for each; ready: n1 (millrace nodes)");
}

TEST(Fifo, OneForWhichANodeIsBusyHoldsBackThoseBehindIt) {
    std::vector<Node> nodes = machine();
    nodes.push_back(node("n1", 2));
    nodes.back().free.cpus = 1;
    const Decision decision = decide({onNodes("large", 1, 2), onNodes("small", 1, 1)}, {}, nodes);
    EXPECT_TRUE(decision.start.empty());
    ASSERT_EQ(decision.waiting.size(), 2U);
    EXPECT_EQ(decision.waiting[0].reason,
              "needs 1 node with 2 cores free for each; ready: none (millrace nodes)");
}

TEST(NodeFit, PartsGoToTheNodesWithMostFreeAndOnesBesideAnotherGoWithIt) {
    std::vector<Node> nodes = machine();
    nodes.push_back(node("n1", 2));
    nodes.push_back(node("n2", 8));
    nodes.push_back(node("n3", 8));
    nodes.back().mayTake = false;
    const std::vector<Part> parts = {{{1, 0, 0}, Where::kHead, 0},
                                     {{1, 0, 0}, Where::kOther, 0},
                                     {{1, 0, 0}, Where::kBeside, 1},
                                     {{1, 0, 0}, Where::kBeside, 0}};
    const Fit found = fit(parts, nodes);
    EXPECT_EQ(found.nodes, (Ids{"", "n2", "n2", ""}));
    take(parts, found.nodes, nodes);
    EXPECT_EQ(nodes[0].free.cpus, 2);
    EXPECT_EQ(nodes[2].free.cpus, 6);
}

TEST(NodeFit, ANeedWrittenForALargerMachineFitsAFreeOneButGpusAreNotMadeUp) {
    EXPECT_EQ(withinNode({64, 1, 9'000}, {2, 0, 1'000}), (Resources{2, 1, 1'000}));
    std::vector<Node> nodes = machine();
    nodes.push_back(node("n1", 2));
    EXPECT_EQ(fit(onNodes("a", 1, 64).parts, nodes).kind, Fit::Kind::kNow);
    const std::vector<Part> gpu = {{{1, 1, 0}, Where::kOther, 0}};
    EXPECT_EQ(fit(gpu, nodes).kind, Fit::Kind::kLacksNodes);
    EXPECT_EQ(fit(job("a", 1, 2).parts, nodes).kind, Fit::Kind::kNever);
}

}  // namespace
}  // namespace millrace::schedule

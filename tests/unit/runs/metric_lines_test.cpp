// Followers of a run read each line once, even if the store seals, cuts or reopens the series
// meanwhile.
#include <random>
#include <set>

#include "tests/unit/runs/fixture.h"

namespace millrace::runs {
namespace {

using values::MetricCursor;
using values::MetricLine;

class MetricLinesTest : public RunStoreTest {
 protected:
    MetricLinesTest() : id(create("base")) { EXPECT_TRUE(store->beginAttempt(id, 1, 0).ok()); }

    MetricLines next(std::size_t most = 1000) {
        const auto page = store->metricLines(id, cursor, most);
        EXPECT_TRUE(page.ok()) << page.status();
        cursor = page.ok() ? page->cursor : cursor;
        return page.ok() ? *page : MetricLines{};
    }
    // Reads all new lines into `seen`; a new attempt first drops lines.
    void follow(std::size_t most) {
        for (bool isMore = true; isMore;) {
            const MetricLines page = next(most);
            if (page.replacesAfterStep) {
                std::erase_if(seen, [&](const MetricLine& line) {
                    return line.step > *page.replacesAfterStep;
                });
            }
            seen.insert(seen.end(), page.lines.begin(), page.lines.end());
            isMore = page.isMore;
        }
    }
    std::vector<std::int64_t> stepsSeen() const {
        std::vector<std::int64_t> steps;
        for (const MetricLine& line : seen) {
            steps.push_back(line.step);
        }
        return steps;
    }

    std::string id;
    MetricCursor cursor;
    std::vector<MetricLine> seen;
};

TEST_F(MetricLinesTest, ALineHasItsValuesTogether) {
    LineBatch batch{id, 1, "rank0", 1};
    batch.rank = 0;
    batch.metrics.push_back({1, 5, 2, 40, 77, {{"loss", 0.5}, {"eval.auc", 0.75}}});
    ASSERT_TRUE(store->commitLines(batch).ok());
    const MetricLines page = next();
    ASSERT_EQ(page.lines.size(), 1U);
    const MetricLine& line = page.lines[0];
    EXPECT_EQ(line.step, 5);
    EXPECT_EQ(line.epoch, 2);
    EXPECT_EQ(line.rows, 40);
    EXPECT_EQ(line.timeMs, 77);
    EXPECT_EQ(line.attempt, 1);
    EXPECT_EQ(line.rank, values::kNoRank);
    ASSERT_EQ(line.values.size(), 2U);
    const auto names = store->metricNames({line.values[0].key, line.values[1].key});
    EXPECT_EQ(names->size(), 2U);
    EXPECT_EQ(names->at(line.values[0].key), "loss");
    EXPECT_EQ(line.values[0].value, 0.5);
    EXPECT_FALSE(page.isMore);
    EXPECT_FALSE(page.hasEnded);
    EXPECT_TRUE(next().lines.empty()) << "once";
}

TEST_F(MetricLinesTest, ASealBetweenTwoReadsHidesNothingAndRepeatsNothing) {
    for (int step = 1; step <= 10; ++step) {
        ASSERT_TRUE(append(id, 1, step, step).ok());
    }
    follow(4);
    ASSERT_TRUE(append(id, 1, 11, 11).ok());
    ASSERT_TRUE(store->setState(id, {values::RunState::kCancelled, "", 0}).ok());  // it seals
    EXPECT_TRUE(store->metricLines(id, cursor, 10)->hasEnded);
    follow(4);
    ASSERT_TRUE(append(id, 1, 12, 12).ok());
    follow(4);
    EXPECT_EQ(stepsSeen(), (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
}

TEST_F(MetricLinesTest, ANewAttemptIsToldOnceAlsoToWhoWasAway) {
    for (int step = 1; step <= 6; ++step) {
        ASSERT_TRUE(append(id, 1, step, step).ok());
    }
    follow(100);
    ASSERT_TRUE(store->beginAttempt(id, 2, 3).ok());
    EXPECT_FALSE(next().replacesAfterStep) << "it has not begun";
    ASSERT_TRUE(append(id, 2, 4, 40).ok());
    ASSERT_TRUE(store->beginAttempt(id, 3, 2).ok());
    ASSERT_TRUE(append(id, 3, 3, 30).ok());
    const MetricLines page = next();
    ASSERT_TRUE(page.replacesAfterStep);
    EXPECT_EQ(*page.replacesAfterStep, 2);
    ASSERT_EQ(page.lines.size(), 1U) << "what attempt 2 said is void by now";
    EXPECT_EQ(page.lines[0].values[0].value, 30);
    EXPECT_EQ(page.cursor.attempt, 3);
    EXPECT_FALSE(next().replacesAfterStep);
    cursor = {};
    EXPECT_FALSE(next().replacesAfterStep) << "a new follower has nothing to drop";
}

TEST_F(MetricLinesTest, SeriesTellWhereTheLinesGoOn) {
    ASSERT_TRUE(append(id, 1, 1, 1).ok());
    const auto read = store->metricsAtCursor(id, {{"loss", {}}});
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->series.at(0).points.size(), 1U);
    ASSERT_TRUE(append(id, 1, 2, 2).ok());
    cursor = read->cursor;
    follow(10);
    EXPECT_EQ(stepsSeen(), std::vector<std::int64_t>{2});
}

TEST_F(MetricLinesTest, WhateverHappensEachValueIsReadOnce) {
    for (unsigned seed = 1; seed <= 6; ++seed) {
        std::mt19937 random(seed);
        const auto below = [&](unsigned limit) {
            return static_cast<std::int64_t>(random() % limit);
        };
        id = create("seed");
        ASSERT_TRUE(store->beginAttempt(id, 1, 0).ok());
        cursor = {};
        seen.clear();
        std::multiset<std::pair<std::int64_t, double>> truth;  // (step, value)
        std::int64_t step = 0, seq = 0;
        int attempt = 1;
        double value = 0;
        for (int round = 0; round < 60; ++round) {
            if (below(12) == 0 && step > 0) {
                const std::int64_t from = below(static_cast<unsigned>(step));
                ASSERT_TRUE(store->beginAttempt(id, ++attempt, from).ok());
                ASSERT_TRUE(work(id, attempt).ok());
                std::erase_if(truth, [&](const auto& one) { return one.first > from; });
                step = from;
                seq = 0;
            } else if (below(12) == 0) {
                reopen();
            } else if (below(12) == 0) {
                ASSERT_TRUE(store->setState(id, {values::RunState::kFinished, "", 0}).ok());
            } else {
                LineBatch batch{id, attempt, "rank0", 0};
                batch.rank = 0;
                for (std::int64_t i = below(400); i >= 0; --i) {
                    ReportedLine line{++seq, ++step, 0, step, step, {{"loss", ++value}}};
                    truth.emplace(step, value);
                    if (below(40) == 0) {
                        line.values.emplace_back("eval.auc", ++value);
                        truth.emplace(step, value);
                    }
                    batch.metrics.push_back(std::move(line));
                }
                batch.lastSeq = seq;
                ASSERT_TRUE(store->commitLines(batch).ok());
            }
            if (below(3) == 0 || round == 59) {
                follow(static_cast<std::size_t>(1 + below(500)));
                std::multiset<std::pair<std::int64_t, double>> told;
                for (const MetricLine& line : seen) {
                    for (const values::MetricValue& one : line.values) {
                        told.emplace(line.step, one.value);
                    }
                }
                ASSERT_EQ(told, truth) << "seed " << seed << ", round " << round;
            }
        }
    }
}

}  // namespace
}  // namespace millrace::runs

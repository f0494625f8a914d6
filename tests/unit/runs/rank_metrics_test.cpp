// Metrics of several ranks: summaries by step, ranges of them, and each rank's own values.
#include <map>
#include <random>

#include "backend/runs/metrics/rank_fold.h"
#include "tests/unit/runs/fixture.h"

namespace millrace::runs {
namespace {

using values::RankSpread;

class RankMetricsTest : public RunStoreTest {
 protected:
    void begin(int numRanks) {
        id = create("base");
        ASSERT_TRUE(store->beginAttempt(id, 1, 0, false, numRanks).ok());
    }
    // One line of a rank: its stall and, for rank 0, the loss.
    LineBatch lineOf(int rank, std::int64_t step, double stall, int attempt = 1) {
        const std::int64_t seq = ++seqs[{attempt, rank}];
        LineBatch batch{id, attempt, strCat("rank", rank), seq};
        batch.rank = rank;
        batch.metrics.push_back({seq,
                                 step,
                                 0,
                                 step * 8,
                                 step * 100 + rank,
                                 {{"input_stall_percent", stall}, {"loss", 0.5 + rank}}});
        return batch;
    }
    void report(int rank, std::int64_t step, double stall, int attempt = 1) {
        const auto commit = store->commitLines(lineOf(rank, step, stall, attempt));
        ASSERT_TRUE(commit.ok()) << commit.status();
    }
    values::MetricSeries series(const std::string& key = "input_stall_percent", int rank = -1) {
        MetricRange range;
        range.maxPoints = 0;
        range.rank = rank;
        const auto read = store->metrics(id, key, range);
        EXPECT_TRUE(read.ok()) << read.status();
        return read.ok() ? *read : values::MetricSeries{};
    }

    std::string id;
    std::map<std::pair<int, int>, std::int64_t> seqs;
};

TEST_F(RankMetricsTest, OneRankHasValuesAsEver) {
    begin(1);
    report(0, 1, 12);
    const values::MetricSeries stall = series();
    ASSERT_EQ(stall.points.size(), 1U);
    EXPECT_EQ(stall.points[0].value, 12);
    EXPECT_FALSE(stall.points[0].ranks);
    EXPECT_EQ(series("input_stall_percent", 0).points, stall.points) << "rank 0 is the run";
    EXPECT_EQ(store->metrics(id, "loss", {0, INT64_MAX, 0, 1}).status().code(),
              absl::StatusCode::kInvalidArgument);
}

TEST_F(RankMetricsTest, AStepIsSummarizedWhenAllRanksHaveReachedIt) {
    begin(4);
    report(3, 1, 40);
    report(0, 1, 10);
    report(2, 1, 20);
    EXPECT_TRUE(series().points.empty()) << "rank 1 has not spoken";
    report(1, 1, 30);
    const values::MetricSeries stall = series();
    ASSERT_EQ(stall.points.size(), 1U);
    EXPECT_EQ(stall.points[0].value, 20) << "the lower of the two in the middle";
    EXPECT_EQ(stall.points[0].ranks, (RankSpread{10, 40, 0, 3, 4}));
    EXPECT_EQ(store->get(id)->newest("input_stall_percent")->value, 20);
}

TEST_F(RankMetricsTest, TheRunsOwnFiguresComeFromRankZeroAtOnce) {
    begin(2);
    report(1, 1, 5);
    EXPECT_TRUE(series("loss").points.empty()) << "rank 1's loss is not the run's";
    report(0, 1, 6);
    ASSERT_EQ(series("loss").points.size(), 1U);
    EXPECT_EQ(series("loss").points[0].value, 0.5);
    EXPECT_FALSE(series("loss").points[0].ranks);
}

TEST_F(RankMetricsTest, ARankThatIsFarBehindIsNotWaitedForAndStillCounts) {
    begin(3);
    report(2, 1, 1);
    for (std::int64_t step = 1; step <= kOpenSteps + 2; ++step) {
        report(0, step, 10);
        report(1, step, 20);
    }
    // Rank 2 is at step 1: steps more than kOpenSteps behind the others are summarized without it.
    ASSERT_EQ(series().points.size(), 2U);
    EXPECT_EQ(series().points[0].ranks, (RankSpread{1, 20, 2, 1, 3}));
    EXPECT_EQ(series().points[1].ranks, (RankSpread{10, 20, 0, 1, 2}));
    report(2, 2, 90);
    const values::MetricSeries late = series();
    ASSERT_EQ(late.points.size(), 2U) << "one point a step";
    EXPECT_EQ(late.points[1].ranks, (RankSpread{10, 90, 0, 2, 3}));
    EXPECT_EQ(late.points[1].value, 10) << "the median is that of the ranks that came in time";
    ASSERT_TRUE(store->setState(id, {values::RunState::kFinished, "", 0}).ok());
    EXPECT_EQ(series().points.size(), std::size_t{kOpenSteps} + 2) << "an end waits for nobody";
    EXPECT_EQ(series().points[1].ranks, (RankSpread{10, 90, 0, 2, 3})) << "sealed, too";
}

TEST_F(RankMetricsTest, EachRanksOwnValuesAreKeptOfAFewRanksOnly) {
    begin(2);
    for (int step = 1; step <= 3; ++step) {
        report(0, step, step);
        report(1, step, 10 + step);
    }
    const values::MetricSeries one = series("input_stall_percent", 1);
    ASSERT_EQ(one.points.size(), 3U);
    EXPECT_EQ(one.rank, 1);
    EXPECT_EQ(one.points[2].value, 13);
    EXPECT_FALSE(one.points[2].ranks);
    begin(kRanksKept + 1);
    seqs.clear();
    report(0, 1, 1);
    const Status refused = store->metrics(id, "input_stall_percent", {0, INT64_MAX, 0, 0}).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(messageOf(refused).find("has 17 ranks: of more than 16 the least, the median and the "
                                      "greatest are kept"),
              std::string_view::npos)
        << refused;
}

TEST_F(RankMetricsTest, ANewAttemptVoidsWhatStillWaited) {
    begin(2);
    for (int step = 1; step <= 5; ++step) {
        report(0, step, step);
        if (step < 4) {
            report(1, step, 10 + step);
        }
    }
    ASSERT_TRUE(store->beginAttempt(id, 2, 2, false, 2).ok());
    report(0, 3, 7, 2);
    report(1, 3, 8, 2);
    const values::MetricSeries stall = series();
    ASSERT_EQ(stall.points.size(), 3U);
    EXPECT_EQ(stall.points[1].ranks, (RankSpread{2, 12, 0, 1, 2}));
    EXPECT_EQ(stall.points[2].ranks, (RankSpread{7, 8, 0, 1, 2}));
    EXPECT_EQ(stall.points[2].attempt, 2);
}

TEST_F(RankMetricsTest, ARangeHasTheEndsOfAllRanksHoweverThinItIs) {
    constexpr int kRanks = 8, kSteps = 3'000;
    begin(kRanks);
    std::mt19937 random(5);
    double least = 1e9, greatest = -1e9;
    values::SeriesEnds truth;
    std::vector<LineBatch> batches(kRanks);
    for (int rank = 0; rank < kRanks; ++rank) {
        batches[static_cast<std::size_t>(rank)] = {id, 1, strCat("rank", rank), kSteps};
        batches[static_cast<std::size_t>(rank)].rank = rank;
    }
    for (std::int64_t step = 1; step <= kSteps; ++step) {
        for (int rank = 0; rank < kRanks; ++rank) {
            const double value = static_cast<double>(random() % 1'000'000);
            batches[static_cast<std::size_t>(rank)].metrics.push_back(
                {step, step, 0, step, step, {{"input_stall_percent", value}}});
            if (value < least) {
                least = value;
                truth.least = {value, step, rank};
            }
            if (value > greatest) {
                greatest = value;
                truth.greatest = {value, step, rank};
            }
        }
    }
    for (const LineBatch& batch : batches) {
        ASSERT_TRUE(store->commitLines(batch).ok());
    }
    ASSERT_TRUE(store->setState(id, {values::RunState::kFinished, "", 0}).ok());
    for (const int most : {6, 50, 400, 1000}) {
        const values::MetricSeries thin =
            *store->metrics(id, "input_stall_percent", {0, INT64_MAX, most});
        EXPECT_TRUE(thin.isDecimated);
        EXPECT_LE(thin.points.size(), static_cast<std::size_t>(most));
        const auto ends = values::endsOf(thin.points);
        ASSERT_TRUE(ends);
        EXPECT_EQ(ends->least, truth.least) << most;
        EXPECT_EQ(ends->greatest, truth.greatest) << most;
    }
}

}  // namespace
}  // namespace millrace::runs

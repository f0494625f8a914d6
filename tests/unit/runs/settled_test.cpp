// Checkpoints of ranks that do not meet at each step: one counts once every rank has ended its
// step.
#include "tests/unit/runs/fixture.h"

namespace millrace::runs {
namespace {

class SettledTest : public RunStoreTest {
 protected:
    SettledTest() {
        id = create("base");
        EXPECT_TRUE(store->beginAttempt(id, 1, 0, false, 2, false).ok());
    }
    LineCommit commit(LineBatch batch) {
        const auto commit = store->commitLines(batch);
        EXPECT_TRUE(commit.ok()) << commit.status();
        return commit.value_or(LineCommit{});
    }
    LineBatch batch(int rank, std::optional<std::int64_t> ended, int attempt = 1) {
        LineBatch batch{id, attempt, "rank" + std::to_string(rank), ++seq};
        batch.rank = rank;
        batch.endedStep = ended;
        return batch;
    }
    LineCommit end(int rank, std::int64_t step, int attempt = 1) {
        return commit(batch(rank, step, attempt));
    }
    LineCommit checkpoint(std::int64_t step, int attempt = 1) {
        LineBatch lines = batch(0, step, attempt);
        CheckpointRecord record;
        record.attempt = attempt;
        record.seq = seq;
        record.step = step;
        record.name = "step" + std::to_string(step);
        lines.checkpoints = {record};
        return commit(lines);
    }
    std::vector<std::int64_t> steps(bool withRest = false) {
        std::vector<std::int64_t> steps;
        const auto all = store->checkpoints(id, withRest).value();
        for (const CheckpointRecord& one : all) {
            steps.push_back(one.step);
        }
        return steps;
    }

    std::string id;
    std::int64_t seq = 0;
};

using Steps = std::vector<std::int64_t>;

TEST_F(SettledTest, ACheckpointWaitsForTheSlowestRank) {
    EXPECT_FALSE(checkpoint(8).hasSettled);
    EXPECT_EQ(steps(), Steps{});
    EXPECT_EQ(steps(true), Steps{8});
    EXPECT_TRUE(store->checkpoints(id, true)->front().isWaiting);
    EXPECT_FALSE(end(1, 7).hasSettled);
    EXPECT_FALSE(checkpoint(16).hasSettled);
    EXPECT_TRUE(end(1, 9).hasSettled);
    EXPECT_EQ(steps(), Steps{8});
    EXPECT_FALSE(end(1, 15).hasSettled);
    reopen();  // the daemon remembers another step
    EXPECT_TRUE(end(1, kAllEnded).hasSettled) << "it is done";
    EXPECT_EQ(steps(), (Steps{16, 8}));
    EXPECT_FALSE(store->checkpoints(id)->front().isWaiting);
}

TEST_F(SettledTest, ACheckpointOfAStepThatTheOthersHaveEndedCountsAtOnce) {
    end(1, 20);
    EXPECT_TRUE(checkpoint(16).hasSettled);
    EXPECT_EQ(steps(), Steps{16});
}

TEST_F(SettledTest, AFileThatComesFromItsNodeWaitsForTheSlowestRankToo) {
    CheckpointRecord record;
    record.attempt = 1;
    record.step = 8;
    record.name = "step8";
    end(0, 20);
    end(1, 7);
    ASSERT_TRUE(store->addCheckpoint(id, record).ok());
    EXPECT_EQ(steps(), Steps{});
    EXPECT_TRUE(end(1, 9).hasSettled);
    EXPECT_EQ(steps(), Steps{8});
    end(1, 20);
    record.step = 16;
    record.name = "step16";
    ASSERT_TRUE(store->addCheckpoint(id, record).ok());
    EXPECT_EQ(steps(), (Steps{16, 8})) << "no line follows that would settle it";
}

TEST_F(SettledTest, TheNextAttemptBeginsWhereTheSlowestWasAndOwesNothingToWhatWaited) {
    checkpoint(8);
    end(1, 8);
    checkpoint(16);
    ASSERT_TRUE(store->beginAttempt(id, 2, 8, true, 2, false).ok());
    LineBatch work = batch(0, 8, 2);
    work.progress = Progress{.step = 9};
    commit(work);
    end(1, 12, 2);
    EXPECT_EQ(steps(), Steps{8}) << "what attempt 1 had not settled is void";
    EXPECT_TRUE(checkpoint(10, 2).hasSettled);
    EXPECT_EQ(steps(), (Steps{10, 8}));
}

TEST_F(SettledTest, RanksThatMeetWaitForNobody) {
    const std::string other = create("other");
    ASSERT_TRUE(store->beginAttempt(other, 1, 0, false, 2).ok());
    LineBatch lines{other, 1, "rank0", 1};
    lines.rank = 0;
    lines.endedStep = 8;
    CheckpointRecord record;
    record.step = 8;
    record.seq = 1;
    record.name = "step8";
    lines.checkpoints = {record};
    EXPECT_FALSE(commit(lines).hasSettled);
    EXPECT_EQ(store->checkpoints(other)->size(), 1U);
}

TEST_F(SettledTest, AFileThatASurveyVouchesForCounts) {
    checkpoint(8);
    CheckpointRecord found = store->checkpoints(id, true)->front();
    ASSERT_TRUE(store->reconcileCheckpoints(id, {found}, {}).ok());
    EXPECT_EQ(steps(), Steps{8});
}

}  // namespace
}  // namespace millrace::runs

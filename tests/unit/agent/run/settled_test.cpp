// Runs of several ranks that do not meet at each step: the checkpoint from which they resume, and
// when they are finished.
#include <fstream>

#include "backend/feed/link/step_page.h"
#include "backend/stream/state/stream_state.h"
#include "tests/unit/agent/fakes.h"

namespace millrace::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using values::RunState;

class SettledTest : public AgentTest {
 protected:
    /// Submits a script of two ranks, which trains.
    std::string script(int ranks = 2) {
        InspectedRun run = someInspected();
        run.spec["command"] = {"/bin/true"};
        run.spec["train"]["ranks"] = ranks;
        inspector.reply->runs = {run};
        const auto outcome = service->submit(order());
        EXPECT_TRUE(outcome.ok()) << outcome.status();
        controller->drain();
        const std::string id = outcome->runs.at(0).id;
        meet(id, 1, ranks);
        return id;
    }
    void meet(const std::string& id, int attempt, int ranks = 2) {
        for (int rank = 0; rank < ranks; ++rank) {
            door(id, attempt)->listener.onHello(rank + 1, of(id, attempt, rank));
        }
        controller->drain();
    }
    static rank::Sender of(const std::string& id, int attempt, int rank) {
        return {id, attempt, "rank", rank, 100};
    }
    void tell(const std::string& id, int rank, rank::Body body, std::int64_t ended,
              int attempt = 1) {
        rank::RankLine line;
        line.seq = ++seq;
        line.attempt = attempt;
        line.body = std::move(body);
        line.ended = ended;
        EXPECT_TRUE(door(id, attempt)->listener.onLine(rank + 1, of(id, attempt, rank), line));
        clock.advanceMs(50);
        controller->drain();
    }
    /// Writes a checkpoint of rank 0 in the middle of its step.
    void save(const std::string& id, std::int64_t step, int attempt = 1) {
        writeCheckpoint(id, step, attempt);
        const checkpoint::CheckpointName name{step, attempt};
        tell(id, 0, rank::Checkpoint{step, name.text(), 7, "h", "{}"}, step - 1, attempt);
    }
    void begin(const std::string& id, int rank, std::int64_t step, int attempt = 1) {
        tell(id, rank, rank::Progress{step, 0, step, 0, "training"}, step - 1, attempt);
    }
    void leaveAll(const std::string& id, int attempt = 1) {
        for (int connection : {1, 2}) {
            door(id, attempt)->listener.onClosed(connection, of(id, attempt, connection - 1), "");
        }
        controller->drain();
    }
    void kill(const std::string& id, int attempt = 1) {
        leaveAll(id, attempt);
        endGang(id, attempt, 137, 137);
    }
    /// Lets rank 1 of the first attempt exit with 0.
    void exitWell(const std::string& id) {
        for (engines::WorkerState& worker : engine.states[id + ".a1"].workers) {
            worker.exitCode = worker.name == "rank1" ? std::optional(0) : worker.exitCode;
        }
        controller->post(id + ".a1", engine.states[id + ".a1"]);
        controller->drain();
    }
    std::vector<std::string> files(const std::string& id) const {
        std::vector<std::string> names;
        for (const auto& entry :
             std::filesystem::directory_iterator(root + "/runs/" + id + "/checkpoints")) {
            names.push_back(entry.path().filename().string());
        }
        std::sort(names.begin(), names.end());
        return names;
    }

    std::uint64_t seq = 0;
};

TEST_F(SettledTest, TheNextAttemptBeginsAtAStepThatAllRanksHaveEnded) {
    const std::string id = script();
    save(id, 8);
    begin(id, 1, 9);
    save(id, 16);
    save(id, 24);
    begin(id, 1, 16);
    ASSERT_EQ(store->checkpoints(id)->size(), 1U);
    kill(id);
    ASSERT_EQ(record(id).attempt, 2);
    EXPECT_EQ(resumeOf(id, 2), checkpointPath(id, 8));
    EXPECT_THAT(history(id), HasSubstr("not all ranks had ended its step"));
    meet(id, 2);
    begin(id, 0, 9, 2);
    begin(id, 1, 12, 2);
    save(id, 16, 2);
    begin(id, 1, 17, 2);
    EXPECT_EQ(store->checkpoints(id)->front().attempt, 2);
    EXPECT_EQ(store->checkpoints(id)->front().step, 16);
}

TEST_F(SettledTest, BeforeTheFirstStepThatAllHaveEndedItBeginsAgainAtItsStart) {
    const std::string id = script();
    save(id, 8);
    begin(id, 1, 3);
    kill(id);
    ASSERT_EQ(record(id).attempt, 2) << record(id).exitReason;
    EXPECT_EQ(resumeOf(id, 2), "");
}

TEST_F(SettledTest, WhatRanksCouldNotTellAnyMoreIsReadFromTheirPage) {
    const std::string id = script();
    save(id, 8);
    save(id, 16);
    {
        ring::StepPage page;
        std::string error;
        ASSERT_TRUE(page.open(root + "/runs/" + id + "/a1/steps.page", error)) << error;
        page.end(0, 15);
        page.end(1, 9);
    }
    kill(id);
    EXPECT_EQ(resumeOf(id, 2), checkpointPath(id, 8));
    ASSERT_EQ(store->checkpoints(id)->size(), 1U);
    EXPECT_EQ(store->checkpoints(id)->front().step, 8);
}

TEST_F(SettledTest, ACheckpointThatWaitsOutlivesTheDaemon) {
    const std::string id = script();
    save(id, 8);
    listeners.listeners.clear();
    makeController();
    ASSERT_TRUE(controller->recover().ok());
    meet(id, 1);
    EXPECT_TRUE(store->checkpoints(id)->empty());
    begin(id, 1, 9);
    EXPECT_EQ(store->checkpoints(id)->size(), 1U);
}

TEST_F(SettledTest, CheckpointsThatWaitStaySpreadAndAreNotWithoutBound) {
    const std::string id = script();
    for (std::int64_t step = 8; step <= 8 * 32; step += 8) {
        save(id, step);
    }
    // keep 2, and 2 more
    const std::vector<std::string> kept = files(id);
    ASSERT_EQ(kept.size(), 4U);
    EXPECT_THAT(kept.front(), HasSubstr("00000008"));
    EXPECT_THAT(kept.back(), HasSubstr("00000256"));
    begin(id, 1, 9);
    EXPECT_EQ(store->checkpoints(id)->front().step, 8);
    begin(id, 1, 257);
    EXPECT_EQ(store->checkpoints(id)->front().step, 256);
    EXPECT_EQ(files(id).size(), 2U) << "what is kept is counted again";
}

TEST_F(SettledTest, ARunIsFinishedOnceEachRankSaidSo) {
    const std::string id = script();
    begin(id, 0, 1);
    begin(id, 1, 1);
    tell(id, 0, rank::Done{10, 10, "{}", {}, {}}, 10);
    leaveAll(id);
    endGang(id, 1, 0);
    EXPECT_NE(record(id).state, RunState::kFinished);
    EXPECT_EQ(record(id).attempt, 2);
    EXPECT_THAT(history(id), HasSubstr("rank1 ended without saying that it was done"));
}

TEST_F(SettledTest, ARankThatEndsWithoutAReadFailsTheRunForGood) {
    const std::string id = script();
    begin(id, 0, 1);
    tell(id, 0, rank::Done{10, 10, "{}", {}, {}}, 10);
    leaveAll(id);
    endGang(id, 1, 0);
    EXPECT_EQ(record(id).state, RunState::kFailed);
    EXPECT_THAT(record(id).exitReason,
                HasSubstr("the script of rank1 ended and had not read the run's stream"));
}

TEST_F(SettledTest, ARankThatLeavesWithoutItsWordEndsTheAttemptForAll) {
    for (const bool isDone : {true, false}) {
        const std::string id = script();
        begin(id, 0, 1);
        begin(id, 1, 1);
        if (isDone) {
            tell(id, 1, rank::Done{10, 10, "{}", {}, {}}, 10);
        }
        exitWell(id);
        EXPECT_EQ(engine.cancelled.size(), isDone ? 0U : 1U);
        kill(id);
        EXPECT_EQ(record(id).attempt, 2);
        ASSERT_TRUE(service->stop(id, "", std::chrono::seconds(1)).ok());
        kill(id, 2);
    }
}

TEST_F(SettledTest, ARankThatIsDoneAndReadNothingEndsTheAttemptForAll) {
    const std::string id = script();
    begin(id, 0, 1);
    tell(id, 1, rank::Done{0, 0, "{}", {}, {}}, 0);
    exitWell(id);
    EXPECT_THAT(engine.cancelled, ElementsAre(id + ".a1"));
}

// sys.exit(1) inside a step sends the same message as a loop that breaks after the step.
TEST_F(SettledTest, AStepThatARankIsDoneAtHasEndedOnceTheRunIsFinished) {
    for (const int code : {1, 0}) {
        const std::string id = script();
        begin(id, 1, 8);
        save(id, 8);
        tell(id, 1, rank::Done{8, 8, "{}", {}, {}}, 7);
        EXPECT_TRUE(store->checkpoints(id)->empty());
        tell(id, 0, rank::Done{8, 8, "{}", {}, {}}, 8);
        leaveAll(id);
        endGang(id, 1, code);
        const auto counted = store->checkpoints(id);
        if (code == 0) {
            EXPECT_EQ(record(id).state, RunState::kFinished);
            ASSERT_EQ(counted->size(), 1U);
            EXPECT_EQ(counted->front().step, 8);
        } else {
            EXPECT_EQ(record(id).attempt, 2);
            EXPECT_TRUE(counted->empty());
            ASSERT_TRUE(service->stop(id, "", std::chrono::seconds(1)).ok());
            kill(id, 2);
        }
    }
}

TEST_F(SettledTest, ARankThatIsDoneEarlyEndsNoLaterStep) {
    const std::string id = script();
    save(id, 8);
    begin(id, 0, 9);
    tell(id, 1, rank::Done{2, 2, "{}", {}, {}}, 2);
    EXPECT_TRUE(store->checkpoints(id)->empty());
}

TEST_F(SettledTest, AnAttemptThatReadsNothingHasFailedUnlessTheStreamWasAtItsEnd) {
    const auto state = [](std::uint32_t epoch) {
        stream::StreamState at;
        at.cursor = stream::Cursor::start(std::string(32, 'a'), std::string(32, 'b'));
        at.cursor.epoch = epoch;
        return at.toText();
    };
    for (const std::uint32_t epoch : {1U, 3U}) {  // of 3
        const std::string id = script(1);
        begin(id, 0, 1);
        save(id, 60);
        kill(id);
        ASSERT_EQ(record(id).attempt, 2);
        seq = 0;
        meet(id, 2, 1);
        tell(id, 0, rank::Done{60, 60, state(epoch), {}, {}}, 60, 2);
        leave(id, 2);
        endGang(id, 2, 0);
        EXPECT_EQ(record(id).state, epoch == 3 ? RunState::kFinished : RunState::kFailed);
        EXPECT_THAT(record(id).exitReason,
                    HasSubstr(epoch == 3 ? "" : "had read no batch behind step 60"));
    }
}

}  // namespace
}  // namespace millrace::agent

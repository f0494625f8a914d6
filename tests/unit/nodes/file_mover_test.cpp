// Checkpoints between a node and its head, through real calls.
#include "daemon/nodes/file_mover.h"

#include <filesystem>

#include <gmock/gmock.h>

#include "backend/checkpoint/partial_file.h"
#include "backend/core/hash.h"
#include "backend/core/row_hash.h"
#include "backend/filesystem/files.h"
#include "backend/job/job_file.h"
#include "backend/job/log_files.h"
#include "backend/scores/score_file.h"
#include "daemon/nodes/agent_listener.h"
#include "daemon/nodes/head_link.h"
#include "daemon/nodes/rank_tunnel.h"
#include "tests/support/checkpoint_file.h"
#include "tests/support/fake_clock.h"
#include "tests/support/poll.h"
#include "tests/support/temp_dir.h"

namespace millrace::nodes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

constexpr std::size_t kLarge = 3 * checkpoint::PartialFile::kChunkBytes;
const std::string kAgentKey(kTunnelKeyBytes, 'k'), kGang = "r-abcde.a2";
const std::vector<std::string> kRanks = {"feed", "rank0"};

class FileMoverTest : public ::testing::TestWithParam<const char*> {
 protected:
    FileMoverTest() {
        config.stateDir = directory / "head";
        config.nodesListen = GetParam();
        fs::create_directories(headRun().attempt(2).directory());
        fs::create_directories(headRun().checkpoints());
        fs::create_directories(paths().checkpoints());
        openHead();
        attach();
        table.keep("node1", kGang, {}, kRanks);
        makeMover();
    }
    void openHead() {
        head.reset();
        head = std::move(AgentListener::open(config, "build", table, tokens, clock,
                                             [this](const auto& run, const auto& facts) {
                                                 MutexLock lock(mutex);
                                                 EXPECT_EQ(run, "r-abcde");
                                                 if (keeps.ok()) {
                                                     kept.push_back(facts.step);
                                                 }
                                                 return keeps;
                                             })
                             .value());
    }
    void attach() {
        agent.reset();
        agent = std::make_unique<HeadLink>(config.nodesJoinFile(), "build", kAgentKey, systemClock,
                                           [] {});
        v1::AgentReport first;
        first.mutable_attachment()->mutable_node()->set_name("node1");
        agent->open(first);
        EXPECT_TRUE(test::eventually([&] { return !agent->take().empty(); }));
    }
    /// Makes the mover of an agent, also of one that is started again.
    void makeMover(std::uint64_t rateMb = 1'000) {
        mover.reset();
        mover = std::make_unique<FileMover>(
            FileMoverOptions{directory / "node", config.nodesJoinFile(), kAgentKey, rateMb});
    }
    job::RunPaths headRun() const { return {config.runsDir(), "r-abcde"}; }
    job::AttemptPaths paths() const {
        return job::RunPaths(directory / "node", "r-abcde").attempt(2);
    }
    static std::string nameOf(std::int64_t step, int attempt = 2) {
        return checkpoint::CheckpointName{step, attempt}.text();
    }
    std::string headFile(std::int64_t step, int attempt = 2) const {
        return headRun().checkpoints() + "/" + nameOf(step, attempt);
    }
    /// Writes a checkpoint as rank 0 does.
    std::string write(std::int64_t step, std::size_t bytes = 5'000) const {
        const std::string path = paths().checkpoints() + "/" + nameOf(step);
        tests::writeCheckpointFile(path, {step, 2, "r-abcde", "s", bytes});
        return path;
    }
    /// Takes turns as the Slot does, until the head has everything.
    bool handOver() {
        return test::eventually([&] { return !mover->handOver(kGang).has_value(); });
    }
    /// Writes scores as rank 0 does after an evaluation: 24 bytes per row.
    scores::Scores evaluate(std::int64_t step, std::size_t rows, float score = 0.5F) const {
        scores::Scores scores{step, rows, std::string(32, 'a'), {}, {{"liked", {}, {}}}, 2};
        for (std::size_t row = 0; row < rows; ++row) {
            scores.keys.push_back(rowKey(0, row));
            scores.heads[0].scores.push_back(score * static_cast<float>(row % 1'000));
            scores.heads[0].labels.push_back(static_cast<float>(row % 2));
        }
        scores.settle();
        EXPECT_TRUE(scores::writeScores(paths().checkpoints(), scores).ok());
        return scores;
    }
    Result<scores::Scores> headScores() const {
        ASSIGN_OR_RETURN(const std::string path, scores::findScores(headRun().checkpoints()));
        ASSIGN_OR_RETURN(scores::Scores scores, scores::readScores(path));
        scores.attempt = 2;  // in the name alone
        return scores;
    }
    std::vector<std::int64_t> keptSteps() {
        MutexLock lock(mutex);
        return kept;
    }

    tests::TempDir directory;
    config::DaemonConfig config;
    FakeClock clock;
    SystemClock systemClock;
    job::FileLogs logs{directory / "head/runs"};
    agent::NodeTable table{{"head", std::chrono::milliseconds(20'000)}, clock, logs};
    agent::JoinTokens tokens{directory / "nodes.tokens"};
    Mutex mutex;
    std::vector<std::int64_t> kept MR_GUARDED_BY(mutex);
    Status keeps MR_GUARDED_BY(mutex) = okStatus();
    std::unique_ptr<AgentListener> head;
    std::unique_ptr<HeadLink> agent;
    std::unique_ptr<FileMover> mover;
};

TEST_P(FileMoverTest, TheHeadGetsWhatRank0WritesInTheOrderOfTheSteps) {
    write(10, kLarge);
    write(20);
    const auto first = mover->handOver(kGang);
    ASSERT_TRUE(first.has_value());
    EXPECT_EQ(first->step, 10);
    EXPECT_EQ(first->numWaiting, 1);
    EXPECT_EQ(first->bytes, fs::file_size(paths().checkpoints() + "/" + nameOf(10)));
    ASSERT_TRUE(handOver());
    EXPECT_THAT(keptSteps(), ElementsAre(10, 20));
    EXPECT_EQ(readFile(headFile(20)).value(),
              readFile(paths().checkpoints() + "/" + nameOf(20)).value());
    EXPECT_TRUE(fs::exists(headFile(10)));
    write(30);
    ASSERT_TRUE(handOver());
    EXPECT_FALSE(fs::exists(paths().checkpoints() + "/" + nameOf(10))) << "the head has it";
    EXPECT_TRUE(fs::exists(paths().checkpoints() + "/" + nameOf(30)))
        << "its rank may give it another name";
}

TEST_P(FileMoverTest, ATransferResumesWhereAnotherAgentOrHeadWas) {
    const std::string content = readFile(write(10, kLarge)).value();
    {
        auto partial = checkpoint::PartialFile::open(headFile(10), content.size());
        const std::string chunk = content.substr(0, kLarge - 1'000);
        ASSERT_TRUE(partial->append(0, chunk, hashHex(chunk)).ok());
    }
    makeMover(1);
    std::optional<values::HandOver> moving;
    ASSERT_TRUE(test::eventually([&] {
        moving = mover->handOver(kGang);
        return !moving.has_value() || moving->sent > 0;
    }));
    EXPECT_TRUE(!moving.has_value() || moving->sent >= kLarge - 1'000);
    ASSERT_TRUE(handOver());
    EXPECT_EQ(readFile(headFile(10)).value(), content);
    makeMover();
    ASSERT_TRUE(handOver()) << "the next agent asks again, and hears so at once";
    EXPECT_THAT(keptSteps(), ElementsAre(10, 10));
}

TEST_P(FileMoverTest, WhileNoHeadIsThereItWaits) {
    head.reset();
    write(10);
    ASSERT_TRUE(test::eventually([&] {
        const auto moving = mover->handOver(kGang);
        return moving.has_value() && !moving->trouble.empty();
    }));
    openHead();
    ASSERT_TRUE(test::eventually([&] {
        const auto moving = mover->handOver(kGang);
        return moving.has_value() && moving->trouble.empty();
    })) << "its agent is about to be attached";
    attach();
    ASSERT_TRUE(handOver());
    EXPECT_THAT(keptSteps(), ElementsAre(10));
}

TEST_P(FileMoverTest, OneThatTheStoreDoesNotTakeIsNotKept) {
    {
        MutexLock lock(mutex);
        keeps = resourceExhausted("runs.sqlite: the disk is full");
    }
    write(10);
    std::optional<values::HandOver> moving;
    ASSERT_TRUE(test::eventually([&] {
        moving = mover->handOver(kGang);
        return moving.has_value() && !moving->trouble.empty();
    }));
    EXPECT_THAT(moving->trouble, HasSubstr("runs.sqlite: the disk is full"));
    {
        MutexLock lock(mutex);
        keeps = okStatus();
    }
    ASSERT_TRUE(handOver());
    EXPECT_THAT(keptSteps(), ElementsAre(10));
}

TEST_P(FileMoverTest, OneThatTheHeadDoesWithoutIsGivenUp) {
    table.setUnread(false, {{"r-abcde", 3}});
    table.end("node1", kGang);
    write(10);
    ASSERT_TRUE(handOver());
    EXPECT_THAT(keptSteps(), IsEmpty());
    EXPECT_FALSE(fs::exists(headFile(10)));
}

TEST_P(FileMoverTest, OneThatTheStoreRefusesForGoodLeavesNoFile) {
    {
        MutexLock lock(mutex);
        keeps = failedPrecondition("the newest attempt is 3");
    }
    write(10);
    ASSERT_TRUE(handOver());
    EXPECT_FALSE(fs::exists(headFile(10)));
}

TEST_P(FileMoverTest, ADamagedOneIsSetAsideHereAndTheOthersGo) {
    const std::string path = write(10);
    std::string content = readFile(path).value();
    content.back() ^= 1;
    ASSERT_TRUE(writeFileAtomic(path, content, 0600).ok());
    write(20);
    ASSERT_TRUE(handOver());
    EXPECT_THAT(keptSteps(), ElementsAre(20));
    EXPECT_TRUE(fs::exists(path + ".damaged"));
    EXPECT_FALSE(fs::exists(headFile(10)));
}

TEST_P(FileMoverTest, OneWhoseContentDoesNotFitItsNameIsSetAsideHereAndTheOthersGo) {
    const std::string path = paths().checkpoints() + "/" + nameOf(10);
    tests::writeCheckpointFile(path, {11, 2, "r-abcde", "s"});
    write(20);
    ASSERT_TRUE(handOver());
    EXPECT_THAT(keptSteps(), ElementsAre(20));
    EXPECT_TRUE(fs::exists(path + ".foreign"));
}

TEST_P(FileMoverTest, BehindASlowLinkTheNewestAndTheOneThatIsOnItsWayStay) {
    makeMover(1);
    for (const int step : {10, 20, 30, 40, 50, 60, 70}) {
        write(step, step == 10 ? kLarge : 5'000);
        mover->handOver(kGang);
    }
    EXPECT_EQ(mover->handOver(kGang)->numWaiting, static_cast<int>(FileMover::kMostWaiting));
    ASSERT_TRUE(handOver());
    EXPECT_THAT(keptSteps(), ElementsAre(10, 50, 60, 70));
}

TEST_P(FileMoverTest, ScoresFollowTheCheckpointsAndTheLatestAloneAreKept) {
    evaluate(10, 1'000);
    ASSERT_TRUE(handOver());
    EXPECT_EQ(headScores()->step, 10);
    const scores::Scores latest = evaluate(20, 200'000);
    write(20);
    EXPECT_FALSE(mover->handOver(kGang)->areScores) << "the checkpoint goes first";
    std::optional<values::HandOver> moving;
    ASSERT_TRUE(test::eventually([&] {
        moving = mover->handOver(kGang);
        return !moving.has_value() || moving->areScores;
    }));
    EXPECT_EQ(moving.value_or(values::HandOver{20}).step, 20);
    ASSERT_TRUE(handOver());
    EXPECT_EQ(headScores().value(), latest);
    EXPECT_FALSE(fs::exists(headRun().checkpoints() + "/scores-10.a2.zst"));
    EXPECT_THAT(keptSteps(), ElementsAre(20));
}

TEST_P(FileMoverTest, AnEvaluationOfTheSameStepThatIsRepeatedReplacesTheFirst) {
    evaluate(10, 200'000);
    ASSERT_TRUE(handOver());
    const scores::Scores second = evaluate(10, 200'000, 0.25F);
    ASSERT_TRUE(handOver());
    EXPECT_EQ(headScores().value(), second);
    makeMover(1);
    evaluate(10, 200'000, 0.125F);
    ASSERT_TRUE(test::eventually([&] {
        const auto moving = mover->handOver(kGang);
        return moving.has_value() && moving->sent > 0;
    }));
    const scores::Scores last = evaluate(10, 200'000, 0.75F);
    ASSERT_TRUE(handOver()) << "also while the one before is on its way";
    EXPECT_EQ(headScores().value(), last);
}

TEST_P(FileMoverTest, ScoresResumeWhereAnotherAgentWas) {
    const scores::Scores scores = evaluate(10, 400'000);
    const std::string path = *scores::findScores(paths().checkpoints());
    const std::string content = readFile(path).value();
    ASSERT_GT(content.size(), kLarge);
    const std::string there = headRun().checkpoints() + "/scores-10.a2.zst";
    {
        auto partial = checkpoint::PartialFile::open(there, content.size());
        const std::string chunk = content.substr(0, content.size() - 1'000);
        ASSERT_TRUE(partial->append(0, chunk, hashHex(chunk)).ok());
    }
    makeMover(1);
    std::optional<values::HandOver> moving;
    ASSERT_TRUE(test::eventually([&] {
        moving = mover->handOver(kGang);
        return !moving.has_value() || moving->sent > 0;
    }));
    EXPECT_TRUE(!moving.has_value() || moving->sent >= content.size() - 1'000);
    ASSERT_TRUE(handOver());
    EXPECT_EQ(headScores().value(), scores);
    makeMover();
    ASSERT_TRUE(handOver()) << "the next agent asks again, and hears so at once";
}

TEST_P(FileMoverTest, DamagedScoresAreSetAsideAndHoldNothingUp) {
    evaluate(10, 1'000);
    const std::string path = *scores::findScores(paths().checkpoints());
    std::string content = readFile(path).value();
    content[content.size() / 2] ^= 1;
    ASSERT_TRUE(writeFileAtomic(path, content, 0600).ok());
    ASSERT_TRUE(handOver());
    EXPECT_TRUE(fs::exists(path + ".damaged"));
    EXPECT_TRUE(absl::IsNotFound(headScores().status()));
}

TEST_P(FileMoverTest, ScoresThatTheHeadDoesWithoutAreGivenUp) {
    table.setUnread(false, {{"r-abcde", 3}});
    table.end("node1", kGang);
    evaluate(10, 1'000);
    ASSERT_TRUE(handOver());
    EXPECT_TRUE(absl::IsNotFound(headScores().status()));
}

TEST_P(FileMoverTest, WhatAJobReadsComesFromTheHead) {
    tests::writeCheckpointFile(headFile(8, 1), {8, 1, "r-abcde", "s", kLarge});
    job::JobFile job;
    job.run = "r-abcde";
    job.attempt = 2;
    job.spec.train.ranks = 2;
    job.checkpointDirectory = headRun().checkpoints();
    job.rankSocket = "rank.sock";
    job.feedSocket = "feed.sock";
    job.resume = headFile(8, 1);
    ASSERT_TRUE(job.write(headRun().attempt(2).jobFile()).ok());
    job.moveTo(paths(), false);
    ASSERT_TRUE(job.write(paths().jobFile()).ok());
    const Status begun = mover->fetch(kGang);
    EXPECT_TRUE(absl::IsUnavailable(begun)) << begun;
    EXPECT_THAT(std::string(messageOf(begun)), HasSubstr("fetches step-00000008.a1.safetensors"));
    ASSERT_TRUE(test::eventually([&] { return mover->fetch(kGang).ok(); }));
    EXPECT_EQ(readFile(job.resume).value(), readFile(headFile(8, 1)).value());
    fs::remove(job.resume);
    fs::remove(headFile(8, 1));
    makeMover();
    ASSERT_TRUE(test::eventually([&] { return absl::IsNotFound(mover->fetch(kGang)); }));
    EXPECT_TRUE(mover->fetch("r-abcde.a2.d0").ok()) << "a data worker reads none";
}

TEST_P(FileMoverTest, ANodeWithoutTheAttemptHandsNothingOver) {
    table.end("node1", kGang);
    write(10);
    std::optional<values::HandOver> moving;
    ASSERT_TRUE(test::eventually([&] {
        moving = mover->handOver(kGang);
        return moving.has_value() && !moving->trouble.empty();
    }));
    EXPECT_THAT(moving->trouble, HasSubstr("r-abcde.a2 is not known on this node"));
    EXPECT_THAT(keptSteps(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Everywhere, FileMoverTest, ::testing::Values("unix", "127.0.0.1"));

}  // namespace
}  // namespace millrace::nodes

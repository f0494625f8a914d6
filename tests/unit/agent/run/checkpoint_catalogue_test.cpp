// The catalogue with a real store and a real directory.
#include "daemon/agent/run/checkpoints/checkpoint_catalogue.h"

#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "backend/filesystem/files.h"
#include "tests/support/checkpoint_file.h"
#include "tests/unit/runs/fixture.h"

namespace millrace::agent {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CheckpointCatalogueTest : public runs::RunStoreTest {
 protected:
    CheckpointCatalogueTest() {
        id = create("base");
        EXPECT_TRUE(store->beginAttempt(id, 1, 0).ok());
        EXPECT_TRUE(work(id, 1).ok());
        std::filesystem::create_directories(folder());
    }
    std::string folder() const { return directory / ("runs/" + id + "/checkpoints"); }
    std::string path(std::int64_t step, int attempt = 1) const {
        return folder() + "/" + checkpoint::CheckpointName{step, attempt}.text();
    }
    void write(std::int64_t step, int attempt = 1, std::int64_t attemptInside = -1) const {
        tests::writeCheckpointFile(
            path(step, attempt),
            {step, attemptInside >= 0 ? attemptInside : attempt, id, "stream"});
    }
    /// Writes a checkpoint and adds it to the store.
    void tell(std::int64_t step, int attempt = 1) {
        write(step, attempt);
        runs::CheckpointRecord record;
        record.attempt = attempt;
        record.seq = ++seq;
        record.step = step;
        record.name = checkpoint::CheckpointName{step, attempt}.text();
        runs::LineBatch batch{id, attempt, "rank0", seq};
        batch.rank = 0;
        batch.checkpoints.push_back(record);
        ASSERT_TRUE(store->commitLines(batch).ok());
    }
    /// A checkpoint as a trainer with train.early_stop writes it: `best` is the best step so far.
    void judge(std::int64_t step, double auc, std::int64_t best, int attempt = 1) const {
        tests::CheckpointContent content{step, attempt, id, "stream"};
        content.more = {
            {"values", {{"eval.auc", auc}}},
            {"eval_step", step},
            {"early_stop",
             {{"metric", "eval.auc"}, {"higher_is_better", true}, {"best_step", best}}}};
        tests::writeCheckpointFile(path(step, attempt), content);
        if (best == step) {
            EXPECT_TRUE(
                checkpoint::CheckpointDirectory::open(folder())->linkAsBest({step, attempt}).ok());
        }
    }
    /// 0: there is none.
    std::int64_t bestStep() const {
        const auto facts = checkpoint::CheckpointDirectory::open(folder())->bestFacts();
        return facts.ok() ? facts->step : 0;
    }
    void damage(std::int64_t step, int attempt = 1) const {
        std::fstream file(path(step, attempt), std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(500);
        file << "\xff\xfe";
    }
    CheckpointScan scan(std::int64_t fromStep = values::kFromLast) {
        return catalogue().scan({id, "stream", fromStep, 3}, {});
    }
    CheckpointCatalogue catalogue() { return {*store, directory / "runs"}; }
    std::vector<std::int64_t> live() const {
        std::vector<std::int64_t> steps;
        const auto records = store->checkpoints(id).value();
        for (const auto& record : records) {
            steps.push_back(record.step);
        }
        return steps;
    }
    std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(folder())) {
            names.push_back(entry.path().filename().string());
        }
        std::sort(names.begin(), names.end());
        return names;
    }

    std::string id;
    std::int64_t seq = 0;
};

TEST_F(CheckpointCatalogueTest, AFileThatCameFromItsNodeCountsAlsoAsTheBest) {
    judge(100, 0.5, 100);
    std::filesystem::remove(folder() + "/best.safetensors");
    const auto directory = checkpoint::CheckpointDirectory::open(folder());
    const auto facts = directory->verify({100, 1}, {});
    ASSERT_TRUE(facts.ok()) << facts.status();
    EXPECT_THAT(live(), IsEmpty());
    ASSERT_TRUE(catalogue().add(id, *facts).ok());
    ASSERT_TRUE(catalogue().add(id, *facts).ok()) << "its last word may not have been heard";
    EXPECT_THAT(live(), ElementsAre(100));
    EXPECT_EQ(bestStep(), 100);
    EXPECT_EQ(scan().chosen->step, 100);
    EXPECT_TRUE(absl::IsInvalidArgument(catalogue().add("r-other", *facts)));
    ASSERT_TRUE(store->beginAttempt(id, 2, 0).ok());
    EXPECT_TRUE(absl::IsFailedPrecondition(catalogue().add(id, *facts)));
}

TEST_F(CheckpointCatalogueTest, TheNewestOfTheStoreIsChosen) {
    tell(100);
    tell(200);
    const CheckpointScan found = scan();
    ASSERT_TRUE(found.status.ok()) << found.status;
    EXPECT_EQ(found.chosen->step, 200);
    EXPECT_EQ(found.path, path(200));
    EXPECT_THAT(found.events, IsEmpty());
}

TEST_F(CheckpointCatalogueTest, AFileThatTheStoreNeverHeardOfIsRegisteredAndChosen) {
    tell(100);
    std::filesystem::remove(path(100));  // by hand
    write(200);
    write(300);
    const CheckpointScan found = scan();
    ASSERT_TRUE(found.status.ok()) << found.status;
    EXPECT_EQ(found.chosen->step, 300);
    EXPECT_THAT(live(), ElementsAre(300, 200));
    EXPECT_EQ(store->checkpoints(id)->front().cursor, "{}");
    EXPECT_EQ(store->checkpoints(id)->front().epoch, 1);
    EXPECT_THAT(found.events, ElementsAre(HasSubstr("step-00000300.a1.safetensors was found"),
                                          HasSubstr("step-00000200.a1.safetensors was found"),
                                          HasSubstr("step-00000100.a1.safetensors is not there")));
}

TEST_F(CheckpointCatalogueTest, ADamagedNewestMeansTheOneBefore) {
    tell(100);
    tell(200);
    damage(200);
    const CheckpointScan found = scan();
    ASSERT_TRUE(found.status.ok()) << found.status;
    EXPECT_EQ(found.chosen->step, 100);
    EXPECT_THAT(live(), ElementsAre(100));
    EXPECT_THAT(files(), ElementsAre("step-00000100.a1.safetensors",
                                     "step-00000200.a1.safetensors.damaged"));
    ASSERT_EQ(found.events.size(), 1U);
    EXPECT_THAT(found.events[0], HasSubstr("checksum"));
}

TEST_F(CheckpointCatalogueTest, ARunWhoseCheckpointsAreAllDamagedDoesNotBeginAtZero) {
    tell(100);
    damage(100);
    const CheckpointScan found = scan();
    EXPECT_TRUE(absl::IsFailedPrecondition(found.status));
    EXPECT_THAT(std::string(messageOf(found.status)), HasSubstr("--from-start"));
    EXPECT_THAT(std::string(messageOf(found.status)), HasSubstr("checksum"));
    EXPECT_FALSE(scan().status.ok()) << "nor the second time";
}

TEST_F(CheckpointCatalogueTest, ARunWhoseCheckpointsAreGoneDoesNotBeginAtZero) {
    tell(100);
    std::filesystem::remove_all(folder());
    const CheckpointScan found = scan();
    EXPECT_TRUE(absl::IsFailedPrecondition(found.status));
    EXPECT_THAT(std::string(messageOf(found.status)), HasSubstr("is not there"));
    EXPECT_TRUE(scan(values::kFromStart).status.ok()) << "on the user's word it does";
}

TEST_F(CheckpointCatalogueTest, ARunThatNeverHadOneBeginsAtZero) {
    const CheckpointScan found = scan();
    EXPECT_TRUE(found.status.ok());
    EXPECT_FALSE(found.chosen.has_value());
}

TEST_F(CheckpointCatalogueTest, WhatCannotBeReadIsNotTakenForMissingAndChangesNothing) {
    tell(100);
    tell(200);
    std::filesystem::remove(path(200));
    ASSERT_EQ(::symlink("step-00000200.a1.safetensors", path(200).c_str()),
              0);  // ELOOP for anybody
    const CheckpointScan found = scan();
    EXPECT_FALSE(found.status.ok());
    EXPECT_FALSE(found.chosen.has_value());
    EXPECT_THAT(std::string(messageOf(found.status)), HasSubstr("cannot be read"));
    EXPECT_THAT(std::string(messageOf(found.status)), HasSubstr("nothing was cut"));
    EXPECT_THAT(live(), ElementsAre(200, 100));
    EXPECT_THAT(files(),
                ElementsAre("step-00000100.a1.safetensors", "step-00000200.a1.safetensors"));
}

TEST_F(CheckpointCatalogueTest, AnUnreadableDirectoryIsNoEmptyOne) {
    tell(100);
    std::filesystem::rename(folder(), folder() + "-away");
    std::ofstream(folder()) << "in the way";
    const CheckpointScan found = scan();
    EXPECT_FALSE(found.status.ok());
    EXPECT_THAT(std::string(messageOf(found.status)), HasSubstr("cannot be read"));
    EXPECT_THAT(live(), ElementsAre(100));
}

TEST_F(CheckpointCatalogueTest, AStaleLaterFileNeitherStartsARunNorEvictsFreshOnes) {
    tell(400);
    write(500);  // of attempt 1, never told
    ASSERT_TRUE(store->beginAttempt(id, 2, 400).ok());
    ASSERT_TRUE(work(id, 2).ok());
    tell(430, 2);
    ASSERT_TRUE(catalogue().retain(id, 1).ok());
    EXPECT_TRUE(std::filesystem::exists(path(430, 2)));
    EXPECT_FALSE(std::filesystem::exists(path(400)));
    const CheckpointScan found = scan();
    ASSERT_TRUE(found.status.ok()) << found.status;
    EXPECT_EQ(found.chosen->step, 430);
    EXPECT_THAT(files(),
                ElementsAre("step-00000430.a2.safetensors", "step-00000500.a1.safetensors.void"));
    EXPECT_THAT(found.events, ElementsAre(HasSubstr("has left its course")));
}

TEST_F(CheckpointCatalogueTest, AnAttemptThatOnlyLeftACheckpointHasBegun) {
    tell(400);
    tell(500);
    ASSERT_TRUE(store->beginAttempt(id, 2, 400).ok());  // no line of it came in
    write(450, 2);
    const CheckpointScan found = scan();
    ASSERT_TRUE(found.status.ok()) << found.status;
    EXPECT_EQ(found.chosen->step, 450);
    EXPECT_EQ(found.chosen->attempt, 2);
    EXPECT_THAT(live(), ElementsAre(450, 400));
    EXPECT_TRUE(std::filesystem::exists(path(500) + ".void"));
}

TEST_F(CheckpointCatalogueTest, TheBestFollowsARunThatGoesBack) {
    judge(10, 0.6, 10);
    judge(20, 0.7, 20);
    judge(30, 0.65, 20);
    judge(50, 0.8, 50);
    const std::string scores = folder() + "/scores-50.a1.zst";
    ASSERT_TRUE(writeFileAtomic(scores, "", 0600).ok());
    EXPECT_THAT(catalogue().setVoidAside(id), IsEmpty());
    EXPECT_EQ(bestStep(), 50);
    EXPECT_TRUE(std::filesystem::exists(scores));
    ASSERT_TRUE(store->beginAttempt(id, 2, 30).ok());
    EXPECT_TRUE(scan(30).status.ok());
    EXPECT_EQ(bestStep(), 50) << "until the attempt has begun, nothing is touched";
    ASSERT_TRUE(work(id, 2).ok());
    EXPECT_THAT(catalogue().setVoidAside(id),
                ElementsAre(HasSubstr("step-00000050.a1.safetensors was set aside"),
                            AllOf(HasSubstr("best.safetensors was of step 50"),
                                  HasSubstr("it is now that of step 20"))));
    EXPECT_EQ(bestStep(), 20);
    EXPECT_FALSE(std::filesystem::exists(scores)) << "of a model that the run has left behind";
    EXPECT_THAT(files(), ElementsAre("best.safetensors", "step-00000010.a1.safetensors",
                                     "step-00000020.a1.safetensors", "step-00000030.a1.safetensors",
                                     "step-00000050.a1.safetensors.void"));
    judge(40, 0.75, 40, 2);
    EXPECT_THAT(catalogue().setVoidAside(id), IsEmpty());
    EXPECT_EQ(bestStep(), 40) << "the new course's own";
}

TEST_F(CheckpointCatalogueTest,
       ABestWithoutAnotherNameIsSetAsideAndTheBestValueThatIsLeftTakesItsPlace) {
    judge(20, 0.7, 20);
    judge(30, 0.65, 20);
    judge(40, 0.69, 20);
    write(45);  // not evaluated
    judge(50, 0.8, 50);
    std::filesystem::remove(path(20));  // as retention does
    std::filesystem::remove(path(50));
    ASSERT_TRUE(store->beginAttempt(id, 2, 45).ok());
    ASSERT_TRUE(work(id, 2).ok());
    const CheckpointScan found = scan();  // a daemon that was away when the attempt began
    EXPECT_THAT(found.events, Contains(HasSubstr("it is now that of step 40")));
    EXPECT_EQ(bestStep(), 40);
    EXPECT_TRUE(std::filesystem::exists(path(50) + ".void")) << "nothing is lost";
}

TEST_F(CheckpointCatalogueTest, ARunThatBeginsAgainHasNoBest) {
    judge(20, 0.7, 20);
    ASSERT_TRUE(store->beginAttempt(id, 2, 0).ok());
    ASSERT_TRUE(work(id, 2).ok());
    EXPECT_THAT(catalogue().setVoidAside(id),
                Contains(HasSubstr("no checkpoint that is left was evaluated")));
    EXPECT_THAT(files(), ElementsAre("step-00000020.a1.safetensors.void"));
}

TEST_F(CheckpointCatalogueTest, AnotherRunsFileIsSetAside) {
    tell(100);
    tests::writeCheckpointFile(path(200), {200, 1, "r-other", "stream"});
    const CheckpointScan found = scan();
    ASSERT_TRUE(found.status.ok()) << found.status;
    EXPECT_EQ(found.chosen->step, 100);
    EXPECT_TRUE(std::filesystem::exists(path(200) + ".foreign"));
}

TEST_F(CheckpointCatalogueTest, NothingIsRemovedBeforeTheStoreHasNewerOnes) {
    tell(100);
    for (const int step : {200, 300, 400}) {
        write(step);  // on their way, or of a time without a daemon
    }
    ASSERT_TRUE(catalogue().retain(id, 1).ok());
    EXPECT_EQ(files().size(), 4U);
    tell(300);
    ASSERT_TRUE(catalogue().retain(id, 1).ok());
    EXPECT_THAT(files(),
                ElementsAre("step-00000300.a1.safetensors", "step-00000400.a1.safetensors"));
    EXPECT_THAT(live(), ElementsAre(300));
}

TEST_F(CheckpointCatalogueTest, TheTwinOfAResumedAttemptReplacesTheOlderOne) {
    tell(400);
    ASSERT_TRUE(store->beginAttempt(id, 2, 400).ok());
    tell(400, 2);
    const CheckpointScan found = scan();
    EXPECT_EQ(found.chosen->attempt, 2);
    EXPECT_THAT(live(), ElementsAre(400));
    EXPECT_EQ(store->checkpoints(id)->front().attempt, 2);
    ASSERT_TRUE(catalogue().retain(id, 3).ok());
    EXPECT_THAT(files(), ElementsAre("step-00000400.a2.safetensors"));
}

TEST_F(CheckpointCatalogueTest, AStepIsTakenAtItsWord) {
    tell(100);
    tell(200);
    EXPECT_EQ(scan(100).chosen->step, 100);
    EXPECT_TRUE(std::filesystem::exists(path(200))) << "void once the attempt has begun";
    EXPECT_TRUE(absl::IsNotFound(scan(150).status));
    EXPECT_THAT(*catalogue().steps(id), ElementsAre(100, 200));
}

TEST_F(CheckpointCatalogueTest, AKilledWritersPieceIsRemoved) {
    tell(100);
    std::ofstream(path(200) + ".tmp-4711") << "half";
    ASSERT_TRUE(scan().status.ok());
    EXPECT_THAT(files(), ElementsAre("step-00000100.a1.safetensors"));
}

TEST_F(CheckpointCatalogueTest, ASurveyThatIsCalledOffChangesNothing) {
    tell(100);
    const CheckpointScan found =
        catalogue().scan({id, "stream", values::kFromLast, 3}, {[] { return true; }, nullptr});
    EXPECT_TRUE(absl::IsCancelled(found.status));
    EXPECT_THAT(live(), ElementsAre(100));
}

}  // namespace
}  // namespace millrace::agent

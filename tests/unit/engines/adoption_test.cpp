// A daemon that was killed and started again finds its gangs.
#include <sys/resource.h>
#include <sys/wait.h>

#include "backend/engines/gang_files.h"
#include "backend/engines/guardian_link.h"
#include "backend/system/boot.h"
#include "tests/support/poll.h"
#include "tests/unit/engines/fixture.h"

namespace millrace::engines {
namespace {

using std::chrono::milliseconds;
using test::eventually;
using test::readText;

using AdoptionTest = EmbeddedEngineTest;

// While it lives, this process can open no file.
class NoDescriptors {
 public:
    NoDescriptors() {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit none{0, before_.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &none);
    }
    ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
    rlimit before_{};
};

TEST_F(AdoptionTest, ANewEngineOnTheSameDirectoryAdoptsWhatRuns) {
    const std::string script = "while [ ! -e " + file("go") + " ]; do sleep 0.02; done; echo done";
    const std::string id = submit(gang({group("rank", script, true, 2)}));
    restart();
    const auto all = engine->list();
    ASSERT_TRUE(all.ok());
    ASSERT_EQ(all->size(), 1U);
    EXPECT_EQ((*all)[0].first, id);
    EXPECT_EQ((*all)[0].second.phase, Phase::kRunning);
    std::ofstream(file("go")) << "";
    EXPECT_EQ(waitForEnd(id).cause, Cause::kOk);
    EXPECT_NE(logOf("rank1").find(" o done\n"), std::string::npos);
    EXPECT_TRUE(nothingLeft());
}

TEST_F(AdoptionTest, WhatEndedInTheMeantimeIsToldByTheNewEngine) {
    const std::string id = submit(gang({group("rank", "exit 7", true)}));
    engine.reset();
    ASSERT_TRUE(eventually([&] { return !readText(workerFile("rank0", "exit.json")).empty(); }));
    restart();
    const State end = waitForEnd(id);
    EXPECT_EQ(end.cause, Cause::kWorkerFailed);
    EXPECT_EQ(end.exitCode, 7);
    restart();
    EXPECT_TRUE(engine->list()->empty()) << "told and over";
    EXPECT_EQ(stateOf(id).cause, Cause::kWorkerFailed);
}

TEST_F(AdoptionTest, TheSameSubmitAfterARestartStartsNothingTwice) {
    const Gang one = gang({group("rank", "echo x >> " + file("starts") + "; sleep 4343", true)});
    submit(one);
    ASSERT_TRUE(eventually([&] { return !readText(file("starts")).empty(); }));
    restart();
    submit(one);
    Gang other = one;
    other.groups[0].argv.back() = "true";
    EXPECT_TRUE(absl::IsAlreadyExists(engine->submit(other)));
    EXPECT_EQ(readText(file("starts")), "x\n");
}

TEST_F(AdoptionTest, AStartThatWasInterruptedIsFinishedByTheNextSubmit) {
    // The state after a daemon was killed between its note and the last start: gang.json, and one
    // of two workers running.
    const Gang two =
        gang({group("rank", "echo x >> " + file("starts") + "; exec sleep 4343", true, 2)});
    submit(two);
    ASSERT_TRUE(eventually([&] { return readText(file("starts")) == "x\nx\n"; }));
    const pid_t second = static_cast<pid_t>(readGuardianRecord(file("runs/r-abcde/a1/rank1"))->pid);
    engine.reset();
    ::kill(second, SIGKILL);
    ASSERT_TRUE(eventually([&] { return marked().size() == 2U; })) << "guardian and sleep";
    std::filesystem::remove_all(file("runs/r-abcde/a1/rank1"));

    restart();
    ASSERT_TRUE(engine->has(two.key).value());
    EXPECT_EQ(engine->list()->at(0).second.phase, Phase::kSubmitting);
    const std::string id = submit(two);
    EXPECT_EQ(stateOf(id).phase, Phase::kRunning);
    ASSERT_TRUE(eventually([&] { return readText(file("starts")) == "x\nx\nx\n"; }));
    ASSERT_TRUE(engine->cancel(id, milliseconds(0), "").ok());
    waitForEnd(id);
    EXPECT_TRUE(nothingLeft());
}

TEST_F(AdoptionTest, ACancelThatWasAskedForGoesOnAfterTheRestart) {
    const std::string id = submit(gang({group("rank", deafScript("up"), true)}));
    ASSERT_TRUE(isReady("up"));
    ASSERT_TRUE(engine->cancel(id, std::chrono::seconds(60), "").ok());
    restart();
    EXPECT_EQ(stateOf(id).phase, Phase::kStopping);
    EXPECT_EQ(waitForEnd(id).cause, Cause::kCancelled) << "with the gang's own grace";
    EXPECT_TRUE(nothingLeft());
}

TEST_F(AdoptionTest, WorkersSurviveTheKillOfTheProcessThatStartedThem) {
    const Gang one = gang({group("rank", deafScript("up"), true)});
    engine.reset();
    const pid_t daemon = ::fork();
    if (daemon == 0) {
        auto own = EmbeddedEngine::open({file("runs"), execProgram(), {4, 0, 0}}, clock);
        const bool isSubmitted = own.ok() && (*own)->submit(one).ok();
        std::ofstream(file(isSubmitted ? "submitted" : "failed")) << "";
        ::pause();
        ::_exit(0);
    }
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file("submitted")); }));
    ::kill(daemon, SIGKILL);
    ::waitpid(daemon, nullptr, 0);
    ASSERT_TRUE(isReady("up"));
    restart();
    const std::string id = one.key;
    EXPECT_EQ(stateOf(id).phase, Phase::kRunning);
    ASSERT_TRUE(engine->cancel(id, milliseconds(0), "").ok());
    EXPECT_EQ(waitForEnd(id).cause, Cause::kCancelled);
    EXPECT_TRUE(nothingLeft());
}

TEST_F(AdoptionTest, WithoutAnyDaemonTheOrphanLeaseEndsTheWorkers) {
    Gang orphan = gang({group("rank", deafScript("up"), true)});
    orphan.orphanLease = std::chrono::seconds(1);
    submit(orphan);
    engine.reset();
    EXPECT_TRUE(nothingLeft());
}

TEST_F(AdoptionTest, PollingRenewsTheOrphanLease) {
    Gang brief = gang({group("rank", deafScript("up"), true)});
    brief.orphanLease = std::chrono::seconds(1);
    const std::string id = submit(brief);
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(2500);
    while (std::chrono::steady_clock::now() < until) {
        ASSERT_EQ(stateOf(id).phase, Phase::kRunning);
        test::pausePolling(milliseconds(50));
    }
    ASSERT_TRUE(engine->cancel(id, milliseconds(0), "").ok());
    waitForEnd(id);
}

TEST_F(AdoptionTest, AGangThatCannotBeReadKeepsNoOtherFromBeingAdopted) {
    const std::string id = submit(gang({group("rank", "sleep 4343", true)}));
    std::filesystem::create_directories(file("runs/r-torn/a1"));
    std::ofstream(file("runs/r-torn/a1/gang.json")) << "{torn";
    std::ofstream(file("runs/.gangs/r-torn.a1")) << "";
    std::ofstream(file("runs/.gangs/r-gone.a1")) << "";
    restart();
    EXPECT_EQ(engine->list()->size(), 1U);
    EXPECT_EQ(stateOf(id).phase, Phase::kRunning);
    EXPECT_TRUE(absl::IsDataLoss(engine->state("r-torn.a1").status()));
    EXPECT_FALSE(std::filesystem::exists(file("runs/.gangs/r-gone.a1")));
}

TEST_F(AdoptionTest, AGuardianOfAnotherBootIsNotTakenForAlive) {
    const std::string id = submit(gang({group("one", "exec sleep 4343")}));
    auto record = readGuardianRecord(file("runs/r-abcde/a1/one"));
    ASSERT_TRUE(record.has_value());
    EXPECT_EQ(record->scope, PidScope::ofThisProcess());
    const PidScope now{"machine", "boot-1", 1, "host"};
    record->scope = now;
    EXPECT_EQ(fateOf(*record, now), GuardianState::kAlive);
    record->scope.boot = "boot-0";
    EXPECT_EQ(fateOf(*record, now), GuardianState::kUnknown) << "written since this boot";
    record->writtenMs -= bootTimeMs() + 1000;
    EXPECT_EQ(fateOf(*record, now), GuardianState::kGone)
        << "the same pid and start time, after a reboot";
    ASSERT_TRUE(engine->cancel(id, std::chrono::milliseconds(0), "").ok());
    waitForEnd(id);
}

TEST_F(AdoptionTest, WorkersOfAnotherMachineOrNamespaceAreNeitherDeadNorSignalled) {
    const std::string id = submit(gang({group("one", "exec sleep 4343")}));
    const auto record = readGuardianRecord(file("runs/r-abcde/a1/one"));
    ASSERT_TRUE(record.has_value());
    PidScope container = record->scope;
    ++container.pidNamespace;
    for (const PidScope& other : {PidScope{"other", "other", 1, "other"}, container}) {
        here = other;
        restart();
        const Status asked = engine->has(id).status();
        EXPECT_TRUE(absl::IsUnavailable(asked)) << asked;
        EXPECT_NE(messageOf(asked).find("were started on " + record->scope.host), std::string::npos)
            << asked;
        EXPECT_TRUE(absl::IsUnavailable(engine->state(id).status()));
        EXPECT_TRUE(absl::IsUnavailable(engine->submit(gang({group("one", "exec sleep 4343")}))));
        EXPECT_TRUE(engine->cancel(id, std::chrono::milliseconds(0), "").ok());
        EXPECT_TRUE(engine->list()->empty());
    }
    here = {};
    restart();
    EXPECT_EQ(fateOf(*record, record->scope), GuardianState::kAlive) << "nobody signalled it";
    EXPECT_EQ(stateOf(id).phase, Phase::kRunning);
    ASSERT_TRUE(engine->cancel(id, std::chrono::milliseconds(0), "").ok());
    EXPECT_EQ(waitForEnd(id).cause, Cause::kCancelled);
}

TEST_F(AdoptionTest, TheExitRecordOfAnotherMachinesWorkerCounts) {
    const std::string id = submit(gang({group("one", "exit 3")}));
    ASSERT_TRUE(
        test::eventually([&] { return readExitRecord(file("runs/r-abcde/a1/one"))->has_value(); }));
    here = {"other", "other", 1, "other"};
    restart();
    EXPECT_EQ(waitForEnd(id).exitCode, 3);
}

TEST_F(AdoptionTest, WithoutAFreeDescriptorNothingIsTakenForEnded) {
    const std::string id = submit(gang({group("one", "exec sleep 4343")}));
    const auto record = readGuardianRecord(file("runs/r-abcde/a1/one"));
    ASSERT_TRUE(record.has_value());
    {
        const NoDescriptors none;
        EXPECT_EQ(fateOf(*record, record->scope), GuardianState::kAlive);
        EXPECT_FALSE(readExitRecord(file("runs/r-abcde/a1/one")).ok());
        EXPECT_FALSE(killLeftovers(file("runs/r-abcde/a1/one"), "").ok());
        EXPECT_EQ(stateOf(id).phase, Phase::kRunning);
    }
    EXPECT_EQ(stateOf(id).phase, Phase::kRunning);
    ASSERT_TRUE(engine->cancel(id, std::chrono::milliseconds(0), "").ok());
    waitForEnd(id);
    EXPECT_TRUE(eventually([&] { return fateOf(*record, record->scope) == GuardianState::kGone; }));
}

TEST(ExitRecord, WhoEndedFirstIsToldByTheTimeSinceTheBoot) {
    const ExitRecord first{1, 0, 5'000, "", "boot", 100};
    const ExitRecord second{1, 0, 2'000, "", "boot", 200};  // the wall clock was set back
    EXPECT_TRUE(isEarlier(first, second));
    EXPECT_FALSE(isEarlier(second, first));
    const ExitRecord older{1, 0, 1'000, "", "", 0};
    EXPECT_TRUE(isEarlier(older, second)) << "without a common boot by the wall clock";
}

}  // namespace
}  // namespace millrace::engines

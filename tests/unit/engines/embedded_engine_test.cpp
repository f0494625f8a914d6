#include "backend/engines/embedded_engine.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "backend/core/transient.h"
#include "backend/engines/gang_files.h"
#include "backend/engines/poller.h"
#include "backend/system/pipe.h"
#include "backend/system/unix_socket.h"
#include "backend/system/worker_group.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/no_descriptors.h"
#include "tests/unit/engines/fixture.h"

namespace millrace::engines {
namespace {

using std::chrono::milliseconds;
using test::eventually;
using test::readJson;
using test::readText;

const WorkerState& workerOf(const State& state, const std::string& name) {
    for (const WorkerState& worker : state.workers) {
        if (worker.name == name) {
            return worker;
        }
    }
    static const WorkerState kNone;
    ADD_FAILURE() << "no worker " << name;
    return kNone;
}

TEST_F(EmbeddedEngineTest, AGangWhoseWorkersAllEndWithZeroIsOk) {
    const std::string id =
        submit(gang({group("feed", "echo feeding"), group("rank", "true", true)}));
    const State end = waitForEnd(id);
    EXPECT_EQ(end.cause, Cause::kOk);
    EXPECT_EQ(end.worker, "");
    EXPECT_EQ(workerOf(end, "rank0").exitCode, 0);
    EXPECT_NE(logOf("feed").find(" o feeding\n"), std::string::npos);
    EXPECT_TRUE(nothingLeft());
}

TEST_F(EmbeddedEngineTest, RanksGetTheirEnvironmentAndTheirNumber) {
    Group ranks = group("rank", "", true, 2);
    ranks.argv = {"sh", "-c",
                  "echo arg={rank} $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $MASTER_ADDR "
                  "port=$MASTER_PORT $MR_KEY $MR_ATTEMPT $MR_WORKER $MINE; pwd"};
    ranks.environment["MINE"] = "yes";
    Group feed = group("feed", "echo rank=${RANK-none}");
    Gang both = gang({feed, ranks}, "r-abcde.a3");
    both.attempt = 3;
    waitForEnd(submit(both));
    const std::string log = readText(workerFile("rank1", "out.log", "r-abcde/a3"));
    EXPECT_NE(log.find(" o arg=1 1/2 1/2 127.0.0.1 port="), std::string::npos) << log;
    EXPECT_NE(log.find(" r-abcde.a3 3 rank1 yes\n"), std::string::npos) << log;
    EXPECT_EQ(log.find("port= "), std::string::npos) << log;
    EXPECT_NE(log.find("runs/r-abcde/a3/rank1\n"), std::string::npos) << log;
    EXPECT_NE(readText(workerFile("feed", "out.log", "r-abcde/a3")).find("rank=none"),
              std::string::npos);
}

TEST_F(EmbeddedEngineTest, RanksOfAnotherNodeGetTheirPlaceAmongAll) {
    Group ranks = group("rank", "", true, 2);
    ranks.argv = {"sh", "-c",
                  "echo arg={rank} $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $GROUP_RANK "
                  "$MASTER_ADDR:$MASTER_PORT"};
    ranks.place = {2, 4, 1, 2, "10.0.0.1", 4711};
    const State end = waitForEnd(submit(gang({ranks}, "r-abcde.a3.p1")));
    EXPECT_EQ(end.masterPort, 4711);
    EXPECT_EQ(workerOf(end, "rank3").rank, 3);
    const std::string log = readText(workerFile("rank3", "out.log", "r-abcde/a3"));
    EXPECT_NE(log.find(" o arg=3 3/4 1/2 1 10.0.0.1:4711\n"), std::string::npos) << log;
    EXPECT_EQ(recordedKeys(file("runs")), std::vector<std::string>{"r-abcde.a3.p1"});
}

TEST_F(EmbeddedEngineTest, TheFirstFailureIsNamedAndEndsTheOthers) {
    const std::string id = submit(gang(
        {group("feed", deafScript("up")),
         group("rank", "while [ ! -e " + file("up") + " ]; do sleep 0.02; done; exit 7", true)}));
    const State end = waitForEnd(id);
    EXPECT_EQ(end.cause, Cause::kWorkerFailed);
    EXPECT_EQ(end.worker, "rank0");
    EXPECT_EQ(end.exitCode, 7);
    EXPECT_EQ(end.reason, "rank0 ended with exit code 7");
    EXPECT_EQ(workerOf(end, "feed").signal, SIGKILL);
    EXPECT_TRUE(nothingLeft());
}

// The engine forgets a gang that it has listed as ended; from then on only the files tell its end.
TEST_F(EmbeddedEngineTest, AnEndThatAFullDiskCannotStoreIsToldOnceItIsStored) {
    const std::string id = submit(gang(
        {group("rank", "while [ ! -e " + file("go") + " ]; do sleep 0.02; done; exit 7", true)}));
    {
        const tests::FileSizeLimit limit(16);
        std::ofstream(file("go")) << "";
        ASSERT_TRUE(eventually([&] { return workerOf(stateOf(id), "rank0").exitCode == 7; }));
        for (int i = 0; i < 3; ++i) {
            const auto all = engine->list();
            ASSERT_TRUE(all.ok()) << all.status();
            ASSERT_EQ(all->size(), 1u);
            EXPECT_EQ(all->front().second.phase, Phase::kStopping);
        }
    }
    ASSERT_TRUE(engine->list().ok());
    EXPECT_EQ(stateOf(id).phase, Phase::kEnded);
    EXPECT_EQ(stateOf(id).reason, "rank0 ended with exit code 7");
    restart();
    EXPECT_EQ(stateOf(id).phase, Phase::kEnded);
}

TEST_F(EmbeddedEngineTest, AKilledWorkerIsAFailureWithItsSignal) {
    const std::string id = submit(gang({group("rank", deafScript("up"), true, 2)}));
    ASSERT_TRUE(isReady("up"));
    // One worker is up; the gang runs once both are.
    ASSERT_TRUE(eventually([&] { return stateOf(id).phase == Phase::kRunning; }));
    const auto pid = static_cast<pid_t>(workerOf(stateOf(id), "rank1").pid);
    ASSERT_GT(pid, 1);
    ::kill(pid, SIGKILL);
    const State end = waitForEnd(id);
    EXPECT_EQ(end.cause, Cause::kWorkerFailed);
    EXPECT_EQ(end.worker, "rank1");
    EXPECT_EQ(end.exitCode, 137);
    EXPECT_TRUE(nothingLeft());
}

TEST_F(EmbeddedEngineTest, WorkersWithALifeLineEndWhenItIsCut) {
    UniqueFd readEnd, writeEnd;
    ASSERT_TRUE(makePipe(readEnd, writeEnd).ok());
    engine.reset();
    EmbeddedOptions options{file("runs"), execProgram(), {4, 0, 0}};
    options.lifeFd = readEnd.get();
    auto opened = EmbeddedEngine::open(options, clock);
    ASSERT_TRUE(opened.ok()) << opened.status();
    engine = std::move(*opened);
    const std::string id = submit(gang({group("rank", "sleep 4343", true)}));
    EXPECT_EQ(stateOf(id).phase, Phase::kRunning);
    writeEnd.reset();
    EXPECT_EQ(waitForEnd(id).cause, Cause::kWorkerFailed);
}

TEST_F(EmbeddedEngineTest, ACommandThatIsNotThereIsAFailureWith127) {
    Group broken = group("rank", "", true);
    broken.argv = {"/no/such/trainer"};
    const State end = waitForEnd(submit(gang({broken})));
    EXPECT_EQ(end.cause, Cause::kWorkerFailed);
    EXPECT_EQ(end.exitCode, 127);
    EXPECT_NE(logOf("rank0").find("/no/such/trainer: No such file"), std::string::npos);
}

TEST_F(EmbeddedEngineTest, AKilledGuardianTakesItsWorkerAndAllItsChildrenWithIt) {
    const std::string id = submit(gang({group("rank", deafScript("up"), true)}));
    ASSERT_TRUE(isReady("up"));
    const Json guardian = readJson(workerFile("rank0", "guardian.json"));
    ::kill(static_cast<pid_t>(jsonInt(guardian, "pid")), SIGKILL);
    const State end = waitForEnd(id);
    EXPECT_EQ(end.cause, Cause::kWorkerFailed);
    EXPECT_EQ(end.reason, "rank0 was ended by signal 9 (its guardian was killed)");
    EXPECT_TRUE(nothingLeft()) << "also the child with a session of its own";
}

// A process of the gang that is not found by environment, session or parent.
TEST_F(EmbeddedEngineTest, AKilledGuardianTakesAlsoWhatCleanedItsEnvironment) {
    const Result<std::string> own = delegatedGroup();
    if (!own.ok()) {
        GTEST_SKIP() << "no control group may be made here: " << own.status();
    }
    const std::string script =
        "setsid env -i sh -c 'echo $$ > " + file("pid") + "; exec sleep 4343' & ";
    const std::string id = submit(gang({group("rank", script + deafScript("up"), true)}));
    ASSERT_TRUE(isReady("up"));
    ASSERT_TRUE(eventually([&] { return readText(file("pid")).ends_with('\n'); }));
    const pid_t hidden = std::atoi(readText(file("pid")).c_str());
    const Json guardian = readJson(workerFile("rank0", "guardian.json"));
    const std::string group = jsonString(guardian, "control_group");
    EXPECT_TRUE(group.starts_with(*own + "/millrace-r-abcde.a1.rank0-")) << group;
    engine.reset();
    ::kill(static_cast<pid_t>(jsonInt(guardian, "pid")), SIGKILL);
    restart();
    waitForEnd(id);
    EXPECT_EQ(readText(strCat("/proc/", hidden, "/cmdline")), "") << "it goes on";
    EXPECT_FALSE(std::filesystem::exists(group));
    ::kill(hidden, SIGKILL);
}

TEST_F(EmbeddedEngineTest, AGuardianRemovesTheGroupOfItsWorker) {
    const std::string id = submit(gang({group("rank", "exit 0", true)}));
    waitForEnd(id);
    const Json guardian = readJson(workerFile("rank0", "guardian.json"));
    EXPECT_EQ(jsonString(guardian, "control_group").empty(), !delegatedGroup().ok());
    EXPECT_FALSE(std::filesystem::exists(jsonString(guardian, "control_group")));
}

TEST_F(EmbeddedEngineTest, AGangOfTheSameKeyUnderAnotherRootGoesOn) {
    auto other = EmbeddedEngine::open({file("elsewhere"), execProgram(), {4, 0, 0}}, clock);
    ASSERT_TRUE(other.ok()) << other.status();
    const std::string id = submit(gang({group("rank", deafScript("up"), true)}));
    ASSERT_TRUE((*other)->submit(gang({group("rank", deafScript("up2"), true)})).ok());
    ASSERT_TRUE(isReady("up") && isReady("up2"));
    const Json guardian = readJson(workerFile("rank0", "guardian.json"));
    ::kill(static_cast<pid_t>(jsonInt(guardian, "pid")), SIGKILL);
    EXPECT_EQ(waitForEnd(id).cause, Cause::kWorkerFailed);
    EXPECT_EQ((*other)->state(id)->phase, Phase::kRunning);
    ASSERT_TRUE((*other)->cancel(id, milliseconds(0), "").ok());
    ASSERT_TRUE(eventually([&] { return (*other)->state(id)->phase == Phase::kEnded; }));
    EXPECT_EQ((*other)->state(id)->cause, Cause::kCancelled);
    EXPECT_TRUE(nothingLeft());
}

TEST_F(EmbeddedEngineTest, WhatIsNotCriticalNeitherEndsTheGangNorOutlivesIt) {
    Group helper = group("helper", "exit 9");
    Group other = group("other", deafScript("up"));
    helper.isCritical = other.isCritical = false;
    const std::string id = submit(
        gang({helper, other,
              group("rank", "while [ ! -e " + file("go") + " ]; do sleep 0.02; done", true)}));
    ASSERT_TRUE(isReady("up"));
    ASSERT_TRUE(eventually([&] { return workerOf(stateOf(id), "helper").exitCode == 9; }));
    EXPECT_EQ(stateOf(id).phase, Phase::kRunning);
    std::ofstream(file("go")) << "";
    EXPECT_EQ(waitForEnd(id).cause, Cause::kOk);
    EXPECT_TRUE(nothingLeft());
}

TEST_F(EmbeddedEngineTest, CancelEndsPoliteAndDeafWorkersAndMayBeRepeated) {
    const std::string id =
        submit(gang({group("feed", deafScript("up")),
                     group("rank", foreverScript("up2", "echo bye; exit 3"), true)}));
    ASSERT_TRUE(isReady("up") && isReady("up2"));
    const std::string why = "rank7 stands still after step 3: it is stopped";
    ASSERT_TRUE(engine->cancel(id, std::chrono::seconds(60), why).ok());
    EXPECT_EQ(stateOf(id).phase, Phase::kStopping);
    ASSERT_TRUE(eventually([&] { return workerOf(stateOf(id), "rank0").exitCode == 3; }));
    ASSERT_TRUE(engine->cancel(id, milliseconds(50), "other").ok()) << "a shorter grace counts";
    const State end = waitForEnd(id);
    EXPECT_EQ(end.cause, Cause::kCancelled);
    EXPECT_EQ(end.reason, why) << "the first reason stays";
    for (const char* worker : {"feed", "rank0"}) {
        EXPECT_NE(logOf(worker).find("ending the command: " + why + "\n"), std::string::npos);
    }
    EXPECT_NE(logOf("rank0").find(" o bye\n"), std::string::npos);
    EXPECT_TRUE(nothingLeft());
    EXPECT_TRUE(engine->cancel(id, milliseconds(0), "").ok());
    EXPECT_TRUE(engine->cancel("r-zzzzz.a1", milliseconds(0), "").ok());
}

TEST_F(EmbeddedEngineTest, TheSameSubmitTwiceStartsOneGangAndAnotherOneIsAConflict) {
    const Gang one = gang({group("rank", "echo x >> " + file("starts") + "; sleep 4343", true)});
    submit(one);
    submit(one);
    Gang other = one;
    other.groups[0].argv.back() = "true";
    EXPECT_TRUE(absl::IsAlreadyExists(engine->submit(other)));
    ASSERT_TRUE(eventually([&] { return !readText(file("starts")).empty(); }));
    EXPECT_EQ(readText(file("starts")), "x\n");
    EXPECT_EQ(engine->list()->size(), 1U);
}

TEST_F(EmbeddedEngineTest, TwoThreadsThatSubmitTheSameStartItOnce) {
    const Gang one = gang({group("rank", "echo x >> " + file("starts") + "; sleep 4343", true)});
    std::thread other([&] { submit(one); });
    submit(one);
    other.join();
    ASSERT_TRUE(eventually([&] { return !readText(file("starts")).empty(); }));
    EXPECT_EQ(readText(file("starts")), "x\n");
}

TEST_F(EmbeddedEngineTest, UnknownIsMissingAndNotEnded) {
    const std::string unknown = "r-zzzzz.a1";
    EXPECT_EQ(stateOf(unknown).phase, Phase::kMissing);
    EXPECT_EQ(stateOf(unknown).cause, Cause::kNone);
    EXPECT_FALSE(engine->has("r-zzzzz.a1").value());
    EXPECT_FALSE(engine->has("../../etc").ok());
}

TEST_F(EmbeddedEngineTest, APartOfAnAttemptLivesAndEndsByItselfInItsDirectory) {
    const std::string whole = submit(gang({group("feed", "exec sleep 4343")}));
    const std::string part = submit(gang({group("data3", "echo part")}, "r-abcde.a1.d3"));
    EXPECT_EQ(waitForEnd(part).cause, Cause::kOk);
    EXPECT_EQ(stateOf(whole).phase, Phase::kRunning);
    EXPECT_EQ(stateOf(whole).workers.size(), 1U);
    EXPECT_TRUE(std::filesystem::exists(file("runs/r-abcde/a1/gang.d3.json")));
    EXPECT_TRUE(std::filesystem::exists(workerFile("data3", "out.log")));
    restart();
    EXPECT_TRUE(engine->has("r-abcde.a1.d3").value());
    EXPECT_EQ(stateOf(part).phase, Phase::kEnded);
    EXPECT_FALSE(engine->has("r-abcde.a1.d4").value());
    for (const char* key : {"r-abcde.d3", "r-abcde.a1.", "r-abcde.a1.d", "r-abcde.a1.d3.d4"}) {
        EXPECT_FALSE(engine->has(key).ok()) << key;
    }
    EXPECT_TRUE(engine->cancel(whole, milliseconds(0), "").ok());
    waitForEnd(whole);
}

TEST_F(EmbeddedEngineTest, OnlyWhatHasEndedIsForgotten) {
    const std::string whole = submit(gang({group("feed", "exec sleep 4343")}));
    const std::string part = submit(gang({group("data3", "echo part")}, "r-abcde.a1.d3"));
    waitForEnd(part);
    EXPECT_TRUE(absl::IsFailedPrecondition(engine->forget(whole)));
    EXPECT_TRUE(engine->list().ok());  // reports the end: nobody follows it any more
    EXPECT_TRUE(engine->forget(part).ok());
    EXPECT_TRUE(engine->forget(part).ok());
    EXPECT_FALSE(std::filesystem::exists(file("runs/r-abcde/a1/data3")));
    EXPECT_FALSE(engine->has("r-abcde.a1.d3").value());
    EXPECT_EQ(stateOf(whole).phase, Phase::kRunning);
    EXPECT_TRUE(engine->cancel(whole, milliseconds(0), "").ok());
    waitForEnd(whole);
}

TEST_F(EmbeddedEngineTest, GangsThatMakeNoSenseAreRefusedBeforeAnythingStarts) {
    Gang bad = gang({group("rank", "true", true)});
    bad.key = "../up.a1";
    EXPECT_EQ(engine->submit(bad).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_FALSE(engine->submit(gang({})).ok());
    EXPECT_FALSE(engine->submit(gang({group("a/b", "true")})).ok());
    EXPECT_FALSE(engine->submit(gang({group("a", "true"), group("a", "true")})).ok());
    EXPECT_FALSE(engine->submit(gang({group("a", "true", false, 0)})).ok());
    Group huge = group("rank", "true", true);
    huge.resources.cpus = 5;
    const auto never = engine->submit(gang({huge}));
    EXPECT_EQ(never.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_FALSE(std::filesystem::exists(file("runs/r-abcde")));
}

TEST_F(EmbeddedEngineTest, AWorkerThatFindsNoDescriptorIsStartedByTheSameSubmitLater) {
    const Gang some = gang({group("feed", "echo feeding"), group("rank", "true", true)});
    {
        constexpr int kForGangFileOnly = 3;
        const tests::NoDescriptors few(kForGangFileOnly);
        const auto none = engine->submit(some);
        ASSERT_FALSE(none.ok());
        EXPECT_TRUE(isTransient(none)) << none;
    }
    EXPECT_TRUE(std::filesystem::exists(file("runs/r-abcde/a1/gang.json")));
    const std::string id = submit(some);
    EXPECT_EQ(waitForEnd(id).cause, Cause::kOk);
}

TEST_F(EmbeddedEngineTest, GpusAreOneGangsAloneUntilNothingOfItIsLeft) {
    gpus = {"GPU-a", "GPU-b", "GPU-c"};
    restart();
    EXPECT_EQ(engine->total().gpus, 3);
    const auto ofUser = [&](const std::string& script, int count) {
        Group ranks = group("rank", script, true, 2);
        ranks.isUsers = true;
        ranks.resources.gpus = count;
        return ranks;
    };
    const std::string first =
        submit(gang({ofUser("echo has=$CUDA_VISIBLE_DEVICES; sleep 4343", 2)}));
    ASSERT_TRUE(test::eventually([&] { return logOf("rank1").find("has=") != std::string::npos; }));
    EXPECT_NE(logOf("rank1").find(" o has=GPU-a,GPU-b\n"), std::string::npos) << logOf("rank1");
    const Gang wanted = gang({ofUser("echo has=$CUDA_VISIBLE_DEVICES", 2)}, "r-fghij.a1");
    EXPECT_TRUE(isTransient(engine->submit(wanted))) << "one of three is free";
    restart();
    EXPECT_TRUE(isTransient(engine->submit(wanted))) << "also by another daemon's word";
    waitForEnd(submit(gang({ofUser("echo has=$CUDA_VISIBLE_DEVICES", 0)}, "r-klmno.a1")));
    EXPECT_NE(readText(workerFile("rank0", "out.log", "r-klmno/a1")).find(" o has=\n"),
              std::string::npos)
        << "a gang that asked for none sees none";
    ASSERT_TRUE(engine->cancel(first, milliseconds(0), "").ok());
    waitForEnd(first);
    EXPECT_EQ(waitForEnd(submit(wanted)).cause, Cause::kOk);
    EXPECT_NE(readText(workerFile("rank0", "out.log", "r-fghij/a1")).find("has=GPU-a,GPU-b\n"),
              std::string::npos);
}

TEST_F(EmbeddedEngineTest, AFailedWorkerThatMayBeReplacedLeavesItsPlaceToTheNextOne) {
    Group feed =
        group("feed", "echo feed $MR_REPLACED; [ $MR_REPLACED = 2 ] && sleep 4343; exit 5");
    feed.replacements = 2;
    const Gang both = gang({feed, group("rank", "echo $$; sleep 4343", true)});
    const std::string id = submit(both);
    for (int number = 1; number <= 2; ++number) {
        ASSERT_TRUE(eventually([&] { return stateOf(id).phase == Phase::kSubmitting; })) << number;
        EXPECT_FALSE(workerOf(stateOf(id), "rank0").exitCode.has_value());
        restart();  // another daemon knows it too
        EXPECT_EQ(submit(both), id);
    }
    ASSERT_TRUE(eventually([&] { return logOf("feed").find(" o feed 2\n") != std::string::npos; }));
    EXPECT_EQ(stateOf(id).phase, Phase::kRunning);
    EXPECT_EQ(readJson(workerFile("feed", "exit.1.json"))["code"], 5);
    ::kill(static_cast<pid_t>(workerOf(stateOf(id), "feed").pid), SIGKILL);
    const State end = waitForEnd(id);
    EXPECT_EQ(end.cause, Cause::kWorkerFailed) << "twice is all";
    EXPECT_EQ(end.worker, "feed");
    EXPECT_TRUE(nothingLeft());
}

TEST_F(EmbeddedEngineTest, WhatAWorkersProcessesTookIsToldAtItsEndAndWithIfItWasReplaced) {
    const std::string busy = "sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'; exit 5";
    Group feed = group("feed", busy);
    feed.replacements = 1;
    const Gang one = gang({feed, group("rank", "sleep 4343", true)});
    const std::string id = submit(one);
    ASSERT_TRUE(eventually([&] { return workerOf(stateOf(id), "feed").numReplaced == 1; }));
    const WorkerState first = workerOf(stateOf(id), "feed");
    EXPECT_GT(first.cpuSeconds, 0.01) << "its child's, too";
    EXPECT_GT(first.peakMemoryBytes, 100'000);
    restart();  // another daemon knows it too
    submit(one);
    const State end = waitForEnd(id);
    EXPECT_GT(workerOf(end, "feed").cpuSeconds, first.cpuSeconds + 0.01);
    EXPECT_GE(workerOf(end, "feed").peakMemoryBytes, first.peakMemoryBytes);
    EXPECT_LT(workerOf(end, "rank0").cpuSeconds, first.cpuSeconds) << "it slept";
}

TEST_F(EmbeddedEngineTest, AWorkerThatFailedOnItsInputIsNotReplaced) {
    Group feed = group("feed", "exit 4");
    feed.replacements = 3;
    const State end = waitForEnd(submit(gang({feed, group("rank", "sleep 4343", true)})));
    EXPECT_EQ(end.exitCode, 4);
    EXPECT_TRUE(nothingLeft());
}

TEST_F(EmbeddedEngineTest, AMissingShimIsAnEngineFailureInItsOwnWords) {
    auto broken = EmbeddedEngine::open({file("runs2"), "/no/millrace-exec", {4, 0, 0}}, clock);
    ASSERT_TRUE(broken.ok());
    const Gang some = gang({group("rank", "true", true)});
    ASSERT_TRUE((*broken)->submit(some).ok());
    const State end = *(*broken)->state(some.key);
    EXPECT_EQ(end.phase, Phase::kEnded);
    EXPECT_EQ(end.cause, Cause::kEngineFailed);
    EXPECT_NE(end.reason.find("/no/millrace-exec"), std::string::npos) << end.reason;
}

TEST_F(EmbeddedEngineTest, ListTellsAnEndOnceAndTheStateStaysKnown) {
    const std::string id = submit(gang({group("rank", "true", true)}));
    State last;
    ASSERT_TRUE(eventually([&] {
        const auto all = *engine->list();
        last = all.empty() ? State{} : all[0].second;
        return last.phase == Phase::kEnded;
    }));
    EXPECT_TRUE(engine->list()->empty());
    EXPECT_EQ(stateOf(id).cause, Cause::kOk);
    EXPECT_TRUE(engine->has("r-abcde.a1").value());
}

TEST_F(EmbeddedEngineTest, ItsOwnWordsOfAWorkerAreTheGuardiansAndNotTheWorkers) {
    const std::string id = submit(gang({group("rank", "echo one; sleep 4343", true)}));
    ASSERT_TRUE(eventually([&] { return logOf("rank0").find("one") != std::string::npos; }));
    EXPECT_EQ(engine->log(id, "rank0", 1 << 10).value(), "");
    ASSERT_TRUE(engine->cancel(id, milliseconds(100), "").ok());
    waitForEnd(id);
    const std::string words = engine->log(id, "rank0", 1 << 10).value();
    EXPECT_NE(words.find("ending the command"), std::string::npos) << words;
    EXPECT_EQ(words.find("one"), std::string::npos) << words;
    EXPECT_EQ(engine->log(id, "rank0", 3).value(), "");
    EXPECT_FALSE(engine->log(id, "../..", 100).ok());
}

// Stopped as by a debugger or the kernel's freezer: its socket accepts connections until its queue
// is full, and never answers.
class StoppedGuardianTest : public EmbeddedEngineTest {
 protected:
    StoppedGuardianTest() {
        Gang slow = gang({group("one", "exec sleep 4343")}, "r-stopp.a1");
        slow.orphanLease = std::chrono::seconds(2);  // asked each half second
        stopped = submit(slow);
        running = submit(gang({group("two", "exec sleep 4343")}));
        const auto record = readGuardianRecord(file("runs/r-stopp/a1/one"));
        EXPECT_TRUE(record.has_value());
        guardian = record ? *record : GuardianRecord{};
        ::kill(static_cast<pid_t>(guardian.pid), SIGSTOP);
    }
    ~StoppedGuardianTest() override { ::kill(static_cast<pid_t>(guardian.pid), SIGCONT); }
    bool isSilent() {
        const State state = stateOf(stopped);
        return state.workers.size() == 1 && state.workers[0].isSilent;
    }

    std::string stopped, running;
    GuardianRecord guardian;
};

TEST_F(StoppedGuardianTest, StopsNobodyElseThoughItsQueueIsFull) {
    std::vector<UniqueFd> waiting;
    for (Result<UniqueFd> one = connectUnixNonBlocking(guardian.controlSocket); one.ok();
         one = connectUnixNonBlocking(guardian.controlSocket)) {
        waiting.push_back(std::move(*one));
    }
    restart();  // without an earlier connection to it
    EXPECT_TRUE(test::eventually([&] { return isSilent(); }));
    EXPECT_EQ(stateOf(running).phase, Phase::kRunning);
    EXPECT_EQ(engine->list()->size(), 2U);
    ASSERT_TRUE(engine->cancel(running, std::chrono::milliseconds(0), "").ok());
    EXPECT_EQ(waitForEnd(running).cause, Cause::kCancelled);
}

TEST_F(StoppedGuardianTest, IsAWorkerThatIsSilentUntilItGoesOn) {
    EXPECT_TRUE(test::eventually([&] { return isSilent(); }));
    ASSERT_EQ(::kill(static_cast<pid_t>(guardian.pid), SIGCONT), 0);
    EXPECT_TRUE(test::eventually([&] { return !isSilent(); }));
}

// As the guardian reports it if there is no room for its files.
TEST_F(EmbeddedEngineTest, AWorkerThatFindsNoRoomIsStartedByTheSameSubmitLater) {
    const std::string program = file("exec.sh"), full = file("full");
    std::ofstream(program) << "#!/bin/sh\ncase \"$*\" in */rank0\\ *) if [ -e " << full
                           << " ]; then echo 'millrace-exec: /state: No space left on device' >&2; "
                           << "exit 6; fi;; esac\nexec " << execProgram() << " \"$@\"\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    std::ofstream(full) << "x";
    auto own = EmbeddedEngine::open({file("runs"), program, {4, 0, 0}}, clock);
    ASSERT_TRUE(own.ok());
    const Gang both = gang({group("feed", "exec sleep 60"), group("rank", "exit 0", true)});
    for (int i = 0; i < 2; ++i) {
        const auto waits = (*own)->submit(both);
        ASSERT_TRUE(absl::IsUnavailable(waits)) << waits;
        EXPECT_NE(messageOf(waits).find("/state: No space left on device"), std::string_view::npos);
        EXPECT_TRUE((*own)->has(both.key).value());
        EXPECT_EQ((*own)->state(both.key)->phase, Phase::kSubmitting) << "nothing was ended";
    }
    std::filesystem::remove(full);
    ASSERT_TRUE((*own)->submit(both).ok());
    EXPECT_TRUE(test::eventually([&] {
        const State state = (*own)->state(both.key).value();
        return state.workers.at(1).exitCode == 0;
    }));
    ASSERT_TRUE((*own)->cancel(both.key, std::chrono::milliseconds(0), "a test").ok());
    EXPECT_TRUE(test::eventually([&] { return (*own)->state(both.key)->phase == Phase::kEnded; }));
}

}  // namespace
}  // namespace millrace::engines

// Small parts of the agent: verdicts, jobs, directories, the inspector's sentences, the live table.
#include "backend/rank/frame_traffic_json.h"
#include "daemon/agent/run/done_words.h"
#include "tests/unit/agent/fakes.h"

namespace millrace::agent {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

engines::State gangOf(int rankCode, int feedCode) {
    FakeEngine engine;
    engines::Gang gang;
    gang.key = "r-a.a1";
    engines::Group feed, rank;
    feed.name = "feed";
    rank.name = "rank";
    rank.hasRanks = true;
    gang.groups = {feed, rank};
    (void)engine.submit(gang);
    return engine.end("r-a.a1", rankCode, feedCode);
}

AttemptReports someFacts() {
    AttemptReports facts;
    facts.maxRestarts = 3;
    facts.lastStep = 10;
    return facts;
}

TEST(Verdict, DoneAndAGoodEndIsFinished) {
    AttemptReports facts = someFacts();
    facts.done = {0};
    EXPECT_EQ(judge(facts, gangOf(0, 0)).kind, Verdict::Kind::kFinished);
    facts.isStopRequested = true;
    EXPECT_EQ(judge(facts, gangOf(0, 0)).kind, Verdict::Kind::kFinished);
}

TEST(Verdict, DoneBeforeACrashIsNoSuccess) {
    AttemptReports facts = someFacts();
    facts.done = {0};
    EXPECT_EQ(judge(facts, gangOf(139, 0)).kind, Verdict::Kind::kRestart);
}

TEST(Verdict, WhyARunWasDoneBeforeItsRowsWereIsTold) {
    AttemptReports facts = someFacts();
    facts.done = {0};
    facts.doneReason = "stopped early: 2 evaluations were no better";
    const Verdict verdict = judge(facts, gangOf(0, 0));
    EXPECT_EQ(verdict.kind, Verdict::Kind::kFinished);
    EXPECT_EQ(verdict.reason, facts.doneReason);
}

TEST(Verdict, AScriptIsDoneWhenAllOfItsRanksEndedWell) {
    AttemptReports facts = someFacts();
    facts.ranks = 2;
    facts.done = {0, 1};
    facts.isScript = true;
    engines::State gang = gangOf(0, 0);
    const auto rank0 = std::find_if(gang.workers.begin(), gang.workers.end(),
                                    [](const auto& worker) { return worker.rank == 0; });
    engines::WorkerState second = *rank0;
    second.name = "rank1";
    second.rank = 1;
    gang.workers.push_back(second);
    EXPECT_EQ(judge(facts, gang).kind, Verdict::Kind::kFinished);
    gang.workers.back().exitCode = 1;
    gang.worker = "rank1";
    EXPECT_EQ(judge(facts, gang).kind, Verdict::Kind::kRestart);
    // A script's exit codes have their own meaning: 4 says nothing about the input.
    gang.workers.back().exitCode = kExitInput;
    EXPECT_EQ(judge(facts, gang).kind, Verdict::Kind::kRestart);
}

TEST(Verdict, ARankThatWasDoneAndDidNotLeaveEndedWell) {
    AttemptReports facts = someFacts();
    facts.isScript = true;
    facts.done = {0};
    facts.cutRanks = {"rank0"};
    EXPECT_EQ(judge(facts, gangOf(143, 0)).kind, Verdict::Kind::kFinished);
    facts.isStopRequested = true;
    EXPECT_EQ(judge(facts, gangOf(137, 0)).kind, Verdict::Kind::kFinished);
    facts.cutRanks = {"rank1"};
    EXPECT_EQ(judge(facts, gangOf(137, 0)).kind, Verdict::Kind::kCancelled);
}

TEST(Verdict, ARankThatDidNotLeaveAndSaidNothingIsNotRunAgain) {
    AttemptReports facts = someFacts();
    facts.isScript = true;
    facts.cutReason = "rank0 has not left";
    const Verdict verdict = judge(facts, gangOf(143, 0));
    EXPECT_EQ(verdict.kind, Verdict::Kind::kFailed);
    EXPECT_EQ(verdict.reason, "rank0 has not left (no restart: it would end the same way)");
    facts.isStopRequested = true;
    EXPECT_EQ(judge(facts, gangOf(143, 0)).kind, Verdict::Kind::kCancelled);
}

TEST(Verdict, AScriptWhoseRankStoodStillBeginsAgainAlsoWhereItGotNoStepFurther) {
    AttemptReports facts = someFacts();
    facts.isScript = facts.stoodStill = true;
    facts.start.resumeStep = facts.lastStep;
    facts.errors["rank1"] = "rank1 stands still after step 10: its process is stopped (SIGSTOP)";
    engines::State gang = gangOf(137, 0);
    gang.worker.clear();
    const Verdict verdict = judge(facts, gang);
    EXPECT_EQ(verdict.kind, Verdict::Kind::kRestart);
    EXPECT_EQ(verdict.reason, facts.errors["rank1"]) << "which begins with the rank's name";
}

TEST(Verdict, WorkersAreToldWhyTheirGangIsEnded) {
    engines::State gang;
    gang.reason = "node n1: rank3 ended with exit code 5";
    EXPECT_EQ(whyCut("rank1 stands still: stopped", "enough", gang), "rank1 stands still: stopped");
    EXPECT_EQ(whyCut("", "enough", gang), "the run was stopped: enough");
    EXPECT_EQ(whyCut("", "", gang), gang.reason);
    EXPECT_EQ(whyCut("", "", std::nullopt), "the attempt is over");
}

TEST(Verdict, ARunIsFinishedOnlyWhenEachOfItsRanksSaidSo) {
    for (const bool isScript : {false, true}) {
        AttemptReports facts = someFacts();
        facts.ranks = 2;
        facts.isScript = isScript;
        facts.done = {0};
        engines::State gang = gangOf(0, 0);
        gang.workers.push_back(gang.workers.front());
        gang.workers.back().name = "rank1";
        gang.workers.back().rank = 1;
        gang.worker.clear();
        gang.cause = engines::Cause::kOk;
        Verdict verdict = judge(facts, gang);
        EXPECT_EQ(verdict.kind, Verdict::Kind::kRestart);
        EXPECT_EQ(verdict.reason, "rank1 ended without saying that it was done");
        // The node of the rank is lost, so nobody knows how the rank ended.
        gang.workers.back().exitCode.reset();
        gang.cause = engines::Cause::kNodeLost;
        gang.reason = "node2 is lost";
        verdict = judge(facts, gang);
        EXPECT_EQ(verdict.kind, Verdict::Kind::kRestart);
        EXPECT_EQ(verdict.reason, "node2 is lost");
        facts.done = {0, 1};
        EXPECT_EQ(judge(facts, gang).kind, Verdict::Kind::kFinished) << "it had said all";
    }
}

TEST(Verdict, AResumedScriptThatReadNothingHasFailed) {
    AttemptReports facts = someFacts();
    facts.isScript = true;
    facts.start.resumeStep = facts.lastStep = 60;
    facts.done = facts.idleRanks = {0};
    engines::State gang = gangOf(0, 0);
    gang.worker.clear();
    Verdict verdict = judge(facts, gang);
    EXPECT_EQ(verdict.kind, Verdict::Kind::kFailed) << "the same again ends the same";
    EXPECT_EQ(verdict.reason,
              "the script ended and had read no batch behind step 60, where this attempt went on, "
              "although the run's stream is not at its end there");
    facts.idleRanks.clear();  // the rank was at the end of the stream
    EXPECT_EQ(judge(facts, gang).kind, Verdict::Kind::kFinished);
}

TEST(Verdict, WhatTheEngineSaysOfAScriptIsNotHidden) {
    AttemptReports facts = someFacts();
    facts.isScript = true;
    facts.idleRanks = {0};
    engines::State gang;
    gang.cause = engines::Cause::kEngineFailed;
    gang.reason = "no processes can be started";
    EXPECT_THAT(judge(facts, gang).reason, ::testing::HasSubstr(gang.reason));
    gang = gangOf(0, 0);  // the ranks left, and the daemon ended the feed
    gang.worker.clear();
    gang.cause = engines::Cause::kCancelled;
    gang.reason = "cancelled";
    EXPECT_THAT(judge(facts, gang).reason, ::testing::HasSubstr("had not read the run's stream"));
    gang = engines::State();
    gang.reason = "its workers could not be asked for and were silent for 11 minutes";
    EXPECT_THAT(judge(facts, gang).reason, ::testing::HasSubstr(gang.reason));
}

TEST(Verdict, AScriptThatReadNothingHasFailed) {
    AttemptReports facts = someFacts();
    facts.isScript = true;
    facts.lastStep = 0;
    facts.idleRanks = {0};
    engines::State gang = gangOf(0, 0);
    gang.worker.clear();
    EXPECT_THAT(judge(facts, gang).reason, ::testing::HasSubstr("had not read the run's stream"));
}

TEST(Verdict, AStopIsCancelled) {
    AttemptReports facts = someFacts();
    facts.isStopRequested = true;
    facts.stopReason = "enough";
    const Verdict verdict = judge(facts, gangOf(kExitStopped, 0));
    EXPECT_EQ(verdict.kind, Verdict::Kind::kCancelled);
    EXPECT_EQ(verdict.reason, "enough");
}

TEST(Verdict, BadInputOfTheFeedIsTheReasonEvenWhenTheRankFellFirst) {
    AttemptReports facts = someFacts();
    facts.errors = {{"feed", "part-3.parquet: truncated"}, {"rank0", "the feed is gone"}};
    const Verdict verdict = judge(facts, gangOf(5, kExitInput));
    EXPECT_EQ(verdict.kind, Verdict::Kind::kFailed);
    EXPECT_EQ(verdict.reason, "feed: part-3.parquet: truncated");
}

TEST(Verdict, WhatASurvivorTakesForBadInputIsNoReasonToGiveUp) {
    engines::State gang = gangOf(137, 0);
    gang.workers.push_back(gang.workers.front());
    gang.workers.back().name = "rank1";
    gang.workers.back().exitCode = kExitInput;
    gang.workers.back().signal = 0;
    const Verdict verdict = judge(someFacts(), gang);
    EXPECT_EQ(verdict.kind, Verdict::Kind::kRestart);
    EXPECT_NE(verdict.reason.find("rank0 was ended by SIGKILL"), std::string::npos);
    gang.worker = "rank1";  // rank1 was the first to fail
    EXPECT_EQ(judge(someFacts(), gang).kind, Verdict::Kind::kFailed);
}

TEST(Verdict, WithoutRestartsTheFirstFailureIsTheLast) {
    AttemptReports facts = someFacts();
    facts.maxRestarts = 0;
    facts.lastWords = {{"rank0", "step 10 loss 0.4"}};
    Verdict verdict = judge(facts, gangOf(134, 0));
    EXPECT_EQ(verdict.kind, Verdict::Kind::kFailed);
    EXPECT_EQ(verdict.reason,
              "rank0 was ended by SIGABRT after step 10; its last line: step 10 loss 0.4");
    verdict = judge(facts, gangOf(137, 0));
    EXPECT_EQ(verdict.reason, "rank0 was ended by SIGKILL after step 10");
}

TEST(Verdict, ARankThatEndsBeforeAnyStepIsNotStartedAgainAndAgain) {
    AttemptReports facts = someFacts();
    facts.lastStep = 0;
    EXPECT_EQ(judge(facts, gangOf(5, 0)).kind, Verdict::Kind::kFailed);
    EXPECT_EQ(judge(facts, gangOf(137, 0)).kind, Verdict::Kind::kRestart);
    EXPECT_EQ(judge(facts, gangOf(139, 0)).kind, Verdict::Kind::kRestart);
    facts.start.idleAttempts = 1;
    EXPECT_EQ(judge(facts, gangOf(139, 0)).kind, Verdict::Kind::kFailed) << "SIGSEGV is its own";
}

TEST(Verdict, WhoIsKilledFromOutsideBeforeAnyStepCountsAgainstRestartsOnly) {
    AttemptReports facts = someFacts();
    facts.lastStep = 0;
    facts.start.idleAttempts = facts.start.restarts = 2;
    EXPECT_EQ(judge(facts, gangOf(137, 0)).kind, Verdict::Kind::kRestart);
    EXPECT_EQ(judge(facts, gangOf(0, 143)).kind, Verdict::Kind::kRestart);
    facts.start.restarts = facts.maxRestarts;
    EXPECT_EQ(judge(facts, gangOf(137, 0)).kind, Verdict::Kind::kFailed);
}

TEST(Verdict, AFullDiskIsNoInputErrorAndIsTriedAgain) {
    const Verdict verdict = judge(someFacts(), gangOf(kExitResources, kExitResources));
    EXPECT_EQ(verdict.kind, Verdict::Kind::kRestart);
    EXPECT_EQ(judge(someFacts(), gangOf(kExitInput, 0)).kind, Verdict::Kind::kFailed);
}

TEST(Verdict, OfAWorkerThatNeverSpokeTheEngineHasTheLastWord) {
    AttemptReports facts = someFacts();
    facts.engineWords = {{"feed", "fine"}, {"rank0", "started\nending the command: too old"}};
    EXPECT_EQ(judge(facts, gangOf(143, 0)).reason,
              "rank0 was ended by SIGTERM after step 10; the engine says: ending the command: too "
              "old");
}

TEST(Verdict, ExitsAreDescribedByName) {
    engines::WorkerState worker;
    worker.name = "feed";
    EXPECT_EQ(describeExit(worker), "feed did not start");
    worker.exitCode = 5;
    EXPECT_EQ(describeExit(worker), "feed ended with code 5");
    worker.exitCode = kExitResources;
    EXPECT_EQ(describeExit(worker), "feed ended with code 6 (memory, disk or a limit too small)");
    worker.exitCode = 134;
    EXPECT_EQ(describeExit(worker), "feed was ended by SIGABRT");
}

TEST(Job, ItsStepsAndEpochsComeFromTheResolvedSpec) {
    const Result<SharedSpec> spec = readSpec(dumpJson(someSpec()));
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_EQ(epochsOf(**spec), 3);
    EXPECT_THAT(stepNames(**spec), ElementsAre("where", "filter"));
    EXPECT_FALSE(readSpec("{").ok());
}

engines::State gangOfALostNode() {
    engines::State gang;
    gang.phase = engines::Phase::kEnded;
    gang.cause = engines::Cause::kNodeLost;
    gang.reason = "node node1 with feed1 and its ranks is lost";
    return gang;
}

TEST(Verdict, ALostNodeIsTheReasonAndAnotherAttemptFollows) {
    AttemptReports facts;
    facts.maxRestarts = 2;
    facts.isScript = true;
    facts.errors["rank0"] = "a peer is gone";
    engines::State gang = gangOfALostNode();
    Verdict verdict = judge(facts, gang);
    EXPECT_EQ(verdict.kind, Verdict::Kind::kRestart);
    EXPECT_EQ(verdict.reason, gang.reason);
    gang.cause = engines::Cause::kRefused;
    gang.reason = "node node1: does not see the run's checkpoints";
    verdict = judge(facts, gang);
    EXPECT_EQ(verdict.kind, Verdict::Kind::kFailed) << "the same again would end the same";
    EXPECT_EQ(verdict.reason, gang.reason);
}

TEST(Verdict, ALostNodeCostsNoneOfTheRunsRestartsButIsNotTriedForEver) {
    AttemptReports facts = someFacts();
    facts.start.restarts = facts.maxRestarts = 2;
    engines::State gang = gangOfALostNode();
    Verdict verdict = judge(facts, gang);
    EXPECT_EQ(verdict.kind, Verdict::Kind::kRestart);
    EXPECT_FALSE(verdict.isCounted);
    facts.lastStep = facts.start.resumeStep;
    facts.start.lostAttempts = 18;
    EXPECT_EQ(judge(facts, gang).kind, Verdict::Kind::kRestart);
    facts.start.lostAttempts = 19;
    verdict = judge(facts, gang);
    EXPECT_EQ(verdict.kind, Verdict::Kind::kFailed);
    EXPECT_EQ(verdict.reason, gang.reason + " (given up after 20 nodes in a row without a step)");
    facts.maxRestarts = 0;
    facts.start.lostAttempts = 0;
    EXPECT_EQ(judge(facts, gang).kind, Verdict::Kind::kFailed) << "none was wanted";
}

TEST(Verdict, AnAttemptThatLeftItsNodeGoesOnElsewhereAndCostsNothing) {
    AttemptReports facts = someFacts();
    facts.start.restarts = facts.maxRestarts;
    facts.lastStep = facts.start.resumeStep;
    facts.moveReason = "node node1 is drained";
    Verdict verdict = judge(facts, gangOf(3, 3));
    EXPECT_EQ(verdict.kind, Verdict::Kind::kRestart);
    EXPECT_FALSE(verdict.isCounted);
    EXPECT_EQ(verdict.reason, facts.moveReason);
    facts.isStopRequested = true;
    EXPECT_EQ(judge(facts, gangOf(3, 3)).kind, Verdict::Kind::kCancelled) << "the user's word";
}

TEST(Verdict, AnAttemptThatFoundNoRoomDoesNotCount) {
    AttemptReports facts = someFacts();
    facts.lastStep = facts.start.resumeStep;
    facts.lackedRoom = true;
    const Verdict verdict = judge(facts, gangOf(kExitResources, 0));
    EXPECT_EQ(verdict.kind, Verdict::Kind::kRestart);
    EXPECT_FALSE(verdict.isCounted);
    EXPECT_THAT(verdict.reason, ::testing::EndsWith("the disk was full, so it does not count"));
}

TEST(AttemptStart, RestartsAreCountedWhereTheRunIsToBlame) {
    AttemptStart start;
    start.follow(0, true, "an error");
    EXPECT_EQ(start.failure, "an error");
    start.follow(0, false, "a lost node");
    start.follow(0, false, "a lost node");
    EXPECT_EQ(start.failure, "");
    EXPECT_EQ(start.restarts, 1);
    EXPECT_EQ(start.idleAttempts, 1);
    EXPECT_EQ(start.lostAttempts, 2);
    start.follow(1, false, "a lost node");
    EXPECT_EQ(start.restarts, 1);
    EXPECT_EQ(start.idleAttempts + start.lostAttempts, 0);
}

TEST(Job, ARunNeverAsksForMoreCoresOrMemoryThanThereAre) {
    spec::RunSpec spec;
    spec.resources.loaderThreads = 64;
    spec.resources.memoryLimitMb = 1'000'000;
    spec.resources.gpusPerRank = 2;
    const schedule::Resources needs =
        schedule::withinNode(partsOf(spec, true).front().needs, {2, 0, 1000});
    EXPECT_EQ(needs.cpus, 2);
    EXPECT_EQ(needs.memoryBytes, 1000u);
    EXPECT_EQ(needs.gpus, 2) << "a GPU that is not there is a reason to refuse";
}

TEST(Job, DataWorkersAreCountedButAreNotOfTheGang) {
    runs::RunRecord run;
    run.id = "r-abcde";
    spec::RunSpec spec;
    spec.resources.loaderThreads = 2;
    spec.resources.memoryLimitMb = 100;
    EXPECT_EQ(schedule::needsWithBeside(partsOf(spec, true), 0).memoryBytes, 100'000'000U);
    spec.resources.dataWorkersMin = 2;
    const schedule::Resources all = schedule::needsWithBeside(partsOf(spec, true), 0);
    EXPECT_EQ(all.cpus, 3 * 2 + 1);
    EXPECT_EQ(all.memoryBytes, 300'000'000U);
    EXPECT_EQ(partsOf(spec, false).size(), 1U) << "they may run wherever there is room";
    EXPECT_EQ(makeGang(run, 3, spec, {}, {})->groups.size(), 2U);
}

TEST(Job, OfARunOnSeveralNodesTheHeadTakesAndStartsItsOwnShare) {
    runs::RunRecord run;
    run.id = "r-abcde";
    spec::RunSpec spec;
    spec.train.ranks = 4;
    spec.train.threads = 2;
    spec.resources.loaderThreads = 1;
    EXPECT_EQ(makeGang(run, 1, spec, {}, {})->groups.at(1).place, engines::RankPlace());
    spec.train.nodes = 2;
    const auto parts = partsOf(spec, true);
    ASSERT_EQ(parts.size(), 2U);
    EXPECT_EQ(parts[0].needs.cpus, 1 + 2 * 2) << "with the feed";
    EXPECT_EQ(parts[0].where, schedule::Part::Where::kHead);
    EXPECT_EQ(parts[1].needs.cpus, 2 * 2);
    EXPECT_EQ(partsOf(spec, false)[0].where, schedule::Part::Where::kOther);
    const auto gang = makeGang(run, 1, spec, {}, {"10.0.0.1", "eth0"});
    const engines::Group& ranks = gang->groups.at(1);
    EXPECT_THAT(engines::workerNames(ranks), ElementsAre("rank0", "rank1"));
    EXPECT_EQ(ranks.place, (engines::RankPlace{0, 4, 0, 2, "10.0.0.1", 0}));
}

TEST(Job, ADataWorkerIsAGangOfItsOwn) {
    const DataWorkerName name{"r-abcde", 3, 12};
    EXPECT_EQ(name.key(), "r-abcde.a3.d12");
    const auto read = DataWorkerName::parse(name.key());
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->run, "r-abcde");
    EXPECT_EQ(read->attempt, 3);
    EXPECT_EQ(read->number, 12);
    for (const char* other : {"r-abcde.a3", "r-abcde.a3.d", "r-abcde.d1", ".a3.d1", "r.a3.d-1"}) {
        EXPECT_FALSE(DataWorkerName::parse(other).has_value()) << other;
    }
    engines::Gang gang = dataGang(name);
    settle(gang, "/bin", "/j", "node1");
    EXPECT_EQ(gang.key, name.key());
    const engines::Group& data = gang.groups.at(0);
    EXPECT_THAT(engines::workerNames(data), ElementsAre("data12"));
    EXPECT_FALSE(data.isCritical);
    EXPECT_GT(data.replacements, 3);
    EXPECT_THAT(data.argv,
                ElementsAre("/bin/millrace-loader", "data", "--join", "/j/data.join", "--wait", _));
    EXPECT_EQ(data.environment.contains("MILLRACE_LOG"), ::getenv("MILLRACE_LOG") == nullptr)
        << "its routine messages are written, and shown where all lines are";
}

TEST(Job, AWaitPolicyThatWasSetOnPurposeStays) {
    const char* const before = ::getenv("OMP_WAIT_POLICY");
    const std::string kept = before == nullptr ? "" : before;
    const auto policyOf = [] {
        runs::RunRecord run;
        run.id = "r-abcde";
        const auto gang = makeGang(run, 1, spec::RunSpec(), {}, {});
        const auto found = gang->groups.at(1).environment.find("OMP_WAIT_POLICY");
        return found == gang->groups.at(1).environment.end() ? "inherited" : found->second;
    };
    ::unsetenv("OMP_WAIT_POLICY");
    EXPECT_EQ(policyOf(), "PASSIVE");
    ::setenv("OMP_WAIT_POLICY", "ACTIVE", 1);
    EXPECT_EQ(policyOf(), "inherited");
    ::unsetenv("OMP_WAIT_POLICY");
    if (!kept.empty()) {
        ::setenv("OMP_WAIT_POLICY", kept.c_str(), 1);
    }
}

TEST_F(AgentTest, WhatDataWorkersDidIsSummedOverTheAttempts) {
    const RunDirectory directory(root + "/runs", "r-abc23");
    const auto account = [](int segments, double seconds, const std::string& codec) {
        values::FrameTraffic traffic;
        const auto bytes = static_cast<std::uint64_t>(100 * segments);
        traffic.nodes = {{"node1", {bytes, 2 * bytes, 1, 1}, {}}};
        traffic.slowest = {{"node1", "data0", "node0", "feed", bytes, 2 * bytes, seconds, 90}};
        traffic.seconds = 4;
        const Json columns = {{{"name", "x"}, {"codec", codec}}};
        const Json workers = {{"segments", segments},
                              {"cpu_seconds", seconds},
                              {"frame_bytes", 1000 * segments},
                              {"network_bytes", 100 * segments},
                              {"direct_bytes", 60 * segments},
                              {"carried_bytes", 20 * segments},
                              {"traffic", rank::trafficJson(traffic)},
                              {"link", {{"mb_per_second", 90.0}, {"columns", columns}}}};
        return Json{{"data_workers", workers}};
    };
    DoneWords words(directory, clock);
    ReceiptInputs none;
    words.begin(1);
    words.fill(1, none);
    EXPECT_TRUE(none.dataWorkers.is_null());
    for (const int attempt : {1, 2}) {
        ASSERT_TRUE(directory.prepare(attempt).ok());
        words.begin(attempt);
        words.account("feed", account(1, 0.5, "lz4"));  // only the last report counts
        words.account("feed", account(attempt, 0.5 * attempt, attempt == 1 ? "none" : "zstd:-5"));
        words.account("rank0", account(100, 100, "none"));
    }
    DoneWords adopted(directory, clock);
    adopted.read(2);
    ReceiptInputs inputs;
    adopted.fill(1, inputs);
    const Json& all = inputs.dataWorkers;
    EXPECT_EQ(all["segments"], 3);
    EXPECT_EQ(all["cpu_seconds"], 1.5);
    EXPECT_EQ(all["frame_bytes"], 3000);
    EXPECT_EQ(all["network_bytes"], 300);
    EXPECT_EQ(all["direct_bytes"], 180);
    EXPECT_EQ(all["carried_bytes"], 60);
    EXPECT_EQ(all["link"]["columns"][0]["codec"], "zstd:-5");
    const values::FrameTraffic traffic = rank::trafficOf(all["traffic"]);
    ASSERT_EQ(traffic.nodes.size(), 1U);
    EXPECT_EQ(traffic.nodes[0].sent, (values::FrameFlow{300, 600, 37.5, 75}));
    ASSERT_EQ(traffic.slowest.size(), 1U);
    EXPECT_EQ(traffic.slowest[0].bytesPerSecond(), 200);
}

TEST_F(AgentTest, WhatWorkersTookIsSummedByRoleOverTheAttempts) {
    const RunDirectory directory(root + "/runs", "r-abc23");
    engines::State gang;
    for (const char* name : {"feed", "rank0", "rank1", "feed1"}) {
        engines::WorkerState worker;
        worker.name = name;
        worker.cpuSeconds = 1.5;
        worker.peakMemoryBytes = 1'000;
        gang.workers.push_back(worker);
    }
    gang.workers[2].peakMemoryBytes = 3'000;
    DoneWords words(directory, clock);
    ReceiptInputs none;
    words.begin(1);
    words.fill(2, none);
    EXPECT_TRUE(none.costs.is_null());
    for (const int attempt : {1, 2}) {
        ASSERT_TRUE(directory.prepare(attempt).ok());
        words.begin(attempt);
        words.cost(gang);
        words.cost(gang);  // counted again: the last count is kept
    }
    DoneWords adopted(directory, clock);
    adopted.read(2);
    EXPECT_TRUE(adopted.ranks().empty()) << "that it ended does not say that it was done";
    ReceiptInputs inputs;
    adopted.fill(2, inputs);
    EXPECT_EQ(inputs.costs["ranks"]["cpu_seconds"], 6);
    EXPECT_EQ(inputs.costs["ranks"]["peak_memory_bytes"], 3'000);
    EXPECT_EQ(inputs.costs["feed"]["cpu_seconds"], 3);
    EXPECT_EQ(inputs.costs["relays"]["cpu_seconds"], 3);
}

TEST_F(AgentTest, ADirectoryRemembersEventsAndDone) {
    const RunDirectory directory(root + "/runs", "r-abc23");
    EXPECT_TRUE(directory.readDone(1).is_null());
    ASSERT_TRUE(directory.prepare(1).ok());
    ASSERT_TRUE(directory.prepare(12).ok());
    ASSERT_TRUE(directory.writeDone(1, {{"rank0", {{"step", 5}}}}).ok());
    directory.addEvent({1'700'000'000'000, "started"});
    directory.addEvent({1'700'000'001'000, "ended"});
    EXPECT_EQ(directory.readDone(1)["rank0"]["step"], 5);
    EXPECT_EQ(directory.readEvents().at(1), (values::RunEvent{1'700'000'001'000, "ended"}));
    EXPECT_THAT(directory.paths().attempts(), ElementsAre(1, 12));
}

TEST(Inspect, TheQuestionHoldsTheSpecAndItsVariations) {
    InspectRequest request;
    request.text = "a: 1\n";
    request.isAll = true;
    const Json json = inspectQuestion(request);
    EXPECT_EQ(json.at("op"), "resolve");
    EXPECT_EQ(json.at("variations"), "all");
    request.isAll = false;
    request.variations = {"", "x"};
    EXPECT_EQ(inspectQuestion(request).at("variations").size(), 2u);
}

TEST(Inspect, AReplyHasRunsOrErrors) {
    const Result<InspectReply> errors = parseInspectReply(
        R"({"ok":false,"errors":[{"message":"m","line":2,"column":3,"code":"type"}]})");
    ASSERT_TRUE(errors.ok());
    EXPECT_EQ(errors->errors.at(0).column, 3);
    const Result<InspectReply> runs = parseInspectReply(
        R"({"ok":true,"runs":[{"variation":"v","name":"n","spec":{},"plan":{},"warnings":["w"]}]})");
    ASSERT_TRUE(runs.ok()) << runs.status();
    EXPECT_EQ(runs->runs.at(0).warnings.at(0), "w");
}

TEST(Inspect, AReplyThatIsNoneIsAnError) {
    for (const char* text : {"", "[]", "{}", R"({"ok":true})", R"({"ok":true,"runs":[{}]})",
                             R"({"ok":false,"errors":7})"}) {
        EXPECT_FALSE(parseInspectReply(text).ok()) << text;
    }
}

TEST(Inspect, AMissingProgramIsASentence) {
    LoaderInspector inspector({"/nowhere/millrace-loader"});
    EXPECT_THAT(std::string(messageOf(inspector.resolve({}, {}).status())),
                HasSubstr("/nowhere/millrace-loader"));
}

}  // namespace
}  // namespace millrace::agent

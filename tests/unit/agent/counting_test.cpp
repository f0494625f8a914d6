// Runs whose vocabularies must be counted before their first attempt.
#include <atomic>

#include "tests/support/poll.h"
#include "tests/unit/agent/fakes.h"

namespace millrace::agent {
namespace {

using ::testing::HasSubstr;
using values::RunState;

/// A run whose embedding `user` needs counted values.
InspectedRun toBeCounted() {
    InspectedRun run = someInspected();
    run.spec["embeddings"] = {{"user", {{"rows", 0}, {"vocabulary", Json::object()}}}};
    return run;
}

TEST_F(AgentTest, ValuesAreCountedAndStoredBeforeTheFirstAttempt) {
    std::string givenPlan;
    countValues = [&](const std::string& spec, const std::string& plan, const std::string&,
                      const auto&) -> Result<runs::CountedSpec> {
        givenPlan = plan;
        Json counted = Json::parse(spec);
        counted["embeddings"]["user"] = {{"rows", 4}, {"vocabulary", {{"hash", "ab"}}}};
        runs::CountedSpec found;
        found.resolvedSpec = dumpJson(counted);
        found.specHash = "spec2";
        found.streamHash = "stream2";
        found.planHash = "plan2";
        found.plan = std::make_shared<const std::string>(R"({"files":[],"counted_tables":[]})");
        return found;
    };
    makeController();
    inspector.reply->runs = {toBeCounted()};
    const std::string id = service->submit(order())->runs.at(0).id;
    controller->drain();
    EXPECT_EQ(givenPlan, R"({"files":[]})");
    EXPECT_EQ(record(id).attempt, 1);
    EXPECT_EQ(record(id).specHash, "spec2");
    EXPECT_EQ(record(id).streamHash, "stream2");
    EXPECT_EQ(record(id).planHash, "plan2");
    const Json job = Json::parse(std::ifstream(root + "/runs/" + id + "/a1/job.json"));
    EXPECT_EQ(job.at("spec").at("embeddings").at("user").at("rows"), 4);
    EXPECT_EQ(job.at("plan_hash"), "plan2");
    EXPECT_TRUE(job.at("plan").contains("counted_tables"));
    EXPECT_THAT(history(id), HasSubstr("the values of its vocabularies are counted"));
}

/// Counts until it is told to stop.
class HeldCount {
 public:
    CountValues counts() {
        return [this](const auto&, const auto&, const auto&,
                      const auto& isUnwanted) -> Result<runs::CountedSpec> {
            numBegun_++;
            millrace::test::eventually([&] { return isUnwanted(); });
            return cancelled("stopped");
        };
    }
    int numBegun() const { return numBegun_; }

 private:
    std::atomic<int> numBegun_{0};
};

TEST_F(AgentTest, AStopDoesNotWaitForTheCountingOfAnotherRun) {
    HeldCount count;
    countValues = count.counts();
    engine.machine.cpus = 8;
    makeController();
    controller->start();
    inspector.reply->runs = {toBeCounted()};
    inspector.reply->runs[0].spec["resources"]["loader_threads"] = 1;
    const std::string first = service->submit(order())->runs.at(0).id;
    ASSERT_TRUE(millrace::test::eventually([&] { return count.numBegun() == 1; }));
    const std::string second = service->submit(order())->runs.at(0).id;
    const auto isWaiting = [&] {
        clock.advanceMs(50);
        return live.get(second).queuedReason.starts_with("waits for the values");
    };
    ASSERT_TRUE(millrace::test::eventually(isWaiting)) << live.get(second).queuedReason;
    ASSERT_TRUE(service->stop(second, "enough", std::chrono::seconds(15)).ok());
    EXPECT_TRUE(
        millrace::test::eventually([&] { return record(second).state == RunState::kCancelled; }));
    EXPECT_EQ(record(first).state, RunState::kQueued) << "it is still counted";
    EXPECT_EQ(count.numBegun(), 1);
}

TEST_F(AgentTest, DownLeavesARunThatIsCountedInTheQueue) {
    HeldCount count;
    countValues = count.counts();
    makeController();
    controller->start();
    inspector.reply->runs = {toBeCounted()};
    const std::string id = service->submit(order())->runs.at(0).id;
    ASSERT_TRUE(millrace::test::eventually([&] { return count.numBegun() == 1; }));
    const auto report = controller->down(std::chrono::seconds(1));
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->runsStopped, 0);
    EXPECT_EQ(report->runsQueued, 1);
    EXPECT_EQ(record(id).state, RunState::kQueued);
    EXPECT_EQ(record(id).exitReason, "");
}

TEST_F(AgentTest, ValuesThatCannotBeCountedEndTheRunWithTheReason) {
    countValues = [](const auto&...) -> Result<runs::CountedSpec> {
        return invalidArgument("embeddings.user.vocabulary: too many");
    };
    makeController();
    inspector.reply->runs = {toBeCounted()};
    const std::string id = service->submit(order())->runs.at(0).id;
    controller->drain();
    EXPECT_EQ(record(id).state, RunState::kFailed);
    EXPECT_EQ(record(id).attempt, 0);
    EXPECT_THAT(record(id).exitReason, HasSubstr("embeddings.user.vocabulary: too many"));
}

}  // namespace
}  // namespace millrace::agent

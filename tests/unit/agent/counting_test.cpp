// Runs whose vocabularies are counted before their first attempt.
#include "tests/unit/agent/fakes.h"

namespace millrace::agent {
namespace {

using ::testing::HasSubstr;
using values::RunState;

/// A run whose embedding `user` has values to be counted.
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

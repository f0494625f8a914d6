#include "backend/stream/plan.h"

#include <functional>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

Plan somePlan() {
    Plan plan;
    const std::string hash(32, 'a');
    plan.files = {
        {"/data/x.parquet", "x.parquet", 100, hash, 30, {{0, 0, 10, 80}, {1, 10, 20, 160}}},
        {"/data/y.parquet", "y.parquet", 50, std::string(32, 'b'), 0, {{0, 0, 0, 0}}}};
    plan.sideTables = {{"/data/t.csv", 7, std::string(32, 'c')}};
    plan.segmentSplits = 2;
    return plan;
}

TEST(Plan, RoundTripsThroughJson) {
    const Plan plan = somePlan();
    const Result<Json> text = parseJson(dumpJson(plan.toJson()), "plan");
    ASSERT_TRUE(text.ok());
    const Result<Plan> again = Plan::fromJson(*text);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, plan);
    EXPECT_EQ(Plan::fromJson(plan.toJson())->planHash(), plan.planHash());
    EXPECT_EQ(plan.numSplits(), 3);
    EXPECT_EQ(plan.numRows(), 30);
}

TEST(Plan, HashCoversIdentityAndNotPlace) {
    const Plan plan = somePlan();
    Plan moved = plan;
    moved.files[0].path = "/elsewhere/x.parquet";
    moved.files[0].splits[0].decodedBytes = 81;
    moved.sideTables[0].path = "/elsewhere/t.csv";
    EXPECT_EQ(moved.planHash(), plan.planHash());
    const std::vector<std::function<void(Plan&)>> changes = {
        [](Plan& p) { p.files[0].relativePath = "z"; },
        [](Plan& p) { p.files[0].bytes = 101; },
        [](Plan& p) { p.files[0].footerHash[0] = 'f'; },
        [](Plan& p) { p.files[0].splits = {{0, 0, 11, 80}, {1, 11, 19, 160}}; },
        [](Plan& p) { p.sideTables[0].hash[0] = 'f'; },
        [](Plan& p) { std::swap(p.files[0], p.files[1]); },
        [](Plan& p) { p.evalFiles = {p.files[0]}; },
    };
    for (const auto& change : changes) {
        Plan other = plan;
        change(other);
        EXPECT_NE(other.planHash(), plan.planHash());
    }
}

TEST(Plan, RefusesWhatDoesNotHoldTogether) {
    const std::vector<std::pair<std::string, std::function<void(Json&)>>> cases = {
        {"do not follow", [](Json& j) { j["files"][0]["splits"][1]["first_row"] = 11; }},
        {"the splits hold", [](Json& j) { j["files"][0]["rows"] = 31; }},
        {"do not follow", [](Json& j) { j["files"][0]["rows"] = 29; }},
        {"stands twice", [](Json& j) { j["files"][1]["relative_path"] = "x.parquet"; }},
        {"'bytes'", [](Json& j) { j["files"][0]["bytes"] = -1; }},
        {"'bytes'", [](Json& j) { j["files"][0]["bytes"] = UINT64_MAX; }},
        {"'path'", [](Json& j) { j["files"][0]["path"] = 3; }},
        {"'footer_hash'", [](Json& j) { j["files"][0]["footer_hash"] = "xyz"; }},
        {"segment_splits", [](Json& j) { j["segment_splits"] = 0; }},
        {"version", [](Json& j) { j["version"] = 2; }},
        {"'files'", [](Json& j) { j.erase("files"); }},
        {"object", [](Json& j) { j["files"][0] = 5; }},
    };
    for (const auto& [expected, change] : cases) {
        Json json = somePlan().toJson();
        change(json);
        const Result<Plan> plan = Plan::fromJson(json);
        ASSERT_FALSE(plan.ok()) << expected;
        EXPECT_NE(messageOf(plan.status()).find(expected), std::string::npos) << plan.status();
    }
    EXPECT_FALSE(Plan::fromJson(Json::array()).ok());
}

TEST(Plan, EvaluationReadsTheSameFilesUnlessItHasItsOwn) {
    Plan plan = somePlan();
    EXPECT_EQ(&plan.filesOfEval(), &plan.files);
    plan.evalFiles = {plan.files[1]};
    EXPECT_EQ(&plan.filesOfEval(), &plan.evalFiles);
}

}  // namespace
}  // namespace millrace::stream

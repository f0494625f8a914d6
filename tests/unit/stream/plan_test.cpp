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

Json jsonOf(const Plan& plan) {
    const Result<Json> json = parseJson(plan.toJsonText(), "plan");
    EXPECT_TRUE(json.ok()) << json.status();
    return json.ok() ? *json : Json();
}

TEST(Plan, RoundTripsThroughJson) {
    const Plan plan = somePlan();
    const Result<Plan> again = Plan::fromJson(jsonOf(plan));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, plan);
    EXPECT_EQ(again->planHash(), plan.planHash());
    EXPECT_EQ(plan.numSplits(), 3);
    EXPECT_EQ(plan.numRows(), 30);
}

TEST(Plan, SaysWhichRuleMadeItsSegments) {
    for (const SegmentRule rule :
         {SegmentRule::kGiven, SegmentRule::kAll, SegmentRule::kRows, SegmentRule::kBytes}) {
        Plan plan = somePlan();
        plan.segmentRule = rule;
        const Json json = jsonOf(plan);
        EXPECT_EQ(json.contains("segment_rule"), rule != SegmentRule::kGiven);
        const Result<Plan> again = Plan::fromJson(json);
        ASSERT_TRUE(again.ok()) << again.status();
        EXPECT_EQ(again->segmentRule, rule) << nameOf(rule);
        EXPECT_EQ(plan.planHash(), somePlan().planHash());
    }
}

// The text equals the dump of the whole tree, which would be too large: sorted keys, the same
// escapes.
TEST(Plan, TextIsTheDumpOfTheTree) {
    Plan odd = somePlan();
    odd.files[0].path = "/data/\"quoted\" back\\slash \x7f/\t\n\x01.parquet";
    odd.files[0].relativePath = "sch\xc3\xb6n/\xe6\x97\xa5.parquet";
    odd.files[0].splits[1].partition = 3;
    odd.files[1].path = "bytes \xff\xfe that are not UTF-8";
    odd.files[1].splits = {};
    odd.segmentRule = SegmentRule::kRows;
    odd.evalFiles = {odd.files[0]};
    odd.sideTables[0].path = "/t\"/\x02.csv";
    odd.schema.fields = {{"a \"b\"", {expr::TypeKind::kInt64, true, 0, true}}, {"", {}}};
    odd.schema.fields[1].type.kind = expr::TypeKind::kFloat;
    Plan empty;
    for (const Plan& plan : {somePlan(), odd, empty}) {
        EXPECT_EQ(plan.toJsonText(), dumpJson(jsonOf(plan)));
    }
    const Json json = jsonOf(odd);
    EXPECT_EQ(json["files"][0]["path"], odd.files[0].path);
    EXPECT_EQ(json["files"][0]["splits"][1]["partition"], 3);
    EXPECT_FALSE(json["files"][0]["splits"][0].contains("partition"));
    EXPECT_EQ(json["files"][1]["path"], "bytes \xef\xbf\xbd\xef\xbf\xbd that are not UTF-8");
    EXPECT_EQ(empty.toJsonText(), R"({"columns":[],"eval_columns":[],"eval_files":[],"files":[],)"
                                  R"("segment_splits":1,"side_tables":[],"version":1})");
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
        {"appears twice", [](Json& j) { j["files"][1]["relative_path"] = "x.parquet"; }},
        {"'bytes'", [](Json& j) { j["files"][0]["bytes"] = -1; }},
        {"'bytes'", [](Json& j) { j["files"][0]["bytes"] = UINT64_MAX; }},
        {"'path'", [](Json& j) { j["files"][0]["path"] = 3; }},
        {"'footer_hash'", [](Json& j) { j["files"][0]["footer_hash"] = "xyz"; }},
        {"segment_splits", [](Json& j) { j["segment_splits"] = 0; }},
        {"segment_rule", [](Json& j) { j["segment_rule"] = "moon"; }},
        {"segment_rule", [](Json& j) { j["segment_rule"] = 1; }},
        {"version", [](Json& j) { j["version"] = 2; }},
        {"'files'", [](Json& j) { j.erase("files"); }},
        {"object", [](Json& j) { j["files"][0] = 5; }},
    };
    for (const auto& [expected, change] : cases) {
        Json json = jsonOf(somePlan());
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

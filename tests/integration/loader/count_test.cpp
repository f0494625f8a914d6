// The role count: rows and steps of epochs, and what the cache keeps of them.
#include <filesystem>

#include "backend/filesystem/files.h"
#include "tests/integration/loader/loader_program.h"

namespace millrace {
namespace {

class CountProgram : public LoaderProgram {
 protected:
    SubprocessOutput counted(std::vector<std::string> more = {}) const {
        more.insert(more.begin(), {"count", "spec.yaml"});
        return run(more);
    }
    Json count(std::vector<std::string> more = {}) const {
        more.push_back("--json");
        const SubprocessOutput output = counted(std::move(more));
        EXPECT_EQ(output.exitCode, 0) << output.err;
        const auto json = parseJson(output.out, "count");
        EXPECT_TRUE(json.ok()) << json.status() << output.out;
        return json.ok() ? *json : Json::object();
    }
    std::string kept(const Json& json) const {
        return strCat(directory_.path(), "/cache/millrace/counts/",
                      json["stream_hash"].get<std::string>(), ".json");
    }
    std::string redrawn() const {
        std::string text = spec();
        const std::string keep = "keep: 1.0, ";
        return text.replace(text.find(keep), keep.size(), "keep: 0.5, redraw: each_epoch, ");
    }
};

TEST_F(CountProgram, IsWhatTheStreamDelivers) {
    const Json json = count();
    EXPECT_EQ(json["cached"], false);
    EXPECT_EQ(json["rows"], 10800);
    EXPECT_EQ(json["micro_batches"], 2 * 338);
    EXPECT_EQ(json["steps"], 2 * 85);
    EXPECT_EQ(json["whole_steps"], 2 * 84);
    EXPECT_EQ(json["epochs"].size(), 2U);
    EXPECT_EQ(json["epochs"][1]["rows"], 5400);
    const Json streamed = report({"--through-ring"});
    EXPECT_EQ(json["rows"], streamed["rows_delivered"]);
    EXPECT_EQ(json["micro_batches"], streamed["micro_batches"]);
    EXPECT_EQ(json["steps"], streamed["step_marks"]);
    EXPECT_EQ(json["stream_hash"], streamed["stream_hash"]);
    EXPECT_EQ(json["plan_hash"], streamed["plan_hash"]);
    EXPECT_EQ(count({"--variation", "half"})["rows"],
              report({"--variation", "half"})["rows_delivered"]);
    EXPECT_NE(counted().out.find("5,400 rows, 338 micro-batches, 85 steps, 84 of them whole"),
              std::string::npos);
}

TEST_F(CountProgram, EpochsThatDrawAnewAreCountedEach) {
    write("spec.yaml", redrawn());
    const Json json = count();
    std::int64_t sum = 0;
    for (const Json& epoch : json["epochs"]) {
        sum += epoch["rows"].get<std::int64_t>();
    }
    ASSERT_EQ(json["epochs"].size(), 2U);
    EXPECT_NE(json["epochs"][0]["rows"], json["epochs"][1]["rows"]);
    EXPECT_EQ(json["epochs"][0]["rows"], report({"--epochs", "1"})["rows_delivered"]);
    EXPECT_EQ(sum, report()["rows_delivered"].get<std::int64_t>());
    EXPECT_EQ(json["rows"], sum);
    // With more epochs, the known ones are not counted again and stay the same.
    const Json more = count({"--set", "batch.epochs=3", "--threads", "3"});
    ASSERT_EQ(more["stream_hash"], json["stream_hash"]);
    EXPECT_EQ(more["epochs"].size(), 3U);
    EXPECT_EQ(more["epochs"][1], json["epochs"][1]);
    EXPECT_EQ(more["rows"], report({"--set", "batch.epochs=3"})["rows_delivered"]);
    const Json fewer = count({"--set", "batch.epochs=1"});
    EXPECT_EQ(fewer["cached"], true);
    EXPECT_EQ(fewer["rows"], json["epochs"][0]["rows"]);
    EXPECT_NE(counted().out.find("epoch 1"), std::string::npos);
}

TEST_F(CountProgram, WhatWasCountedIsKeptAsLongAsTheFilesAreTheSame) {
    const Json json = count();
    ASSERT_TRUE(std::filesystem::exists(kept(json)));
    const Json again = count();
    EXPECT_EQ(again["cached"], true);
    EXPECT_EQ(again["epochs"], json["epochs"]);
    for (const std::string broken : {"", "{", "{}", "[1]", "{\"version\": 1, \"rows\": [3]}"}) {
        std::ofstream(kept(json), std::ios::trunc) << broken;
        const Json anew = count();
        EXPECT_EQ(anew["cached"], false) << broken;
        EXPECT_EQ(anew["epochs"], json["epochs"]) << broken;
    }
    Json wrong = *parseJson(*readFile(kept(json)), "kept");
    wrong["rows"] = {-5};
    std::ofstream(kept(json), std::ios::trunc) << dumpJson(wrong);
    EXPECT_EQ(count()["rows"], 10800);
    std::ofstream(directory_ / "part-1.csv", std::ios::app) << "1,2,1,a\n";
    const Json longer = count();
    EXPECT_EQ(longer["cached"], false);
    EXPECT_EQ(longer["rows"], 2 * 5401);
}

TEST_F(CountProgram, WhereNothingIsLeftOutThePlanSaysIt) {
    std::string text = spec();
    const std::string where = ", where: \"value % 10 <> 7\"";
    text.erase(text.find(where), where.size());
    write("spec.yaml", text);
    const Json json = count({"--set", "recipe.few.enabled=false"});
    EXPECT_EQ(json["rows"], 2 * 6000);
    EXPECT_FALSE(std::filesystem::exists(kept(json))) << "no row was read";
}

TEST_F(CountProgram, RowsWithoutAPartnerAreLeftOut) {
    std::string table = "user,since,bonus\n";
    for (int user = 0; user < 10; ++user) {
        strAppend(&table, user, ",", 300 * user, ",", user, "\n");
    }
    write("users.csv", table);
    for (const std::string asOf : {"", "as_of: {left: value, right: since}, "}) {
        write(
            "spec.yaml",
            strCat("dataset: {path: \"part-*.csv\"}\nrecipe: [{join: {table: users.csv, on: user, ",
                   asOf,
                   "take: [bonus], missing: drop}}]\nlabels: {label: label}\n"
                   "features: {dense: [bonus]}\nmodel: {type: mlp, hidden: [4]}\n"
                   "batch: {rows: 64, micro_rows: 16, epochs: 2}\n"));
        const Json json = count();
        const Json streamed = report();
        EXPECT_LT(json["rows"], 2 * 6000);
        EXPECT_EQ(json["rows"], streamed["rows_delivered"]) << asOf;
        EXPECT_EQ(json["micro_batches"], streamed["micro_batches"]) << asOf;
        EXPECT_EQ(count({"--set", "recipe.join.missing=null"})["rows"], 2 * 6000);
    }
}

TEST_F(CountProgram, ErrorsAreSaid) {
    EXPECT_EQ(run({"count"}).exitCode, 2);
    EXPECT_EQ(run({"count", "none.yaml"}).exitCode, 4);
    std::ofstream(directory_ / "part-1.csv", std::ios::app) << "1,x,1,a\n";
    const SubprocessOutput output = counted();
    EXPECT_EQ(output.exitCode, 4);
    EXPECT_NE(output.err.find("part-1.csv"), std::string::npos) << output.err;
}

}  // namespace
}  // namespace millrace

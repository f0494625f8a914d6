// `millrace preview`, `dataset --profile`, `init` and `stream` into tables, with the real loader as
// their child; no daemon.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "backend/filesystem/files.h"
#include "backend/system/subprocess.h"
#include "backend/text/json.h"
#include "tests/support/temp_dir.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class ToolsTest : public ::testing::Test {
 protected:
    void SetUp() override {
        std::ofstream rows(dir_ / "rows.csv");
        rows << "user_id,item_id,price,word,click\n";
        for (int r = 0; r < 8000; ++r) {
            rows << r % 97 << ',' << r * 31 % 1009 << ',' << r % 13 << '.' << r % 7 << ",w" << r % 5
                 << ',' << (r % 4 == 0 ? 1 : 0) << '\n';
        }
        std::ofstream(dir_ / "spec.yaml")
            << "name: tools\ndataset: {path: rows.csv, csv_split_rows: 500}\nrecipe:\n"
               "  - {name: cheap, filter: \"price < 10\"}\nlabels: {click: click}\n"
               "features: {dense: [price], ids: [user_id]}\nembeddings: {user_id: {rows: 128}}\n"
               "model: {type: mlp, hidden: [4]}\nbatch: {rows: 64, micro_rows: 32, seed: 3}\n"
               "variations:\n  - {name: all, set: {recipe.cheap.enabled: false}}\n";
    }
    SubprocessOutput run(std::vector<std::string> words,
                         std::vector<std::string> environment = {}) const {
        SubprocessOptions options;
        options.argv = {std::string(MILLRACE_BIN_DIR) + "/millrace"};
        options.argv.insert(options.argv.end(), words.begin(), words.end());
        options.environment = {"XDG_CACHE_HOME=" + dir_.path() + "/cache", "NO_COLOR=1"};
        options.environment.insert(options.environment.end(), environment.begin(),
                                   environment.end());
        options.workingDirectory = dir_.path();
        options.timeout = std::chrono::seconds(100);
        const Result<SubprocessOutput> output = Subprocess::run(options);
        EXPECT_TRUE(output.ok()) << output.status();
        return output.ok() ? *output : SubprocessOutput{};
    }
    Json json(const std::vector<std::string>& words) const {
        const SubprocessOutput output = run(words);
        EXPECT_EQ(output.exitCode, 0) << output.err;
        const Result<Json> document = parseJson(output.out, "stdout");
        EXPECT_TRUE(document.ok()) << document.status() << output.out;
        return document.ok() ? *document : Json::object();
    }
    tests::TempDir dir_;
};

// The time suffices for all 16 splits, so the counts are exact; times are not.
TEST_F(ToolsTest, PreviewOfAllSplitsIsExact) {
    const Json preview =
        json({"preview", "spec.yaml", "--seconds", "60", "--rows-per-second", "1000", "--json"});
    const Json streamed = json({"stream", "spec.yaml", "--epochs", "1", "--json"});
    EXPECT_EQ(preview["schema_version"], 1);
    EXPECT_EQ(preview["splits"], 16);
    EXPECT_EQ(preview["splits_sampled"], 16);
    EXPECT_EQ(preview["rows"], 8000);
    EXPECT_EQ(preview["rows_kept"]["value"].get<double>(), streamed["rows_kept"].get<double>());
    EXPECT_EQ(preview["rows_kept"]["exact"], true);
    EXPECT_EQ(preview["rows_kept"]["low"], preview["rows_kept"]["high"]);
    EXPECT_EQ(preview["epoch_seconds"]["exact"], false);
    EXPECT_GT(preview["appetite"]["cores"]["value"].get<double>(), 0);
    EXPECT_EQ(preview["stream_hash"], streamed["stream_hash"]);
}

TEST_F(ToolsTest, PreviewOfAVariationAndOfSomeSplitsHasIntervals) {
    const Json preview =
        json({"preview", "spec.yaml", "--variation", "all", "--seconds", "0", "--json"});
    EXPECT_EQ(preview["splits_sampled"], 4);
    EXPECT_EQ(preview["rows_kept"]["value"], 8000);
    EXPECT_TRUE(preview["appetite"].is_null());
    const Json some = json({"preview", "spec.yaml", "--seconds", "0", "--json"});
    EXPECT_FALSE(some["rows_kept"]["exact"]);
    EXPECT_LT(some["rows_kept"]["low"], some["rows_kept"]["high"]);
    const SubprocessOutput text = run({"preview", "spec.yaml", "--rows-per-second", "1000"});
    EXPECT_THAT(text.out, HasSubstr("rows kept"));
    EXPECT_THAT(text.out, HasSubstr("after cheap"));
    EXPECT_THAT(text.out, HasSubstr("need cores"));
    EXPECT_EQ(text.err, "");
}

TEST_F(ToolsTest, PreviewNamesWhatCostsMostTheDearestFirst) {
    const Json preview = json({"preview", "spec.yaml", "--seconds", "60", "--json"});
    const Json& dearest = preview["dearest"];
    ASSERT_GT(dearest.size(), 1U);
    double before = 1, sum = 0;
    for (const Json& cost : dearest) {
        const double share = cost["share"];
        EXPECT_LE(share, before);
        before = share;
        sum += share;
    }
    EXPECT_GT(dearest[0]["share"].get<double>(), 0);
    EXPECT_GE(before, 0);
    EXPECT_LE(sum, 1.05);  // may exceed 1, because two clocks are compared
    EXPECT_THAT(run({"preview", "spec.yaml"}).out, HasSubstr("% of it"));
}

TEST_F(ToolsTest, PreviewSaysWhatIsWrongWithASpec) {
    EXPECT_EQ(run({"preview", "nowhere.yaml"}).exitCode, 1);
    const SubprocessOutput unknown = run({"preview", "spec.yaml", "--variation", "al"});
    EXPECT_EQ(unknown.exitCode, 1);
    EXPECT_THAT(unknown.err, HasSubstr("did you mean 'all'"));
    EXPECT_EQ(run({"preview", "spec.yaml", "--set", "x"}).exitCode, 2);
}

TEST_F(ToolsTest, ProfileDescribesColumnsAndAdvises) {
    const Json document = json({"dataset", "rows.csv", "--profile", "--json"});
    const Json& profile = document["profile"];
    EXPECT_EQ(profile["complete"], true);
    ASSERT_EQ(profile["columns"].size(), 5U);
    EXPECT_NEAR(profile["columns"][0]["profile"]["distinct"].get<double>(), 97, 4);
    EXPECT_EQ(profile["columns"][4]["profile"]["max"], 1);
    ASSERT_FALSE(profile["advice"].empty());
    EXPECT_EQ(profile["advice"][0]["kind"], "format");
    const SubprocessOutput text = run({"dataset", "rows.csv", "--profile"}, {"COLUMNS=80"});
    EXPECT_THAT(text.out, HasSubstr("MEDIAN"));
    EXPECT_THAT(text.out, HasSubstr("what the writer costs the reader"));
    EXPECT_THAT(text.out, HasSubstr("millrace stream better.yaml --rows"));
    EXPECT_EQ(run({"dataset", "rows.csv", "--full"}).exitCode, 2);
    const SubprocessOutput request = run({"dataset", "rows.csv", "--profile", "--request", "usr"});
    EXPECT_EQ(request.exitCode, 1);
    EXPECT_THAT(request.err, HasSubstr("no column 'usr'"));
}

TEST_F(ToolsTest, ProfileTellsDatesAndTimesAsPeopleReadThem) {
    std::ofstream out(dir_ / "times.csv");
    out << "day,at,n\n";
    for (int i = 0; i < 10; ++i) {
        out << "2024-02-2" << i << ",1969-12-31 23:59:5" << i << ".250," << i << '\n';
    }
    out.close();
    const SubprocessOutput text = run({"dataset", "times.csv", "--profile"});
    EXPECT_EQ(text.exitCode, 0) << text.err;
    EXPECT_THAT(text.out, HasSubstr("2024-02-20"));
    EXPECT_THAT(text.out, HasSubstr("2024-02-29"));
    EXPECT_THAT(text.out, HasSubstr("1969-12-31 23:59:50"));
    EXPECT_THAT(text.out, HasSubstr("1969-12-31 23:59:59"));
    const Json columns =
        json({"dataset", "times.csv", "--profile", "--json"})["profile"]["columns"];
    EXPECT_EQ(columns[0]["type"], "date");
    EXPECT_EQ(columns[0]["profile"]["min"], 19'773) << "days since 1970";
    EXPECT_EQ(columns[1]["type"], "timestamp");
    EXPECT_EQ(columns[1]["profile"]["max"], -750'000) << "microseconds since 1970";
}

// Runs the command that `init` prints: a first spec, and a second copy of the dataset that it
// recommends.
TEST_F(ToolsTest, AFirstSpecPassesCheckAndWritesTheDatasetAgain) {
    const SubprocessOutput made = run({"init", "rows.csv", "-o", "first.yaml"});
    EXPECT_EQ(made.exitCode, 0) << made.err;
    EXPECT_THAT(made.out, HasSubstr("label: click"));
    const std::string text = *readFile(dir_ / "first.yaml");
    EXPECT_THAT(text, HasSubstr("click: 'click = 1'"));
    EXPECT_EQ(run({"check", "first.yaml", "--all-variations"}).exitCode, 0);
    EXPECT_EQ(json({"stream", "first.yaml", "--json"})["complete"], true);
    const SubprocessOutput again = run({"init", "rows.csv", "-o", "first.yaml"});
    EXPECT_EQ(again.exitCode, 1);
    EXPECT_THAT(again.err, HasSubstr("--force"));
    EXPECT_EQ(*readFile(dir_ / "first.yaml"), text);
    const Json written = json({"stream", "first.yaml", "--rows", "--sink", "parquet", "--output",
                               "better", "--sort", "user_id", "--all-rows", "--json"});
    EXPECT_EQ(written["table"]["rows"], 8000);
    EXPECT_EQ(json({"dataset", "better", "--json"})["rows"], 8000);
    EXPECT_EQ(run({"init", "better/*.parquet", "-o", "second.yaml"}).exitCode, 0);
    EXPECT_EQ(run({"check", "second.yaml"}).exitCode, 0);
}

TEST_F(ToolsTest, CheckPrintsTheMemoryOfRanksOnSeveralNodes) {
    std::vector<std::string> check = {"check", "spec.yaml", "--set",
                                      "resources.memory_limit_mb=1000"};
    EXPECT_THAT(run(check).out, Not(HasSubstr("memory")));
    check.insert(check.end(), {"--set", "train={ranks: 2, nodes: 2}", "--all-variations"});
    EXPECT_THAT(run(check).out,
                ::testing::EndsWith(
                    "memory: feed up to 1.0 GB; each relay up to 500 MB of rings; each data worker "
                    "up to 1.0 GB. Data workers keep up to 67.1 MB of frames for each of 1 rank on "
                    "other nodes\n"));
    check.emplace_back("--json");
    const Json memory = json(check)["runs"][0]["memory"];
    EXPECT_EQ(memory["feed_bytes"], 1'000'000'000);
    EXPECT_EQ(memory["relay_rings_bytes"], 500'000'000);
    EXPECT_EQ(memory["data_worker_bytes"], 1'000'000'000);
    EXPECT_EQ(memory["owed_bytes_per_rank"], 64 << 20);
    EXPECT_EQ(memory["ranks_on_other_nodes"], 1);
    EXPECT_TRUE(json({"check", "spec.yaml", "--json"})["runs"][0]["memory"].is_null());
}

TEST_F(ToolsTest, TheNextCommandIsQuotedForTheShell) {
    const SubprocessOutput made = run({"init", "rows.csv", "-o", "my first's.yaml"});
    EXPECT_EQ(made.exitCode, 0) << made.err;
    EXPECT_THAT(made.out, HasSubstr("; next: millrace check 'my first'\\''s.yaml'\n"));
}

TEST_F(ToolsTest, PreviewNamesColumnsWithNanThatALabelCompares) {
    std::ofstream(dir_ / "nan.yaml")
        << "name: nan\ndataset: {path: rows.csv}\nrecipe:\n"
           "  - derive: {delay: 'if(user_id < 10, sqrt(-1.0), price)'}\n"
           "labels: {late: delay > 6}\nfeatures: {dense: [price]}\n"
           "model: {type: mlp, hidden: [4]}\nbatch: {rows: 64, micro_rows: 32}\n";
    const std::string sentence = "labels.late: 830 of 8,000 rows have NaN in 'delay'";
    EXPECT_THAT(run({"preview", "nan.yaml"}).err, HasSubstr("note: " + sentence));
    EXPECT_THAT(run({"check", "nan.yaml"}).err, HasSubstr("nan.yaml: warning: " + sentence));
    const SubprocessOutput masked =
        run({"check", "nan.yaml", "--set", "labels.late.where=not isnan(delay)"});
    EXPECT_EQ(masked.err, "");
}

TEST_F(ToolsTest, PreviewAndCheckNameAJoinInWhichNoRowFindsAPartner) {
    std::ofstream(dir_ / "users.csv") << "user_id,age\n-1,30\n-2,40\n";
    std::ofstream(dir_ / "join.yaml")
        << "name: join\ndataset: {path: rows.csv}\nrecipe:\n"
           "  - {name: users, join: {table: users.csv, on: user_id, take: [age]}}\n"
           "labels: {late: click = 1}\nfeatures: {dense: [price, {column: age, fill: 0}]}\n"
           "model: {type: mlp, hidden: [4]}\nbatch: {rows: 64, micro_rows: 32}\n";
    const std::string sentence = "step 'users': none of 8,000 rows found a partner in the table";
    EXPECT_THAT(run({"preview", "join.yaml"}).err, HasSubstr("note: " + sentence));
    const SubprocessOutput check =
        run({"check", "join.yaml", "--set", "eval={dataset: {where: price > 2}}"});
    EXPECT_EQ(check.exitCode, 0);
    EXPECT_EQ(check.err, "join.yaml: warning: " + sentence + "; compare the keys of both sides\n");
    std::ofstream(dir_ / "users.csv") << "user_id,age\n1,30\n-2,40\n";
    for (const char* const question : {"preview", "check"}) {
        EXPECT_THAT(run({question, "join.yaml"}).err, Not(HasSubstr("found a partner")));
    }
}

TEST_F(ToolsTest, AFirstSpecElsewhereFindsItsData) {
    std::filesystem::create_directory(dir_ / "specs");
    EXPECT_EQ(run({"init", "rows.csv", "-o", "specs/first.yaml", "--label", "price"}).exitCode, 0);
    EXPECT_THAT(*readFile(dir_ / "specs/first.yaml"), HasSubstr("../rows.csv"));
    EXPECT_EQ(run({"check", "specs/first.yaml"}).exitCode, 0);
    const SubprocessOutput printed = run({"init", "rows.csv"});
    EXPECT_EQ(printed.exitCode, 0) << printed.err;
    EXPECT_THAT(printed.out, HasSubstr("name: rows"));
    EXPECT_EQ(run({"init", "rows.csv", "--label", "clik"}).exitCode, 1);
    EXPECT_EQ(run({"init", "nothing.csv"}).exitCode, 1);
}

TEST_F(ToolsTest, AFirstSpecSplitsByTimeAndNamesWhatTellsTheLabel) {
    std::ofstream out(dir_ / "flights.csv");
    out << "year,at,carrier,delay,paid,late\n";
    for (int r = 0; r < 3000; ++r) {
        const int delay = r * 7919 % 100;
        out << "2013,2013-01-" << (r / 100 < 9 ? "0" : "") << r / 100 + 1
            << " 10:00:" << 10 + r % 50 << ',' << "abc"[r % 3] << ',' << (r * 31 % 50) * 0.5 << ','
            << (delay > 60 ? 80.5 : 1.5) << ',' << (delay > 60 ? 1 : 0) << '\n';
    }
    out.close();
    const SubprocessOutput made = run({"init", "flights.csv", "-o", "f.yaml", "--label", "late"});
    EXPECT_EQ(made.exitCode, 0) << made.err;
    EXPECT_THAT(made.err, HasSubstr("paid alone tells the label 'late'"));
    const std::string text = *readFile(dir_ / "f.yaml");
    EXPECT_THAT(text, ContainsRegex("- paid  # .*; alone tells the label 'late'"));
    EXPECT_THAT(text, HasSubstr("where: 'at < timestamp ''2013-01-2"));
    EXPECT_THAT(text, HasSubstr("where: 'at >= timestamp ''2013-01-2"));
    EXPECT_EQ(run({"check", "f.yaml", "--all-variations"}).exitCode, 0);
}

TEST_F(ToolsTest, AFirstSpecWithoutTwoPartsIsNotWritten) {
    std::ofstream out(dir_ / "constant.csv");
    out << "year,label\n";
    for (int r = 0; r < 3000; ++r) {
        out << "2013," << r % 2 << '\n';
    }
    out.close();
    const SubprocessOutput made = run({"init", "constant.csv", "-o", "c.yaml"});
    EXPECT_NE(made.exitCode, 0);
    EXPECT_THAT(made.err, HasSubstr("no column that a model could learn from"));
    EXPECT_FALSE(std::filesystem::exists(dir_ / "c.yaml"));
}

TEST_F(ToolsTest, AFirstSpecIsTrainedAndEvaluatedBeforeItIsWritten) {
    std::filesystem::create_directory(dir_ / "tmp");
    const std::vector<std::string> environment = {"TMPDIR=" + (dir_ / "tmp")};
    const SubprocessOutput made = run({"init", "rows.csv", "-o", "first.yaml"}, environment);
    EXPECT_EQ(made.exitCode, 0) << made.err;
    EXPECT_THAT(made.out, HasSubstr("trained for 10 steps, evaluated on "));
    EXPECT_TRUE(std::filesystem::is_empty(dir_ / "tmp")) << "nothing of the trial stays";
    const Json trial = json({"init", "rows.csv", "--json"})["trial"];
    EXPECT_EQ(trial["steps"], 10);
    EXPECT_EQ(trial["rows"], 640);
    EXPECT_GT(trial["first_loss"].get<double>(), 0.1);
    EXPECT_EQ(trial["evaluated"], true);
    EXPECT_GT(trial["evaluation"]["eval.rows"].get<double>(), 100);
    EXPECT_GT(trial["evaluation"]["eval.auc"].get<double>(), 0);
}

// Replaces the trainer: programs look for each other in their own folder, and for libraries in
// `lib` beside that folder.
TEST_F(ToolsTest, AFirstSpecThatDoesNotTrainIsNotWritten) {
    std::filesystem::create_directories(dir_ / "bin");
    std::filesystem::create_directory_symlink(MILLRACE_BIN_DIR "/../lib", dir_ / "lib");
    std::filesystem::create_directory(dir_ / "tmp");
    for (const char* program : {"millrace", "millrace-loader"}) {
        std::filesystem::copy_file(strCat(MILLRACE_BIN_DIR, "/", program),
                                   strCat(dir_ / "bin/", program));
    }
    std::ofstream(dir_ / "bin/millrace-trainer") << "#!/bin/sh\necho it broke >&2\nexit 9\n";
    std::filesystem::permissions(dir_ / "bin/millrace-trainer", std::filesystem::perms::owner_all);
    SubprocessOptions options;
    options.argv = {dir_ / "bin/millrace", "init", "rows.csv", "-o", "first.yaml"};
    options.environment = {"XDG_CACHE_HOME=" + (dir_ / "cache"), "TMPDIR=" + (dir_ / "tmp")};
    options.workingDirectory = dir_.path();
    options.timeout = std::chrono::seconds(100);
    const auto broken = Subprocess::run(options);
    ASSERT_TRUE(broken.ok()) << broken.status();
    EXPECT_EQ(broken->exitCode, 1);
    EXPECT_THAT(broken->err, HasSubstr("the first spec does not train, nothing is written: "
                                       "millrace-trainer ended with 9: it broke"));
    EXPECT_FALSE(std::filesystem::exists(dir_ / "first.yaml"));
    EXPECT_TRUE(std::filesystem::is_empty(dir_ / "tmp"));
}

// A wheel has no trainer either.
TEST_F(ToolsTest, AFirstSpecIsWrittenUntriedWhereNothingTrains) {
    std::filesystem::create_directories(dir_ / "bin");
    std::filesystem::create_directory_symlink(MILLRACE_BIN_DIR "/../lib", dir_ / "lib");
    for (const char* program : {"millrace", "millrace-loader"}) {
        std::filesystem::copy_file(strCat(MILLRACE_BIN_DIR, "/", program),
                                   strCat(dir_ / "bin/", program));
    }
    SubprocessOptions options;
    options.argv = {dir_ / "bin/millrace", "init", "rows.csv", "-o", "first.yaml"};
    options.environment = {"XDG_CACHE_HOME=" + (dir_ / "cache")};
    options.workingDirectory = dir_.path();
    options.timeout = std::chrono::seconds(100);
    const auto made = Subprocess::run(options);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->exitCode, 0) << made->err;
    EXPECT_THAT(made->out, HasSubstr("not tried: this installation trains nothing"));
    EXPECT_EQ(run({"check", "first.yaml", "--all-variations"}).exitCode, 0);
}

TEST_F(ToolsTest, AFirstSpecSaysWhyForEachColumn) {
    const SubprocessOutput made = run({"init", "rows.csv", "-o", "first.yaml"});
    EXPECT_EQ(made.exitCode, 0) << made.err;
    EXPECT_THAT(made.err, ContainsRegex("user_id +id +named like an id, 97 diff"));
    EXPECT_THAT(made.err, Not(HasSubstr("EXAMPLES")));
    const SubprocessOutput more =
        run({"init", "rows.csv", "-o", "first.yaml", "--force", "--explain"});
    EXPECT_THAT(more.err, AllOf(HasSubstr("EXAMPLES"), HasSubstr("rule: named like an id")));
    const Json columns = json({"init", "rows.csv", "--json"})["columns"];
    EXPECT_EQ(columns[0]["use"], "id");
}

TEST_F(ToolsTest, FilesWhoseNamesDoNotTellTheirFormAreRead) {
    std::ofstream out(dir_ / "ratings.inter");
    out << "user_id:token;rating:float;age\n";
    for (int r = 0; r < 3000; ++r) {
        out << r * 31 % 300 << ';' << r * 7919 % 5 << ';' << r % 50 << '\n';
    }
    out.close();
    const SubprocessOutput one = run({"dataset", "ratings.inter", "--format", "csv"});
    EXPECT_EQ(one.exitCode, 0) << one.err;
    EXPECT_THAT(one.err,
                HasSubstr("ratings.inter: the header is one field, "
                          "'user_id:token;rating:float;age'; dataset.csv.delimiter: \";\""));
    const std::vector<std::string> form = {"--format", "csv", "--delimiter", ";"};
    const auto with = [&form](std::vector<std::string> words) {
        words.insert(words.end(), form.begin(), form.end());
        return words;
    };
    EXPECT_EQ(json(with({"dataset", "ratings.inter", "--json"}))["columns"].size(), 3);
    const Json head = json(with({"head", "ratings.inter", "-n", "2", "--json"}));
    EXPECT_EQ(head["rows_total"], 3000);
    EXPECT_EQ(head["columns"][0]["values"], Json::array({"0", "31"}));
    const SubprocessOutput made = run(with({"init", "ratings.inter", "-o", "r.yaml"}));
    EXPECT_EQ(made.exitCode, 0) << made.err;
    EXPECT_THAT(*readFile(dir_ / "r.yaml"),
                AllOf(HasSubstr("format: csv"), HasSubstr("csv: {delimiter: \";\"}")));
    EXPECT_EQ(run({"check", "r.yaml"}).exitCode, 0);
    for (const char* const none : {"ab", "\n", "\r", "\""}) {
        EXPECT_EQ(run({"head", "ratings.inter", "--delimiter", none}).exitCode, 2) << none;
    }
}

TEST_F(ToolsTest, CsvOptionsAreTakenWithoutASpecAndWrittenIntoTheFirstOne) {
    std::ofstream out(dir_ / "prices.CSV");
    out << "exported today\nuser_id;price;clicked\n";
    for (int r = 0; r < 3000; ++r) {
        out << r * 31 % 300 << ';' << r % 90 << ',' << r % 7 << "5;" << r * 7919 % 2 << '\n';
    }
    out << "1;2\n";
    out.close();
    const auto with = [](std::vector<std::string> words) {
        for (const char* set : {"skip_rows=1", "decimal_comma=true", "on_bad_row=drop"}) {
            words.insert(words.end(), {"--csv", set});
        }
        words.insert(words.end(), {"--delimiter", ";"});
        return words;
    };
    const SubprocessOutput bare =
        run({"dataset", "prices.CSV", "--delimiter", ";", "--csv", "skip_rows=1"});
    EXPECT_THAT(bare.err, HasSubstr("prices.CSV:3003: 2 fields, but the header has 3; "
                                    "dataset.csv.on_bad_row: drop (--csv on_bad_row=drop)"));
    EXPECT_EQ(json(with({"dataset", "prices.CSV", "--json"}))["columns"][1]["type"], "double");
    EXPECT_EQ(json(with({"head", "prices.CSV", "-n", "1", "--json"}))["rows_total"], 3000);
    EXPECT_EQ(run(with({"dataset", "prices.CSV", "--profile", "--json"})).exitCode, 0);
    const SubprocessOutput made = run(with({"init", "prices.CSV", "-o", "p.yaml"}));
    EXPECT_EQ(made.exitCode, 0) << made.err;
    EXPECT_THAT(*readFile(dir_ / "p.yaml"),
                HasSubstr("csv: {delimiter: \";\", skip_rows: 1, decimal_comma: true, "
                          "on_bad_row: drop}"));
    EXPECT_EQ(run({"check", "p.yaml"}).exitCode, 0);
    const SubprocessOutput wrong = run({"head", "prices.CSV", "--csv", "decimal_coma=true"});
    EXPECT_NE(wrong.exitCode, 0);
    EXPECT_THAT(wrong.err, HasSubstr("decimal_comma"));
}

TEST_F(ToolsTest, HeadShowsTheFirstRowsOfAllFiles) {
    std::filesystem::create_directory(dir_ / "parts");
    std::ofstream(dir_ / "parts/a.csv") << "x,s\n1,one\n,\n";
    std::ofstream(dir_ / "parts/b.csv") << "x,s\n3,null\n4,four\n";
    const SubprocessOutput head = run({"head", "parts", "--format", "csv", "-n", "3"});
    EXPECT_EQ(head.exitCode, 0) << head.err;
    EXPECT_THAT(head.out, ContainsRegex("x +s *\n *1 +one *\n *null +null *\n *3 +\"null\" *\n"
                                        "3 of 4 rows"));
    const Json columns = json({"head", "parts", "--format", "csv", "--json"})["columns"];
    EXPECT_EQ(columns[0]["values"], Json::array({"1", nullptr, "3", "4"}));
    EXPECT_EQ(columns[1]["type"], "string");
    EXPECT_EQ(run({"head", "parts", "-n", "0"}).exitCode, 2);
    std::ofstream(dir_ / "header.csv") << "time,User ID,y\n";
    EXPECT_THAT(run({"head", "header.csv"}).out, ContainsRegex("time +User ID +y\n0 of 0 rows"));
}

TEST_F(ToolsTest, AFirstSpecOfOneClassIsNotWritten) {
    std::ofstream out(dir_ / "ones.csv");
    out << "user,price,click\n";
    for (int r = 0; r < 3000; ++r) {
        out << r % 300 << ',' << r % 7 << ",1\n";
    }
    out.close();
    const SubprocessOutput made = run({"init", "ones.csv", "-o", "o.yaml", "--label", "click"});
    EXPECT_NE(made.exitCode, 0);
    EXPECT_THAT(made.err, HasSubstr("click"));
    EXPECT_FALSE(std::filesystem::exists(dir_ / "o.yaml"));
}

TEST_F(ToolsTest, AFirstSpecNamesIdsThatTellTheLabel) {
    std::ofstream out(dir_ / "codes.csv");
    out << "user,reason,price,click\n";
    for (int r = 0; r < 6000; ++r) {
        const bool isClick = (r * 7919 + r / 500 * 37) % 100 < 30;
        out << r * 31 % 500 << ',' << (isClick ? "paid" : "none") << r % 3 << ',' << r % 11 << '.'
            << r % 7 << ',' << isClick << '\n';
    }
    out.close();
    const SubprocessOutput made = run({"init", "codes.csv", "-o", "c.yaml"});
    EXPECT_EQ(made.exitCode, 0) << made.err;
    EXPECT_THAT(made.err,
                HasSubstr("features.ids: reason alone tells the label 'click' (AUC 1.000)"));
    EXPECT_THAT(made.err, Not(HasSubstr("user alone")));
}

TEST_F(ToolsTest, AFirstSpecOfMovieLensIsRightAsItStands) {
    const std::string ratings =
        std::string(MILLRACE_SOURCE_DIR) + "/resources/examples/movielens/ratings.csv";
    const SubprocessOutput made = run({"init", ratings, "-o", "ratings.yaml"});
    EXPECT_EQ(made.exitCode, 0) << made.err;
    EXPECT_THAT(made.err, HasSubstr("positive is rating >= 3.5"));
    const std::string text = *readFile(dir_ / "ratings.yaml");
    EXPECT_THAT(text, HasSubstr("- userId  # named like an id, 6"));
    EXPECT_THAT(text, HasSubstr("left out: timestamp (a time: "));
    EXPECT_THAT(text, HasSubstr("where: 'timestamp < 1"));
    EXPECT_EQ(run({"check", "ratings.yaml", "--all-variations"}).exitCode, 0);
}

TEST_F(ToolsTest, ATableIsRefusedWithASentenceAndAnExitCode) {
    EXPECT_EQ(run({"stream", "spec.yaml", "--sink", "csv"}).exitCode, 2);
    EXPECT_EQ(run({"stream", "spec.yaml", "--sink", "csv", "--output", "t"}).exitCode, 0);
    const SubprocessOutput again = run({"stream", "spec.yaml", "--sink", "csv", "--output", "t"});
    EXPECT_EQ(again.exitCode, 1);
    EXPECT_THAT(again.err, HasSubstr("--force"));
    const SubprocessOutput column =
        run({"stream", "spec.yaml", "--sink", "csv", "--output", "u", "--columns", "prise"});
    EXPECT_EQ(column.exitCode, 1);
    EXPECT_THAT(column.err, HasSubstr("did you mean 'price'"));
}

}  // namespace
}  // namespace millrace

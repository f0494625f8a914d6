// `millrace check`, `dataset` and `sample` with the real loader as their child; no daemon.
#include <fstream>

#include <gmock/gmock.h>

#include "backend/system/subprocess.h"
#include "backend/text/json.h"
#include "backend/text/text.h"
#include "tests/support/temp_dir.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class QuestionsTest : public ::testing::Test {
 protected:
    void SetUp() override {
        std::ofstream rows(dir_ / "rows.csv");
        rows << "user,value,label,word\n";
        for (int r = 0; r < 40; ++r) {
            rows << r % 7 << ',' << r << ',' << r % 2 << ',' << (r % 4 == 0 ? "" : "null") << '\n';
        }
        writeSpec("value % 3 = 0");
    }
    void writeSpec(const std::string& filter) const {
        std::ofstream(dir_ / "spec.yaml")
            << "name: small\ndataset: {path: rows.csv}\nrecipe:\n  - {name: thirds, filter: \""
            << filter
            << "\"}\n  - {name: off, enabled: false, filter: \"false\"}\n"
               "  - derive: {half: value / 2.0}\nlabels: {label: label}\n"
               "features: {dense: [half], ids: [user]}\nembeddings: {user: {rows: 16}}\n"
               "model: {type: mlp, hidden: [4]}\nbatch: {rows: 64, micro_rows: 16}\n"
               "variations:\n  - {name: all, set: {recipe.thirds.enabled: false}}\n";
    }
    // Texts of three values, a label that is 1 or null, and numbers as people write them.
    void writeSizes() const {
        std::ofstream rows(dir_ / "sizes.csv");
        rows << "size,shop,weight,sold,thousands,share,dollars,euros\n";
        for (int r = 0; r < 400; ++r) {
            const char* const size = r % 5 < 2 ? "L" : r % 5 < 4 ? "M" : "S";
            rows << (r % 5 == 4   ? "S"
                     : r % 9 == 0 ? "L"
                                  : size)
                 << ',' << r % 7 << ',' << r * 37 % 101 << ".5," << (r % 2 == 0 ? "1" : "")
                 << ",\"1," << 200 + r % 50 << ".56\"," << r % 90 << ".3%,$" << r % 60 << ".81,\"1 "
                 << 100 + r % 70 << ",5 EUR\"\n";
        }
    }
    SubprocessOutput run(std::vector<std::string> words) const {
        words.insert(words.begin(), std::string(MILLRACE_BIN_DIR) + "/millrace");
        return start(std::move(words));
    }
    /// With `millrace` in the PATH.
    SubprocessOutput shell(const std::string& command) const {
        return start({"/bin/sh", "-c", "PATH=" MILLRACE_BIN_DIR ":$PATH; " + command});
    }
    SubprocessOutput start(std::vector<std::string> words) const {
        SubprocessOptions options;
        options.argv = std::move(words);
        options.environment = {"XDG_CACHE_HOME=" + dir_.path() + "/cache", "NO_COLOR=1"};
        options.workingDirectory = dir_.path();
        options.timeout = std::chrono::seconds(60);
        const Result<SubprocessOutput> output = Subprocess::run(options);
        EXPECT_TRUE(output.ok()) << output.status();
        return output.ok() ? *output : SubprocessOutput{};
    }
    Json json(const std::vector<std::string>& words, int exitCode = 0) const {
        const SubprocessOutput output = run(words);
        EXPECT_EQ(output.exitCode, exitCode) << output.err;
        const Result<Json> document = parseJson(output.out, "stdout");
        EXPECT_TRUE(document.ok()) << document.status() << output.out;
        return document.ok() ? *document : Json::object();
    }
    tests::TempDir dir_;
};

TEST_F(QuestionsTest, SampleMarksTheRowsThatAStepRemoves) {
    const SubprocessOutput output = run({"sample", "spec.yaml", "--rows", "4"});
    EXPECT_EQ(output.exitCode, 0) << output.err;
    EXPECT_THAT(output.out, HasSubstr("4 of 4 rows"));
    EXPECT_THAT(output.out, HasSubstr("removes 2 of 4 rows"));
    EXPECT_THAT(output.out, HasSubstr("\n-    1 "));
    EXPECT_THAT(output.out, HasSubstr("switched off"));
    EXPECT_THAT(output.out, HasSubstr("adds half"));
    EXPECT_THAT(output.out, HasSubstr("+ half"));
    EXPECT_THAT(output.out,
                HasSubstr("\"null\""));  // a text with the content "null", not a missing value
}

TEST_F(QuestionsTest, SampleOfAVariationRunsItsRecipe) {
    const SubprocessOutput output =
        run({"sample", "spec.yaml", "--rows", "4", "--variation", "all"});
    EXPECT_EQ(output.exitCode, 0) << output.err;
    EXPECT_THAT(output.out, Not(HasSubstr("removes")));
    EXPECT_EQ(run({"sample", "spec.yaml", "--variation", "al"}).exitCode, 1);
}

TEST_F(QuestionsTest, SampleJsonHasNullsAndMatchesRowsById) {
    const Json document = json({"sample", "spec.yaml", "--rows", "5", "--json"});
    EXPECT_EQ(document["schema_version"], 1);
    EXPECT_EQ(document["split_rows"], 40);
    ASSERT_EQ(document["stages"].size(), 4U);
    const Json& before = document["stages"][0];
    EXPECT_EQ(before["columns"][3]["values"], Json({nullptr, "null", "null", "null", nullptr}));
    EXPECT_FALSE(before["columns"][3].contains("is_null"));
    EXPECT_EQ(document["stages"][1]["row_ids"], Json({0, 3}));
    EXPECT_EQ(document["stages"][2]["enabled"], false);
    EXPECT_EQ(document["stages"][3]["columns"][4]["values"], Json({"0", "1.5"}));
}

TEST_F(QuestionsTest, SampleShowsTheStagesBeforeABrokenStep) {
    writeSpec("vlue % 3 = 0");
    const SubprocessOutput output = run({"sample", "spec.yaml", "--rows", "3"});
    EXPECT_EQ(output.exitCode, 1);
    EXPECT_THAT(output.err, HasSubstr("spec.yaml:4:"));
    EXPECT_THAT(output.err, HasSubstr("did you mean 'value'"));
    EXPECT_THAT(output.out, HasSubstr("3 of 3 rows"));
}

TEST_F(QuestionsTest, AnErrorInDataNamesItsRowAndTheKeyThatAskedForIt) {
    writeSpec("cast(word as bigint) > 0");
    const SubprocessOutput filter = run({"check", "spec.yaml"});
    EXPECT_EQ(filter.exitCode, 1);
    EXPECT_THAT(filter.err, HasSubstr("spec.yaml:4:29: rows.csv: row 1, column 'word': "
                                      "recipe.thirds (cast(word as bigint) > 0): cannot cast"));
    writeSpec("true");
    const SubprocessOutput derived =
        run({"check", "spec.yaml", "--set", "labels.label=cast(word as double)", "--json"});
    EXPECT_THAT(derived.out, HasSubstr("row 1, column 'word': labels.label: cannot cast"));
    EXPECT_THAT(derived.out, HasSubstr("\"line\":null")) << "the key is not in the text";
    std::ofstream(dir_ / "derive.yaml")
        << "name: small\ndataset: {path: rows.csv}\nrecipe:\n  - derive:\n      a: value + 1\n"
           "      b: cast(word as double) + value\nlabels: {label: label}\n"
           "features: {dense: [b]}\nmodel: {type: mlp, hidden: [4]}\n"
           "batch: {rows: 64, micro_rows: 16}\n";
    EXPECT_THAT(run({"check", "derive.yaml"}).err, HasSubstr("derive.yaml:6:10: rows.csv: row 1"));
}

TEST_F(QuestionsTest, CheckLoadsTheFilesOfVocabularies) {
    writeSpec("true");
    std::ofstream(dir_ / "users.csv") << "id,day\n1,2026-01-01\n2,2026-01-02\n1,2026-01-03\n";
    const auto checked = [&](const char* more) {
        return run({"check", "spec.yaml", "--set",
                    strCat("embeddings.user={vocabulary: {table: users.csv, ", more, "}}")});
    };
    EXPECT_EQ(checked("column: id, on_duplicate: first").exitCode, 0);
    const SubprocessOutput twice = checked("column: id");
    EXPECT_EQ(twice.exitCode, 1);
    EXPECT_THAT(twice.err, HasSubstr("table users.csv: the key id = 1 occurs twice"));
    const SubprocessOutput dates = checked("column: day");
    EXPECT_EQ(dates.exitCode, 1);
    EXPECT_THAT(dates.err, HasSubstr("a key's columns must be of one kind"));
}

TEST_F(QuestionsTest, SampleRefusesNumbersThatMakeNoSense) {
    EXPECT_EQ(run({"sample", "spec.yaml", "--rows", "0"}).exitCode, 2);
    EXPECT_EQ(run({"sample", "spec.yaml", "--rows", "1001"}).exitCode, 2);
    EXPECT_EQ(run({"sample", "spec.yaml", "--split", "-1"}).exitCode, 2);
    EXPECT_EQ(run({"sample", "nowhere.yaml"}).exitCode, 1);
    const SubprocessOutput far = run({"sample", "spec.yaml", "--split", "9"});
    EXPECT_EQ(far.exitCode, 1);
    EXPECT_THAT(far.err, HasSubstr("split 9 is not in the plan"));
}

TEST_F(QuestionsTest, CheckJsonHasTheResolvedSpecAsADocument) {
    const Json document = json({"check", "spec.yaml", "--all-variations", "--json"});
    EXPECT_EQ(document["ok"], true);
    ASSERT_EQ(document["runs"].size(), 2U);
    EXPECT_EQ(document["runs"][0]["spec"]["name"], "small");
    EXPECT_EQ(document["runs"][1]["spec"]["recipe"][0]["enabled"], false);
    EXPECT_FALSE(document["runs"][0].contains("resolved_spec"));
}

TEST_F(QuestionsTest, NotesOnTheFilesComeBeforeTheErrorsThatTheyExplain) {
    std::ofstream(dir_ / "rows.csv") << "user;value;label;word\n1;2;1;a\n2;3;0;b\n";
    const std::string note = "rows.csv: the header is one field, 'user;value;label;word'";
    const SubprocessOutput init = run({"init", "rows.csv"});
    EXPECT_EQ(init.exitCode, 1);
    EXPECT_LT(init.err.find(note), init.err.find("no column looks like a label")) << init.err;
    for (const char* command : {"check", "stream"}) {
        const SubprocessOutput output = run({command, "spec.yaml"});
        EXPECT_EQ(output.exitCode, 1);
        EXPECT_LT(output.err.find("the header is one field"), output.err.find("unknown column"))
            << output.err;
    }
    const Json document = json({"check", "spec.yaml", "--json"}, 1);
    ASSERT_EQ(document["warnings"].size(), 1U) << document.dump();
    EXPECT_THAT(document["warnings"][0]["message"].get<std::string>(),
                HasSubstr("--delimiter \";\""));
}

TEST_F(QuestionsTest, AColumnThatIsTextInOneFileIsExplainedBesideTheErrorThatFollows) {
    std::ofstream(dir_ / "a.csv") << "user,value,label\n1,2.5,1\n2,3.5,0\n";
    std::ofstream(dir_ / "b.csv") << "user,value,label\n1,$15.81,1\n2,3.5,0\n";
    const SubprocessOutput output =
        run({"check", "spec.yaml", "--set", "dataset.path=[a.csv, b.csv]"});
    EXPECT_EQ(output.exitCode, 1);
    EXPECT_THAT(output.err, HasSubstr("b.csv:2: column 'value' is text because of '$15.81', but "
                                      "double in "));
}

TEST_F(QuestionsTest, ADatasetWithoutRowsSaysSoInsteadOfTypeErrors) {
    std::ofstream(dir_ / "none.csv") << "user,value,label,word\n";
    const SubprocessOutput output = run({"check", "spec.yaml", "--set", "dataset.path=none.csv"});
    EXPECT_EQ(output.exitCode, 1);
    EXPECT_THAT(output.err, HasSubstr("dataset.path: the dataset has no rows"));
    EXPECT_THAT(output.err, Not(HasSubstr("is string")));
    const SubprocessOutput eval =
        run({"check", "spec.yaml", "--set", "eval={dataset: {path: none.csv}}"});
    EXPECT_EQ(eval.exitCode, 1);
    EXPECT_THAT(eval.err, HasSubstr("eval.dataset.path: the dataset has no rows"));
    EXPECT_THAT(eval.err, Not(HasSubstr("is string")));
}

TEST_F(QuestionsTest, AConditionIsALabelWhoseColumnsAreNotFeatures) {
    writeSizes();
    const SubprocessOutput refused = run({"init", "sizes.csv", "--label", "size"});
    EXPECT_EQ(refused.exitCode, 1);
    EXPECT_THAT(refused.err, HasSubstr("(its texts are 'L', 'M', 'S'); --label \"size = 'L'\" "
                                       "predicts whether it is this text"));
    EXPECT_THAT(run({"init", "sizes.csv"}).err,
                HasSubstr("a condition on a text can be one: --label \"size = 'L'\""));
    const SubprocessOutput made =
        run({"init", "sizes.csv", "--label", "size = 'L'", "-o", "sizes.yaml"});
    ASSERT_EQ(made.exitCode, 0) << made.err;
    EXPECT_THAT(made.out, HasSubstr("(label: size = 'L',"));
    const Json spec = json({"check", "sizes.yaml", "--json"})["runs"][0]["spec"];
    ASSERT_TRUE(spec["labels"].contains("size_L")) << spec["labels"].dump();
    EXPECT_EQ(spec["features"].dump().find("\"size\""), std::string::npos) << spec["features"];
    EXPECT_EQ(run({"init", "sizes.csv", "--label", "\"sold\""}).err.find("no column"),
              std::string::npos)
        << "a column in quotes, as conditions need them";
    EXPECT_THAT(run({"init", "sizes.csv", "--label", "sise = 'L'"}).err,
                HasSubstr("--label: 1:1: unknown column 'sise'; did you mean 'size'"));
    EXPECT_THAT(run({"init", "sizes.csv", "--label", "shop + 1"}).err,
                HasSubstr("must be true or false"));
}

TEST_F(QuestionsTest, AnEvaluationWithFewPositivesIsNoted) {
    std::ofstream file(dir_ / "rare.csv");
    file << "user,x,won\n";
    for (int i = 0; i < 900; ++i) {
        file << i % 97 << ',' << i * 7 % 31 << ',' << (i % 30 == 0 ? 1 : 0) << '\n';
    }
    file.close();
    EXPECT_THAT(run({"init", "rare.csv", "--label", "won"}).err,
                ContainsRegex(
                    "evaluation: [0-9] of its [0-9]+ rows are positive; figures of fewer than ten "
                    "are luck"));
}

TEST_F(QuestionsTest, TheScheduleOfAFirstSpecIsAsLongAsItsRun) {
    std::ofstream file(dir_ / "few.csv");
    file << "a,b,c,won\n";
    for (int i = 0; i < 2000; ++i) {
        file << i % 3 << ',' << i / 3 % 4 << ',' << i * 7 % 40 << ',' << (i % 7 == 3 ? 1 : 0)
             << '\n';
    }
    file.close();
    const SubprocessOutput made = run({"init", "few.csv", "--label", "won", "-o", "few.yaml"});
    ASSERT_EQ(made.exitCode, 0) << made.err;
    const Json count = json({"count", "few.yaml", "--json"});
    EXPECT_LT(count["epochs"][0]["rows"], 1750) << "the hash of few values keeps less than 1,800";
    const Json train = json({"check", "few.yaml", "--json"})["runs"][0]["spec"]["train"];
    EXPECT_EQ(train["schedule"]["steps"], count["steps"]) << train;
}

TEST_F(QuestionsTest, ALabelOfOneValueAndNullsIsToldFromAConstant) {
    writeSizes();
    EXPECT_THAT(run({"init", "sizes.csv", "--label", "sold"}).err,
                HasSubstr("column 'sold' is 1 or null (in 200 of 400 rows that were read); "
                          "--label \"sold is not null\" predicts whether it has a value"));
    EXPECT_EQ(run({"init", "sizes.csv", "--label", "sold is not null"}).exitCode, 0);
}

TEST_F(QuestionsTest, TextsThatAreNumbersAreNotedWithAnExpressionThatCheckAccepts) {
    writeSizes();
    const SubprocessOutput init =
        run({"init", "sizes.csv", "--label", "size = 'L'", "-o", "sizes.yaml"});
    ASSERT_EQ(init.exitCode, 0) << init.err;
    const std::pair<const char*, const char*> kRead[] = {
        {"thousands", "try_cast(replace(thousands, ',', '') as double)"},
        {"share", "try_cast(replace(share, '%', '') as double)"},
        {"dollars", "try_cast(replace(dollars, '$', '') as double)"},
        {"euros",
         "try_cast(replace(replace(replace(euros, 'EUR', ''), ' ', ''), ',', '.') as double)"}};
    for (const auto& [column, expression] : kRead) {
        EXPECT_THAT(init.err, HasSubstr(std::string("'") + column + "' looks like a number"));
        EXPECT_THAT(init.err, HasSubstr(std::string("`") + expression + "` in a derive step"));
        const SubprocessOutput check =
            run({"check", "sizes.yaml", "--set",
                 std::string("recipe=[{derive: {number: \"") + expression + "\"}}]", "--set",
                 "features.dense=[number]"});
        EXPECT_EQ(check.exitCode, 0) << check.err;
    }
    EXPECT_THAT(init.err, Not(HasSubstr("'size' looks like a number")));
}

TEST_F(QuestionsTest, ListsThatToCsvWroteAsTextsAreNotedWithAnExpressionThatSamplesAsAList) {
    {
        std::ofstream rows(dir_ / "lists.csv");
        rows << "user,genres,tags,floats,padded,click\n";
        for (int r = 0; r < 400; ++r) {
            rows << r % 7 << (r % 5 == 0 ? ",[]" : strCat(",\"[", r % 9, ", 31]\""))
                 << ",\"['a b', 'c" << r % 3 << "']\",\"[0.5, 2.25]\",[ " << r % 3 << " 22],"
                 << r % 2 << '\n';
        }
    }
    const SubprocessOutput init =
        run({"init", "lists.csv", "--label", "click", "-o", "lists.yaml"});
    ASSERT_EQ(init.exitCode, 0) << init.err;
    const SubprocessOutput head = run({"head", "lists.csv"});
    for (const std::string& notes : {init.err, head.err}) {
        EXPECT_THAT(notes, HasSubstr("note: 'padded' looks like a list ('[ 0 22]'), but is string: "
                                     "to_csv writes lists as texts; write the file with "
                                     "to_parquet\n"));
        EXPECT_THAT(notes, Not(HasSubstr("'user' looks")));
    }
    const std::tuple<const char*, const char*, const char*> kRead[] = {
        {"genres", "split(regexp_replace(nullif(genres, '[]'), '[][]', '', 'g'), ', ')",
         R"(["1", "31"])"},
        {"tags", "split(regexp_replace(tags, '[]['']', '', 'g'), ', ')", R"(["a b", "c1"])"},
        {"floats", "cast(split(regexp_replace(floats, '[][]', '', 'g'), ', ') as float[])",
         "[0.5, 2.25]"}};
    for (const auto& [column, expression, list] : kRead) {
        const std::string read = strCat(", or read it with `", expression, "` in a derive step");
        EXPECT_THAT(init.err, HasSubstr(read));
        EXPECT_THAT(head.err, HasSubstr(read));
        const SubprocessOutput sample =
            run({"sample", "lists.yaml", "--rows", "2", "--set",
                 strCat("recipe=[{derive: {made: \"", expression, "\"}}]")});
        EXPECT_EQ(sample.exitCode, 0) << sample.err;
        EXPECT_THAT(sample.out, HasSubstr(list));
    }
    const SubprocessOutput check = run({"check", "lists.yaml", "--set", "features.ids=[user]",
                                        "--set", "features.lists=[genres]"});
    EXPECT_THAT(
        check.err,
        HasSubstr("needed is a list of integers or strings; in a derive step, `split(x, ' ')`"));
}

TEST_F(QuestionsTest, AWrongLabelIsPlacedAtItsKey) {
    std::ofstream(dir_ / "wrong.yaml") << "name: wrong\ndataset: {path: rows.csv}\n"
                                          "labels:\n  high: value\nfeatures: {ids: [user]}\n"
                                          "embeddings: {user: {rows: 16}}\nbatch: {rows: 16}\n"
                                          "model: {type: mlp}\n";
    const SubprocessOutput wrong = run({"check", "wrong.yaml"});
    EXPECT_EQ(wrong.exitCode, 1);
    EXPECT_THAT(wrong.err, HasSubstr("wrong.yaml:4:9: "));
}

TEST_F(QuestionsTest, AFlowMapThatBreaksAtACommaSaysToQuoteTheValue) {
    for (const char* where : {"hash01(user, value) < 0.8", "hash01(user, \"value\") < 0.8"}) {
        std::ofstream(dir_ / "flow.yaml") << "dataset: {path: rows.csv, where: " << where << "}\n";
        const SubprocessOutput output = run({"check", "flow.yaml"});
        EXPECT_EQ(output.exitCode, 1);
        EXPECT_THAT(output.err, HasSubstr("quotes")) << output.err;
        EXPECT_THAT(output.err, HasSubstr("comma")) << output.err;
    }
}

TEST_F(QuestionsTest, HashesThatCountedValuesWillChangeAreNotShown) {
    const SubprocessOutput output =
        run({"check", "spec.yaml", "--set", "embeddings={user: {vocabulary: auto}}"});
    EXPECT_EQ(output.exitCode, 0) << output.err;
    EXPECT_THAT(output.out, ContainsRegex("small +base +40 +1 +1 +- +-\n"));
    EXPECT_THAT(output.err, HasSubstr("vocabularies counted when the run starts"));
    EXPECT_THAT(run({"check", "spec.yaml"}).out, Not(ContainsRegex("1 +- +-\n")));
}

TEST_F(QuestionsTest, CheckWarnsOfNullsThatAModelTakesForSomethingElse) {
    std::ofstream rows(dir_ / "nulls.csv");
    rows << "built,change,full,agent,shop,label\n";
    for (int r = 0; r < 400; ++r) {
        const bool isNull = r % 5 == 0;
        rows << (isNull ? "" : std::to_string(1930 + r % 80)) << ','
             << (isNull ? "" : std::to_string(r % 9 - 4)) << ',' << 100 + r % 7 << ','
             << (isNull ? "" : strCat("a", r % 3)) << ',' << r % 4 << ',' << r % 2 << '\n';
    }
    rows.close();
    const auto check = [this](const std::string& built, const std::string& derive) {
        std::ofstream(dir_ / "nulls.yaml")
            << "dataset: {path: nulls.csv}\nrecipe: [" << derive << "]\nlabel: label = 1\n"
            << "features: {dense: [" << built << ", change, full], ids: [agent, shop]}\n"
            << "embeddings: {agent: {vocabulary: auto}, shop: {vocabulary: auto}}\n"
            << "batch: {rows: 64}\nmodel: {type: mlp, hidden: [4]}\n";
        const SubprocessOutput output = run({"check", "nulls.yaml"});
        EXPECT_EQ(output.exitCode, 0) << output.err;
        return output.err;
    };
    const std::string text = check("built", "");
    EXPECT_THAT(text,
                AllOf(HasSubstr("features.dense: 'built' is null in 80 of 400 rows looked at, and "
                                "null counts as 0, outside of its other values (1931 to 2009): "
                                "`{column: built, fill: 1970}` gives these rows the mean"),
                      HasSubstr("features.ids: nulls of 'agent' (20 %) share row 0 of the "
                                "vocabulary with values that training never had: `derive: {agent: "
                                "\"coalesce(agent, '<null>')\"}` gives nulls a row of their own"),
                      Not(HasSubstr("'change'")), Not(HasSubstr("'full'"))));
    EXPECT_THAT(
        check("{column: built, fill: 1970}", "derive: {agent: \"coalesce(agent, '<null>')\"}"),
        Not(HasSubstr("null in")));
}

TEST_F(QuestionsTest, InitFindsNullsThatTellTheLabelAlthoughTheMeanFillsThem) {
    std::ofstream rows(dir_ / "leak.csv");
    rows << "change,size,label\n";
    for (int r = 0; r < 1000; ++r) {
        rows << (r % 2 == 0 ? "" : strCat((r * 37 % 100) - 49.5)) << ',' << r * 7 % 90 << '.'
             << r % 10 << ',' << r % 2 << '\n';
    }
    rows.close();
    const SubprocessOutput output = run({"init", "leak.csv"});
    EXPECT_EQ(output.exitCode, 0) << output.err;
    EXPECT_THAT(output.out, ContainsRegex("column: change, fill: [-0-9.]+}  # .*the mean; alone "
                                          "tells the label 'label' .AUC 1.000"));
}

TEST_F(QuestionsTest, HeadSaysThatTimesWithAZoneAreShownInUtc) {
    std::ofstream(dir_ / "zoned.csv") << "opened at,closed\n2026-01-01 00:39:57+01:00,2026-01-01\n";
    const SubprocessOutput output = run({"head", "zoned.csv"});
    EXPECT_THAT(output.out, HasSubstr("2025-12-31 23:39:57"));
    EXPECT_THAT(output.err, HasSubstr("note: times of 'opened at' are read and shown in UTC: "
                                      "`\"opened at\" at time zone 'Europe/Berlin'` is the local "
                                      "time there"));
    EXPECT_THAT(output.err, Not(HasSubstr("closed")));
}

TEST_F(QuestionsTest, DatasetTakesSeveralPaths) {
    std::ofstream(dir_ / "more rows.csv") << "user,value,label,word\n1,2,1,a\n";
    const SubprocessOutput text = run({"dataset", "rows.csv", "more rows.csv"});
    EXPECT_THAT(text.out, HasSubstr("rows.csv, more rows.csv  csv  2 files  41 rows"));
    const Json document = json({"dataset", "rows.csv", "more rows.csv", "--json"});
    EXPECT_EQ(document["rows"], 41);
    EXPECT_EQ(document["path"], Json({"rows.csv", "more rows.csv"}));
    EXPECT_EQ(json({"dataset", "rows.csv", "--json"})["path"], "rows.csv");
}

TEST_F(QuestionsTest, TheAdviceOfAProfileIsACommandThatWorksWithoutALabel) {
    std::ofstream(dir_ / "it's rows.data") << "name;note\na;x\nb;y\nc;z\n";
    const SubprocessOutput profile =
        run({"dataset", "it's rows.data", "--format", "csv", "--csv", "delimiter=;", "--profile"});
    const std::string command = profile.out.substr(profile.out.find("printf "));
    EXPECT_THAT(command, HasSubstr(" && millrace stream better.yaml --rows --all-rows"));
    const SubprocessOutput written = shell(command.substr(0, command.find('\n')));
    ASSERT_EQ(written.exitCode, 0) << written.err << command;
    EXPECT_THAT(run({"dataset", "better"}).out, HasSubstr("parquet  1 file  3 rows"));
    EXPECT_THAT(run({"stream", "better.yaml"}).err,
                AllOf(HasSubstr("features is empty"), HasSubstr("labels is missing")));
}

TEST_F(QuestionsTest, DatasetListsFilesWhenAskedTo) {
    EXPECT_THAT(run({"dataset", "rows.csv"}).out, Not(HasSubstr("SPLIT")));
    const SubprocessOutput output = run({"dataset", "rows.csv", "--files"});
    EXPECT_THAT(output.out, HasSubstr("SPLIT"));
    EXPECT_THAT(output.out, HasSubstr("NULLS"));
    const Json document = json({"dataset", "rows.csv", "--json"});
    EXPECT_EQ(document["files"], 1);
    EXPECT_EQ(document["rows"], 40);
    EXPECT_EQ(document["file_list"][0]["row_groups"][0]["rows"], 40);
    EXPECT_EQ(document["columns"][0]["nulls"], nullptr);
    EXPECT_EQ(document["columns"][0]["nullable"], true);
}

}  // namespace
}  // namespace millrace

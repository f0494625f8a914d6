// `compare`: runs side by side, and runs that cannot be compared.
#include <gmock/gmock.h>

#include "backend/text/text.h"
#include "tests/unit/cli/commands_fixture.h"

namespace millrace::cli {
namespace {

using client::aDetail;
using client::aRun;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Hashes of different versions are called neither equal nor different.
TEST_F(CommandsTest, CompareSaysWhereOrderHashesAreOfTwoVersions) {
    fake.runs[0].summary.orderHashVersion = 1;
    fake.runs[1].summary.orderHashVersion = 2;
    for (const char* other : {"other", "aaaabbbbccccdddd"}) {
        fake.runs[1].summary.evalOrderHash = other;
        EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk);
        EXPECT_THAT(out.str(), HasSubstr("not comparable: version 1 and 2"));
        EXPECT_EQ(run({"compare", "r-abc23", "r-def45", "--json"}), kExitOk);
        const Json document = json();
        EXPECT_TRUE(document["same_evaluation_rows"].is_null());
        EXPECT_EQ(document["runs"][1]["order_hash_version"], 2);
    }
}

TEST_F(CommandsTest, RunsWorseThanTheMeanLabelGetAHintByTheirSteps) {
    for (int i = 0; i < 4; ++i) {
        fake.runs.push_back(client::aDetail(client::aRun(strCat("r-x", i), "x")));
    }
    for (auto& one : fake.runs) {
        one.summary.progress.step = one.summary.id == "r-x0" ? 16 : 5'000;
        const double entropy = one.summary.id < "r-x" || one.summary.id > "r-x1" ? 0.9 : 2.15;
        one.summary.latestMetrics = {{.name = "eval.auc", .value = 0.57},
                                     {.name = "eval.normalized_entropy", .value = entropy}};
    }
    EXPECT_EQ(run({"compare", "--filter", "x"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(), HasSubstr("\nr-x0: NE above 1: the mean label for every row predicts "
                                     "better; with few steps,"));
    EXPECT_THAT(out.str(), HasSubstr("\nr-x1: NE above 1: the mean label for every row predicts "
                                     "better; often a run is too long"));
    for (auto& one : fake.runs) {
        one.summary.progress.step = 16;
        one.summary.latestMetrics = {
            {.name = "eval.auc", .value = one.summary.id == "r-x1" ? 0.9964 : 0.57},
            {.name = "eval.normalized_entropy", .value = one.summary.id == "r-x0" ? 19.5 : 0.9}};
    }
    EXPECT_EQ(run({"compare", "--filter", "x"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(), HasSubstr("\nr-x0: NE far above 1: training diverged"));
    EXPECT_THAT(out.str(), Not(HasSubstr("higher train.learning_rate")));
    EXPECT_THAT(out.str(), HasSubstr("\nr-x1: AUC above 0.995: check that no feature"));
}

TEST_F(CommandsTest, TheHintOfAScriptNamesNoKeyOfABuiltInModel) {
    for (int i = 0; i < 4; ++i) {
        fake.runs.push_back(client::aDetail(client::aRun(strCat("r-x", i), "x")));
    }
    const auto hint = [this](const std::string& model, double entropy, double calibration) {
        fake.runs[0].summary.model = model;
        fake.runs[0].summary.progress.step = 16;
        fake.runs[0].summary.latestMetrics = {
            {.name = "eval.calibration", .value = calibration},
            {.name = "eval.normalized_entropy", .value = entropy}};
        EXPECT_EQ(run({"compare", "--filter", "x"}), kExitOk) << err.str();
        const std::string text = out.str();
        const std::size_t at = text.find("r-abc23: NE");
        return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
    };
    for (const double entropy : {1.1, 2.9, 19.5}) {
        for (const double calibration : {0.9, 2.9}) {
            const std::string text = hint("", entropy, calibration);
            EXPECT_THAT(text, HasSubstr("NE above 1"));
            EXPECT_THAT(text, Not(::testing::ContainsRegex("train\\.|batch\\.|eval\\.|labels\\.")));
        }
    }
    EXPECT_THAT(hint("mlp", 1.05, 2.9049),
                HasSubstr("predictions are 2.9049 times as high as the label on average; a label's "
                          "weight above 1 does that (labels.HEAD.weight)."));
    EXPECT_THAT(hint("mlp", 1.05, 1.1), HasSubstr("higher train.learning_rate"));
}

TEST_F(CommandsTest, ValuesThatTrainingNeverHadAreNamedBelowTheFigures) {
    fake.runs[0].receipt.emplace().vocabularies = {{"channel", 900, 0, 100, 51},
                                                   {"topic", 900, 400, 100, 51},
                                                   {"agent", 1000, 200, 1000, 400},
                                                   {"shop", 900, 0, 10'000, 1}};
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk);
    EXPECT_THAT(out.str(),
                HasSubstr("\nr-abc23: 51 % of 'channel' in the evaluation are values that "
                          "training never had"));
    EXPECT_THAT(out.str(), HasSubstr("\nr-abc23: 40 % of 'agent' in the evaluation are null or not "
                                     "in the vocabulary, in training 20 %; a value"));
    EXPECT_THAT(out.str(), Not(AnyOf(HasSubstr("'topic'"), HasSubstr("'shop'"))));
}

TEST_F(CommandsTest, AnAucOfFewPositivesOrNegativesIsMarked) {
    const auto evaluated = [this](double positives, double rows) {
        for (auto& one : fake.runs) {
            one.summary.latestMetrics = {
                {.name = "eval.auc", .value = 0.57},
                {.name = "eval.positives", .value = one.summary.id == "r-abc23" ? 50 : positives},
                {.name = "eval.rows", .value = rows}};
        }
    };
    const std::string note = "few: an AUC over fewer than 20 positives or negatives says little.\n";
    for (const auto& [positives, rows] : {std::pair(19, 900), std::pair(70, 89)}) {
        evaluated(positives, rows);
        EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk);
        EXPECT_THAT(out.str(),
                    AllOf(HasSubstr("0.5700 @0  0.5700 @0 few\n"), HasSubstr("\n" + note)));
        EXPECT_EQ(run({"show", "r-def45"}), kExitOk);
        EXPECT_THAT(out.str(), AllOf(HasSubstr("0.5700 few"), HasSubstr(note)));
    }
    evaluated(20, 900);
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk);
    EXPECT_THAT(out.str(), Not(HasSubstr("few")));
    EXPECT_EQ(run({"show", "r-def45"}), kExitOk);
    EXPECT_THAT(out.str(), Not(HasSubstr("few")));
}

TEST_F(CommandsTest, CompareSaysByHowMuchTheLossOfTheSameRowsDiffers) {
    fake.onPair = [](const values::PairRequest& request) -> Result<values::PairReply> {
        EXPECT_THAT(request.runs, ::testing::ElementsAre("r-abc23", "r-def45"));
        values::RunPair pair;
        pair.run = "r-def45";
        pair.hasScores = true;
        pair.rows = 20'133;
        pair.share = 1;
        pair.heads = {{"liked", 20'133, 2, 0.41, 0.6108, -0.2008}};
        return values::PairReply{{pair}};
    };
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("r-def45 against r-abc23, on the 20,133 rows that both scored "
                                     "with the same label (100 %): log loss of liked 0.2008 "
                                     "less\n"));
    EXPECT_THAT(out.str(), HasSubstr("\nSeed noise unknown: one run a side"));
    EXPECT_THAT(out.str(), Not(AnyOf(HasSubstr("better"), HasSubstr("worse"))));
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45", "--json"}), kExitOk);
    const Json paired = json()["paired"];
    EXPECT_EQ(paired["with"], "r-abc23");
    EXPECT_EQ(paired["runs"]["r-def45"]["rows"], 20'133);
    EXPECT_EQ(paired["runs"]["r-def45"]["heads"]["liked"],
              Json({{"rows", 20'133},
                    {"rows_of_other_labels", 2},
                    {"share", 1.0},
                    {"log_loss", 0.41},
                    {"log_loss_of_first", 0.6108},
                    {"log_loss_difference", -0.2008}}));
}

TEST_F(CommandsTest, CompareComputesTheSeedNoiseFromTheSeedsOfEachSide) {
    for (const char* id : {"r-x0", "r-x1"}) {
        fake.runs.push_back(client::aDetail(client::aRun(id, "x")));
    }
    for (std::size_t i = 0; i < 4; ++i) {
        fake.runs[i].params = {{"name", strCat("run ", i)},
                               {"batch.seed", strCat(i % 2)},
                               {"params.wait", i < 2 ? "1500" : "200"}};
    }
    fake.onPair = [](const values::PairRequest& request) -> Result<values::PairReply> {
        values::PairReply reply;
        for (std::size_t i = 1; i < request.runs.size(); ++i) {
            const double loss = i == 1 ? 0.002 : i == 2 ? 0.011 : 0.013;
            reply.pairs.push_back({.run = request.runs[i],
                                   .hasScores = true,
                                   .rows = 100,
                                   .heads = {{"liked", 100, 0, 0.5 + loss, 0.5, loss}}});
        }
        return reply;
    };
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45", "r-x0", "r-x1"}), kExitOk);
    EXPECT_THAT(out.str(),
                AllOf(HasSubstr("Seed noise of liked: the log loss of runs that differ in "
                                "batch.seed only has a standard deviation of 0.0014 (4 runs on 2 "
                                "sides).\nMean of r-x0 and r-x1 against that of r-abc23 and "
                                "r-def45: log loss of liked 0.0110 more, with a standard error of "
                                "0.0014.\n"),
                      Not(HasSubstr("Seed noise unknown"))));
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45", "r-x0", "r-x1", "--json"}), kExitOk);
    const Json noise = json()["seed_noise"]["liked"];
    EXPECT_NEAR(noise["standard_deviation"].get<double>(), 0.001414, 1e-6);
    EXPECT_EQ(noise["sides"][1]["runs"], Json({"r-x0", "r-x1"}));
    EXPECT_EQ(run({"compare", "r-abc23", "r-x1"}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("Seed noise unknown: one run a side"));
    fake.onPair = nullptr;
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("Seed noise unknown: runs that differ in batch.seed only have "
                                     "no scores of the same rows;"));
}

// The seed draws the rows of a sampled step, and their values are counted.
TEST_F(CommandsTest, SeedsThatChangeACountedVocabularyAreOneSide) {
    for (std::size_t i = 0; i < 2; ++i) {
        fake.runs[i].params = {{"batch.seed", strCat(i)},
                               {"embeddings.user.rows", strCat(50 + i)},
                               {"embeddings.user.vocabulary.hash", strCat("hash of ", i)},
                               {"embeddings.item.rows", "40"}};
    }
    const auto seedOnly = [this] {
        EXPECT_EQ(run({"compare", "r-abc23", "r-def45", "--json"}), kExitOk);
        return json()["differs_in_seed_only"];
    };
    EXPECT_EQ(seedOnly(), Json({"r-def45"}));
    fake.runs[1].params["embeddings.item.rows"] = "41";  // not counted: the spec sets it
    EXPECT_EQ(seedOnly(), Json::array());
    fake.runs[1].params["embeddings.item.rows"] = "40";
    fake.runs[1].params.erase("embeddings.user.vocabulary.hash");
    EXPECT_EQ(seedOnly(), Json::array()) << "one run counts, the other has a fixed table";
    fake.runs[1].params = fake.runs[0].params;
    fake.runs[1].params["embeddings.user.vocabulary.hash"] = "other";
    EXPECT_EQ(seedOnly(), Json::array()) << "the same seed: something else changed the values";
}

TEST_F(CommandsTest, ARunWithoutADatasetLearnsNoOtherLabel) {
    fake.runs[0].params = {{"labels.liked.expr", "rating >= 4.0"}};
    fake.runs[1].params = {{"command", "train.sh"}};
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk);
    EXPECT_THAT(out.str(), Not(HasSubstr("ther label")));
}

// The metric of the same name covers only a few seconds.
TEST_F(CommandsTest, CompareTellsOneInputStallTheWholeRuns) {
    fake.runs[0].summary.latestMetrics = {{"input_stall_percent", 80.0, 10, 1, 0},
                                          {"loss", 0.5, 10, 1, 0}};
    fake.runs[0].summary.progress.times = values::PhaseTimes{7'500, 2'500};
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45", "--json"}), kExitOk);
    const Json document = json();
    EXPECT_EQ(document["metrics"]["input_stall_percent"]["r-abc23"], 25.0);
    EXPECT_EQ(document["runs"][0]["metrics"], Json({{"loss", 0.5}}));
}

TEST_F(CommandsTest, CompareNamesRunsThatDifferInTheirSeedAlone) {
    fake.runs[0].params = {{"name", "a"}, {"batch.seed", "7"}, {"labels.liked.expr", "x > 3"}};
    fake.runs[1].params = fake.runs[0].params;
    fake.runs[1].params["batch.seed"] = "8";
    fake.runs[1].params["name"] = "a-8";
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("\nOther seed: r-def45 differs from r-abc23 in batch.seed "
                                     "only.\nSeed noise unknown: "));
    EXPECT_THAT(out.str(), Not(HasSubstr("ther label")));
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45", "--json"}), kExitOk);
    EXPECT_EQ(json()["differs_in_seed_only"], Json({"r-def45"}));
    EXPECT_EQ(json()["other_label"], Json::array());
    EXPECT_TRUE(json().contains("seed_noise") && json()["seed_noise"].is_null());
}

TEST_F(CommandsTest, CompareMarksARunThatLearnsAnotherLabel) {
    fake.runs[0].params["labels.liked.expr"] = "rating >= 4.0";
    fake.runs[1].params["labels.liked.expr"] = "rating >= 3.5";
    fake.onPair = [](const values::PairRequest&) -> Result<values::PairReply> {
        values::RunPair pair;
        pair.run = "r-def45";
        pair.hasScores = true;
        pair.heads = {{"liked", 20'133, 2, 0.41, 0.6108, -0.2008}};
        return values::PairReply{{pair}};
    };
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk);
    EXPECT_THAT(out.str(), ::testing::ContainsRegex("\nlabel +- +other label *\n"));
    EXPECT_THAT(out.str(), HasSubstr("0.2008 less; other label\n"));
    EXPECT_THAT(out.str(),
                HasSubstr("\nOther label: r-def45 learns another label than r-abc23.\n"));
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45", "--json"}), kExitOk);
    EXPECT_EQ(json()["other_label"], Json({"r-def45"}));
    for (int i = 0; i < 4; ++i) {
        fake.runs.push_back(aDetail(aRun(strCat("r-more", i + 2), "x")));
        fake.runs.back().params = fake.runs[0].params;
    }
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45", "r-more2", "r-more3", "r-more4"}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("other label: labels.liked.expr=rating >= 3.5"));
}

TEST_F(CommandsTest, CompareSaysWhyRowsAreNotCompared) {
    fake.onPair = [](const values::PairRequest&) -> Result<values::PairReply> {
        values::RunPair pair;
        pair.run = "r-def45";
        pair.without = {"r-def45"};
        return values::PairReply{{pair}};
    };
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk);
    EXPECT_THAT(out.str(),
                HasSubstr("not compared row by row: r-def45 has no scores of an evaluation"));
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45", "--json"}), kExitOk);
    EXPECT_TRUE(json()["paired"]["runs"]["r-def45"].is_null());
    fake.onPair = [](const values::PairRequest&) -> Result<values::PairReply> {
        return absl::UnimplementedError("it is older than this millrace");
    };
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk) << "an older daemon compares";
    EXPECT_THAT(out.str(), HasSubstr("row by row: it is older than this millrace"));
}

values::RunPair ofRewrittenLog() {
    values::RunPair pair;
    pair.run = "r-def45";
    pair.problem = "r-abc23 and r-def45 were evaluated on files of different content";
    pair.knowsFiles = pair.evaluatedOtherContent = pair.trainedOnOtherFiles = true;
    pair.files = {{"log.csv", "c4eccae9d5def702", "34faca5bf0144ca6", 31'247, 31'300}};
    pair.filesTotal = 1;
    return pair;
}

// Equal hashes identify the positions of rows alone.
TEST_F(CommandsTest, CompareNamesAFileThatWasRewrittenBetweenTheRuns) {
    haveOneStream();
    fake.runs[1].params = fake.runs[0].params;
    fake.runs[1].params["batch.seed"] = "8";
    fake.onPair = [](const values::PairRequest&) { return values::PairReply{{ofRewrittenLog()}}; };
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("Not all were evaluated on the same rows: the files differ in "
                                     "content, so their test figures do not compare."));
    EXPECT_THAT(out.str(), HasSubstr("Other files: log.csv was rewritten between the runs: "));
    EXPECT_THAT(out.str(), HasSubstr(" read 31.2 kB (c4eccae9d5de), "));
    EXPECT_THAT(out.str(), HasSubstr(" read 31.3 kB (34faca5bf014)."));
    EXPECT_THAT(out.str(), HasSubstr("in the same order (other files)."));
    EXPECT_THAT(out.str(), ::testing::ContainsRegex("\nfile log.csv +31.2 kB c4eccae9d5de +31.3"));
    EXPECT_THAT(out.str(), Not(AnyOf(HasSubstr("All were"), HasSubstr("\nloss"),
                                     HasSubstr("in batch.seed only"))));
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45", "--json"}), kExitOk);
    EXPECT_EQ(json()["same_stream"], false);
    EXPECT_EQ(json()["same_evaluation_rows"], false);
    EXPECT_EQ(json()["differences"]["file log.csv"]["r-def45"], "31.3 kB 34faca5bf014");
    EXPECT_EQ(json()["differs_in_seed_only"], Json::array());
}

TEST_F(CommandsTest, CompareTellsTrainingFilesFromEvaluatedOnes) {
    haveOneStream();
    fake.onPair = [](const values::PairRequest&) {
        values::RunPair pair = ofRewrittenLog();
        pair.evaluatedOtherContent = false;
        return values::PairReply{{pair}};
    };
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45", "--json"}), kExitOk);
    EXPECT_EQ(json()["same_stream"], false);
    EXPECT_EQ(json()["same_evaluation_rows"], true);
}

// The plans of purged runs are gone.
TEST_F(CommandsTest, CompareDoesNotGuessWhetherTheFilesOfTwoPlansAreEqual) {
    haveOneStream();
    fake.runs[0].summary.planHash = "one";
    fake.runs[1].summary.planHash = "two";
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk);
    EXPECT_THAT(out.str(),
                HasSubstr("on the same rows is not known: the daemon could not compare"));
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45", "--json"}), kExitOk);
    EXPECT_TRUE(json()["same_evaluation_rows"].is_null());
    EXPECT_EQ(json()["same_stream"], false);
}

TEST_F(CommandsTest, CompareCallsRowsWithoutALabelOtherRows) {
    fake.runs[0].summary.latestMetrics.push_back({"eval.rows", 291, 10, 1, 0});
    fake.runs[1].summary.latestMetrics.push_back({"eval.rows", 241, 10, 1, 0});
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk);
    EXPECT_THAT(out.str(),
                HasSubstr("Not all were evaluated on the same rows: r-def45 has 241 rows "
                          "with a label, r-abc23 has 291; their test figures"));
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45", "--json"}), kExitOk);
    EXPECT_EQ(json()["same_evaluation_rows"], false);
}

TEST_F(CommandsTest, CompareSetsRunsSideBySide) {
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(), HasSubstr("recipe.negatives.keep"));
    EXPECT_THAT(out.str(), HasSubstr("eval.auc"));
    EXPECT_THAT(out.str(),
                HasSubstr("All were evaluated on the same rows (evaluation hash aaaabbbbcccc)"));
    EXPECT_EQ(run({"compare", "r-abc23"}), kExitUsage);
}

TEST_F(CommandsTest, CompareShowsBestAndLastWithTheirSteps) {
    for (values::RunDetail& one : fake.runs) {
        one.summary.bestMetrics.clear();
    }
    fake.onMetricRange =
        [](const values::MetricRangeRequest& request) -> Result<values::MetricHistory> {
        values::MetricSeries series;
        series.key = request.names.front();
        series.points = {pointAt(130, 0.78),
                         pointAt(260, request.run == "r-abc23" ? 0.7951 : 0.7912),
                         pointAt(390, 0.7934)};
        return values::MetricHistory{"", {series}, {}};
    };
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45", "--metric", "eval.auc"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(),
                ::testing::ContainsRegex("eval.auc \\(last\\) +0.7934 @390 +0.7934 @390"));
    EXPECT_THAT(out.str(),
                ::testing::ContainsRegex("eval.auc \\(best\\) +0.7951 @260 +0.7934 @390"));
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45", "--metric", "eval.auc", "--json"}), kExitOk);
    EXPECT_EQ(json()["best"]["eval.auc"]["r-abc23"], (Json{{"value", 0.7951}, {"step", 260}}));
    EXPECT_EQ(json()["last"]["eval.auc"]["r-def45"], (Json{{"value", 0.7934}, {"step", 390}}));
}

TEST_F(CommandsTest, CompareSaysWhatAListHasMoreAndLess) {
    fake.runs[0].params["features.ids"] = R"(["user","item","tailnum"])";
    fake.runs[1].params["features.ids"] = R"(["user","item","origin"])";
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(), ::testing::ContainsRegex("features.ids +3 items +\\+origin -tailnum"));
    EXPECT_EQ(run({"show", "r-def45"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(), ::testing::ContainsRegex("features.ids +3 items +\\+origin -tailnum"));
}

TEST_F(CommandsTest, CompareShowsAStepThatIsSwitchedOffAsOneLine) {
    for (const char* const key : {"recipe.spam.", "eval.recipe.spam."}) {
        fake.runs[0].params[strCat(key, "enabled")] = "true";
        fake.runs[0].params[strCat(key, "kind")] = "join";
        fake.runs[0].params[strCat(key, "take.user")] = "hash(user)";
    }
    fake.runs[1].params["recipe.spam.enabled"] = "false";
    fake.runs[1].params["recipe.spam.kind"] = "join";
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"compare", "r-abc23", "r-def45"}, {"show", "r-def45"}}) {
        EXPECT_EQ(run(words), kExitOk) << err.str();
        EXPECT_THAT(out.str(), ::testing::ContainsRegex("\n *recipe.spam +on +off"));
        EXPECT_THAT(out.str(), ::testing::ContainsRegex("\n *eval.recipe.spam +on +off"));
        EXPECT_THAT(out.str(), Not(AnyOf(HasSubstr("spam.take"), HasSubstr("spam.enabled"))));
    }
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45", "--json"}), kExitOk);
    EXPECT_TRUE(json()["differences"].contains("eval.recipe.spam.kind")) << "documents are whole";
    std::erase_if(fake.runs[1].params,
                  [](const auto& param) { return param.first.starts_with("recipe.spam"); });
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(), HasSubstr("recipe.spam.take.user")) << "a step that was added";
}

TEST_F(CommandsTest, CompareLeavesOutWhatFollowsFromOtherKeys) {
    const std::string table = "embeddings.user.", hash = table + "vocabulary.hash";
    fake.runs[0].params[hash] = "aaaa";
    fake.runs[1].params[hash] = "bbbb";
    fake.runs[0].params[table + "rows"] = "11";
    fake.runs[1].params[table + "rows"] = "17";
    fake.runs[0].params["dataset.where"] = "day < 3";
    fake.runs[1].params["dataset.where"] = "day < 4";
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(), HasSubstr("dataset.where"));
    EXPECT_THAT(out.str(), Not(AnyOf(HasSubstr(hash), HasSubstr(table + "rows"))));
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45", "--json"}), kExitOk);
    EXPECT_TRUE(json()["differences"].contains(hash)) << "documents are whole";
    // A vocabulary that is counted in one run only.
    fake.runs[1].params.erase(hash);
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(), HasSubstr(table + "rows"));
    EXPECT_THAT(out.str(), Not(HasSubstr(hash)));
    // With other files and the same spec, the hash is the only difference to show.
    fake.runs[1].params = fake.runs[0].params;
    fake.runs[1].params[hash] = "bbbb";
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(), ::testing::ContainsRegex("vocabulary.hash +aaaa +bbbb"));
}

TEST_F(CommandsTest, CompareHasListsAndLongTextsInFullBelowItsTable) {
    const std::string longText = "a text of more columns than the table has for one value";
    fake.runs[0].params["params.layers"] = "[64,32,16]";
    fake.runs[1].params["params.layers"] = "[64,128]";
    fake.runs[0].params["params.note"] = longText;
    fake.runs[1].params["params.note"] = "short";
    fake.runs[0].params["params.lr"] = "0.5";
    fake.runs[1].params["params.lr"] = "0.25";
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(), ::testing::HasSubstr(
                               "\nparams.layers\n  r-abc23  [64,32,16]\n  r-def45  [64,128]\n"));
    EXPECT_THAT(out.str(), ::testing::HasSubstr("\nparams.note\n  r-abc23  " + longText + "\n"));
    EXPECT_THAT(out.str(), ::testing::ContainsRegex("params.lr +0.5 +0.25"));
    EXPECT_THAT(out.str(), ::testing::Not(::testing::HasSubstr("\nparams.lr\n"))) << "it is whole";
}

TEST_F(CommandsTest, OfARunWithoutADatasetNoRowsAreShown) {
    for (values::RunDetail& one : fake.runs) {
        one.summary.dataset.clear();
        one.summary.rowsRead = one.summary.rowsKept = one.summary.rowsTrained = 0;
        one.summary.progress = {};
        one.receipt.reset();
        one.planFiles = one.planSplits = one.planRows = one.planBytes = 0;
        one.params = {{"params.lr", "0.5"}, {"params.window.days", "14"}};
        one.summary.params = one.params;
    }
    EXPECT_EQ(run({"show", "r-abc23"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(), ::testing::HasSubstr("none: the run is its command alone"));
    EXPECT_THAT(out.str(), ::testing::HasSubstr("lr=0.5, window.days=14"));
    for (const char* made : {"0 rows", "0 files", "receipt", "plan", "step 0"}) {
        EXPECT_THAT(out.str(), ::testing::Not(::testing::HasSubstr(made))) << made;
    }
    EXPECT_EQ(run({"show", "r-abc23", "--receipt"}), kExitFailed);
    EXPECT_THAT(err.str(),
                ::testing::HasSubstr("has no dataset, so it has no plan and no receipt"));
    EXPECT_EQ(run({"show", "r-abc23", "--json"}), kExitOk);
    EXPECT_TRUE(json()["run"]["plan"].is_null());
    EXPECT_TRUE(json()["run"]["rows_trained"].is_null());
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(), ::testing::Not(::testing::HasSubstr("rows read")));
    EXPECT_THAT(out.str(), ::testing::Not(::testing::HasSubstr("batch.seed")));
    EXPECT_THAT(out.str(), ::testing::Not(::testing::HasSubstr("input stall")));
    EXPECT_EQ(run({"ls", "--columns", "id,params.lr,rows"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(), ::testing::ContainsRegex("r-abc23 +0.5 +-"));
}

TEST_F(CommandsTest, LossesOfRunsThatTrainedOnOtherRowsAreNotCompared) {
    fake.runs[0].summary.streamHash = fake.runs[1].summary.streamHash = "aa";
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(), HasSubstr("\nloss "));
    fake.runs[1].summary.streamHash = "bb";
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(), Not(HasSubstr("\nloss ")));
    EXPECT_THAT(out.str(), HasSubstr("Losses are not compared: the runs did not train on the same "
                                     "rows"));
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45", "--json"}), kExitOk);
    EXPECT_EQ(json()["same_stream"], false);
}

TEST_F(CommandsTest, CompareWarnsWhereTheRowsDiffer) {
    fake.runs[1].summary.evalOrderHash = "other";
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("Not all were evaluated on the same rows"));
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45", "--json"}), kExitOk);
    const Json document = json();
    EXPECT_EQ(document["same_evaluation_rows"], false);
    EXPECT_EQ(document["differences"]["recipe.negatives.keep"]["r-def45"], "0.3");
    EXPECT_EQ(document["metrics"]["eval.auc"]["r-abc23"], 0.7934);
}

TEST_F(CommandsTest, CompareOfManyRunsHasOneRowEach) {
    for (const char* id : {"r-ghi67", "r-jkm89", "r-nop23"}) {
        fake.runs.push_back(aDetail(aRun(id, id)));
    }
    EXPECT_EQ(run({"compare", "--filter", "tags.quickstart = 'x'"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(), HasSubstr("AUC"));
    EXPECT_THAT(out.str(), HasSubstr("CHANGES AGAINST r-abc23")) << "the first of the submit";
    EXPECT_THAT(out.str(), HasSubstr("recipe.negatives.keep=0.3"));
    EXPECT_THAT(out.str(), HasSubstr("All were evaluated on the same rows"));
}

TEST_F(CommandsTest, TheResultTableFitsEightyColumnsWithRowsReadKeptAndTrained) {
    terminal.width = 80;
    for (const char* id : {"r-ghi67", "r-jkm89", "r-nop23"}) {
        fake.runs.push_back(aDetail(aRun(id, id)));
    }
    EXPECT_EQ(run({"compare", "--filter", "x"}), kExitOk) << err.str();
    const std::string first = out.str().substr(0, out.str().find('\n'));
    for (const char* title : {"AUC", "NE", "ROWS READ", "KEPT", "TRAINED", "SAMPLES/S"}) {
        EXPECT_THAT(first, HasSubstr(title));
    }
    EXPECT_THAT(out.str(), HasSubstr(" 50,000\n")) << "the mean over the run, not its end";
    std::istringstream lines(out.str());
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(displayWidth(line), 80) << line;
    }
}

TEST_F(CommandsTest, CompareOfARunWithItselfIsRefused) {
    EXPECT_EQ(run({"compare", "r-abc23", "r-abc23"}), kExitUsage);
    EXPECT_THAT(err.str(), HasSubstr("are both r-abc23"));
}

}  // namespace
}  // namespace millrace::cli

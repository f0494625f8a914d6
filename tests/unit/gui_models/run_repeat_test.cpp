#include "app/gui/models/details/run_repeat.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/gui/models/details/run_cli.h"

namespace millrace::gui {
namespace {

using testing::ElementsAre;
using Kind = RepeatVerdict::Kind;

RunPtr detailOf(const std::string& id, const std::string& variation = "",
                const std::string& group = "") {
    values::RunDetail run;
    run.summary.id = id;
    run.summary.name = "small";
    run.summary.variation = variation;
    run.summary.group = group.empty() ? id : group;
    run.summary.project = "films";
    run.summary.tags = {{"team", "t0"}};
    run.summary.specHash = "0ef2f231584b00000000000000000000";
    run.summary.planHash = "aa";
    run.specText = "name: small\nvariations: []\n";
    run.specFileName = "specs/small.yaml";
    run.resolvedSpec = R"({"base_dir":"/data/specs","batch":{"seed":144},"name":"small",)"
                       R"("project":"films","tags":{"team":"t0"}})";
    run.sets = {"batch.seed=144"};
    run.planFiles = 3;
    run.planRows = 100'000;
    return std::make_shared<values::RunDetail>(run);
}

values::CheckedRun nowOf(const values::RunDetail& run) {
    return {run.summary.variation,
            run.resolvedSpec,
            run.summary.specHash,
            "s",
            run.planRows,
            run.planFiles,
            7,
            run.summary.planHash};
}

std::string sentence(const values::RunDetail& run, const values::CheckedRun& now) {
    return verdictOn(run, now).sentence.toStdString();
}

TEST(RunRepeat, HasAllThatWasSubmitted) {
    const RunPtr run = detailOf("r-1", "keep-30");
    const values::SubmitRequest request = repeatRequest(*run);
    EXPECT_EQ(request.specText, run->specText);
    EXPECT_EQ(request.fileName, "specs/small.yaml");
    EXPECT_EQ(request.baseDir, "/data/specs");
    EXPECT_EQ(request.sets, run->sets);
    EXPECT_EQ(request.project, "films");
    EXPECT_EQ(request.tags, run->summary.tags);
    EXPECT_THAT(request.variations, ElementsAre("keep-30"));
    EXPECT_TRUE(request.withoutBase) << "its base did not belong to it";
    EXPECT_TRUE(request.key.empty()) << "a key would give the old run back";
    EXPECT_TRUE(request.note.empty());
    EXPECT_TRUE(repeatRequest(*detailOf("r-2")).variations.empty());
}

TEST(RunRepeat, AScriptIsStartedWhereItWas) {
    auto run = std::make_shared<values::RunDetail>(*detailOf("r-1"));
    run->script.place.workingDirectory = "/srv/ann/films";
    run->script.place.environment = {{"PATH", "/opt/venv/bin:/usr/bin"}};
    EXPECT_EQ(repeatRequest(*run).place, run->script.place);
}

TEST(RunRepeat, VariationsOfOneSubmitAreOneSubmitAgain) {
    const RunPtr base = detailOf("r-1"), a = detailOf("r-2", "a", "r-1"),
                 b = detailOf("r-3", "b", "r-1"), other = detailOf("r-4", "a", "r-9");
    const std::vector<RunRepeat> repeats = repeatsOf({a, base, other, b});
    ASSERT_EQ(repeats.size(), 2U);
    EXPECT_THAT(repeats[0].runs, ElementsAre(a, base, b));
    EXPECT_THAT(repeats[0].request.variations, ElementsAre("a", "b"));
    EXPECT_FALSE(repeats[0].request.withoutBase);
    EXPECT_THAT(repeats[1].runs, ElementsAre(other));
    EXPECT_TRUE(repeats[1].request.withoutBase);
    const values::CheckRequest question = repeats[0].question();
    EXPECT_EQ(question.spec.sets, a->sets);
    EXPECT_EQ(question.variations, repeats[0].request.variations);
    EXPECT_FALSE(question.withoutBase);
}

TEST(RunRepeat, RunsOfOneSubmitWhoseTagsDifferAreNotMixed) {
    auto tagged = std::make_shared<values::RunDetail>(*detailOf("r-3", "b", "r-1"));
    tagged->summary.tags["best"] = "yes";
    EXPECT_EQ(repeatsOf({detailOf("r-2", "a", "r-1"), tagged}).size(), 2U);
}

TEST(RunRepeat, SaysThatTheHashIsEqual) {
    const RunPtr run = detailOf("r-m6kqr");
    const RepeatVerdict verdict = verdictOn(*run, nowOf(*run));
    EXPECT_EQ(verdict.kind, Kind::kEqual);
    EXPECT_EQ(verdict.sentence.toStdString(), "spec hash equal (0ef2f231584b): repeats r-m6kqr");
}

TEST(RunRepeat, NamesTheKeysThatDiffer) {
    const RunPtr run = detailOf("r-1");
    values::CheckedRun now = nowOf(*run);
    now.specHash = "44";
    now.resolvedSpec = R"({"base_dir":"/elsewhere","batch":{"seed":7},"name":"x","tags":{}})";
    EXPECT_EQ(verdictOn(*run, now).kind, Kind::kDiffers);
    EXPECT_EQ(sentence(*run, now), "differs from r-1 in 1 key: batch.seed 144 \u2192 7");
    now.resolvedSpec = R"({"batch":{"seed":7},"train":{"a":1,"b":2,"c":3,"d":4}})";
    EXPECT_EQ(sentence(*run, now),
              "differs from r-1 in 5 keys: batch.seed 144 \u2192 7, train.a \u2013 \u2192 1, "
              "train.b \u2013 \u2192 2, train.c \u2013 \u2192 3 and 1 more");
}

TEST(RunRepeat, SaysThatTheDataAreOthers) {
    const RunPtr run = detailOf("r-1");
    values::CheckedRun now = nowOf(*run);
    now.planHash = "bb";
    EXPECT_EQ(verdictOn(*run, now).kind, Kind::kDiffers);
    EXPECT_THAT(sentence(*run, now), testing::HasSubstr("written again since r-1"));
    now.rows = 120'000;
    EXPECT_THAT(sentence(*run, now),
                testing::HasSubstr("120,000 rows in 3 files now, then 100,000 rows in 3 files"));
}

TEST(RunRepeat, SaysWhatItCannotBringBackOrKnow) {
    auto run = std::make_shared<values::RunDetail>(*detailOf("r-1"));
    run->summary.tags.clear();
    EXPECT_THAT(sentence(*run, nowOf(*run)),
                testing::HasSubstr("the spec's tag team, which was taken off r-1, is set again"));
    run->resolvedSpec = R"({"command":["python","train.py"]})";
    EXPECT_THAT(sentence(*run, nowOf(*run)), testing::HasSubstr("its script is not part of"));
}

TEST(RunRepeat, WhatCannotBeLaunchedSaysWhy) {
    const RunPtr run = detailOf("r-1");
    values::CheckReply reply;
    reply.errors.push_back({"movies.csv: not there"});
    const RepeatVerdict verdict = verdictOn(*run, reply);
    EXPECT_EQ(verdict.kind, Kind::kBroken);
    EXPECT_EQ(verdict.sentence.toStdString(), "cannot be launched: movies.csv: not there");
    EXPECT_EQ(verdictOn(*run, unavailable("no daemon")).kind, Kind::kBroken);
    EXPECT_EQ(verdictOn(*run, values::CheckReply()).kind, Kind::kBroken);
}

TEST(RunCli, ALineReadsTheSpecWhereItIs) {
    EXPECT_EQ(runCommandLine(*detailOf("r-1")).toStdString(),
              "millrace run /data/specs/small.yaml --set batch.seed=144")
        << "its name was relative to the directory of the shell";
}

TEST(RunCli, AListOfWordsIsReadAsItWasWritten) {
    std::mt19937 random(41);
    const std::string letters = "ab=, '\"\\.\t$";
    for (int round = 0; round < 2'000; ++round) {
        std::vector<std::string> words;
        for (std::size_t i = random() % 5; i > 0; --i) {
            std::string word;
            for (std::size_t k = random() % 7; k > 0; --k) {
                word += letters[random() % letters.size()];
            }
            words.push_back(word);
        }
        for (const QChar separator : {QChar(' '), QChar(',')}) {
            const QString line = quotedList(words, separator);
            EXPECT_EQ(splitQuoted(line, separator), words) << line.toStdString();
        }
    }
}

TEST(RunCli, ALineThatSomebodyTypesIsSplit) {
    EXPECT_EQ(splitQuoted("  a=1   b='x y'  ", ' '), (std::vector<std::string>{"a=1", "b=x y"}));
    EXPECT_EQ(splitQuoted("team = t0 , why=a b,", ','),
              (std::vector<std::string>{"team = t0", "why=a b"}));
    EXPECT_EQ(splitQuoted("a='open", ' '), std::nullopt);
    EXPECT_EQ(splitQuoted("", ' '), std::vector<std::string>());
}

}  // namespace
}  // namespace millrace::gui

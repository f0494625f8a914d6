#include "app/gui/models/run_text.h"

#include <QDateTime>
#include <limits>

#include <gtest/gtest.h>

#include "app/gui/models/details/run_cli.h"
#include "app/gui/models/runs/metric_facts.h"

namespace millrace::gui {
namespace {

const QString kMinus = QString(QChar(0x2212));

TEST(RunText, WritesNumbersWithAsManyDigitsAsTellRunsApart) {
    EXPECT_EQ(numberText(0.79344), "0.7934");
    EXPECT_EQ(numberText(-0.5), kMinus + "0.5000");
    EXPECT_EQ(numberText(42'100), "42,100");
    EXPECT_EQ(numberText(41'638.7), "41,639");
    EXPECT_EQ(numberText(3), "3.0000");
    EXPECT_EQ(numberText(97.312), "97.31");
    EXPECT_EQ(numberText(0.0000012), "1.2e" + kMinus + "06");
    EXPECT_EQ(numberText(std::numeric_limits<double>::quiet_NaN()), "NaN");
    EXPECT_EQ(numberText(-std::numeric_limits<double>::infinity()), kMinus + QChar(0x221e));
}

TEST(RunText, WritesDifferencesWithTheDecimalsOfTheirValue) {
    EXPECT_EQ(differenceText(0.0118, 0.5241), "+0.0118");
    EXPECT_EQ(differenceText(-0.0013, 0.7921), kMinus + "0.0013");
    EXPECT_EQ(differenceText(-9.81, 41'649), kMinus + "10");
    EXPECT_EQ(differenceText(0.2, 41'649), "+0.2");
    EXPECT_EQ(differenceText(0.00001234, 0.5), "+1.2e" + kMinus + "05") << "never a rounded 0";
    EXPECT_EQ(differenceText(0, 0.5), QString(QChar(0x00b1)) + "0");
}

TEST(RunText, WritesCountsBytesAndDurations) {
    EXPECT_EQ(countText(241'683), "241,683");
    EXPECT_EQ(shortCountText(241'683), "242 k");
    EXPECT_EQ(shortCountText(1'240'000), "1.2 M");
    EXPECT_EQ(shortCountText(999'999), "1.0 M");
    EXPECT_EQ(bytesText(512), "512 B");
    EXPECT_EQ(bytesText(5'242'880), "5.2 MB");
    EXPECT_EQ(durationText(0), "0.0 s");
    EXPECT_EQ(durationText(12), "< 0.1 s");
    EXPECT_EQ(durationText(50), "0.1 s");
    EXPECT_EQ(durationText(400), "0.4 s");
    EXPECT_EQ(durationText(59'940), "59.9 s");
    EXPECT_EQ(durationText(59'960), "1 m 00 s");
    EXPECT_EQ(durationText(200'000), "3 m 20 s");
    EXPECT_EQ(durationText(7'500'000), "2 h 05 m");
    EXPECT_EQ(durationText(273'600'000), "3 d 04 h");
    EXPECT_EQ(durationText(-1), "");
}

TEST(RunText, WritesTimesByHowFarTheyAreAway) {
    const QDateTime now(QDate(2026, 11, 21), QTime(18, 0));
    const auto text = [&](const QDateTime& time) {
        return timeText(time.toMSecsSinceEpoch(), now.toMSecsSinceEpoch());
    };
    EXPECT_EQ(text(QDateTime(now.date(), QTime(14, 3, 10))), "14:03:10");
    EXPECT_EQ(text(QDateTime(QDate(2026, 11, 20), QTime(14, 3))), "20 Nov 14:03");
    EXPECT_EQ(text(QDateTime(QDate(2025, 11, 20), QTime(14, 3))), "2025-11-20");
    EXPECT_EQ(timeText(0, now.toMSecsSinceEpoch()), "");
}

TEST(RunText, MakesSentencesOfMessages) {
    EXPECT_EQ(asSentence("no run 'r-x'"), "No run 'r-x'.");
    EXPECT_EQ(asSentence("did you mean 'state'?"), "Did you mean 'state'?");
    EXPECT_EQ(asSentence(""), "");
}

TEST(MetricFacts, KnowsWhichWayIsBetter) {
    EXPECT_EQ(values::senseOf("loss"), values::MetricSense::kLowerIsBetter);
    EXPECT_EQ(values::senseOf("eval.click.normalized_entropy"),
              values::MetricSense::kLowerIsBetter);
    EXPECT_EQ(values::senseOf("eval.auc"), values::MetricSense::kHigherIsBetter);
    EXPECT_EQ(values::senseOf("eval.calibration"), values::MetricSense::kUnknown);
    EXPECT_EQ(metricTitle("eval.click.auc"), "test click AUC");
    EXPECT_EQ(
        session::inUsualOrder({"zeta", "samples_per_second", "eval.rows", "eval.auc", "loss"}),
        (std::vector<std::string>{"loss", "eval.auc", "eval.rows", "samples_per_second", "zeta"}));
}

TEST(RunCli, WritesTheLineThatDoesTheSameAgain) {
    values::RunDetail run;
    run.summary.id = "r-abc23";
    run.summary.variation = "liked 3.5";
    run.summary.project = "mine";
    run.summary.tags = {{"team", "ranking"}, {"why", "it's a test"}};
    run.specFileName = "spec.yaml";
    run.sets = {"train.ranks=2", "labels.liked=rating >= 3.5"};
    run.resolvedSpec =
        R"({"base_dir":"/srv/ada/ml","project":"examples","tags":{"team":"ranking"}})";
    EXPECT_EQ(runCommandLine(run),
              "millrace run /srv/ada/ml/spec.yaml --variation 'liked 3.5' --set train.ranks=2 "
              "--set 'labels.liked=rating >= 3.5' --project mine --tag 'why=it'\\''s a test'");
    EXPECT_EQ(baseDirOf(run), "/srv/ada/ml");
    EXPECT_EQ(resumeCommandLine("r-abc23", 300), "millrace resume r-abc23 --step 300");
    EXPECT_EQ(resumeCommandLine("r-abc23", 0), "millrace resume r-abc23");
}

TEST(RunCli, DoesWithoutAResolvedSpec) {
    values::RunDetail run;
    run.resolvedSpec = "not json";
    EXPECT_EQ(runCommandLine(run), "millrace run spec.yaml");
    EXPECT_EQ(baseDirOf(run), "");
}

}  // namespace
}  // namespace millrace::gui

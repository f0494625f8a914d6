#include "app/session/pairs.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace millrace::session {
namespace {

values::RunPair aPair(double difference) {
    values::RunPair pair;
    pair.run = "r-b";
    pair.hasScores = true;
    pair.rows = 20'133;
    pair.share = 1;
    pair.heads = {{"liked", 20'133, 0, 0.6 + difference, 0.6, difference}};
    return pair;
}

TEST(Pairs, ADifferenceSaysItsSignInWords) {
    EXPECT_EQ(lossDifferenceText(0.2008), "0.2008 more");
    EXPECT_EQ(lossDifferenceText(-0.2008), "0.2008 less");
    EXPECT_EQ(lossDifferenceText(0), "the same");
    EXPECT_EQ(lossDifferenceText(std::numeric_limits<double>::quiet_NaN()), "unknown");
}

TEST(Pairs, ASentenceNamesRowsHeadAndBothRuns) {
    values::RunPair pair = aPair(-0.2008);
    const std::string sentence =
        "r-b against r-a, on the 20,133 rows that both scored (100 %): log loss of liked 0.2008 "
        "less";
    EXPECT_EQ(pairSentence(pair, pair.heads[0], "r-a", false), sentence);
    EXPECT_EQ(pairSentence(pair, pair.heads[0], "r-a", true), sentence + "; other label");
    pair.isSample = true;
    pair.share = 0.5;
    EXPECT_EQ(pairedRowsText(pair, pair.rows), "20,133 (50 % of a sample)");
}

TEST(Pairs, TheShareIsOfTheRowsWithALabel) {
    values::RunPair pair = aPair(0.1);
    pair.heads[0].rows = 226;
    pair.heads[0].rowsOfOtherLabels = 173;
    pair.heads[0].share = 226.0 / 399;
    EXPECT_EQ(
        pairSentence(pair, pair.heads[0], "r-a", false),
        "r-b against r-a, on the 226 rows that both scored with the same label (56.64 %): log "
        "loss of liked 0.1000 more");
}

TEST(Pairs, SentencesNameTheFilesThatDiffer) {
    values::RunPair pair;
    pair.files = {{"log.csv", "c4eccae9d5def702", "34faca5bf0144ca6", 31'247, 31'300},
                  {"new.csv", "", "77", 0, 5}};
    pair.filesTotal = 4;
    values::RunSummary first, run;
    first.id = "r-a";
    run.id = "r-b";
    const std::vector<std::string> sentences = fileSentences(pair, first, run);
    ASSERT_EQ(sentences.size(), 3U);
    EXPECT_TRUE(sentences[0].starts_with("log.csv was rewritten between the runs: r-a of "));
    EXPECT_TRUE(sentences[0].ends_with(" read 31.3 kB (34faca5bf014)"));
    EXPECT_EQ(sentences[1], "only r-b read new.csv");
    EXPECT_EQ(sentences[2], "2 more files of r-b differ from those of r-a");
}

TEST(Pairs, FilesAreNotKnownWithoutTheirPlans) {
    values::RunSummary first, run;
    EXPECT_EQ(filesApart(nullptr, first, run).evaluation, false) << "one plan";
    run.planHash = "other";
    EXPECT_FALSE(filesApart(nullptr, first, run).evaluation);
    values::RunPair pair;
    EXPECT_FALSE(filesApart(&pair, first, run).training) << "an older daemon";
    pair.knowsFiles = pair.trainedOnOtherFiles = true;
    EXPECT_EQ(filesApart(&pair, first, run).evaluation, false);
    EXPECT_EQ(filesApart(&pair, first, run).training, true);
}

TEST(Pairs, WhyRunsAreNotPairedIsOneSentence) {
    EXPECT_EQ(whyUnpaired(values::PairReply{{aPair(0.1)}}), "");
    values::RunPair none;
    none.run = "r-c";
    none.without = {"r-c"};
    EXPECT_EQ(whyUnpaired(values::PairReply{{aPair(0.1), none}}),
              "not compared row by row: r-c has no scores of an evaluation");
    values::RunPair other = none;
    other.run = "r-d";
    other.without = {"r-a", "r-d"};
    none.without = {"r-a", "r-c"};
    EXPECT_EQ(whyUnpaired(values::PairReply{{none, other}}),
              "not compared row by row: r-a, r-c and r-d have no scores of an evaluation");
    values::RunPair broken;
    broken.run = "r-e";
    broken.problem = "/x/scores-7.zst: is cut off";
    values::RunPair apart = aPair(0);
    apart.run = "r-f";
    apart.heads[0].rows = 0;
    apart.rows = 0;
    EXPECT_EQ(whyUnpaired(values::PairReply{{broken, apart}}),
              "not compared row by row: r-f scored no row that the first run scored too; "
              "/x/scores-7.zst: is cut off");
    apart.rows = 7;
    EXPECT_EQ(whyUnpaired(values::PairReply{{apart}}),
              "not compared row by row: all rows that r-f and the first run both scored have other "
              "labels");
    EXPECT_EQ(whyUnpaired(absl::UnavailableError("no daemon answers")),
              "not compared row by row: no daemon answers");
}

}  // namespace
}  // namespace millrace::session

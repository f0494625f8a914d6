#include "app/session/run_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_client.h"

namespace millrace::session {
namespace {

using client::aRun;
using ::testing::HasSubstr;

const std::vector<values::RunSummary> kRuns = {aRun("r-abc23"), aRun("r-abd45", "keep-30"),
                                               aRun("r-xyz78", "keep-10")};

TEST(RunNames, AnIdWithOrWithoutRAndItsPrefixAreAccepted) {
    for (const char* text : {"r-xyz78", "r-x", "xyz78"}) {
        const auto run = pickRun(text, kRuns);
        ASSERT_TRUE(run.ok()) << text << run.status();
        EXPECT_EQ(run->id, "r-xyz78");
    }
    EXPECT_FALSE(pickRun("xyz", kRuns).ok()) << "a few letters are more likely a name";
}

TEST(RunNames, ARunIsChangedByItsWholeNameOrByTheBeginningOfItsIdOnly) {
    client::FakeAnswers fake;
    client::FakeClient client(fake);
    fake.runs = {client::aDetail(kRuns[0]), client::aDetail(kRuns[2])};
    for (const std::string& text :
         {std::string("r-xyz78"), std::string("r-xy"), kRuns[2].uid,
          std::string("movielens-dlrm/keep-10"), std::string("keep-10")}) {
        const auto run = findRunToChange(client, text);
        ASSERT_TRUE(run.ok()) << text << run.status();
        EXPECT_EQ(run->summary.id, "r-xyz78");
    }
    for (const std::string& text :
         {kRuns[2].uid.substr(0, 8), std::string("movielens-dlrm/keep-1")}) {
        EXPECT_TRUE(findRun(client, text).ok()) << text;
        EXPECT_THAT(std::string(messageOf(findRunToChange(client, text).status())),
                    HasSubstr("is only a part of the name of run r-xyz78"));
    }
}

TEST(RunNames, AUidOrItsBeginningIsAccepted) {
    EXPECT_EQ(pickRun(kRuns[1].uid, kRuns)->id, "r-abd45");
    EXPECT_EQ(pickRun(kRuns[1].uid.substr(0, 8), kRuns)->id, "r-abd45");
}

TEST(RunNames, NameSlashVariationNamesOneOfASubmit) {
    EXPECT_EQ(pickRun("movielens-dlrm/keep-30", kRuns)->id, "r-abd45");
    EXPECT_EQ(pickRun("movielens-dlrm/keep-1", kRuns)->id, "r-xyz78");
}

TEST(RunNames, WhatTablesPrintIsAccepted) {
    EXPECT_EQ(pickRun("movielens-dlrm / keep-30", kRuns)->id, "r-abd45");
    EXPECT_EQ(pickRun("keep-30", kRuns)->id, "r-abd45");
    std::vector<values::RunSummary> runs = kRuns;
    runs.push_back(aRun("r-fgh67", "keep-30"));
    EXPECT_THAT(std::string(messageOf(pickRun("keep-30", runs).status())),
                HasSubstr("'keep-30' names 2 runs: r-abd45 (movielens-dlrm / keep-30"));
}

TEST(RunNames, TheNameAloneIsTheBaseRun) {
    EXPECT_EQ(pickRun("movielens-dlrm", kRuns)->id, "r-abc23");
}

TEST(RunNames, AnAmbiguousPrefixListsTheCandidates) {
    const auto run = pickRun("r-ab", kRuns);
    EXPECT_EQ(run.status().code(), absl::StatusCode::kInvalidArgument);
    const std::string message(messageOf(run.status()));
    EXPECT_THAT(message, HasSubstr("names 2 runs"));
    EXPECT_THAT(message, HasSubstr("r-abc23 (movielens-dlrm, finished)"));
    EXPECT_THAT(message, HasSubstr("r-abd45 (movielens-dlrm / keep-30"));
}

TEST(RunNames, AnUnknownRunGetsTheNearest) {
    const auto run = pickRun("r-xyz87", kRuns);
    EXPECT_EQ(run.status().code(), absl::StatusCode::kNotFound);
    EXPECT_THAT(std::string(messageOf(run.status())), HasSubstr("did you mean 'r-xyz78'?"));
}

TEST(RunNames, AnEmptyTextNamesNothing) {
    EXPECT_FALSE(pickRun("", kRuns).ok());
}

TEST(RunNames, WhatTheDaemonDoesNotKnowIsSoughtAmongAllRuns) {
    client::FakeAnswers fake;
    client::FakeClient client(fake);
    fake.runs = {client::aDetail(kRuns[0]), client::aDetail(kRuns[2])};
    const auto found = findRun(client, "xyz78");
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->summary.id, "r-xyz78");
    EXPECT_EQ(fake.lists.back().view, values::RunView::kAll);
}

}  // namespace
}  // namespace millrace::session

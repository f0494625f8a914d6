#include "daemon/nodes/part_files.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/core/files.h"
#include "backend/job/job_file.h"
#include "tests/support/temp_dir.h"

namespace millrace::nodes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PartFilesTest : public ::testing::Test {
 protected:
    PartFilesTest() {
        job::JobFile job;
        job.run = "r-abcde";
        job.attempt = 2;
        job.spec.train.ranks = 4;
        job.spec.train.nodes = 2;
        job.checkpointDirectory = "/head/runs/r-abcde/checkpoints";
        job.rankSocket = "/head/runs/r-abcde/a2/rank.sock";
        job.feedSocket = "/head/runs/r-abcde/a2/feed.sock";
        job.follow = "/head/runs/r-abcde/a2/data.join";
        job.ranks = {2, 3};
        job.feed = 1;
        ranks.name = "rank";
        ranks.procs = 2;
        ranks.hasRanks = true;
        ranks.isUsers = true;
        ranks.argv = {"/usr/bin/python3", "train.py"};
        ranks.environment = {{"HOME", "/srv/ada"}};
        ranks.place = {2, 4, 1, 2, "10.0.0.1", 4711};
        placement = {{"r-abcde", 2, 1},
                     engines::groupText(ranks),
                     job.toText(),
                     "join",
                     directory / "checkpoints/.probe",
                     "r-abcde.a2"};
    }
    job::AttemptPaths paths() const {
        return job::RunPaths(directory / "runs", "r-abcde").attempt(2);
    }
    Status layOut(const std::string& interface = "eth0") {
        return layOutPart(directory / "runs", placement, interface);
    }

    tests::TempDir directory;
    engines::Group ranks;
    agent::PartPlacement placement;
};

TEST_F(PartFilesTest, AJobLiesOnThisNodeAndItsCheckpointsWhereTheyAre) {
    ASSERT_TRUE(layOut().ok());
    const auto job = job::JobFile::read(paths().jobFile());
    ASSERT_TRUE(job.ok()) << job.status();
    EXPECT_EQ(job->rankSocket, paths().rankSocket());
    EXPECT_EQ(job->feedSocket, paths().feedSocket());
    EXPECT_EQ(job->follow, paths().joinFile());
    EXPECT_EQ(job->checkpointDirectory, "/head/runs/r-abcde/checkpoints");
    EXPECT_THAT(job->ranks, ElementsAre(2, 3));
    EXPECT_EQ(readFile(paths().joinFile()).value(), "join");
}

TEST_F(PartFilesTest, TheGangIsTheSameAgainAlsoForAnAgentThatFindsIt) {
    ASSERT_TRUE(layOut().ok());
    const auto gang = partGangOf(directory / "runs", placement.name, "/bin");
    ASSERT_TRUE(gang.ok()) << gang.status();
    placement.joinFile = "another";
    ASSERT_TRUE(layOut("eth1").ok());
    EXPECT_EQ(engines::gangHash(*partGangOf(directory / "runs", placement.name, "/bin")),
              engines::gangHash(*gang));
    EXPECT_EQ(readFile(paths().joinFile()).value(), "another");
    const engines::Group& script = gang->groups.at(1);
    EXPECT_THAT(engines::workerNames(script), ElementsAre("rank2", "rank3"));
    EXPECT_EQ(script.place, ranks.place);
    EXPECT_EQ(script.environment.at("GLOO_SOCKET_IFNAME"), "eth0");
    EXPECT_EQ(script.environment.at("HOME"), "/srv/ada");
    EXPECT_EQ(script.environment.at("MILLRACE_JOB"), paths().jobFile());
}

TEST_F(PartFilesTest, WhatTheSubmitterSetStays) {
    ranks.environment["GLOO_SOCKET_IFNAME"] = "ib0";
    placement.ranks = engines::groupText(ranks);
    ASSERT_TRUE(layOut().ok());
    EXPECT_EQ(partGangOf(directory / "runs", placement.name, "/bin")
                  ->groups.at(1)
                  .environment.at("GLOO_SOCKET_IFNAME"),
              "ib0");
}

TEST_F(PartFilesTest, ANodeThatDoesNotSeeTheCheckpointsSaysSo) {
    Status seen = checkProbe(placement);
    EXPECT_TRUE(absl::IsFailedPrecondition(seen));
    EXPECT_THAT(std::string(messageOf(seen)),
                HasSubstr("does not see the run's checkpoints: " + (directory / "checkpoints")));
    std::filesystem::create_directories(directory / "checkpoints");
    ASSERT_TRUE(writeFileAtomic(placement.probePath, "r-abcde.a1", 0600).ok());
    seen = checkProbe(placement);
    EXPECT_THAT(std::string(messageOf(seen)), HasSubstr("is another directory here"));
    EXPECT_THAT(std::string(messageOf(seen)), HasSubstr("--state-dir"));
    ASSERT_TRUE(writeFileAtomic(placement.probePath, "r-abcde.a2", 0600).ok());
    EXPECT_TRUE(checkProbe(placement).ok());
}

}  // namespace
}  // namespace millrace::nodes

#include "daemon/nodes/placed_files.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "backend/job/job_file.h"
#include "daemon/nodes/messages.h"
#include "daemon/transport/join_file.h"
#include "tests/support/temp_dir.h"

namespace millrace::nodes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PlacedFilesTest : public ::testing::Test {
 protected:
    PlacedFilesTest() {
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
        placement = {name.key(),  "", job.toText(), "join", directory / "checkpoints/.probe",
                     "r-abcde.a2"};
        setGang();
    }
    void setGang() { placement.gang = engines::gangText(agent::relayGang(name, ranks)); }
    Result<engines::Gang> gangHere() const {
        return placedGang(directory / "runs", placement.key, "/bin", "node1");
    }
    job::AttemptPaths paths() const {
        return job::RunPaths(directory / "runs", "r-abcde").attempt(2);
    }
    Status layOut(const std::string& interface = "eth0") {
        return nodes::layOut(directory / "runs", placement, interface);
    }

    tests::TempDir directory;
    const agent::PartName name{"r-abcde", 2, 1};
    engines::Group ranks;
    agent::Placement placement;
};

TEST_F(PlacedFilesTest, AJobLiesOnThisNodeAndItsCheckpointsWhereTheyAre) {
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

TEST_F(PlacedFilesTest, WhereTheHeadsDirectoryIsNotSeenAllCheckpointsAreBesideTheJob) {
    job::JobFile head = job::JobFile::fromText(placement.jobFile).value();
    head.resume = "/head/runs/r-abcde/checkpoints/step-00000008.a1.safetensors";
    head.initFrom = "/head/runs/r-other/checkpoints/step-00000004.a3.safetensors";
    placement.jobFile = head.toText();
    placement.probePath.clear();
    ASSERT_TRUE(layOut().ok());
    const auto job = job::JobFile::read(paths().jobFile());
    ASSERT_TRUE(job.ok()) << job.status();
    EXPECT_EQ(job->checkpointDirectory, paths().checkpoints());
    EXPECT_TRUE(std::filesystem::is_directory(paths().checkpoints()));
    EXPECT_EQ(job->resume, paths().directory() + "/step-00000008.a1.safetensors");
    EXPECT_EQ(job->initFrom, paths().directory() + "/step-00000004.a3.safetensors");
}

TEST_F(PlacedFilesTest, TheGangIsTheSameAgainAlsoForAnAgentThatFindsIt) {
    ASSERT_TRUE(layOut().ok());
    const auto gang = gangHere();
    ASSERT_TRUE(gang.ok()) << gang.status();
    placement.joinFile = "another";
    ASSERT_TRUE(layOut("eth1").ok());
    EXPECT_EQ(engines::gangHash(*gangHere()), engines::gangHash(*gang));
    EXPECT_EQ(readFile(paths().joinFile()).value(), "another");
    const engines::Group& script = gang->groups.at(1);
    EXPECT_THAT(engines::workerNames(script), ElementsAre("rank2", "rank3"));
    EXPECT_EQ(script.place, ranks.place);
    EXPECT_EQ(script.environment.at("GLOO_SOCKET_IFNAME"), "eth0");
    EXPECT_EQ(script.environment.at("HOME"), "/srv/ada");
    EXPECT_EQ(script.environment.at("MILLRACE_JOB"), paths().jobFile());
}

TEST_F(PlacedFilesTest, WhereTheFeedThatLeadsIsItsOwnJoinFileStays) {
    const agent::PartName lead{"r-abcde", 2, 0};
    agent::Placement first = placement;
    first.key = lead.key();
    first.joinFile.clear();
    ASSERT_TRUE(nodes::layOut(directory / "runs", first, "").ok());
    ASSERT_TRUE(writeFileAtomic(paths().joinFile(), "its own", 0600).ok());
    const agent::DataWorkerName data{"r-abcde", 2, 0};
    const agent::Placement worker{
        data.key(), engines::gangText(agent::dataGang(data)), "", "of before", "", ""};
    ASSERT_TRUE(nodes::layOut(directory / "runs", worker, "").ok());
    EXPECT_EQ(readFile(paths().joinFile()).value(), "its own");
    EXPECT_EQ(placedGang(directory / "runs", worker.key, "/bin", "node1")->groups.at(0).argv.at(3),
              paths().joinFile());
    EXPECT_TRUE(checkProbe(worker).ok()) << "it writes no checkpoints";
    EXPECT_FALSE(placedGang(directory / "runs", "r-abcde", "/bin", "node1").ok());
}

TEST_F(PlacedFilesTest, ADataWorkersFileHasNoTokenOfRelaysAndDoesNotReplaceThatOfAPart) {
    transport::JoinFile file = transport::JoinFile::make("", "/head/data.sock").value();
    file.relayToken = std::string(transport::JoinFile::kTokenBytes, 'r');
    const agent::DataWorkerName data{"r-abcde", 2, 0};
    const agent::Placement worker{
        data.key(), engines::gangText(agent::dataGang(data)), "", file.toText(), "", ""};
    placement.joinFile = file.toText();
    const v1::HeadOrders orders = toProto(agent::NodeOrders{{{worker, {}}, {placement, {}}}});
    agent::Placement there = fromProto(orders).placed.at(0).placement;
    EXPECT_EQ(there.joinFile, file.ofDataWorker().toText());
    EXPECT_EQ(orders.placed(1).join_file(), file.toText());
    ASSERT_TRUE(nodes::layOut(directory / "runs", there, "").ok());
    EXPECT_EQ(readFile(paths().joinFile()).value(), there.joinFile);
    ASSERT_TRUE(layOut().ok());
    ASSERT_TRUE(nodes::layOut(directory / "runs", there, "").ok());
    EXPECT_EQ(readFile(paths().joinFile()).value(), file.toText()) << "the part's relay needs it";
    there.joinFile = transport::JoinFile::make("", "/head/data.sock").value().toText();
    ASSERT_TRUE(nodes::layOut(directory / "runs", there, "").ok());
    EXPECT_EQ(readFile(paths().joinFile()).value(), there.joinFile)
        << "of a feed that was replaced";
}

TEST_F(PlacedFilesTest, WhatTheSubmitterSetStays) {
    ranks.environment["GLOO_SOCKET_IFNAME"] = "ib0";
    setGang();
    ASSERT_TRUE(layOut().ok());
    EXPECT_EQ(gangHere()->groups.at(1).environment.at("GLOO_SOCKET_IFNAME"), "ib0");
}

TEST_F(PlacedFilesTest, ANodeThatDoesNotSeeTheCheckpointsSaysSo) {
    Status seen = checkProbe(placement);
    EXPECT_TRUE(absl::IsFailedPrecondition(seen));
    EXPECT_THAT(std::string(messageOf(seen)),
                HasSubstr("does not see the run's checkpoints: " + (directory / "checkpoints")));
    std::filesystem::create_directories(directory / "checkpoints");
    ASSERT_TRUE(writeFileAtomic(placement.probePath, "r-abcde.a1", 0600).ok());
    seen = checkProbe(placement);
    EXPECT_THAT(std::string(messageOf(seen)), HasSubstr("is another directory here"));
    EXPECT_THAT(std::string(messageOf(seen)), HasSubstr("'checkpoints' (millraced.yaml)"));
    ASSERT_TRUE(writeFileAtomic(placement.probePath, "r-abcde.a2", 0600).ok());
    EXPECT_TRUE(checkProbe(placement).ok());
}

}  // namespace
}  // namespace millrace::nodes

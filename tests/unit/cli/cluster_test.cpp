// Commands with several nodes: what they show of nodes, daemon and workers.
#include <filesystem>

#include <gmock/gmock.h>

#include "tests/unit/cli/commands_fixture.h"

namespace millrace::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(CommandsTest, TopOnceWaitsForTheFiguresOfEveryNodeThatIsThere) {
    fake.nodeInfos.resize(3);
    fake.nodeInfos[0].name = "a";
    fake.nodeInfos[1].name = "b";
    fake.nodeInfos[2].name = "c";
    fake.nodeInfos[2].state = "lost";
    values::NodeSample a, b;
    a.node = "a";
    a.cpuPercent = 43;
    b.node = "b";  // a probe's first sample has no rates
    values::NodeSample later = b;
    later.cpuPercent = 21;
    fake.sampleScripts = {{{a}, false, unavailable("lost")}, {{b, later}, true}};
    EXPECT_EQ(run({"top", "--json"}), kExitOk) << err.str();
    EXPECT_EQ(json()["nodes"][0]["sample"]["cpu_percent"], 43.0);
    EXPECT_EQ(json()["nodes"][1]["sample"]["cpu_percent"], 21.0);
    EXPECT_EQ(json()["nodes"][2]["sample"], nullptr);
    EXPECT_EQ(json()["nodes"][2]["state"], "lost");
}

TEST_F(CommandsTest, ShowHasBytesByNodeAndNamesTheSlowLinkThatRanksWaitFor) {
    values::RunDetail& run = fake.runs[0];
    const std::string id = run.summary.id;
    EXPECT_EQ(this->run({"show", id}), kExitOk);
    EXPECT_THAT(out.str(), Not(HasSubstr("Frames between nodes")));
    EXPECT_EQ(this->run({"show", id, "--json"}), kExitOk);
    EXPECT_EQ(json()["run"]["traffic"], nullptr);
    run.summary.state = values::RunState::kRunning;
    run.summary.progress.stallPercentNow = 40;
    run.receipt.reset();
    values::FrameTraffic& traffic = run.traffic;
    traffic.nodes = {{"n2", {}, {120'000'000, 400'000'000, 12e6, 40e6}},
                     {"n5", {120'000'000, 400'000'000, 12e6, 40e6}, {}}};
    traffic.slowest = {{"n5", "data0", "n2", "feed1", 120'000'000, 400'000'000, 10, 93}};
    traffic.numLinks = 1;
    traffic.directBytes = 300'000'000;
    traffic.carriedBytes = 100'000'000;
    const std::string sentence =
        "the ranks on n2 wait for frames from n5 (data0 sends 12.0 MB/s while they are awaited, 93 "
        "% "
        "of the time)";
    EXPECT_EQ(this->run({"show", id}), kExitOk);
    EXPECT_THAT(out.str(),
                AllOf(HasSubstr("Frames between nodes"), HasSubstr("120 MB"), HasSubstr("400 MB"),
                      HasSubstr("data0 on n5"), HasSubstr("feed1 on n2"), HasSubstr(sentence),
                      HasSubstr("25 % of the bytes for ranks")));
    EXPECT_EQ(this->run({"show", id, "--json"}), kExitOk);
    const Json shown = json()["run"]["traffic"];
    EXPECT_EQ(shown["nodes"][1]["node"], "n5");
    EXPECT_EQ(shown["nodes"][1]["sent"]["raw_bytes"], 400'000'000);
    EXPECT_EQ(shown["nodes"][0]["received"]["bytes_per_second"], 12e6);
    EXPECT_EQ(shown["slowest_links"][0]["to"]["worker"], "feed1");
    EXPECT_EQ(shown["slowest_links"][0]["bytes_per_second"], 12e6);
    EXPECT_EQ(shown["lead_share"], 0.25);
    // Ranks that do not wait have no slow link.
    run.summary.progress.stallPercentNow = 1;
    EXPECT_EQ(this->run({"show", id}), kExitOk);
    EXPECT_THAT(out.str(), Not(HasSubstr(sentence)));
}

TEST_F(CommandsTest, NodesShowTheRatesOfFramesOnlyIfThereAreAny) {
    fake.nodeInfos.resize(2);
    fake.nodeInfos[0].name = "a";
    fake.nodeInfos[1].name = "b";
    values::NodeSample a, b;
    a.node = "a";
    b.node = "b";
    fake.sampleScripts = {{{a, b}, true}};
    EXPECT_EQ(run({"nodes"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(), Not(HasSubstr("FRAMES")));
    a.framesSendBytesPerSecond = 25e6;
    a.framesReceiveBytesPerSecond = 0;
    fake.sampleScripts = {{{a, b}, true}};
    EXPECT_EQ(run({"nodes"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(), AllOf(HasSubstr("FRAMES OUT"), HasSubstr("25.0 MB/s"),
                                 Not(HasSubstr("FRAMES IN"))));
    fake.sampleScripts = {{{a, b}, true}};
    EXPECT_EQ(run({"nodes", "--json"}), kExitOk);
    EXPECT_EQ(json()["nodes"][0]["sample"]["frames_send_bytes_per_second"], 25e6);
    EXPECT_EQ(json()["nodes"][1]["sample"]["frames_send_bytes_per_second"], nullptr);
}

TEST_F(CommandsTest, UpRefusesSettingsThatTheRunningDaemonDoesNotHave) {
    EXPECT_EQ(run({"up", "--state-dir", "/var/../var/millrace"}), kExitOk) << err.str();
    EXPECT_EQ(run({"up", "--no-train-here", "--nodes-listen", "gpu1", "--state-dir", "/srv/x"}),
              kExitFailed);
    EXPECT_THAT(err.str(), HasSubstr("runs already, without --state-dir /srv/x (it has "
                                     "/var/millrace), --nodes-listen gpu1 (it has none), "
                                     "--no-train-here (its machine trains); 'millrace down'"));
    EXPECT_THAT(out.str(), Not(HasSubstr("already running")));
    fake.isClosed = true;
    EXPECT_EQ(run({"up", "--no-train-here"}), kExitOk) << err.str();
    EXPECT_EQ(run({"up", "--json"}), kExitOk);
    EXPECT_EQ(json()["daemon"]["trains"], false);
}

TEST_F(CommandsTest, UpStartsTheOtherAgentsWhereOneDoesNotStart) {
    const std::string program = directory_ / "millraced", started = directory_ / "started";
    std::ofstream(program) << "#!/bin/sh\n"
                              "while [ \"$1\" != --name ]; do shift; done\n"
                              "[ \"$2\" != node1 ] || { echo 'no room' >&2; exit 1; }\n"
                              "echo \"$2\" >> "
                           << started << "\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    programs = directory_.path();
    fake.stateDir = directory_ / "state";
    fake.doInvitedCome = true;
    EXPECT_EQ(run({"up", "--nodes", "4"}), kExitFailed);
    EXPECT_THAT(err.str(), HasSubstr("node node1: its agent did not start (exit code 1): no room"));
    std::stringstream names;
    names << std::ifstream(started).rdbuf();
    EXPECT_EQ(names.str(), "node2\nnode3\n");
}

TEST_F(CommandsTest, ShowNamesTheNodeOfEachWorkerThatIsNotOnTheHead) {
    fake.nodeInfos.resize(2);
    fake.nodeInfos[0].name = "login";
    fake.nodeInfos[0].isHead = true;
    fake.nodeInfos[1].name = "node1";
    values::RunDetail& run = fake.runs[0];
    run.summary.host = "node1";  // where rank 0 is
    run.workers = {{"feed", "running", 7, 0, 1, "node1"}, {"data0", "running", 8, 0, 1, "login"}};
    EXPECT_EQ(this->run({"show", run.summary.id}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("feed  running  pid 7  on node1"));
    EXPECT_THAT(out.str(), Not(HasSubstr("on login")));
}

TEST_F(CommandsTest, ShowSaysWhenTheReceiptComesAndWhereTheWholeHistoryIs) {
    values::RunDetail& run = fake.runs[0];
    run.receipt.reset();
    run.summary.state = values::RunState::kRunning;
    for (int i = 0; i < 15; ++i) {
        run.events.push_back({1'000 * i, strCat("event ", i)});
    }
    EXPECT_EQ(this->run({"show", run.summary.id}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("none yet: it is made at the run's end"));
    EXPECT_THAT(out.str(), HasSubstr("3 earlier events in 'millrace show " + run.summary.id));
    EXPECT_THAT(out.str(), AllOf(HasSubstr("event 3"), Not(HasSubstr("event 2"))));
    run.summary.state = values::RunState::kFailed;
    run.events.resize(12);
    EXPECT_EQ(this->run({"show", run.summary.id}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("none: the run ended without one"));
    EXPECT_THAT(out.str(), Not(HasSubstr("earlier")));
}

TEST_F(CommandsTest, NodesSayInUnitsHowLongTheyAreUp) {
    fake.nodeInfos.resize(1);
    fake.nodeInfos[0].name = "a";
    fake.nodeInfos[0].state = "away";  // no sample is awaited
    fake.nodeInfos[0].startedMs = clock.wallMs() - 1'177'000;
    EXPECT_EQ(run({"nodes"}), kExitOk);
    EXPECT_THAT(out.str(), ::testing::ContainsRegex("UP\n.* 19 m 3[789] s\n"));
}

TEST_F(CommandsTest, NodesSayWhetherTheHeadTrains) {
    fake.nodeInfos.resize(1);
    fake.nodeInfos[0].name = "login";
    fake.nodeInfos[0].isHead = true;
    fake.nodeInfos[0].state = "away";  // no sample is awaited
    EXPECT_EQ(run({"nodes"}), kExitOk);
    EXPECT_THAT(out.str(), Not(HasSubstr("trains no run")));
    fake.nodeInfos[0].isClosed = true;
    EXPECT_EQ(run({"nodes"}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("head, trains no run"));
    EXPECT_EQ(run({"nodes", "--json"}), kExitOk);
    EXPECT_EQ(json()["nodes"][0]["trains"], false);
}

}  // namespace
}  // namespace millrace::cli

#include "daemon/config/daemon_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/config/config_file.h"

namespace millrace::config {
namespace {

using ::testing::HasSubstr;

ProcessEnvironment environment() {
    return {"/srv",
            "/run/user/1/millrace/millraced.sock",
            "/srv/a/.local/state/millrace",
            "/opt/millrace/bin",
            "0123456789abcdef",
            "",
            [](const std::string& path) -> Result<std::string> { return notFound(path); }};
}

Result<CommandLine> parse(const std::vector<std::string>& arguments) {
    return parseCommandLine(arguments, environment());
}

std::string errorOf(const std::vector<std::string>& arguments) {
    const Result<CommandLine> line = parse(arguments);
    return line.ok() ? "" : std::string(messageOf(line.status()));
}

TEST(DaemonConfig, WithoutOptionsItIsTheUsersOwnSocketAndState) {
    const Result<CommandLine> line = parse({});
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_EQ(line->config.address.unixPath, "/run/user/1/millrace/millraced.sock");
    EXPECT_EQ(line->config.stateDir, "/srv/a/.local/state/millrace");
    EXPECT_EQ(line->config.binDir, "/opt/millrace/bin");
    EXPECT_EQ(line->config.logFile, "/srv/a/.local/state/millrace/millraced.log");
    EXPECT_FALSE(line->config.isForeground);
}

TEST(DaemonConfig, RelativePathsAreMadeAbsolute) {
    const Result<CommandLine> line =
        parse({"--socket", "unix:x/d.sock", "--state-dir=state", "--log-file", "l.log"});
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_EQ(line->config.address.unixPath, "/srv/x/d.sock");
    EXPECT_EQ(line->config.stateDir, "/srv/state");
    EXPECT_EQ(line->config.storePath(), "/srv/state/runs.sqlite");
    EXPECT_EQ(line->config.logFile, "/srv/l.log");
}

TEST(DaemonConfig, TheForegroundLogsToStderrUnlessToldOtherwise) {
    EXPECT_EQ(parse({"--foreground"})->config.logFile, "");
    EXPECT_EQ(parse({"--foreground", "--log-file=/l"})->config.logFile, "/l");
}

TEST(DaemonConfig, HelpAndVersionArePrinted) {
    EXPECT_THAT(parse({"--help"})->print, HasSubstr("--insecure-loopback"));
    EXPECT_EQ(parse({"--version"})->print, "millraced 0.1.0, build 0123456789abcdef\n");
}

TEST(DaemonConfig, AnUnknownOptionNamesTheNearest) {
    EXPECT_THAT(errorOf({"--sokcet", "x"}), HasSubstr("did you mean '--socket'"));
}

TEST(DaemonConfig, AnOptionWithoutItsValueIsRefused) {
    EXPECT_EQ(errorOf({"--state-dir"}), "--state-dir needs a value");
    EXPECT_THAT(errorOf({"--state-dir="}), HasSubstr("not empty"));
    EXPECT_EQ(errorOf({"--foreground=yes"}), "--foreground takes no value");
}

TEST(DaemonConfig, AForeignAddressNeedsMutualTls) {
    EXPECT_THAT(errorOf({"--socket", "0.0.0.0:7000"}), HasSubstr("needs mutual TLS"));
    EXPECT_THAT(errorOf({"--socket", "0.0.0.0:7000", "--insecure-loopback"}),
                HasSubstr("needs mutual TLS"));
}

TEST(DaemonConfig, ALoopbackAddressNeedsTlsOrTheTestsOption) {
    EXPECT_THAT(errorOf({"--socket", "127.0.0.1:7000"}), HasSubstr("--insecure-loopback"));
    EXPECT_EQ(errorOf({"--socket", "127.0.0.1:7000", "--insecure-loopback"}), "");
}

TEST(DaemonConfig, MutualTlsNeedsAllThreeFiles) {
    EXPECT_THAT(errorOf({"--socket", "0.0.0.0:7000", "--tls-cert", "c"}), HasSubstr("all three"));
    const Result<CommandLine> line =
        parse({"--socket", "0.0.0.0:7000", "--tls-cert", "c", "--tls-key", "k", "--tls-ca", "/a"});
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_EQ(line->config.tls->certificate, "/srv/c");
    EXPECT_EQ(line->config.tls->authority, "/a");
}

TEST(DaemonConfig, AUnixSocketWithTlsIsAMistake) {
    EXPECT_THAT(errorOf({"--tls-cert", "c", "--tls-key", "k", "--tls-ca", "a"}),
                HasSubstr("unix socket needs no TLS"));
}

TEST(DaemonConfig, AnAddressThatIsNoneIsRefused) {
    EXPECT_THAT(errorOf({"--socket", "nonsense"}), HasSubstr("HOST:PORT or unix:PATH"));
    EXPECT_THAT(errorOf({"--socket", "ssh://gpu1"}), HasSubstr("HOST:PORT or unix:PATH"));
}

TEST(DaemonConfig, WithoutAHomeTheStateHasToBeGiven) {
    ProcessEnvironment homeless = environment();
    homeless.stateDirectory = "";
    const Result<CommandLine> line = parseCommandLine({}, homeless);
    EXPECT_THAT(std::string(messageOf(line.status())), HasSubstr("HOME is not set"));
    EXPECT_TRUE(parseCommandLine({"--state-dir", "/srv/state"}, homeless).ok());
    EXPECT_TRUE(parseCommandLine({"--version"}, homeless).ok());
}

TEST(DaemonConfig, AgentsComeWhereItIsSaid) {
    EXPECT_EQ(parse({})->config.nodesListen, "");
    EXPECT_EQ(parse({"--nodes-listen", "unix"})->config.nodesHost(), "");
    EXPECT_EQ(parse({"--nodes-listen", "gpu1"})->config.nodesHost(), "gpu1");
    EXPECT_EQ(parse({"--nodes-listen", "gpu1:4711"})->config.nodesHost(), "gpu1");
    EXPECT_EQ(parse({"--nodes-listen", "[fd00::1]:4711"})->config.nodesHost(), "fd00::1");
    const auto apart =
        parse({"--nodes-listen", "0.0.0.0", "--nodes-address", "login1:4711"})->config;
    EXPECT_EQ(apart.nodesListen, "0.0.0.0");
    EXPECT_EQ(apart.nodesHost(), "login1");
    for (const char* any : {"0.0.0.0", "[::]", "::"}) {
        EXPECT_THAT(errorOf({"--nodes-listen", any}), HasSubstr("--nodes-address")) << any;
    }
    EXPECT_THAT(errorOf({"--nodes-listen", "[fd00::1"}), HasSubstr("--nodes-listen"));
    EXPECT_THAT(errorOf({"--nodes-listen", "a", "--nodes-address", ":1"}),
                HasSubstr("--nodes-address"));
    EXPECT_THAT(errorOf({"--nodes-address", "a"}), HasSubstr("needs --nodes-listen"));
    EXPECT_THAT(errorOf({"--nodes-listen", "unix", "--nodes-address", "a"}),
                HasSubstr("needs --nodes-listen"));
}

TEST(DaemonConfig, TimesAreSecondsWithDecimals) {
    const auto line = parse({"--node-away", "2.5", "--silent-after=1", "--crew-pace", "0.5"});
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_EQ(line->config.nodeAway.count(), 2'500);
    EXPECT_EQ(line->config.silentAfter.count(), 1'000);
    EXPECT_EQ(line->config.crewPace.count(), 500);
    for (const char* wrong : {"0", "-1", "nan", "1e9", "2s", "soon"}) {
        EXPECT_THAT(errorOf({"--node-away", wrong}), HasSubstr("--node-away")) << wrong;
    }
}

TEST(DaemonConfig, ASlotHasAHeadAndAPlaceOfItsOwn) {
    const auto line = parse({"--slot", "--join", "n.join", "--state-dir", "s", "--name", "cpu-1"});
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_TRUE(line->config.isSlot);
    EXPECT_EQ(line->config.joinFile, "/srv/n.join");
    EXPECT_EQ(line->config.nodeName, "cpu-1");
    EXPECT_THAT(errorOf({"--slot", "--join", "n.join"}), HasSubstr("--state-dir"));
    EXPECT_THAT(errorOf({"--slot", "--state-dir", "s"}), HasSubstr("--join"));
    EXPECT_THAT(errorOf({"--name", "cpu-1"}), HasSubstr("--slot"));
    const std::vector<std::string> slot = {"--slot", "--join", "n.join", "--state-dir", "s"};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), slot.begin(), slot.end());
        return errorOf(more);
    };
    EXPECT_THAT(with({"--nodes-listen", "unix"}), HasSubstr("listens nowhere"));
    EXPECT_THAT(with({"--name", "a/b"}), HasSubstr("--name 'a/b'"));
}

TEST(DaemonConfig, ASlotGivesAShareOfItsNodeAndMayBeBound) {
    std::vector<std::string> slot = {"--slot", "--join", "n.join", "--state-dir", "s"};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), slot.begin(), slot.end());
        return parse(more);
    };
    const auto line = with({"--cores", "8", "--memory-mb", "2048", "--gpus", "0", "--bound",
                            "--lease", "90", "--leave-grace", "10", "--address", "fd00::1"});
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_EQ(line->config.share.cores, 8);
    EXPECT_EQ(line->config.share.memoryBytes, std::uint64_t{2} << 30);
    EXPECT_EQ(line->config.share.gpus, 0);
    EXPECT_TRUE(line->config.isBound);
    EXPECT_EQ(line->config.lease, std::chrono::seconds(90));
    EXPECT_EQ(line->config.leaveGrace, std::chrono::seconds(10));
    EXPECT_EQ(line->config.nodeAddress, "[fd00::1]");
    EXPECT_EQ(with({"--bound"})->config.lease, std::chrono::seconds(60));
    EXPECT_EQ(with({"--bound", "--lease", "0"})->config.lease.count(), 0);
    EXPECT_EQ(with({})->config.share.gpus, -1);
    for (const char* option : {"--cores", "--memory-mb", "--gpus", "--address"}) {
        EXPECT_THAT(std::string(messageOf(with({option, "-1 x"}).status())), HasSubstr(option));
        EXPECT_THAT(errorOf({option, "1000"}), HasSubstr("--slot")) << option;
    }
    EXPECT_THAT(std::string(messageOf(with({"--lease", "60"}).status())), HasSubstr("--bound"));
    EXPECT_THAT(errorOf({"--bound"}), HasSubstr("--slot"));
}

TEST(DaemonConfig, WhatStandsInTheFileHoldsWhereTheCommandLineSaysNothing) {
    ProcessEnvironment around = environment();
    around.sshConfig = "/ssh_config";
    around.readFile = [](const std::string& path) -> Result<std::string> {
        if (path != "/srv/a/.local/state/millrace/millraced.yaml") {
            return notFound(path);
        }
        return std::string(
            "# of this site\nnodes_listen: gpu1\nhosts: [cpu-1, bob@cpu-2:7000]\n"
            "node_away: 30\nhere: {train: false}\n");
    };
    const auto line = parseCommandLine({"--node-away", "7"}, around);
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_EQ(line->config.nodesListen, "gpu1");
    EXPECT_FALSE(line->config.trainsHere);
    EXPECT_EQ(line->config.nodeAway.count(), 7'000);
    EXPECT_EQ(line->config.sshConfig, "/ssh_config");
    ASSERT_EQ(line->config.hosts.size(), 2U);
    EXPECT_EQ(line->config.hosts[1].host, "cpu-2");
    EXPECT_EQ(line->config.hosts[1].user, "bob");
    EXPECT_EQ(line->config.hosts[1].port, 7000);
    const auto elsewhere = parseCommandLine({"--state-dir", "/srv/b"}, around);
    ASSERT_TRUE(elsewhere.ok()) << elsewhere.status();
    EXPECT_TRUE(elsewhere->config.hosts.empty()) << "each state directory has its own";
    EXPECT_FALSE(parseCommandLine({"--config", "other.yaml"}, around).ok()) << "it was asked for";
    const std::vector<std::string> slot = {"--slot", "--join", "n.join", "--state-dir",
                                           "/srv/a/.local/state/millrace"};
    EXPECT_TRUE(parseCommandLine(slot, around)->config.hosts.empty());
}

TEST(DaemonConfig, AMistakeInTheFileIsNamedWithItsPlace) {
    std::string text;
    ProcessEnvironment around = environment();
    around.readFile = [&](const std::string&) -> Result<std::string> { return text; };
    const auto errorOfText = [&](const std::string& given) {
        text = given;
        const auto line = parseCommandLine({"--config", "c.yaml"}, around);
        return line.ok() ? "" : std::string(messageOf(line.status()));
    };
    EXPECT_EQ(errorOfText(""), "");
    EXPECT_EQ(errorOfText("# nothing yet\n"), "");
    EXPECT_EQ(errorOfText("nodes_listen: gpu1\nhosts: []\n"), "");
    EXPECT_THAT(errorOfText("host: [a]\n"), HasSubstr("/srv/c.yaml:1:1: unknown key 'host'"));
    EXPECT_THAT(errorOfText("host: [a]\n"), HasSubstr("did you mean 'hosts'"));
    EXPECT_THAT(errorOfText("nodes_listen: [a, b]\n"), HasSubstr("one value"));
    EXPECT_THAT(errorOfText("- a\n"), HasSubstr("/srv/c.yaml:1:1: a map of settings is wanted"));
    EXPECT_THAT(errorOfText("hosts: {a: b}\n"), HasSubstr("unknown key 'hosts.a'"));
    EXPECT_THAT(errorOfText("here: {train: {a: b}}\n"), HasSubstr("a text or a list"));
    EXPECT_THAT(errorOfText("here: {train: maybe}\n"), HasSubstr("true or false is wanted"));
    EXPECT_EQ(errorOfText("here: {train: true}\n"), "");
    EXPECT_THAT(errorOfText("hosts: [[a]]\n"), HasSubstr("a list of texts"));
    EXPECT_THAT(errorOfText("hosts: [a\n"), HasSubstr("/srv/c.yaml:"));
    EXPECT_THAT(errorOfText("hosts: [a]\n"), HasSubstr("--nodes-listen HOST"));
    EXPECT_THAT(errorOfText("hosts: [a]\nnodes_listen: unix\n"), HasSubstr("--nodes-listen HOST"));
    const std::string listens = "nodes_listen: gpu1\n";
    EXPECT_THAT(errorOfText(listens + "hosts: [a, b@a]\n"), HasSubstr("appears twice"));
    EXPECT_THAT(errorOfText(listens + "hosts: [a/run/x]\n"), HasSubstr("[USER@]HOST[:PORT]"));
    EXPECT_THAT(errorOfText(listens + "hosts: [-oProxyCommand=x]\n"), HasSubstr("--hosts"));
    EXPECT_THAT(errorOfText(listens + "node_away: soon\n"), HasSubstr("--node-away"));
}

TEST(DaemonConfig, RolesOfClientsAreReadFromTheFile) {
    ProcessEnvironment around = environment();
    around.readFile = [](const std::string&) -> Result<std::string> {
        return std::string(
            "clients:\n  \"*\": view\n  ci-*: run\n  ci-7: admin\n  build.example.org: run\n");
    };
    const auto line = parseCommandLine({}, around);
    ASSERT_TRUE(line.ok()) << line.status();
    const ClientRoles& clients = line->config.clients;
    EXPECT_EQ(line->config.configFile, "/srv/a/.local/state/millrace/millraced.yaml");
    EXPECT_EQ(clients.roleOf("ci-7"), Role::kAdmin) << "its own name comes before any pattern";
    EXPECT_EQ(clients.roleOf("build.example.org"), Role::kRun);
    EXPECT_EQ(clients.roleOf("ci-8"), Role::kView) << "the first pattern of the file";
    EXPECT_EQ(clients.roleOf("eve"), Role::kView);
}

TEST(DaemonConfig, OnlyWithoutRulesEveryCertificateMayView) {
    ClientRoles clients;
    EXPECT_EQ(clients.roleOf("eve"), Role::kView);
    clients.add("ci-*", Role::kRun);
    EXPECT_EQ(clients.roleOf("ci-"), Role::kRun);
    EXPECT_EQ(clients.roleOf("eve"), Role::kNone);
    EXPECT_EQ(clients.roleOf("xci-1"), Role::kNone);
}

TEST(DaemonConfig, AMistakeInTheRolesIsNamedWithItsPlace) {
    const auto errorOfText = [](const std::string& text) {
        return std::string(messageOf(readConfigFile(text, "c.yaml").status()));
    };
    EXPECT_EQ(errorOfText("clients: {alice: admin, bob: view}\n"), "");
    EXPECT_EQ(errorOfText("clients: {alice: amdin}\n"),
              "c.yaml:1:11: clients: 'alice': unknown role 'amdin'; did you mean 'admin'?; view, "
              "run or admin is wanted");
    EXPECT_THAT(errorOfText("clients: {alice: [view, run]}\n"), HasSubstr("'alice': one role"));
    EXPECT_THAT(errorOfText("clients: {alice: {a: b}}\n"), HasSubstr("a text or a list"));
    EXPECT_THAT(errorOfText("clients: {\"\": run}\n"), HasSubstr("1 to 200 bytes"));
    EXPECT_THAT(errorOfText("clients: alice\n"), HasSubstr("c.yaml:1:1: 'clients': a map of"));
    EXPECT_THAT(errorOfText("client: {alice: run}\n"), HasSubstr("unknown key 'client.alice'"));
    EXPECT_THAT(errorOfText("clients: {a: run, a: view}\n"), HasSubstr("c.yaml:1:"));
}

TEST(DaemonConfig, CheckpointsLieWhereAllNodesSeeThem) {
    ProcessEnvironment around = environment();
    around.readFile = [](const std::string&) { return "checkpoints: /scratch/me\n"; };
    EXPECT_EQ(parseCommandLine({}, around)->config.checkpoints, "/scratch/me");
    EXPECT_EQ(parse({"--checkpoints", "/other"})->config.checkpoints, "/other");
    EXPECT_EQ(parse({})->config.checkpoints, "");
    EXPECT_THAT(errorOf({"--checkpoints", "scratch"}),
                HasSubstr("--checkpoints scratch: an absolute path is wanted"));
    around.readFile = [](const std::string&) { return "checkpoints: scratch\n"; };
    EXPECT_THAT(std::string(messageOf(parseCommandLine({}, around).status())),
                HasSubstr("/millraced.yaml: checkpoints: scratch: an absolute path is wanted"));
    EXPECT_THAT(errorOf({"--checkpoint-rate", "10"}), HasSubstr("for --slot"));
    EXPECT_THAT(errorOf({"--slot", "--join", "/j", "--state-dir", "/s", "--checkpoints", "/c"}),
                HasSubstr("leave"));
    EXPECT_EQ(parse({"--slot", "--join", "/j", "--state-dir", "/s", "--checkpoint-rate", "10"})
                  ->config.checkpointRate,
              10);
}

}  // namespace
}  // namespace millrace::config

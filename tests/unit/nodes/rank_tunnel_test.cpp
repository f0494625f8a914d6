// A rank of another node talks to its attempt's door through the node's and the head's tunnel.
#include "daemon/nodes/rank_tunnel.h"

#include <filesystem>
#include <map>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/core/mutex.h"
#include "backend/core/whole_io.h"
#include "backend/filesystem/files.h"
#include "backend/job/log_files.h"
#include "backend/rank/rank_client.h"
#include "backend/rank/rank_server.h"
#include "backend/system/network_interface.h"
#include "backend/system/unix_socket.h"
#include "daemon/nodes/agent_listener.h"
#include "daemon/nodes/head_link.h"
#include "daemon/nodes/tunnel_greeting.h"
#include "daemon/transport/transport.h"
#include "tests/support/fake_clock.h"
#include "tests/support/poll.h"
#include "tests/support/temp_dir.h"

namespace millrace::nodes {
namespace {

const std::string kTunnelKey(kTunnelKeyBytes, 'k'), kKey = "r-abcde.a1.p1";
const std::vector<std::string> kWorkers = {"feed1", "rank1"};

class RankTunnelTest : public ::testing::TestWithParam<const char*> {
 protected:
    RankTunnelTest() {
        config.stateDir = directory / "head";
        config.nodesListen = GetParam();
        std::filesystem::create_directories(headPaths().directory());
        std::filesystem::create_directories(nodePaths().directory());
        openHead();
        tunnel = std::move(RankTunnel::open(nodePaths(), "r-abcde", 1,
                                            {config.nodesJoinFile(), kTunnelKey,
                                             std::make_shared<transport::SharedChannel>()})
                               .value());
    }
    /// Attaches the agent of a node, also again.
    void attach(const std::string& name = "node1", const std::string& tunnelKey = kTunnelKey) {
        agents[name].reset();
        agents[name] = std::make_unique<HeadLink>(config.nodesJoinFile(), "build", tunnelKey,
                                                  systemClock, [] {});
        v1::AgentReport first;
        first.mutable_attachment()->mutable_node()->set_name(name);
        agents[name]->open(first);
        EXPECT_TRUE(test::eventually([&] { return !agents[name]->take().empty(); }));
    }
    void openHead() {
        head.reset();
        head = std::move(AgentListener::open(config, "build", table, tokens, clock,
                                             [](const auto&, const auto&) { return okStatus(); })
                             .value());
    }
    /// The attempt's door, which acknowledges every line.
    void openListener() {
        rank::RankServerOptions options;
        options.socketPath = headPaths().rankSocket();
        options.onHello = [this](rank::ConnectionId, const rank::Sender& sender) {
            MutexLock lock(mutex);
            hellos.push_back(sender);
            return okStatus();
        };
        options.onLine = [this](rank::ConnectionId id, const rank::Sender&,
                                const rank::RankLine& line) {
            if (rank::isKept(line.body)) {
                door->ack(id, line.attempt, line.seq);
            }
            return true;
        };
        door = std::move(rank::RankServer::start(std::move(options)).value());
    }
    std::unique_ptr<rank::RankClient> client() {
        rank::RankClientOptions options;
        options.socketPath = nodePaths().rankSocket();
        options.directory = nodePaths().directory();
        options.sender = {"r-abcde", 1, "rank", 1, 100};
        return std::move(rank::RankClient::start(std::move(options)).value());
    }
    job::AttemptPaths headPaths() const {
        return job::RunPaths(config.runsDir(), "r-abcde").attempt(1);
    }
    job::AttemptPaths nodePaths() const {
        return job::RunPaths(directory / "node", "r-abcde").attempt(1);
    }

    tests::TempDir directory;
    config::DaemonConfig config;
    FakeClock clock;
    SystemClock systemClock;
    job::FileLogs logs{directory / "head/runs"};
    agent::NodeTable table{{"head", std::chrono::milliseconds(20'000)}, clock, logs};
    agent::JoinTokens tokens{directory / "nodes.tokens"};
    Mutex mutex;
    std::vector<rank::Sender> hellos MR_GUARDED_BY(mutex);
    std::unique_ptr<rank::RankServer> door;
    std::unique_ptr<AgentListener> head;
    std::map<std::string, std::unique_ptr<HeadLink>> agents;  ///< by node
    std::unique_ptr<RankTunnel> tunnel;
};

TEST_P(RankTunnelTest, AnAgentThatIsBusyGivesSignsOfLife) {
    attach();
    constexpr int kSilentMs = 4'000, kLookMs = 500;
    for (int ms = 0; ms < kSilentMs; ms += kLookMs) {
        clock.advanceMs(kLookMs);
        (void)table.standing("node1");
    }
    // No call uses the link.
    EXPECT_TRUE(test::eventually([&] { return table.standing("node1").isThere; }));
}

TEST_P(RankTunnelTest, LinesArriveAndAreAcknowledgedAlsoWithTheNextHead) {
    attach();
    table.keep("node1", kKey, {}, kWorkers);
    openListener();
    const auto rank = client();
    ASSERT_TRUE(rank->send(rank::Metrics{1, 0, 64, 0, {{"loss", 0.5}}}).ok());
    EXPECT_TRUE(rank->waitAcked(std::chrono::seconds(30)).ok());
    openHead();  // all connections end and are made again
    attach();
    ASSERT_TRUE(rank->send(rank::Metrics{2, 0, 128, 0, {{"loss", 0.4}}}).ok());
    EXPECT_TRUE(rank->waitAcked(std::chrono::seconds(30)).ok());
    MutexLock lock(mutex);
    ASSERT_GE(hellos.size(), 2U);
    EXPECT_EQ(hellos.back().rank, 1);
}

TEST_P(RankTunnelTest, OnlyAnAttemptWithAPartOnThisNodeHasADoor) {
    attach();
    attach("node2", std::string(kTunnelKeyBytes, '2'));
    table.keep("node2", kKey, {}, kWorkers);
    openListener();
    const auto rank = client();
    ASSERT_TRUE(rank->send(rank::Metrics{1, 0, 64, 0, {{"loss", 0.5}}}).ok());
    EXPECT_FALSE(rank->waitAcked(std::chrono::milliseconds(300)).ok());
    {
        MutexLock lock(mutex);
        EXPECT_TRUE(hellos.empty());
    }
    table.keep("node1", kKey, {}, kWorkers);
    EXPECT_TRUE(rank->waitAcked(std::chrono::seconds(30)).ok()) << "now it has one";
}

TEST_P(RankTunnelTest, ANodeSpeaksForItsOwnRanksOnly) {
    attach();
    table.keep("node1", kKey, {}, {"feed1", "rank0"});  // rank 1 is on another node
    openListener();
    const auto rank = client();
    ASSERT_TRUE(rank->send(rank::Metrics{1, 0, 64, 0, {{"loss", -42}}}).ok());
    EXPECT_FALSE(rank->waitAcked(std::chrono::milliseconds(300)).ok());
    MutexLock lock(mutex);
    EXPECT_TRUE(hellos.empty());
}

TEST_P(RankTunnelTest, AnAgentThatIsNotAttachedHasNoTunnel) {
    attach("node1", std::string(kTunnelKeyBytes, '1'));  // not with the tunnel's key
    table.keep("node1", kKey, {}, kWorkers);
    openListener();
    const auto rank = client();
    ASSERT_TRUE(rank->send(rank::Metrics{1, 0, 64, 0, {{"loss", 0.5}}}).ok());
    EXPECT_FALSE(rank->waitAcked(std::chrono::milliseconds(300)).ok());
    attach();
    EXPECT_TRUE(rank->waitAcked(std::chrono::seconds(30)).ok());
}

TEST_P(RankTunnelTest, AForgottenNodeHasNoTunnelAnyMore) {
    attach();
    table.keep("node1", kKey, {}, kWorkers);
    openListener();
    const auto rank = client();
    ASSERT_TRUE(rank->send(rank::Metrics{1, 0, 64, 0, {{"loss", 0.5}}}).ok());
    ASSERT_TRUE(rank->waitAcked(std::chrono::seconds(30)).ok());
    ASSERT_TRUE(tokens.forget("node1").ok());
    ASSERT_TRUE(table.forget("node1").ok());
    ASSERT_TRUE(rank->send(rank::Metrics{2, 0, 128, 0, {{"loss", -42}}}).ok());
    EXPECT_FALSE(rank->waitAcked(std::chrono::milliseconds(300)).ok());
    v1::AgentReport first;
    first.mutable_attachment()->mutable_node()->set_name("node1");
    agents["node1"]->open(first);
    EXPECT_TRUE(test::eventually([&] {
        (void)agents["node1"]->take();
        return !agents["node1"]->isOpen();
    })) << "it is not let in";
}

/// The log of a worker on a disk that does not answer until the object is destroyed.
class StuckLog {
 public:
    explicit StuckLog(const std::string& folder) : path_(folder + "/out.log") {
        std::filesystem::create_directories(folder);
        EXPECT_EQ(::mkfifo(path_.c_str(), 0600), 0);
    }
    ~StuckLog() {
        const UniqueFd other(::open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
        ::unlink(path_.c_str());
    }

 private:
    const std::string path_;
};

TEST_P(RankTunnelTest, ASlowDiskOfTheHeadMakesNoNodeLookSilent) {
    constexpr int kNodes = 20;  // more than gRPC has threads
    const auto nodeOf = [](int i) { return strCat("node", i); };
    std::vector<std::unique_ptr<StuckLog>> logs;
    for (int i = 0; i < kNodes; ++i) {
        attach(nodeOf(i), std::string(kTunnelKeyBytes, static_cast<char>('A' + i)));
        const agent::DataWorkerName worker{"r-abcde", 1, i};
        table.place(nodeOf(i),
                    {worker.key(), engines::gangText(agent::dataGang(worker)), "", "", "", ""});
        logs.push_back(std::make_unique<StuckLog>(headPaths().worker(worker.worker())));
    }
    for (int i = 0; i + 1 < kNodes; ++i) {  // the last one says only that it lives
        const agent::DataWorkerName worker{"r-abcde", 1, i};
        v1::AgentReport report;
        v1::LogPart& part = *report.add_logs();
        part.set_key(worker.key());
        part.set_worker(worker.worker());
        part.set_lines("a line\n");
        agents[nodeOf(i)]->send(report);
    }
    const auto areThere = [&] {
        for (int i = 0; i < kNodes; ++i) {
            if (!table.standing(nodeOf(i)).isThere) {
                return false;
            }
        }
        return true;
    };
    for (int second = 0; second < 8; ++second) {
        clock.advanceMs(900);
        EXPECT_TRUE(test::eventually(areThere)) << second;
    }
    logs.clear();
    head.reset();
}

// Everything that was read from `door` up to its end.
std::string readAll(const UniqueFd& door) {
    std::string all;
    char buffer[65'536];
    for (ssize_t n = 1; n > 0;) {
        n = ::recv(door.get(), buffer, sizeof buffer, 0);
        all.append(buffer, n > 0 ? static_cast<std::size_t>(n) : 0);
    }
    return all;
}

std::string helloOfRank1() {
    return rank::formatLine({0, -1, rank::Hello{{"r-abcde", 1, "rank", 1, 100}}}) + "\n";
}

TEST_P(RankTunnelTest, WhatAWorkerSaysJustBeforeItEndsArrives) {
    attach();
    table.keep("node1", kKey, {}, kWorkers);
    const UniqueFd listener(std::move(listenUnix(headPaths().rankSocket()).value()));
    constexpr std::size_t kSizes[] = {1, 100, 70'000, 3'000'000};
    for (int round = 0; round < 12; ++round) {
        const std::string said =
            helloOfRank1() + std::string(kSizes[round % 4], static_cast<char>('a' + round));
        std::jthread worker([&] {
            const UniqueFd socket(std::move(connectUnix(nodePaths().rankSocket()).value()));
            EXPECT_TRUE(writeAll(socket.get(), said));
        });  // its connection is closed at once
        const UniqueFd door(::accept(listener.get(), nullptr, nullptr));
        ASSERT_TRUE(door.isOpen());
        EXPECT_EQ(readAll(door), said) << said.size() << " bytes";
    }
}

TEST(TunnelGreeting, IsHeldBackUntilItIsWhole) {
    TunnelGreeting greeting(kWorkers);
    const std::string hello = helloOfRank1();
    EXPECT_EQ(greeting.take(hello.substr(0, 5)).value(), "");
    EXPECT_EQ(greeting.take(hello.substr(5) + "more").value(), hello + "more");
    EXPECT_EQ(greeting.take("anything").value(), "anything");
}

TEST(TunnelGreeting, AWorkerOfAnotherNodeIsRefusedWithThoseThatMaySpeak) {
    TunnelGreeting greeting({"feed2", "rank2"});
    EXPECT_EQ(
        std::string(messageOf(greeting.take(helloOfRank1()).status())),
        "tunnel: rank1 was not placed on this agent's node; feed2, rank2 may speak from there");
}

TEST(TunnelGreeting, WhatIsNoHelloIsRefused) {
    for (const std::string& line :
         {std::string("\n"), std::string("{}\n"), std::string("x\n"), std::string(4097, 'x'),
          std::string(4097, 'x') + "\n",
          rank::formatLine({1, -1, rank::Metrics{1, 0, 64, 0, {{"loss", 0.5}}}}) + "\n"}) {
        EXPECT_FALSE(TunnelGreeting(kWorkers).take(line).ok()) << line.substr(0, 80);
    }
}

class JoinedOverTls : public RankTunnelTest {
 protected:
    transport::JoinFile file() const {
        return transport::JoinFile::read(config.nodesJoinFile()).value();
    }
    /// The status of a call to the head that uses this file.
    static Status answer(const transport::JoinFile& file) {
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
        const auto call =
            v1::Agents::NewStub(transport::openChannel(file).value())->Tunnel(&context);
        v1::TunnelBytes none;
        EXPECT_FALSE(call->Read(&none));
        return transport::toStatus(call->Finish());
    }
};

TEST_P(JoinedOverTls, ACallWithAnotherTokenReachesNoService) {
    EXPECT_THAT(std::string(messageOf(answer(file()))), ::testing::HasSubstr("no agent"));
    transport::JoinFile stranger = file();
    stranger.token[3] ^= 1;
    EXPECT_THAT(std::string(messageOf(answer(stranger))), ::testing::HasSubstr("another token"));
    const std::string invited = tokens.invite("cpu-1").value();
    transport::JoinFile own = transport::JoinFile::fromText(invited, "invited").value();
    EXPECT_EQ(own.node, "cpu-1");
    EXPECT_THAT(std::string(messageOf(answer(own))), ::testing::HasSubstr("no agent"));
    ASSERT_TRUE(tokens.forget("cpu-1").ok());
    EXPECT_THAT(std::string(messageOf(answer(own))), ::testing::HasSubstr("another token"));
}

// The content of a join file is not enough to act as the head.
/// TCP connections of this machine to a port of it, as the kernel lists them (proc(5), net/tcp and
/// tcp6: gRPC takes sockets of version 6 for both).
int numConnectionsTo(int port) {
    int count = 0;
    std::istringstream lines(readFile("/proc/self/net/tcp").value_or("") +
                             readFile("/proc/self/net/tcp6").value_or(""));
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string number, local, remote, state;
        words >> number >> local >> remote >> state;
        const std::size_t colon = remote.rfind(':');
        const bool isThere = colon != std::string::npos && state == "01";
        count += isThere && std::stoi(remote.substr(colon + 1), nullptr, 16) == port ? 1 : 0;
    }
    return count;
}

TEST_P(JoinedOverTls, AllRanksOfAnAgentShareAConnection) {
    attach();
    table.keep("node1", kKey, {}, kWorkers);
    openListener();
    std::vector<std::unique_ptr<rank::RankClient>> ranks;
    for (int i = 0; i < 3; ++i) {
        ranks.push_back(client());
        ASSERT_TRUE(ranks.back()->send(rank::Metrics{i + 1, 0, 64, 0, {{"loss", 0.5}}}).ok());
        EXPECT_TRUE(ranks.back()->waitAcked(std::chrono::seconds(30)).ok());
    }
    EXPECT_EQ(numConnectionsTo(Address::parse(file().address)->port), 2)
        << "the agent's own and the ranks'";
}

TEST_P(JoinedOverTls, WhoHasAJoinFileCannotListenAsTheHead) {
    transport::JoinFile thief = file();
    EXPECT_EQ(thief.certificate.keyPem, "");
    EXPECT_THAT(readFile(config.nodesJoinFile()).value(),
                ::testing::Not(::testing::HasSubstr("PRIVATE KEY")));
    transport::JoinFile pretended = transport::JoinFile::make("127.0.0.1", "").value();
    v1::Agents::Service service;
    const auto server =
        transport::Server::start(pretended, service, [](std::string_view) { return true; });
    ASSERT_TRUE(server.ok()) << server.status();
    thief.address = pretended.address;
    EXPECT_TRUE(absl::IsUnavailable(answer(thief))) << answer(thief);
}

TEST_P(JoinedOverTls, InvitedNodesFindTheNextHeadAlsoAfterADown) {
    const auto own =
        transport::JoinFile::fromText(tokens.invite("cpu-1").value(), "invited").value();
    const std::string shared = file().token;
    openHead();
    EXPECT_EQ(file().token, shared);
    ::unlink(config.nodesJoinFile().c_str());  // as a down does
    openHead();
    EXPECT_NE(file().token, shared);
    EXPECT_EQ(file().address, own.address);
    EXPECT_THAT(std::string(messageOf(answer(own))), ::testing::HasSubstr("no agent"));
}

TEST_P(JoinedOverTls, AgentsAreToldWhatToDialAlsoByTheNextHead) {
    config.nodesListen = "0.0.0.0";
    config.nodesAddress = "localhost";
    openHead();
    const Address told = Address::parse(file().address).value();
    EXPECT_EQ(told.host, "localhost");
    EXPECT_NE(told.port, 0);
    EXPECT_THAT(std::string(messageOf(answer(file()))), ::testing::HasSubstr("no agent"));
    config.nodesListen.clear();
    config.nodesAddress.clear();
    head.reset();
    EXPECT_TRUE(listenAsBefore(config));
    openHead();
    EXPECT_EQ(file().address, told.text());
    EXPECT_TRUE(Address::parse(config.nodesListen)->text().starts_with("0.0.0.0:"));
    config.nodesAddress = "localhost:1";  // a port that is forwarded
    openHead();
    EXPECT_EQ(file().address, "localhost:1");
}

TEST_P(JoinedOverTls, AHeadWhosePortIsTakenSaysSo) {
    config::DaemonConfig second = config;
    second.stateDir = directory / "second";
    std::filesystem::create_directories(second.stateDir);
    second.nodesListen = file().address;
    const auto opened = AgentListener::open(second, "build", table, tokens, clock,
                                            [](const auto&, const auto&) { return okStatus(); });
    EXPECT_THAT(std::string(messageOf(opened.status())), ::testing::HasSubstr("cannot listen"));
}

TEST_P(JoinedOverTls, AHeadListensOnIpv6) {
    if (interfaceFacing("::1").empty()) {
        GTEST_SKIP() << "this machine has no IPv6";
    }
    config.nodesListen = "[::1]";
    openHead();
    EXPECT_TRUE(file().address.starts_with("[::1]:")) << file().address;
    EXPECT_THAT(std::string(messageOf(answer(file()))), ::testing::HasSubstr("no agent"));
    const std::string before = file().address;
    openHead();
    EXPECT_EQ(file().address, before);
}

INSTANTIATE_TEST_SUITE_P(Tls, JoinedOverTls, ::testing::Values("127.0.0.1"));
INSTANTIATE_TEST_SUITE_P(Addresses, RankTunnelTest, ::testing::Values("unix", "127.0.0.1"));

}  // namespace
}  // namespace millrace::nodes

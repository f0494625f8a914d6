// A rank of another node speaks with its attempt's door through the node's and the head's.
#include "daemon/nodes/rank_tunnel.h"

#include <filesystem>
#include <map>
#include <thread>

#include <sys/socket.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/core/files.h"
#include "backend/core/mutex.h"
#include "backend/job/log_files.h"
#include "backend/rank/rank_client.h"
#include "backend/rank/rank_server.h"
#include "backend/system/unix_socket.h"
#include "backend/system/write_all.h"
#include "daemon/nodes/agents_door.h"
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
        tunnel = std::move(
            RankTunnel::open(nodePaths(), "r-abcde", 1, config.nodesJoinFile(), kTunnelKey)
                .value());
    }
    /// The agent of a node comes, or comes again.
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
        head = std::move(
            AgentsDoor::open(config, "build", table, tokens, clock, [](const auto&, const auto&) {
                return okStatus();
            }).value());
    }
    /// The attempt's door: it acknowledges everything.
    void openDoor() {
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
    std::unique_ptr<AgentsDoor> head;
    std::map<std::string, std::unique_ptr<HeadLink>> agents;  ///< by node
    std::unique_ptr<RankTunnel> tunnel;
};

TEST_P(RankTunnelTest, LinesArriveAndAreAcknowledgedAlsoWithTheNextHead) {
    attach();
    table.keep("node1", kKey, {}, kWorkers);
    openDoor();
    const auto rank = client();
    ASSERT_TRUE(rank->send(rank::Metrics{1, 0, 64, 0, {{"loss", 0.5}}}).ok());
    EXPECT_TRUE(rank->waitAcked(std::chrono::seconds(30)).ok());
    openHead();  // all connections end, and are made again
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
    openDoor();
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
    table.keep("node1", kKey, {}, {"feed1", "rank0"});  // rank 1 is of another node
    openDoor();
    const auto rank = client();
    ASSERT_TRUE(rank->send(rank::Metrics{1, 0, 64, 0, {{"loss", -42}}}).ok());
    EXPECT_FALSE(rank->waitAcked(std::chrono::milliseconds(300)).ok());
    MutexLock lock(mutex);
    EXPECT_TRUE(hellos.empty());
}

TEST_P(RankTunnelTest, AnAgentThatIsNotAttachedHasNoTunnel) {
    attach("node1", std::string(kTunnelKeyBytes, '1'));  // not with the tunnel's key
    table.keep("node1", kKey, {}, kWorkers);
    openDoor();
    const auto rank = client();
    ASSERT_TRUE(rank->send(rank::Metrics{1, 0, 64, 0, {{"loss", 0.5}}}).ok());
    EXPECT_FALSE(rank->waitAcked(std::chrono::milliseconds(300)).ok());
    attach();
    EXPECT_TRUE(rank->waitAcked(std::chrono::seconds(30)).ok());
}

TEST_P(RankTunnelTest, AForgottenNodeHasNoTunnelAnyMore) {
    attach();
    table.keep("node1", kKey, {}, kWorkers);
    openDoor();
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

// All that was read from `door`, up to its end.
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
    /// How a call to the head ends that shows this file.
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

// What is in the file is not enough to be taken for the head.
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

INSTANTIATE_TEST_SUITE_P(Tls, JoinedOverTls, ::testing::Values("127.0.0.1"));
INSTANTIATE_TEST_SUITE_P(Addresses, RankTunnelTest, ::testing::Values("unix", "127.0.0.1"));

}  // namespace
}  // namespace millrace::nodes

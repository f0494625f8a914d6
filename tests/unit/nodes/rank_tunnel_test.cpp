// A rank of another node speaks with its attempt's door through the node's and the head's.
#include "daemon/nodes/rank_tunnel.h"

#include <filesystem>
#include <thread>

#include <sys/socket.h>

#include <gtest/gtest.h>

#include "backend/core/mutex.h"
#include "backend/job/log_files.h"
#include "backend/rank/rank_client.h"
#include "backend/rank/rank_server.h"
#include "backend/system/unix_socket.h"
#include "backend/system/write_all.h"
#include "daemon/nodes/agents_door.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

namespace millrace::nodes {
namespace {

class RankTunnelTest : public ::testing::TestWithParam<const char*> {
 protected:
    RankTunnelTest() {
        config.stateDir = directory / "head";
        config.nodesListen = GetParam();
        std::filesystem::create_directories(headPaths().directory());
        std::filesystem::create_directories(nodePaths().directory());
        openHead();
        tunnel =
            std::move(RankTunnel::open(nodePaths(), "r-abcde", 1, config.nodesJoinFile()).value());
    }
    void openHead() {
        head.reset();
        head = std::move(AgentsDoor::open(config, "build", table, clock).value());
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
    job::FileLogs logs{directory / "head/runs"};
    agent::NodeTable table{{"head", std::chrono::milliseconds(20'000)}, clock, logs};
    Mutex mutex;
    std::vector<rank::Sender> hellos MR_GUARDED_BY(mutex);
    std::unique_ptr<rank::RankServer> door;
    std::unique_ptr<AgentsDoor> head;
    std::unique_ptr<RankTunnel> tunnel;
};

TEST_P(RankTunnelTest, LinesArriveAndAreAcknowledgedAlsoWithTheNextHead) {
    table.keep("node1", "r-abcde.a1.p1", {});
    openDoor();
    const auto rank = client();
    ASSERT_TRUE(rank->send(rank::Metrics{1, 0, 64, 0, {{"loss", 0.5}}}).ok());
    EXPECT_TRUE(rank->waitAcked(std::chrono::seconds(30)).ok());
    openHead();  // all connections end, and are made again
    ASSERT_TRUE(rank->send(rank::Metrics{2, 0, 128, 0, {{"loss", 0.4}}}).ok());
    EXPECT_TRUE(rank->waitAcked(std::chrono::seconds(30)).ok());
    MutexLock lock(mutex);
    ASSERT_GE(hellos.size(), 2U);
    EXPECT_EQ(hellos.back().rank, 1);
}

TEST_P(RankTunnelTest, OnlyAnAttemptWithAPartOnANodeHasADoor) {
    openDoor();
    const auto rank = client();
    ASSERT_TRUE(rank->send(rank::Metrics{1, 0, 64, 0, {{"loss", 0.5}}}).ok());
    EXPECT_FALSE(rank->waitAcked(std::chrono::milliseconds(300)).ok());
    {
        MutexLock lock(mutex);
        EXPECT_TRUE(hellos.empty());
    }
    table.keep("node1", "r-abcde.a1.p1", {});
    EXPECT_TRUE(rank->waitAcked(std::chrono::seconds(30)).ok()) << "now it has one";
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

TEST_P(RankTunnelTest, WhatAWorkerSaysJustBeforeItEndsArrives) {
    table.keep("node1", "r-abcde.a1.p1", {});
    const UniqueFd listener(std::move(listenUnix(headPaths().rankSocket()).value()));
    constexpr std::size_t kSizes[] = {1, 100, 70'000, 3'000'000};
    for (int round = 0; round < 12; ++round) {
        const std::string said(kSizes[round % 4], static_cast<char>('a' + round));
        std::jthread worker([&] {
            const UniqueFd socket(std::move(connectUnix(nodePaths().rankSocket()).value()));
            EXPECT_TRUE(writeAll(socket.get(), said));
        });  // its connection is closed at once
        const UniqueFd door(::accept(listener.get(), nullptr, nullptr));
        ASSERT_TRUE(door.isOpen());
        EXPECT_EQ(readAll(door), said) << said.size() << " bytes";
    }
}

INSTANTIATE_TEST_SUITE_P(Addresses, RankTunnelTest, ::testing::Values("unix", "127.0.0.1"));

}  // namespace
}  // namespace millrace::nodes

// Limits: hellos, attempts, the mailbox; and how the agent shows guardians that fall silent.
#include <sys/socket.h>

#include "backend/system/unix_socket.h"
#include "daemon/agent/run/rank_listener.h"
#include "tests/support/poll.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/agent/fakes.h"

namespace millrace::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

rank::RankLine metricsLine(std::uint64_t seq, std::size_t nameBytes = 4) {
    rank::RankLine line;
    line.seq = seq;
    line.attempt = 1;
    line.body = rank::Metrics{
        static_cast<std::int64_t>(seq), 0, 1, 0, {{std::string(nameBytes, 'm'), 0.5}}};
    return line;
}

class MailboxTest : public AgentTest {
 protected:
    MailboxTest() : id(submit()) { hello(id); }
    /// Sends up to `most` lines; returns how many were accepted.
    std::size_t fill(std::size_t most, std::size_t nameBytes) {
        std::size_t taken = 0;
        while (taken < most &&
               door(id)->listener.onLine(1, sender(id, 1), metricsLine(taken + 1, nameBytes))) {
            ++taken;
        }
        return taken;
    }
    std::string id;
};

TEST_F(MailboxTest, LinesLeaveRoomForEverythingElse) {
    const std::size_t taken = fill(100'000, 4);
    EXPECT_GE(taken, 40'000u);
    EXPECT_LT(taken, 50'000u) << "not all of it is for lines";
    // Other messages still have their effect: a hello, a stop, the end of a connection.
    door(id)->listener.onHello(2, sender(id, 1));
    door(id)->listener.onClosed(1, sender(id, 1), "");
    ASSERT_TRUE(service->stop(id, "enough", std::chrono::seconds(15)).ok());
    EXPECT_THAT(door(id)->stops, ElementsAre(2)) << "the first connection had been closed";
    EXPECT_EQ(record(id).exitReason, "enough");
}

TEST_F(MailboxTest, ALineThatFoundNoRoomIsSentAgainAndStored) {
    const std::size_t taken = fill(100'000, 4);
    clock.advanceMs(50);
    controller->drain();
    // The intake has its own limit: it took the lines for which it had room, then closed the
    // connection.
    EXPECT_THAT(door(id)->closed, ::testing::Contains(1));
    const auto acked = static_cast<std::uint64_t>(store->ackedSeq(id, 1, "rank0").value());
    EXPECT_GT(acked, 0u);
    EXPECT_LT(acked, taken);
    EXPECT_EQ((door(id)->acks.at({1, 1})), acked) << "no more than is stored";
    door(id)->listener.onClosed(1, sender(id, 1), "");
    door(id)->listener.onHello(2, sender(id, 1));
    for (std::uint64_t seq = acked + 1; seq <= acked + 10; ++seq) {
        EXPECT_TRUE(door(id)->listener.onLine(2, sender(id, 1), metricsLine(seq)));
    }
    clock.advanceMs(50);
    controller->drain();
    EXPECT_EQ(store->ackedSeq(id, 1, "rank0").value(), static_cast<std::int64_t>(acked) + 10);
}

TEST_F(MailboxTest, RoomIsCountedInBytes) {
    constexpr std::size_t kLineBytes = 1'000'000, kRoom = 64 << 20;
    const std::size_t taken = fill(1'000, kLineBytes);
    EXPECT_GT(taken, 50u);
    EXPECT_LE(taken * kLineBytes, kRoom);
    clock.advanceMs(50);
    controller->drain();
    EXPECT_TRUE(door(id)->listener.onLine(2, sender(id, 1), metricsLine(1))) << "it is free again";
}

/// A real door, and the messages that passed it.
class DoorTest : public ::testing::Test {
 protected:
    DoorTest() {
        RankCallbacks listener;
        listener.onHello = [this](rank::ConnectionId, const rank::Sender&) { ++hellos; };
        listener.onLine = [](rank::ConnectionId, const rank::Sender&, const rank::RankLine&) {
            return true;
        };
        listener.onClosed = [](rank::ConnectionId, const rank::Sender&, const std::string&) {};
        door = std::move(maker.open(path, "r-abcde", 3, listener).value());
    }
    /// Whether the door closes the connection that sends this hello.
    bool isRefused(const std::string& hello) const {
        const UniqueFd socket = std::move(connectUnix(path).value());
        EXPECT_EQ(::send(socket.get(), hello.data(), hello.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(hello.size()));
        char c = 0;
        return ::recv(socket.get(), &c, 1, 0) <= 0;
    }
    static std::string helloOf(const std::string& run, int attempt, const std::string& role,
                               int rank) {
        return dumpJson({{"type", "hello"},
                         {"run", run},
                         {"attempt", attempt},
                         {"role", role},
                         {"rank", rank}}) +
               "\n";
    }
    tests::TempDir folder;
    const std::string path = folder / "rank.sock";
    std::atomic<int> hellos{0};
    RankListenerMaker maker;
    std::unique_ptr<RankListener> door;
};

TEST_F(DoorTest, HellosOfOthersAreRefused) {
    EXPECT_TRUE(isRefused(helloOf("r-other", 3, "rank", 0))) << "of another run";
    EXPECT_TRUE(isRefused(helloOf("r-abcde", 2, "rank", 0))) << "of an attempt that is over";
    EXPECT_TRUE(isRefused(helloOf("r-abcde", 4, "rank", 0))) << "of one that has not begun";
    EXPECT_TRUE(isRefused(helloOf("r-abcde", 3, "rank", 4096))) << "of a rank too many";
    EXPECT_TRUE(isRefused(helloOf("r-abcde", 3, "rank", -1)));
    EXPECT_TRUE(isRefused(helloOf("r-abcde", 3, "boss", 0))) << "of a role that there is not";
    EXPECT_EQ(hellos, 0);
}

TEST_F(DoorTest, ALineOfALaterAttemptEndsTheConnection) {
    const std::string hello = helloOf("r-abcde", 3, "rank", 0);
    EXPECT_TRUE(isRefused(hello + R"({"type":"progress","seq":1,"attempt":4,"step":1})" + "\n"));
    EXPECT_EQ(hellos, 1);
}

// With 129 workers 6.5 ms pass between two looks.
TEST_F(AgentTest, ManyWorkersAreLookedAtLessOftenThanTheirLinesAreStored) {
    engine.machine.cpus = 400;
    inspector.reply->runs = {someInspected()};
    Json& spec = inspector.reply->runs.at(0).spec;
    spec["batch"]["micro_rows"] = 8;
    spec["train"]["ranks"] = 128;
    const std::string id = service->submit(order())->runs.at(0).id;
    controller->drain();
    hello(id);
    clock.advanceMs(250);
    controller->drain();
    engine.numStatesAsked = 0;
    for (std::uint64_t seq = 1; seq <= 20; ++seq) {
        rank::RankLine line;
        line.seq = seq;
        line.attempt = 1;
        line.body = rank::Metrics{static_cast<std::int64_t>(seq), 0, 1, 5, {{"loss", 0.5}}};
        EXPECT_TRUE(door(id)->listener.onLine(1, sender(id, 1), line));
        clock.advanceMs(1);
        controller->drain();
        EXPECT_EQ((door(id)->acks.at({1, 1})), seq);
    }
    EXPECT_GE(engine.numStatesAsked, 2);
    EXPECT_LE(engine.numStatesAsked, 3);
}

TEST_F(AgentTest, AGuardianThatFallsSilentIsSeenAndSoIsItsAnswer) {
    const std::string id = submit();
    hello(id);
    const auto tell = [&](bool isSilent) {
        engine.states[id + ".a1"].workers[1].isSilent = isSilent;
        controller->post(id + ".a1", engine.states[id + ".a1"]);
        controller->drain();
    };
    const auto stateOf = [&](std::size_t worker) {
        return service->get(id)->workers.at(worker).state;
    };
    tell(false);
    EXPECT_EQ(stateOf(1), "running");
    tell(true);
    EXPECT_EQ(stateOf(0), "running") << "the feed's guardian answers";
    EXPECT_EQ(stateOf(1), "unguarded");
    EXPECT_THAT(history(id), HasSubstr("\nthe guardian of rank0 does not answer: it is stopped, or "
                                       "the machine is overloaded"));
    tell(true);
    tell(false);
    EXPECT_EQ(stateOf(1), "running");
    const std::string told = history(id);
    EXPECT_THAT(told, HasSubstr("\nno longer: the guardian of rank0 does not answer"));
    EXPECT_EQ(told.find("\nthe guardian"), told.rfind("\nthe guardian")) << "said once";
}

TEST_F(AgentTest, ADownThatIsGivenUpSaysSoAndTheNextDaemonKeepsItsGrace) {
    const std::string id = submit();
    hello(id);
    controller->start();
    Result<values::DownReport> report = values::DownReport{};
    {
        const std::jthread down([&] { report = controller->down(std::chrono::hours(1)); });
        ASSERT_TRUE(millrace::test::eventually([&] {
            return controller->isGoingDown() && record(id).state == values::RunState::kStopping;
        }));
        controller->giveUpDown();
    }
    EXPECT_EQ(report.status().code(), absl::StatusCode::kUnavailable) << report.status();
    EXPECT_FALSE(controller->isGoingDown());
    makeController();
    ASSERT_TRUE(controller->recover().ok());
    clock.advanceMs(60'000);
    controller->drain();
    EXPECT_TRUE(engine.cancelled.empty()) << "it was given an hour for its checkpoint";
    clock.advanceMs(3'600'000);
    controller->drain();
    EXPECT_THAT(engine.cancelled, ElementsAre(id + ".a1"));
}

TEST_F(AgentTest, AStopOfAnOlderDaemonGivesTheUsualGrace) {
    const std::string id = submit();
    hello(id);
    ASSERT_TRUE(service->stop(id, "enough", std::chrono::seconds(2)).ok());
    std::filesystem::remove(strCat(root, "/runs/", id, "/a1/stop.json"));
    makeController();
    ASSERT_TRUE(controller->recover().ok());
    clock.advanceMs(14'000);
    controller->drain();
    EXPECT_TRUE(engine.cancelled.empty());
    clock.advanceMs(2'000);
    controller->drain();
    EXPECT_THAT(engine.cancelled, ElementsAre(id + ".a1"));
}

}  // namespace
}  // namespace millrace::agent

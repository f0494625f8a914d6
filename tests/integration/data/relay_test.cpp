// Ranks of one stream, some at the leading feed and some behind relays: the stream equals that of
// one process, whatever is killed.
#include <random>

#include "tests/integration/data/data_program.h"
#include "tests/integration/data/rank_readers.h"

namespace millrace {
namespace {

class DataRelay : public DataProgram {
 protected:
    std::string relaySocket(int rank) const {
        return directory_ / strCat("own/relay-", rank, ".sock");
    }
    /// Starts the leading feed for two ranks, unless `more` has another `--world`.
    void startLead(std::vector<std::string> more = {},
                   const std::string& workers = "{min: 0, max: 4}") {
        more.insert(more.begin(), {"--world", "2"});
        startFeed(workers, more);
    }
    std::unique_ptr<Subprocess> startRelay(int rank = 1) const {
        return start(strCat("relay-", rank), {"feed", "--follow", joinFile(), "--socket",
                                              relaySocket(rank), "--ranks", strCat(rank)});
    }
    std::vector<std::string> sockets() const { return {socket(), relaySocket(1)}; }
    static std::string orderHashOf(const std::string& state) {
        const auto read = stream::readState(state);
        EXPECT_TRUE(read.ok()) << read.status();
        return read.ok() ? read->orderHash.hex() : "";
    }
    /// A figure of the feed's last line on its workers.
    double figure(const std::string& name) const {
        const std::string log = said("feed");
        const std::size_t line = log.rfind("feed: data workers");
        const std::size_t at = line == std::string::npos ? line : log.find(name + "=", line);
        return at == std::string::npos ? -1 : std::stod(log.substr(at + name.size() + 1));
    }
    void expectBothEnd(std::unique_ptr<Subprocess>& relay) {
        expectEnd(relay, 0);
        expectEnd(feed_, 0);
        if (HasFailure()) {
            ADD_FAILURE() << said("relay-1") << said("feed");
        }
    }
    /// Compares every value of the stream.
    void expectSameStream(const std::vector<std::string>& feedArguments, std::size_t workers,
                          const std::vector<std::string>& changes = {}) {
        std::vector<std::string> all = feedArguments;
        all.insert(all.end(), changes.begin(), changes.end());
        startLead(all, workers == 0 ? "{min: 0, max: 4}" : "{min: 1, max: 4}");
        std::vector<std::unique_ptr<Subprocess>> processes;
        for (std::size_t w = 0; w < workers; ++w) {
            processes.push_back(startWorker(strCat("worker-", w)));
        }
        awaitJoined(workers);
        auto relay = startRelay();
        expectSame(readStream({"--socket", relaySocket(1), "--ranks", "2"}), report(changes));
        expectBothEnd(relay);
        for (auto& worker : processes) {
            expectEnd(worker, 0);
        }
    }
};

TEST_F(DataRelay, ItIsTheStreamOfOneProcess) {
    expectSameStream({}, 0);
}

TEST_F(DataRelay, WithDataWorkersItIsTheSame) {
    expectSameStream({}, 2);
}

TEST_F(DataRelay, OverTcpAndTlsItIsTheSame) {
    expectSameStream({"--listen", "127.0.0.1"}, 0);
}

// Workers send the frames of a rank on another node straight to its relay.
class DataRelayDirect : public DataRelay {
 protected:
    /// A figure of the feed's last line on the frames of a process, which is a node of its own.
    double ofNode(const std::string& node, const std::string& name) const {
        const std::string log = said("feed");
        const std::size_t line = log.rfind(strCat("feed: frames of a node node=", node, " "));
        const std::size_t at =
            line == std::string::npos ? line : log.find(strCat(" ", name, "="), line);
        return at == std::string::npos ? -1 : std::stod(log.substr(at + name.size() + 2));
    }
    double leadShare() const {
        const double direct = figure("directBytes"), carried = figure("carriedBytes");
        return carried / (direct + carried);
    }
};

TEST_F(DataRelayDirect, OverTcpTheLeadCarriesLittle) {
    expectSameStream({"--listen", "127.0.0.1"}, 2, {"--set", "batch.epochs=20"});
    EXPECT_LT(leadShare(), 0.05) << said("feed");
}

TEST_F(DataRelayDirect, BytesByNodeAreThoseThatWereFetchedAndCarried) {
    startLead({"--listen", "127.0.0.1", "--set", "batch.epochs=4"}, "{min: 1, max: 4}");
    auto worker = startWorker(), other = startWorker("other");
    awaitJoined(2);
    auto relay = startRelay();
    RankReaders(sockets(), {"train"}).readState();
    expectBothEnd(relay);
    expectEnd(worker, 0);
    expectEnd(other, 0);
    const double fetchedAndCarried = figure("directBytes") + figure("carriedBytes");
    EXPECT_GT(fetchedAndCarried, 0) << said("feed");
    EXPECT_EQ(ofNode("relay-1", "receivedRawBytes"), fetchedAndCarried) << said("feed");
    EXPECT_EQ(ofNode("feed", "sentRawBytes"), figure("carriedBytes"));
    double sent = 0, received = 0;
    for (const char* node : {"feed", "relay-1", "worker", "other"}) {
        sent += ofNode(node, "sentRawBytes");
        received += ofNode(node, "receivedRawBytes");
    }
    EXPECT_EQ(sent, received);
    EXPECT_GT(ofNode("worker", "sentBytes"), 0) << said("feed");
    EXPECT_GT(ofNode("other", "sentBytes"), 0) << said("feed");
    EXPECT_EQ(ofNode("relay-1", "sentBytes"), 0) << said("feed");
}

// Else the feed would send that segment to all other nodes over its own link.
TEST_F(DataRelayDirect, WorkersThatHaveJoinedComputeTheFirstSegmentToo) {
    const std::vector<std::string> changes = {"--set", "batch.shuffle=rows"};
    expectSameStream({"--listen", "127.0.0.1"}, 1, changes);
    const auto segments = report(changes)["segments"];
    EXPECT_EQ(figure("segments"), segments.get<double>()) << said("feed");
}

TEST_F(DataRelayDirect, JoinedStepsAndDroppedOnesAreThoseOfOneMachine) {
    for (const bool join : {false, true}) {
        for (const bool dropsLast : {false, true}) {
            const RankOptions options{"train", join, dropsLast};
            const std::vector<std::string> changes = {
                "--world",        "3",     "--listen",       "127.0.0.1", "--set",
                "batch.epochs=8", "--set", "batch.rows=1152"};
            startFeed("{min: 0, max: 4}", changes);
            const std::string expected =
                RankReaders({socket(), socket(), socket()}, options).readState();
            expectEnd(feed_, 0);
            startFeed("{min: 1, max: 4}", changes);
            auto worker = startWorker(), other = startWorker("other");
            auto first = startRelay(1), second = startRelay(2);
            EXPECT_EQ(RankReaders({socket(), relaySocket(1), relaySocket(2)}, options).readState(),
                      expected)
                << join << dropsLast << said("relay-1");
            expectEnd(first, 0);
            expectBothEnd(second);
            expectEnd(worker, 0);
            expectEnd(other, 0);
            EXPECT_GT(figure("directBytes"), figure("carriedBytes")) << said("feed");
        }
    }
}

// Joined steps and incomplete last steps are the same as with all ranks at the leading feed.
TEST_F(DataRelay, JoinedStepsAndDroppedOnesAreThoseOfOneMachine) {
    for (const bool join : {false, true}) {
        for (const bool dropsLast : {false, true}) {
            const RankOptions options{"train", join, dropsLast};
            startLead();
            const std::string expected = RankReaders({socket(), socket()}, options).readState();
            expectEnd(feed_, 0);
            startLead();
            auto relay = startRelay();
            EXPECT_EQ(RankReaders(sockets(), options).readState(), expected)
                << join << dropsLast << said("relay-1");
            expectBothEnd(relay);
        }
    }
}

// Ranks evaluate after the end of training, while no rank has closed its training stream.
TEST_F(DataRelay, RanksEvaluateWhenTheyHaveTrained) {
    std::string expected, seen;
    startLead();
    RankReaders({socket(), socket()},
                {"train", false, false, [](std::int64_t) {},
                 [&] { expected = RankReaders({socket(), socket()}, {"eval"}).readState(); }})
        .readState();
    expectEnd(feed_, 0);
    startLead();
    auto relay = startRelay();
    RankReaders(sockets(), {"train", false, false, [](std::int64_t) {},
                            [&] { seen = RankReaders(sockets(), {"eval"}).readState(); }})
        .readState();
    expectBothEnd(relay);
    EXPECT_EQ(seen, expected);
    EXPECT_FALSE(seen.empty());
}

/// Long streams with events at seeded moments.
class DataRelayChaos : public DataRelay {
 protected:
    static constexpr const char* kEpochs = "batch.epochs=40";

    void SetUp() override {
        DataRelay::SetUp();
        const Json streamed = report({"--set", kEpochs});
        orderHash_ = streamed["order_hash"];
        batches_ = streamed["micro_batches"];
    }
    /// Calls `happen` at `times` moments of rank 0's share; checks that all ranks get the stream of
    /// one process.
    void read(std::vector<std::string> sockets, int times, const std::function<void()>& happen) {
        std::mt19937 random(11);
        std::set<std::int64_t> moments;
        // Early enough that no ring holds the rest of the share: its rank would need no feed.
        const std::int64_t latest = batches_ / 2 * 4 / 10;
        while (std::ssize(moments) < times) {
            moments.insert(1 + static_cast<std::int64_t>(random() % latest));
        }
        RankOptions options;
        options.happens = [&](std::int64_t batch) {
            if (moments.contains(batch)) {
                happen();
            }
        };
        RankReaders readers(std::move(sockets), options);
        EXPECT_EQ(orderHashOf(readers.readState()), orderHash_) << said("feed") << said("relay-1");
        reopens_ = readers.reopens();
    }

    void readWhileWorkersAreKilled(std::vector<std::string> feedArguments) {
        feedArguments.insert(feedArguments.end(), {"--set", kEpochs});
        startLead(feedArguments, "{min: 1, max: 4}");
        int number = 0;
        std::vector<std::unique_ptr<Subprocess>> workers;
        const auto add = [&] { workers.push_back(startWorker(strCat("worker-", number++))); };
        add();
        add();
        awaitJoined(2);
        auto relay = startRelay();
        read(sockets(), 4, [&] {
            workers[workers.size() - 2]->signal(SIGKILL);
            add();
            awaitJoined(static_cast<std::size_t>(number));
        });
        expectBothEnd(relay);
        expectEnd(workers.back(), 0);
    }

    std::string orderHash_;
    std::int64_t batches_ = 0;
    int reopens_ = 0;
};

TEST_F(DataRelayChaos, ARelayThatIsKilledAgainAndAgainChangesNothing) {
    startLead({"--set", kEpochs});
    auto relay = startRelay();
    read(sockets(), 6, [&] {
        relay->signal(SIGKILL);
        EXPECT_TRUE(relay->wait().ok());
        relay = startRelay();
    });
    EXPECT_GE(reopens_, 2);  // a relay may be killed before its rank has connected to it
    expectBothEnd(relay);
}

TEST_F(DataRelayChaos, OverTlsToo) {
    startLead({"--set", kEpochs, "--listen", "127.0.0.1"});
    auto relay = startRelay();
    read(sockets(), 3, [&] {
        relay->signal(SIGKILL);
        EXPECT_TRUE(relay->wait().ok());
        relay = startRelay();
    });
    expectBothEnd(relay);
}

TEST_F(DataRelayChaos, DataWorkersThatAreKilledChangeNothing) {
    readWhileWorkersAreKilled({});
    EXPECT_EQ(reopens_, 0);
}

// The frames that a killed worker owed come from others, and no rank has to come again.
TEST_F(DataRelayChaos, DataWorkersThatOweFramesAreKilled) {
    readWhileWorkersAreKilled({"--listen", "127.0.0.1"});
    EXPECT_EQ(reopens_, 0);
    EXPECT_NE(said("feed").find("another worker has the frames that a lost one owed"),
              std::string::npos);
}

// The leading feed dies; another one starts, with another token in the same join file.
TEST_F(DataRelayChaos, AnotherFeedThatLeadsIsFollowedOn) {
    startLead({"--set", kEpochs});
    auto relay = startRelay();
    read(sockets(), 2, [&] {
        feed_->signal(SIGKILL);
        EXPECT_TRUE(feed_->wait().ok());
        startLead({"--set", kEpochs});
    });
    expectBothEnd(relay);
}

// Workers send frames straight to the relay for the new feed, too.
TEST_F(DataRelayChaos, AnotherFeedThatLeadsGivesReferences) {
    const std::vector<std::string> arguments = {"--set", kEpochs, "--listen", "127.0.0.1"};
    startLead(arguments, "{min: 1, max: 4}");
    auto worker = startWorker();
    awaitJoined(1);
    auto relay = startRelay();
    read(sockets(), 1, [&] {
        feed_->signal(SIGKILL);
        EXPECT_TRUE(feed_->wait().ok());
        startLead(arguments, "{min: 1, max: 4}");
    });
    expectBothEnd(relay);
    expectEnd(worker, 0);
    EXPECT_GT(figure("directBytes"), figure("carriedBytes")) << said("feed");
    EXPECT_GT(figure("directBytes"), 0) << said("feed");
}

// All ranks are behind relays: the leading feed has no reader itself.
TEST_F(DataRelayChaos, BothRanksMayBeBehindRelays) {
    startLead({"--set", kEpochs});
    auto first = startRelay(0), second = startRelay(1);
    read({relaySocket(0), relaySocket(1)}, 2, [&] {
        second->signal(SIGKILL);
        EXPECT_TRUE(second->wait().ok());
        second = startRelay(1);
    });
    expectEnd(first, 0);
    expectBothEnd(second);
}

TEST_F(DataRelay, ARankThatItDoesNotServeIsRefused) {
    startLead();
    auto relay = startRelay();
    const auto seen = RankReaders({relaySocket(1)}, {}).read();
    EXPECT_NE(seen[0].error.find("rank 0 of 1, this feed serves 2"), std::string::npos)
        << seen[0].error;
    const SubprocessOutput other = run({"ring-reader", "--socket", relaySocket(1), "--ranks", "2"});
    EXPECT_NE(other.err.find("not one of those that this relay serves"), std::string::npos)
        << other.err;
}

// An error in the data reaches every rank, with the exit code for errors in data.
TEST_F(DataRelay, DamagedDataIsToldBehindARelayToo) {
    const SubprocessOutput good = run({"count", "spec.yaml"});
    ASSERT_EQ(good.exitCode, 0) << good.err;
    startLead({"--set", "batch.order=as_is"});
    auto relay = startRelay();
    ASSERT_TRUE(test::eventually([&] { return numSaid("relay-1", "relay: serves") > 0; }));
    std::string text = readFile(directory_ / "part-1.csv").value();
    text.replace(text.find("1501"), 4, "x5y1");
    write("part-1.csv", text);
    for (const RankSeen& seen : RankReaders(sockets(), {}).read()) {
        EXPECT_EQ(seen.result, MILLRACE_FEED_FAILED);
        EXPECT_NE(seen.error.find("part-1.csv"), std::string::npos) << seen.error;
    }
    expectEnd(feed_, 4);
    expectEnd(relay, 0);
}

TEST_F(DataRelay, WhoseFeedDiedEndsAndSaysSo) {
    startLead();
    auto relay = startRelay();
    ASSERT_TRUE(test::eventually([&] { return numSaid("relay-1", "relay: serves") > 0; }));
    feed_->signal(SIGKILL);
    EXPECT_TRUE(feed_->wait().ok());
    ::unlink(joinFile().c_str());
    expectEnd(relay, 5);
    EXPECT_NE(said("relay-1").find("is gone"), std::string::npos) << said("relay-1");
}

TEST_F(DataRelay, WhoIsToldToStopEndsAtOnce) {
    auto early = startRelay();  // no feed is there yet
    ASSERT_TRUE(test::eventually([&] { return numSaid("relay-1", "relay: follows") > 0; }));
    early->signal(SIGTERM);
    expectEnd(early, 3);
    startLead();
    auto relay = startRelay();
    ASSERT_TRUE(test::eventually([&] { return numSaid("relay-1", "relay: serves") > 0; }));
    relay->signal(SIGTERM);
    expectEnd(relay, 3);
    auto next = startRelay();
    RankReaders(sockets(), {}).readState();
    expectBothEnd(next);
}

}  // namespace
}  // namespace millrace

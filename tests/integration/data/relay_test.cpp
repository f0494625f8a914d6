// Ranks of one stream, some at the leading feed and some behind relays: the stream is that of one
// process, whatever is killed.
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
    /// Of two ranks, unless `more` says otherwise.
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
    void expectBothEnd(std::unique_ptr<Subprocess>& relay) {
        expectEnd(relay, 0);
        expectEnd(feed_, 0);
    }
    /// Every value of it.
    void expectSameStream(const std::vector<std::string>& feedArguments, std::size_t workers) {
        startLead(feedArguments, workers == 0 ? "{min: 0, max: 4}" : "{min: 1, max: 4}");
        std::vector<std::unique_ptr<Subprocess>> all;
        for (std::size_t w = 0; w < workers; ++w) {
            all.push_back(startWorker(strCat("worker-", w)));
        }
        awaitJoined(workers);
        auto relay = startRelay();
        expectSame(readStream({"--socket", relaySocket(1), "--ranks", "2"}), report());
        expectBothEnd(relay);
        for (auto& worker : all) {
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

// Joined steps, and last steps that are not whole: against ranks that are all at the lead.
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

// The evaluation goes on behind the end of training, which no rank has closed.
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

}  // namespace
}  // namespace millrace

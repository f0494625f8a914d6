// Ranks of the built-in trainer that meet across relays.
#include "backend/train/ranks/group.h"

#include <numeric>
#include <thread>

#include "tests/integration/data/data_program.h"
#include "tests/integration/data/rank_readers.h"

namespace millrace {
namespace {

class DataGroup : public DataProgram {
 protected:
    static constexpr int kRanks = 3;
    std::string groupSocket(int rank) const {
        return directory_ / strCat("own/ranks-", rank, ".sock");
    }
    std::string ringSocket(int rank) const {
        return rank == 0 ? socket() : directory_ / strCat("own/relay-", rank, ".sock");
    }

    void startAll(const std::vector<std::string>& more = {}) {
        std::vector<std::string> arguments = {"--world",       strCat(kRanks),   "--set",
                                              "batch.rows=96", "--group-socket", groupSocket(0)};
        arguments.insert(arguments.end(), more.begin(), more.end());
        startFeed("{min: 0, max: 4}", arguments);
        for (int rank = 1; rank < kRanks; ++rank) {
            relays_.push_back(
                start(strCat("relay-", rank),
                      {"feed", "--follow", joinFile(), "--socket", ringSocket(rank), "--ranks",
                       strCat(rank), "--group-socket", groupSocket(rank)}));
        }
        for (int rank = 1; rank < kRanks; ++rank) {
            ASSERT_TRUE(test::eventually([&] {
                return ::access(groupSocket(rank).c_str(), F_OK) == 0;
            })) << said(strCat("relay-", rank))
                << said("feed");
        }
    }

    /// The calls that a trainer makes on its group, until its end.
    static void train(train::Group& group) {
        const auto rank = static_cast<float>(group.rank());
        std::vector<float> large(1'000'000);
        std::iota(large.begin(), large.end(), rank);
        ASSERT_TRUE(group.sum(std::span(large)).ok());
        EXPECT_EQ(large[7], 7 * kRanks + kRanks * (kRanks - 1) / 2.0);
        for (int round = 0; round < 50; ++round) {
            std::vector<double> sums = {1.0, static_cast<double>(round)};
            ASSERT_TRUE(group.sum(std::span(sums)).ok());
            EXPECT_EQ(sums[1], kRanks * round);
        }
        const auto said = group.gather(strCat("rank ", group.rank()));
        ASSERT_TRUE(said.ok()) << said.status();
        EXPECT_EQ(*said, (std::vector<std::string>{"rank 0", "rank 1", "rank 2"}));
    }

    void expectSums() {
        std::vector<std::unique_ptr<train::Group>> groups(kRanks);
        std::vector<std::jthread> threads;
        for (int rank = kRanks - 1; rank >= 0; --rank) {  // rank 0 joins last
            threads.emplace_back([this, rank, &groups] {
                auto group = train::makeSocketGroup({groupSocket(rank), rank, kRanks});
                ASSERT_TRUE(group.ok()) << group.status();
                groups[static_cast<std::size_t>(rank)] = std::move(*group);
                train(*groups[static_cast<std::size_t>(rank)]);
            });
        }
        threads.clear();
        std::vector<std::string> sockets;
        for (int rank = 0; rank < kRanks; ++rank) {
            sockets.push_back(ringSocket(rank));
        }
        RankReaders(sockets, {}).readState();
        // All rows are read, but a feed or relay that forwards a group's messages keeps running.
        for (std::size_t rank = 0; rank < kRanks; ++rank) {
            threads.emplace_back([rank, &groups] { train(*groups[rank]); });
        }
        threads.clear();
        groups.clear();
        for (auto& relay : relays_) {
            expectEnd(relay, 0);
        }
        expectEnd(feed_, 0);
    }

    std::vector<std::unique_ptr<Subprocess>> relays_;
};

TEST_F(DataGroup, RanksBehindRelaysSumWithTheOthers) {
    startAll();
    expectSums();
}

TEST_F(DataGroup, OverTcpAndTlsToo) {
    startAll({"--listen", "127.0.0.1"});
    expectSums();
}

TEST_F(DataGroup, ARankThatGoesIsHeardOfByTheOthers) {
    startAll();
    std::vector<std::unique_ptr<train::Group>> groups(kRanks);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < kRanks; ++rank) {
        threads.emplace_back([this, rank, &groups] {
            groups[static_cast<std::size_t>(rank)] =
                train::makeSocketGroup({groupSocket(rank), rank, kRanks}).value();
        });
    }
    threads.clear();
    groups[1].reset();
    for (const std::size_t rank : {std::size_t{0}, std::size_t{2}}) {
        threads.emplace_back([rank, &groups] {
            const auto said = groups[rank]->gather("");
            EXPECT_EQ(said.status().code(), absl::StatusCode::kUnavailable);
            groups[rank].reset();
        });
    }
    threads.clear();
}

}  // namespace
}  // namespace millrace

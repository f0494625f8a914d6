// Groups of ranks, as threads and as processes on sockets: each rank receives what the others send.
#include "backend/train/ranks/group.h"

#include <thread>

#include <gmock/gmock.h>

#include "backend/train/ranks/step_sums.h"
#include "tests/unit/train/scratch.h"
#include "tests/unit/train/thread_groups.h"

namespace millrace::train {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

enum class Kind { kThreads, kSockets };

/// Runs `body` in `size` ranks.
void inRanks(Kind kind, int size, const std::function<void(Group&)>& body) {
    const test::Scratch scratch;
    const auto threads = makeThreadGroups(size);
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < size; ++rank) {
        ranks.emplace_back([&, rank] {
            if (kind == Kind::kThreads) {
                return body(*threads[static_cast<std::size_t>(rank)]);
            }
            const auto group = makeSocketGroup({scratch / "ranks.sock", rank, size});
            ASSERT_TRUE(group.ok()) << group.status();
            body(**group);
        });
    }
}

class Groups : public ::testing::TestWithParam<std::pair<Kind, int>> {};

TEST_P(Groups, HearTheSameInTheOrderOfRanks) {
    const auto [kind, size] = GetParam();
    inRanks(kind, size, [size = size](Group& group) {
        for (int round = 0; round < 50; ++round) {
            const std::string mine(static_cast<std::size_t>(round * 1000 * group.rank()),
                                   static_cast<char>('a' + group.rank()));
            const auto all = group.gather(mine);
            ASSERT_TRUE(all.ok()) << all.status();
            ASSERT_EQ(all->size(), static_cast<std::size_t>(size));
            for (int rank = 0; rank < size; ++rank) {
                EXPECT_EQ((*all)[static_cast<std::size_t>(rank)],
                          std::string(static_cast<std::size_t>(round * 1000 * rank),
                                      static_cast<char>('a' + rank)));
            }
        }
    });
}

TEST_P(Groups, RankZeroCollectsAndTells) {
    const auto [kind, size] = GetParam();
    inRanks(kind, size, [size = size](Group& group) {
        for (int round = 0; round < 50; ++round) {
            const auto all = group.collect(strCat("of ", group.rank(), " in ", round));
            ASSERT_TRUE(all.ok()) << all.status();
            ASSERT_EQ(all->size(), group.rank() == 0 ? static_cast<std::size_t>(size) : 0);
            for (std::size_t rank = 0; rank < all->size(); ++rank) {
                EXPECT_EQ((*all)[rank], strCat("of ", rank, " in ", round));
            }
            const auto told = group.ofFirst(strCat(group.rank(), " says ", round));
            ASSERT_TRUE(told.ok()) << told.status();
            EXPECT_EQ(*told, strCat("0 says ", round));
        }
    });
}

TEST_P(Groups, AddInTheOrderOfRanks) {
    const auto [kind, size] = GetParam();
    inRanks(kind, size, [size = size](Group& group) {
        // The sum of these floats depends on the order.
        std::vector<float> values(
            100'000, group.rank() % 2 == 0 ? 1e8F : 1.25F + static_cast<float>(group.rank()));
        ASSERT_TRUE(group.sum(std::span<float>(values)).ok());
        float want = 0;
        for (int rank = 0; rank < size; ++rank) {
            const float one = rank % 2 == 0 ? 1e8F : 1.25F + static_cast<float>(rank);
            want = rank == 0 ? one : want + one;
        }
        EXPECT_EQ(values.front(), want);
        EXPECT_EQ(values.back(), want);
    });
}

TEST_P(Groups, SumUpTheirSharesOfAStep) {
    const auto [kind, size] = GetParam();
    inRanks(kind, size, [size = size](Group& group) {
        const auto all = sumOverRanks({{1.0 + group.rank(), 2}, {1, 4}, 10}, group);
        ASSERT_TRUE(all.ok()) << all.status();
        EXPECT_EQ(all->rows, 10 * size);
        EXPECT_EQ(all->loss[0], size * (size + 1) / 2.0);
        EXPECT_EQ(all->weight[1], 4.0 * size);
    });
}

INSTANTIATE_TEST_SUITE_P(All, Groups,
                         ::testing::Values(std::pair{Kind::kThreads, 1},
                                           std::pair{Kind::kThreads, 4},
                                           std::pair{Kind::kSockets, 1},
                                           std::pair{Kind::kSockets, 2},
                                           std::pair{Kind::kSockets, 5}));

TEST(SocketGroup, ARankThatGoesIsNamed) {
    inRanks(Kind::kSockets, 3, [](Group& group) {
        if (group.rank() == 2) {
            return;
        }
        // Rank 1 hears of it when rank 0 goes.
        const auto all = group.gather("here");
        EXPECT_EQ(all.status().code(), absl::StatusCode::kUnavailable);
        EXPECT_THAT(std::string(all.status().message()),
                    HasSubstr(group.rank() == 0 ? "rank 2 is gone" : "rank 0 is gone"));
    });
}

TEST(SocketGroup, RanksThatCannotBeAreRefused) {
    EXPECT_FALSE(makeSocketGroup({"x", 2, 2}).ok());
    EXPECT_FALSE(makeSocketGroup({"x", -1, 2}).ok());
}

}  // namespace
}  // namespace millrace::train

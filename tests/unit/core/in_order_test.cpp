// InOrder: several threads make items, one takes them in order.
#include "backend/core/in_order.h"

#include <atomic>
#include <memory>
#include <numeric>

#include <gtest/gtest.h>

namespace millrace {
namespace {

using Number = std::unique_ptr<std::size_t>;  // may only be moved

class MakeInOrder : public ::testing::TestWithParam<int> {};

TEST_P(MakeInOrder, AllAreTakenInTheirOrderAndNoMoreThanAheadStandMade) {
    constexpr std::size_t kCount = 500, kAhead = 3;
    std::atomic<std::size_t> begun{0}, taken{0};
    std::atomic<bool> isTooMany{false};
    std::vector<std::size_t> got;
    const Status status = makeInOrder<Number>(
        kCount, GetParam(), kAhead, "make",
        [&](std::size_t i) -> Result<Number> {
            // Makes one more item; it counts as taken once the taker holds it.
            if (++begun > taken + kAhead + 1) {
                isTooMany = true;
            }
            return std::make_unique<std::size_t>(i);
        },
        [&](Number number) {
            got.push_back(*number);
            ++taken;
            return okStatus();
        });
    ASSERT_TRUE(status.ok()) << status;
    std::vector<std::size_t> expected(kCount);
    std::iota(expected.begin(), expected.end(), std::size_t{0});
    EXPECT_EQ(got, expected);
    EXPECT_FALSE(isTooMany);
}

TEST_P(MakeInOrder, TheFirstThatCannotBeMadeIsToldAfterThoseBeforeItAreTaken) {
    std::size_t taken = 0;
    const Status status = makeInOrder<std::size_t>(
        100, GetParam(), 4, "make",
        [](std::size_t i) -> Result<std::size_t> {
            return i % 10 == 7 ? Result<std::size_t>(invalidArgument("number ", i))
                               : Result<std::size_t>(i);
        },
        [&taken](std::size_t) {
            ++taken;
            return okStatus();
        });
    EXPECT_EQ(messageOf(status), "number 7");
    EXPECT_EQ(taken, 7U);
}

TEST_P(MakeInOrder, AfterAFailureOfTheTakerNoMoreAreBegun) {
    std::atomic<std::size_t> begun{0};
    const Status status = makeInOrder<std::size_t>(
        100'000, GetParam(), 2, "make",
        [&begun](std::size_t i) -> Result<std::size_t> {
            ++begun;
            return i;
        },
        [](std::size_t i) { return i == 5 ? invalidArgument("full") : okStatus(); });
    EXPECT_EQ(messageOf(status), "full");
    EXPECT_LE(begun, 5U + 1 + 2 + 2);
}

TEST_P(MakeInOrder, OfNoneNoneIsTaken) {
    const Status status = makeInOrder<std::size_t>(
        0, GetParam(), 1, "make", [](std::size_t i) -> Result<std::size_t> { return i; },
        [](std::size_t) { return invalidArgument("none was made"); });
    EXPECT_TRUE(status.ok()) << status;
}

INSTANTIATE_TEST_SUITE_P(Threads, MakeInOrder, ::testing::Values(1, 2, 5));

}  // namespace
}  // namespace millrace

// SideThread with its thread, as the daemon uses it.
#include "daemon/agent/run/side_thread.h"

#include <atomic>
#include <future>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/poll.h"

namespace millrace::agent {
namespace {

using ::testing::ElementsAre;

/// Its results arrive in a queue that the test empties, as the agent's thread does.
class SideThreadTest : public ::testing::Test {
 protected:
    SideThreadTest() { side_.start(); }
    /// One result.
    void dealWithOne() {
        std::optional<SideThread::Then> then = found_.pop();
        ASSERT_TRUE(then.has_value());
        (*then)();
    }
    /// Work that waits until release().
    SideThread::Work held() {
        return [this](const auto&) -> SideThread::Then {
            begun_.set_value();
            open_.get_future().wait();
            return [] {};
        };
    }

    BoundedQueue<SideThread::Then> found_{64};
    std::promise<void> begun_, open_;
    SideThread side_{"side-test", [this](SideThread::Then then) { (void)found_.push(then); }};
};

TEST_F(SideThreadTest, WorkRunsBesideItsOwnerAndWhatItFoundOnTheOwnersThread) {
    const std::thread::id owner = std::this_thread::get_id();
    std::vector<int> order;
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(side_.run([&order, owner, i](const auto& isEnding) -> SideThread::Then {
            const bool isBeside = std::this_thread::get_id() != owner && !isEnding();
            return [&order, owner, i, isBeside] {
                EXPECT_EQ(std::this_thread::get_id(), owner);
                order.push_back(isBeside ? i : -1);
            };
        }));
    }
    for (int i = 0; i < 3; ++i) {
        dealWithOne();
    }
    EXPECT_THAT(order, ElementsAre(0, 1, 2));
}

TEST_F(SideThreadTest, TheOwnerNeverWaitsForRoom) {
    ASSERT_TRUE(side_.run(held()));
    begun_.get_future().wait();
    const auto nothing = [](const auto&) -> SideThread::Then { return [] {}; };
    std::size_t taken = 0;
    while (taken <= SideThread::kMostWaiting && side_.run(nothing)) {
        ++taken;
    }
    EXPECT_EQ(taken, SideThread::kMostWaiting);
    found_.close();  // the rest is dropped
    open_.set_value();
    EXPECT_TRUE(test::eventually([&] { return side_.run(nothing); })) << "there is room again";
}

TEST_F(SideThreadTest, AnEndIsSeenByTheWorkThatRunsAndDropsTheRest) {
    std::atomic<bool> hasSeenEnd{false}, hasRunMore{false};
    ASSERT_TRUE(side_.run([&](const SideThread::IsEnding& isEnding) -> SideThread::Then {
        begun_.set_value();
        hasSeenEnd = test::eventually([&] { return isEnding(); });
        return [] {};
    }));
    ASSERT_TRUE(side_.run([&](const auto&) -> SideThread::Then {
        hasRunMore = true;
        return [] {};
    }));
    begun_.get_future().wait();
    side_.end();
    EXPECT_TRUE(hasSeenEnd);
    EXPECT_FALSE(hasRunMore);
    EXPECT_FALSE(side_.run([](const auto&) -> SideThread::Then { return [] {}; }));
}

}  // namespace
}  // namespace millrace::agent

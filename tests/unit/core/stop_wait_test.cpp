#include "backend/core/stop_wait.h"

#include <gtest/gtest.h>

#include "backend/core/thread.h"

namespace millrace {
namespace {

TEST(StopWait, EndsWhenAStopIsRequested) {
    bool wasRequested = false;
    {
        const std::jthread waiting = startThread("wait", [&](const std::stop_token& stop) {
            wasRequested = waitForStop(stop, std::chrono::hours(1));
        });
    }
    EXPECT_TRUE(wasRequested);
}

TEST(StopWait, EndsAfterItsTimeWithoutAStop) {
    const std::chrono::milliseconds time(1);
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_FALSE(waitForStop(std::stop_token(), time));
    EXPECT_GE(std::chrono::steady_clock::now() - begun, time);
}

}  // namespace
}  // namespace millrace

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
    EXPECT_FALSE(waitForStop(std::stop_token(), std::chrono::milliseconds(1)));
}

}  // namespace
}  // namespace millrace

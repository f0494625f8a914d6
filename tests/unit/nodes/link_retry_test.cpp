// The time at which a refused agent gives up.
#include "daemon/nodes/link_retry.h"

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"

namespace millrace::nodes {
namespace {

class LinkRetryTest : public ::testing::Test {
 protected:
    void refuseFor(int seconds) {
        for (int i = 0; i <= seconds; ++i) {
            retry_.failed(alreadyExists("an agent of this name is here"));
            clock_.advanceMs(1'000);
        }
    }
    FakeClock clock_;
    LinkRetry retry_{clock_};
};

TEST_F(LinkRetryTest, ARefusalThatStaysIsFinal) {
    refuseFor(9);
    EXPECT_TRUE(retry_.refusal().ok());
    refuseFor(1);
    EXPECT_TRUE(absl::IsAlreadyExists(retry_.refusal()));
}

TEST_F(LinkRetryTest, AHeadThatDoesNotAnswerRefusesNobody) {
    refuseFor(2);
    clock_.advanceMs(60'000);  // a call that hangs
    EXPECT_TRUE(retry_.refusal().ok());
    retry_.failed(unavailable("the connection broke"));
    EXPECT_TRUE(retry_.refusal().ok());
    refuseFor(9);
    EXPECT_TRUE(retry_.refusal().ok()) << "it is refused anew";
}

TEST_F(LinkRetryTest, AHeadThatAnsweredIsCalledAgainSoon) {
    refuseFor(9);
    retry_.heard();
    refuseFor(0);
    EXPECT_TRUE(retry_.refusal().ok());
    EXPECT_TRUE(retry_.isDue()) << "a second later";
}

}  // namespace
}  // namespace millrace::nodes

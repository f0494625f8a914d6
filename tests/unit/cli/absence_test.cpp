#include <gtest/gtest.h>

#include "app/cli/follow.h"
#include "tests/support/fake_client.h"

namespace millrace::cli {
namespace {

class FarClient : public client::FakeClient {
 public:
    using FakeClient::FakeClient;
    std::string address() const override { return "ssh://gpu1"; }
};

constexpr std::int64_t kSecondNs = 1'000'000'000, kHourNs = 3'600 * kSecondNs;

session::Link linkIn(session::LinkState state) {
    session::Link link;
    link.state = state;
    return link;
}

TEST(AbsenceTest, TwoMinutesEndLinesAndADayThoseOverSsh) {
    client::FakeAnswers answers;
    const client::FakeClient near(answers);
    const FarClient far(answers);
    const auto away = linkIn(session::LinkState::kReconnecting);
    ConnectionTimeout here(near), there(far);
    EXPECT_FALSE(here.isTooLong(away, kSecondNs));
    EXPECT_FALSE(here.isTooLong(away, 120 * kSecondNs));
    EXPECT_TRUE(here.isTooLong(away, 122 * kSecondNs));
    EXPECT_FALSE(there.isTooLong(away, kSecondNs));
    EXPECT_FALSE(there.isTooLong(away, 8 * kHourNs));
    EXPECT_TRUE(there.isTooLong(away, 25 * kHourNs));
}

TEST(AbsenceTest, WhoCameBackHasTheWholeTimeAgain) {
    client::FakeAnswers answers;
    const client::FakeClient near(answers);
    ConnectionTimeout absence(near);
    const auto away = linkIn(session::LinkState::kReconnecting);
    EXPECT_FALSE(absence.isTooLong(away, kSecondNs));
    EXPECT_FALSE(absence.isTooLong(linkIn(session::LinkState::kConnected), 100 * kSecondNs));
    EXPECT_FALSE(absence.isTooLong(away, 200 * kSecondNs));
    EXPECT_FALSE(absence.isTooLong(away, 310 * kSecondNs));
    EXPECT_TRUE(absence.isTooLong(away, 330 * kSecondNs));
}

}  // namespace
}  // namespace millrace::cli

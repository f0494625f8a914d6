#include "app/gui/bridge/daemon_probe.h"

#include <QTest>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_daemon_client.h"

namespace millrace::gui {
namespace {

using Answer = ProbeState::Answer;

class DaemonProbeTest : public testing::Test {
 protected:
    bool becomes(const std::string& address, Answer answer) {
        return QTest::qWaitFor([&] { return probe->state(address).answer == answer; }, 20'000);
    }
    client::FakeDaemon one, two;
    std::unique_ptr<DaemonProbe> probe =
        std::make_unique<DaemonProbe>([this](const std::string& address) {
            return address == "unix:/two" ? two.makeClient(address) : one.makeClient(address);
        });
};

TEST_F(DaemonProbeTest, EveryDaemonHasAStateOfItsOwn) {
    two.goAway();
    std::vector<std::string> changed;
    QObject::connect(&*probe, &DaemonProbe::changed, &*probe,
                     [&](const QString& address) { changed.push_back(address.toStdString()); });
    EXPECT_EQ(probe->state("unix:/one").answer, Answer::kNone);
    probe->setAddresses({"unix:/one", "unix:/two"});
    EXPECT_TRUE(becomes("unix:/one", Answer::kReachable));
    EXPECT_TRUE(becomes("unix:/two", Answer::kUnreachable));
    EXPECT_EQ(probe->state("unix:/one").version, "0.1.0");
    EXPECT_THAT(probe->state("unix:/two").sentence, testing::HasSubstr("no daemon answers"));
    EXPECT_TRUE(QTest::qWaitFor([&] { return changed.size() == 2; }, 20'000));
    EXPECT_THAT(changed, testing::UnorderedElementsAre("unix:/one", "unix:/two"));
}

TEST_F(DaemonProbeTest, ANewerProtocolIsRefusedAndADaemonThatComesBackIsSeen) {
    one.speakProtocol(3);
    probe->setAddresses({"unix:/one"});
    EXPECT_TRUE(becomes("unix:/one", Answer::kRefused));
    EXPECT_THAT(probe->state("unix:/one").sentence, testing::HasSubstr("protocol 3"));
    one.speakProtocol(1);
    probe->askNow();
    EXPECT_TRUE(becomes("unix:/one", Answer::kReachable));
    EXPECT_EQ(probe->state("unix:/one").sentence, "");
}

TEST_F(DaemonProbeTest, AForgottenDaemonIsNotAskedAnyMore) {
    probe->setAddresses({"unix:/one", "unix:/two"});
    ASSERT_TRUE(becomes("unix:/two", Answer::kReachable));
    ASSERT_TRUE(becomes("unix:/one", Answer::kReachable));
    probe->setAddresses({"unix:/one"});
    const int before = two.numCalls("handshake");
    one.goAway();
    probe->askNow();
    ASSERT_TRUE(becomes("unix:/one", Answer::kUnreachable));
    EXPECT_EQ(two.numCalls("handshake"), before);
    EXPECT_EQ(probe->state("unix:/two").answer, Answer::kNone);
}

TEST_F(DaemonProbeTest, TheProbeEndsQuicklyWhileAHandshakeHangs) {
    one.hang("handshake");
    probe->setAddresses({"unix:/one"});
    ASSERT_TRUE(QTest::qWaitFor([&] { return one.numHanging() == 1; }, 20'000));
    const auto start = std::chrono::steady_clock::now();
    probe.reset();
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

}  // namespace
}  // namespace millrace::gui

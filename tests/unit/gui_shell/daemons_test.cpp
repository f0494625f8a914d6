#include <QAccessible>
#include <QCompleter>
#include <QLineEdit>
#include <QSettings>
#include <QSignalSpy>
#include <QStringListModel>
#include <QTemporaryDir>
#include <QTest>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/gui/models/known_daemons.h"
#include "app/gui/widgets/shell/connection_bar.h"

namespace millrace::gui {
namespace {

using session::Link;
using session::LinkState;
using ::testing::HasSubstr;

Link linkIn(LinkState state, const std::string& sentence = "", std::int64_t sinceMs = 0) {
    Link link;
    link.state = state;
    link.sentence = sentence;
    link.sinceMs = sinceMs;
    return link;
}

TEST(KnownDaemons, TheOwnSocketStandsFirstAndStays) {
    KnownDaemons daemons("/run/millrace/millraced.sock");
    ASSERT_EQ(daemons.all().size(), 1U);
    EXPECT_EQ(daemons.current(), "unix:/run/millrace/millraced.sock");
    daemons.remove(daemons.current());
    EXPECT_EQ(daemons.all().size(), 1U);
    EXPECT_EQ(shortName(daemons.all()[0]), "this machine");
}

TEST(KnownDaemons, AnOwnOneOnAnotherHostIsNotThisMachine) {
    EXPECT_EQ(shortName(KnownDaemons("ssh://me@gpu1").all()[0]), "me@gpu1");
    EXPECT_EQ(shortName(KnownDaemons("gpu1:7443").all()[0]), "gpu1:7443");
}

TEST(KnownDaemons, AnAddressThatCannotBeReadIsRefusedWithASentence) {
    KnownDaemons daemons("unix:/own.sock");
    EXPECT_THAT(std::string(daemons.add("nonsense").status().message()),
                HasSubstr("unix:PATH or ssh://HOST"));
    EXPECT_FALSE(daemons.add("  ").ok());
    EXPECT_FALSE(daemons.add("host:99999").ok());
    EXPECT_THAT(std::string(daemons.add("/own.sock").status().message()), HasSubstr("already"));
    EXPECT_EQ(daemons.all().size(), 1U);
}

TEST(KnownDaemons, NamesAndAliasesStandForTheirAddresses) {
    KnownDaemons daemons("unix:/own.sock");
    EXPECT_FALSE(daemons.add("lab").ok());
    daemons.setHosts({{"lab", "ssh://alice@gpu1", "work"}}, {"gpu2"});
    EXPECT_EQ(daemons.suggestions(), QStringList({"lab", "ssh://gpu2"}));
    EXPECT_EQ(daemons.add("lab").value(), "ssh://alice@gpu1");
    EXPECT_EQ(daemons.add("gpu2").value(), "ssh://gpu2");
    ASSERT_TRUE(daemons.add("ssh://bob@gpu3:2222").ok());
    EXPECT_EQ(shortName(daemons.all()[1]), "lab");
    EXPECT_EQ(shortName(daemons.all()[2]), "gpu2");
    EXPECT_EQ(shortName(daemons.all()[3]), "bob@gpu3:2222");
    daemons.setHosts({}, {});
    EXPECT_EQ(shortName(daemons.all()[1]), "alice@gpu1");
}

TEST(KnownDaemons, OverSshTheCommandThatHelpsFitsWhatIsWrong) {
    KnownDaemons daemons("unix:/own.sock");
    ASSERT_TRUE(daemons.add("ssh://gpu1").ok());
    const auto commandAfter = [&](const char* sentence) {
        daemons.setLink("ssh://gpu1", linkIn(LinkState::kReconnecting, sentence));
        return helpfulCommand(*daemons.find("ssh://gpu1"));
    };
    EXPECT_EQ(commandAfter("no connection to ssh://gpu1: no SSH server answers there"),
              "millrace host test ssh://gpu1");
    EXPECT_EQ(commandAfter("no daemon answers on ssh://gpu1 (there is no socket x)"),
              "millrace up --host ssh://gpu1");
    EXPECT_EQ(
        commandAfter("no daemon answers on ssh://gpu1 (x), and millrace is not installed there; "
                     "'millrace up --install --host ssh://gpu1' brings it"),
        "millrace up --install --host ssh://gpu1");
}

TEST(KnownDaemons, RemovingTheCurrentOneGoesToTheOneBefore) {
    KnownDaemons daemons("unix:/own.sock");
    ASSERT_TRUE(daemons.add("gpu-01:7443").ok());
    daemons.setCurrent("gpu-01:7443");
    QSignalSpy went(&daemons, &KnownDaemons::currentChanged);
    daemons.remove("gpu-01:7443");
    EXPECT_EQ(daemons.current(), "unix:/own.sock");
    EXPECT_EQ(went.count(), 1);
}

TEST(KnownDaemons, AreTheSameAfterARestart) {
    QTemporaryDir folder;
    QSettings settings(folder.filePath("s.ini"), QSettings::IniFormat);
    KnownDaemons before("unix:/own.sock");
    ASSERT_TRUE(before.add("gpu-01:7443").ok());
    ASSERT_TRUE(before.add("/other.sock").ok());
    before.setCurrent("gpu-01:7443");
    before.save(settings);
    KnownDaemons after("unix:/own.sock");
    after.restore(settings);
    ASSERT_EQ(after.all().size(), 3U);
    EXPECT_EQ(after.current(), "gpu-01:7443");
    EXPECT_EQ(after.all()[2].address, "unix:/other.sock");
}

TEST(KnownDaemons, SettingsThatSomebodyBrokeAreReadAsFarAsTheyGo) {
    QTemporaryDir folder;
    QSettings settings(folder.filePath("s.ini"), QSettings::IniFormat);
    settings.setValue("daemons/list", QStringList{"gpu-01:7443", "rubbish", "gpu-01:7443"});
    settings.setValue("daemons/current", "elsewhere:1");
    KnownDaemons daemons("unix:/own.sock");
    daemons.restore(settings);
    EXPECT_EQ(daemons.all().size(), 2U);
    EXPECT_EQ(daemons.current(), "unix:/own.sock");
}

TEST(KnownDaemons, AreStaleWhenLiveDataStopsComing) {
    KnownDaemons daemons("unix:/own.sock");
    daemons.setLink("unix:/own.sock", linkIn(LinkState::kConnected));
    EXPECT_EQ(staleText(daemons.all()[0], 100'000), "") << "nothing has been heard yet";
    daemons.heard("unix:/own.sock", 100'000);
    EXPECT_EQ(staleText(daemons.all()[0], 103'000), "");
    EXPECT_EQ(staleText(daemons.all()[0], 112'400), "stale 12 s");
    EXPECT_EQ(staleText(daemons.all()[0], 100'000 + 300'000), "stale 5 min");
    daemons.setLink("unix:/own.sock", linkIn(LinkState::kReconnecting, "gone"));
    EXPECT_EQ(staleText(daemons.all()[0], 102'000), "stale 2 s") << "a lost one at once";
}

TEST(KnownDaemons, SayWhatIsWrongAndWhatToDo) {
    KnownDaemons daemons("unix:/own.sock");
    const std::string own = "unix:/own.sock";
    EXPECT_EQ(problemSentence(daemons.all()[0]), "");
    daemons.setLink(own, linkIn(LinkState::kReconnecting,
                                "no daemon answers at unix:/own.sock (no such file or directory); "
                                "'millrace up' starts one"));
    EXPECT_EQ(problemSentence(daemons.all()[0]),
              "No daemon answers at unix:/own.sock (no such file or directory); 'millrace up' "
              "starts one. Trying again by itself.");
    EXPECT_EQ(helpfulCommand(daemons.all()[0]), "millrace up");
    daemons.setLink(own, linkIn(LinkState::kRefused, "the daemon speaks protocol 9"));
    EXPECT_EQ(problemSentence(daemons.all()[0]), "The daemon speaks protocol 9.");
    EXPECT_EQ(helpfulCommand(daemons.all()[0]), "");
    daemons.setLink(own, linkIn(LinkState::kConnected));
    EXPECT_EQ(problemSentence(daemons.all()[0]), "");
}

class ConnectionBarTest : public testing::Test {
 protected:
    ConnectionBarTest() { bar.resize(1200, 60); }
    std::int64_t nowMs = 1'000'000;
    KnownDaemons daemons{"unix:/own.sock"};
    ConnectionBar bar{daemons, [this] { return nowMs; }};
};

TEST_F(ConnectionBarTest, HasAChipForEveryDaemonAndABadgeOnAStaleOne) {
    ASSERT_TRUE(daemons.add("gpu-01:7443").ok());
    ASSERT_EQ(bar.chips().size(), 2U);
    daemons.setLink("unix:/own.sock", linkIn(LinkState::kConnected));
    daemons.heard("unix:/own.sock", nowMs);
    EXPECT_EQ(bar.chips()[0]->badge(), "");
    nowMs += 12'000;
    ASSERT_TRUE(QTest::qWaitFor([&] { return bar.chips()[0]->badge() == "stale 12 s"; }, 5000));
    daemons.remove("gpu-01:7443");
    EXPECT_EQ(bar.chips().size(), 1U);
}

TEST_F(ConnectionBarTest, SaysTheProblemOfTheCurrentDaemonOnly) {
    ASSERT_TRUE(daemons.add("gpu-01:7443").ok());
    daemons.setLink("gpu-01:7443", linkIn(LinkState::kReconnecting, "nobody listens there"));
    EXPECT_EQ(bar.problem(), "");
    daemons.setCurrent("gpu-01:7443");
    EXPECT_EQ(bar.problem(), "Nobody listens there. Trying again by itself.");
    daemons.setLink("gpu-01:7443", linkIn(LinkState::kConnected));
    EXPECT_EQ(bar.problem(), "");
}

TEST_F(ConnectionBarTest, ChecksAnAddressWhileItIsTyped) {
    bar.show();
    bar.startAdding();
    QTest::keyClicks(bar.field(), "gpu-01");
    EXPECT_THAT(bar.fieldProblem().toStdString(), HasSubstr("is not an address"));
    QTest::keyClicks(bar.field(), ":7443");
    EXPECT_EQ(bar.fieldProblem(), "");
    QSignalSpy chosen(&bar, &ConnectionBar::chosen);
    QTest::keyClick(bar.field(), Qt::Key_Return);
    EXPECT_EQ(daemons.current(), "gpu-01:7443");
    EXPECT_EQ(chosen.count(), 1);
    EXPECT_FALSE(bar.field()->isVisible());
}

TEST_F(ConnectionBarTest, OffersTheHostsThatAreNotInTheBar) {
    QSignalSpy started(&bar, &ConnectionBar::addingStarted);
    bar.startAdding();
    EXPECT_EQ(started.count(), 1);
    daemons.setHosts({{"lab", "ssh://alice@gpu1", ""}}, {"gpu2", "gpu3"});
    const auto offered = [&] {
        return static_cast<QStringListModel*>(bar.field()->completer()->model())->stringList();
    };
    EXPECT_EQ(offered(), QStringList({"lab", "ssh://gpu2", "ssh://gpu3"}));
    QTest::keyClicks(bar.field(), "gpu2");
    EXPECT_EQ(bar.fieldProblem(), "");
    QTest::keyClick(bar.field(), Qt::Key_Return);
    ASSERT_NE(daemons.find("ssh://gpu2"), nullptr);
    EXPECT_EQ(daemons.current(), "ssh://gpu2");
    bar.startAdding();
    EXPECT_EQ(offered(), QStringList({"lab", "ssh://gpu3"}));
}

TEST_F(ConnectionBarTest, EscapeLeavesTheFieldWithoutAdding) {
    bar.show();
    bar.startAdding();
    QTest::keyClicks(bar.field(), "gpu-01:7443");
    QTest::keyClick(bar.field(), Qt::Key_Escape);
    EXPECT_FALSE(bar.field()->isVisible());
    EXPECT_EQ(daemons.all().size(), 1U);
}

TEST_F(ConnectionBarTest, ChipsWorkByKeyboard) {
    ASSERT_TRUE(daemons.add("gpu-01:7443").ok());
    bar.show();
    bar.chips()[1]->setFocus();
    QTest::keyClick(bar.chips()[1], Qt::Key_Return);
    EXPECT_EQ(daemons.current(), "gpu-01:7443");
    QTest::keyClick(bar.chips()[1], Qt::Key_Delete);
    EXPECT_EQ(daemons.all().size(), 1U);
    QTest::keyClick(bar.chips()[0], Qt::Key_Delete);
    EXPECT_EQ(daemons.all().size(), 1U) << "the own one stays";
}

}  // namespace
}  // namespace millrace::gui

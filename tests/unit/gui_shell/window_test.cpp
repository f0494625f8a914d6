#include <QAbstractButton>
#include <QAction>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QShortcut>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QVBoxLayout>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/gui/console_app.h"
#include "app/gui/status_line.h"
#include "app/gui/widgets/notice_stack.h"
#include "app/gui/widgets/shell/connection_bar.h"
#include "tests/support/fake_daemon_client.h"

namespace millrace::gui {
namespace {

constexpr int kLimitMs = 20'000;

// A page that records the window's calls.
class PlainPage final : public Page {
 public:
    PlainPage(PageName name, const PageContext& context) : Page(context, nullptr), name_(name) {
        auto* column = new QVBoxLayout(this);
        field = new QLineEdit(this);
        column->addWidget(field);
    }
    PageName name() const override { return name_; }
    std::vector<Command> commands() override {
        return {{QString("Command of page %1").arg(static_cast<int>(name_)), QKeySequence("Ctrl+J"),
                 [this] { ++numRun; }, true}};
    }
    void arrive(const Destination& destination) override { arrived = destination.runIds; }
    void saveState(QSettings& settings) const override { settings.setValue("text", field->text()); }
    void restoreState(QSettings& settings) override {
        field->setText(settings.value("text").toString());
    }
    QLineEdit* field;
    QString keys;
    std::vector<std::string> arrived;
    int numRun = 0;

 protected:
    void keyPressEvent(QKeyEvent* event) override {
        keys += event->text();
        Page::keyPressEvent(event);
    }

 private:
    PageName name_;
};

class WindowTest : public testing::Test {
 protected:
    WindowTest() { open(); }
    void open(const ConsoleOptions& options = {}) {
        open(options, [](PageName name, const PageContext& context) {
            return std::make_unique<PlainPage>(name, context);
        });
    }
    void open(const ConsoleOptions& options, const MakePage& makePage) {
        app.reset();
        app = std::make_unique<ConsoleApp>(
            ConsoleApp::Parts{
                [this](const std::string& address) { return daemon.makeClient(address); }, makePage,
                settings, theme, "unix:/fake.sock", [this] { return nowMs; }},
            options);
    }
    void startAndConnect() {
        app->start();
        ASSERT_TRUE(waitFor([this] {
            return app->daemon().link().state == session::LinkState::kConnected &&
                   app->daemon().isSettled();
        }));
    }
    template <class Condition>
    bool waitFor(Condition condition) {
        return QTest::qWaitFor(condition, kLimitMs);
    }
    PlainPage& pageOf(PageName name) { return static_cast<PlainPage&>(app->window().page(name)); }
    MainWindow& window() { return app->window(); }

    client::FakeDaemon daemon;
    QTemporaryDir folder;
    QSettings settings{folder.filePath("console.ini"), QSettings::IniFormat};
    ThemeControl theme{*qApp};
    std::int64_t nowMs = 1'700'000'000'000;
    std::unique_ptr<ConsoleApp> app;
};

TEST_F(WindowTest, StartsOnRunsAndConnectsAfterTheFirstPaint) {
    EXPECT_EQ(daemon.numCalls("handshake"), 0);
    startAndConnect();
    EXPECT_EQ(window().currentPage(), PageName::kRuns);
    EXPECT_GE(daemon.numCalls("handshake"), 1);
}

TEST_F(WindowTest, KeysGoToThePages) {
    startAndConnect();
    window().activateWindow();
    const std::pair<Qt::Key, PageName> keys[] = {{Qt::Key_1, PageName::kWatch},
                                                 {Qt::Key_3, PageName::kLaunch},
                                                 {Qt::Key_4, PageName::kData},
                                                 {Qt::Key_2, PageName::kRuns}};
    for (const auto& [key, page] : keys) {
        QTest::keyClick(&window(), key, Qt::ControlModifier);
        EXPECT_EQ(window().currentPage(), page);
        EXPECT_TRUE(pageOf(page).isVisible());
    }
}

TEST_F(WindowTest, TheTablesAndTheStatusLineFollowTheDaemon) {
    values::RunSummary run;
    run.id = "r-1";
    run.name = "movielens";
    run.state = values::RunState::kRunning;
    run.latestMetrics = {{"samples_per_second", 61'234.0, 1, 1, 0}};
    daemon.putRun(run);
    run.id = "r-2";
    run.state = values::RunState::kQueued;
    run.latestMetrics.clear();
    daemon.putRun(run);
    startAndConnect();
    ASSERT_TRUE(waitFor([this] { return app->runs().numRuns() == 2; }));
    EXPECT_TRUE(waitFor([this] {
        return window().statusLine().totalsText() == "1 running   1 queued   61.2 k samples/s";
    })) << window().statusLine().totalsText().toStdString();
    EXPECT_EQ(window().statusLine().droppedText(), "") << "nothing to say";
    daemon.goAway();
    EXPECT_TRUE(waitFor([this] {
        return window().statusLine().totalsText() ==
               "not connected; last known: 1 running   1 queued";
    })) << "nobody knows its speed";
}

TEST_F(WindowTest, TheStatusLineHasTheRateThatHasJustCome) {
    values::RunSummary run;
    run.id = "r-1";
    run.state = values::RunState::kRunning;
    run.latestMetrics = {{"samples_per_second", 100.0, 1, 1, 0}};
    daemon.putRun(run);
    startAndConnect();
    ASSERT_TRUE(waitFor([this] { return app->runs().numRuns() == 1; }));
    QString text;
    QObject::connect(&app->daemon(), &DaemonBridge::runsChanged, &window(),
                     [&] { text = window().statusLine().totalsText(); });
    run.latestMetrics = {{"samples_per_second", 200.0, 2, 2, 0}};
    daemon.putRun(run);
    ASSERT_TRUE(waitFor([&] { return !text.isEmpty(); }));
    EXPECT_EQ(text, "1 running   0 queued   200 samples/s");
    nowMs += 60'000;
    EXPECT_TRUE(waitFor([this] {
        return window().statusLine().totalsText() == "1 running   0 queued   0 samples/s";
    })) << "nobody knows how fast it is now";
}

TEST_F(WindowTest, ALostDaemonIsSaidAndFoundAgainWithoutABox) {
    startAndConnect();
    daemon.goAway();
    ASSERT_TRUE(waitFor([this] { return !window().connectionBar().problem().isEmpty(); }));
    EXPECT_EQ(QApplication::activeModalWidget(), nullptr);
    daemon.comeBack();
    EXPECT_TRUE(waitFor([this] { return window().connectionBar().problem().isEmpty(); }));
}

TEST_F(WindowTest, ADaemonOfANewerProtocolIsNamed) {
    daemon.speakProtocol(99);
    app->start();
    ASSERT_TRUE(
        waitFor([this] { return app->daemon().link().state == session::LinkState::kRefused; }));
    EXPECT_FALSE(window().connectionBar().problem().isEmpty());
}

TEST_F(WindowTest, AnotherDaemonEmptiesTheTable) {
    daemon.addRuns(3);
    startAndConnect();
    ASSERT_TRUE(waitFor([this] { return app->runs().numRuns() == 3; }));
    ASSERT_TRUE(app->daemons().add("gpu-01:7443").ok());
    daemon.goAway();
    app->daemons().setCurrent("gpu-01:7443");
    EXPECT_EQ(app->daemon().address(), "gpu-01:7443");
    EXPECT_EQ(app->runs().numRuns(), 0);
}

TEST_F(WindowTest, PagesLeadToEachOther) {
    startAndConnect();
    Q_EMIT pageOf(PageName::kRuns).goTo({PageName::kWatch, {"r-7"}});
    EXPECT_EQ(window().currentPage(), PageName::kWatch);
    EXPECT_EQ(pageOf(PageName::kWatch).arrived, std::vector<std::string>{"r-7"});
}

TEST_F(WindowTest, ThePaletteRunsCommandsOfOtherPagesThere) {
    startAndConnect();
    window().openPalette("command of page 3");
    CommandPalette& palette = window().commandPalette();
    ASSERT_TRUE(palette.isVisible());
    QTest::keyClick(palette.field(), Qt::Key_Return);
    EXPECT_EQ(window().currentPage(), PageName::kData);
    EXPECT_EQ(pageOf(PageName::kData).numRun, 1);
}

TEST_F(WindowTest, AKeyOfThePagesClosesThePalette) {
    startAndConnect();
    window().openPalette();
    window().activateWindow();
    QTest::keyClick(&window(), Qt::Key_1, Qt::ControlModifier);
    EXPECT_EQ(window().currentPage(), PageName::kWatch);
    EXPECT_FALSE(window().commandPalette().isVisible());
}

TEST_F(WindowTest, ThePaletteFindsARunByItsName) {
    daemon.addRuns(5);
    startAndConnect();
    ASSERT_TRUE(waitFor([this] { return app->runs().numRuns() == 5; }));
    const std::string id = app->runs().run(3).id;
    window().openPalette(QString::fromStdString(id));
    QTest::keyClick(window().commandPalette().field(), Qt::Key_Return);
    EXPECT_EQ(pageOf(PageName::kRuns).arrived, std::vector<std::string>{id});
}

TEST_F(WindowTest, AQuestionMarkShowsTheShortcutsButNotWhileTyping) {
    startAndConnect();
    pageOf(PageName::kRuns).field->setFocus();
    QTest::keyClicks(pageOf(PageName::kRuns).field, "?");
    EXPECT_FALSE(window().shortcuts().isVisible());
    EXPECT_EQ(pageOf(PageName::kRuns).field->text(), "?");
    pageOf(PageName::kRuns).field->clearFocus();
    QTest::keyClicks(&window(), "?");
    ASSERT_TRUE(window().shortcuts().isVisible());
    std::vector<std::string> keys;
    for (const ShortcutGroup& group : window().shortcuts().groups()) {
        for (const ShortcutGroup::Line& line : group.lines) {
            keys.push_back(line.keys.toStdString());
        }
    }
    EXPECT_THAT(keys, testing::IsSupersetOf({"Ctrl+1", "Ctrl+4", "Ctrl+Shift+P", "?", "Ctrl+J"}));
    QTest::keyClick(&window().shortcuts(), Qt::Key_Escape);
    EXPECT_FALSE(window().shortcuts().isVisible());
}

TEST_F(WindowTest, SingleKeysAreThePagesAlsoWhileTheTopBarHasTheFocus) {
    startAndConnect();
    PlainPage& page = pageOf(PageName::kRuns);
    auto* button = window().connectionBar().findChild<QAbstractButton*>();
    ASSERT_NE(button, nullptr);
    QTest::keyClick(button, Qt::Key_J);
    EXPECT_EQ(page.keys, "j") << "once";
    page.field->setFocus();
    QTest::keyClick(page.field, Qt::Key_F);
    EXPECT_EQ(page.keys, "j") << "a letter of a text";
}

TEST_F(WindowTest, WhatAPageSaysStandsAtTheFootWithItsUndo) {
    startAndConnect();
    int undone = 0;
    Q_EMIT pageOf(PageName::kRuns).said({Notice::Kind::kDone, "Deleted r-1", "Undo", [&] {
                                             ++undone;
                                         }});
    ASSERT_EQ(window().notices().cards().size(), 1U);
    window().activateWindow();
    QTest::keyClick(&window(), Qt::Key_U, Qt::ControlModifier | Qt::ShiftModifier);
    EXPECT_EQ(undone, 1);
}

TEST_F(WindowTest, SettingsSurviveARestart) {
    startAndConnect();
    window().showPage(PageName::kData);
    pageOf(PageName::kData).field->setText("kept");
    theme.choose(ThemeChoice::kLight);
    ASSERT_TRUE(app->daemons().add("gpu-01:7443").ok());
    window().resize(1111, 777);
    window().close();
    theme.choose(ThemeChoice::kDark);
    open();
    EXPECT_EQ(theme.choice(), ThemeChoice::kLight);
    EXPECT_EQ(app->daemons().all().size(), 2U);
    app->start();
    EXPECT_EQ(window().currentPage(), PageName::kData);
    EXPECT_EQ(pageOf(PageName::kData).field->text(), "kept");
    EXPECT_EQ(window().size(), QSize(1111, 777));
}

TEST_F(WindowTest, OptionsWinOverSettings) {
    settings.setValue("window/page", "data");
    settings.setValue("window/theme", "light");
    ConsoleOptions options;
    options.page = PageName::kLaunch;
    options.theme = ThemeChoice::kDark;
    options.connect = {"gpu-02:7443"};
    open(options);
    app->start();
    EXPECT_EQ(window().currentPage(), PageName::kLaunch);
    EXPECT_TRUE(theme.isDark());
    EXPECT_EQ(app->daemons().current(), "gpu-02:7443");
}

TEST_F(WindowTest, ASpecThatCannotBeReadIsSaid) {
    ConsoleOptions options;
    options.spec = "/nowhere/spec.yaml";
    open(options);
    app->start();
    ASSERT_TRUE(waitFor([this] { return !window().notices().cards().empty(); }));
    EXPECT_EQ(window().notices().cards().front()->notice().kind, Notice::Kind::kError);
}

// If two shortcuts use one key, Qt runs neither.
TEST_F(WindowTest, NoKeyOfAPageIsAKeyOfTheWindow) {
    open({}, &makePage);
    const auto keysOf = [](const QObject& owner) {
        QStringList keys;
        for (const QShortcut* shortcut : owner.findChildren<QShortcut*>()) {
            keys << shortcut->key().toString();
        }
        for (const QAction* action : owner.findChildren<QAction*>()) {
            keys << action->shortcut().toString();
        }
        return keys;
    };
    QStringList own = keysOf(window());  // before there is a page
    own.removeAll(QString());
    ASSERT_TRUE(own.contains("Ctrl+1") && own.contains("Ctrl+Shift+P"));
    own << "?";
    for (const PageEntry& entry : allPages()) {
        Page& page = window().page(entry.name);
        QStringList keys = keysOf(page);
        for (const Command& command : page.commands()) {
            keys << command.key.toString();
        }
        keys.removeAll(QString());
        EXPECT_FALSE(keys.isEmpty()) << entry.word;
        for (const QString& key : own) {
            EXPECT_FALSE(keys.contains(key)) << entry.word << ": " << key.toStdString();
        }
    }
}

TEST_F(WindowTest, EveryPageIsMadeSoonerOrLater) {
    app->start();
    EXPECT_TRUE(waitFor([this] { return window().findChildren<PlainPage*>().size() == 4; }));
}

}  // namespace
}  // namespace millrace::gui

#include <QClipboard>
#include <QGuiApplication>
#include <QPushButton>
#include <QStackedWidget>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>

#include <gtest/gtest.h>

#include "app/gui/pages/launch/launch_bar.h"
#include "app/gui/pages/launch/spec_template.h"
#include "app/gui/widgets/yaml/yaml_editor.h"
#include "tests/unit/gui_launch/launch_world.h"

namespace millrace::gui {
namespace {

class LaunchPageTest : public testing::Test {
 protected:
    YamlEditor& editor() { return *world.child<YamlEditor>(); }
    QString summary() { return world.child<LaunchBar>()->summary()->fullText(); }
    QStringList problems() {
        QStringList all;
        for (const EditorProblem& problem : editor().problems()) {
            all << problem.message;
        }
        return all;
    }
    QModelIndex cell(int row, const QString& key) {
        SheetModel& sheet = *world.sheet();
        for (int column = SheetModel::kFirstKey; column < sheet.columnCount(); ++column) {
            if (sheet.keyOf(column) == key) {
                return sheet.index(row, column);
            }
        }
        return {};
    }
    void replace(const QString& from, const QString& to) {
        const auto place = static_cast<int>(editor().text().indexOf(from));
        ASSERT_GE(place, 0);
        editor().apply({{place, place + static_cast<int>(from.size()), to}});
    }
    bool until(const std::function<bool()>& condition) {
        return QTest::qWaitFor(condition, 20'000);
    }
    void launchByKey() { QTest::keyClick(world.page.get(), Qt::Key_Return, Qt::ControlModifier); }

    LaunchWorld world;
    const QString keep = QStringLiteral("recipe.negatives.keep");
};

TEST_F(LaunchPageTest, BeginsWithWaysToBegin) {
    EXPECT_EQ(world.page->findChild<QStackedWidget*>()->currentIndex(), 0);
    QTest::keyClick(world.page.get(), Qt::Key_N, Qt::ControlModifier);
    EXPECT_EQ(world.page->findChild<QStackedWidget*>()->currentIndex(), 1);
    EXPECT_EQ(editor().text(), specTemplate());
}

TEST_F(LaunchPageTest, HasATemplateWithoutMistakes) {
    values::SpecSource source;
    source.text = specTemplate().toStdString();
    const LocalCheck check = checkLocally(source);
    EXPECT_TRUE(check.errors.empty()) << check.errors[0].message;
    EXPECT_EQ(check.variations.size(), 2U);
}

TEST_F(LaunchPageTest, OpensAFileAndHasItChecked) {
    ASSERT_TRUE(world.openExample());
    EXPECT_EQ(editor().text(), exampleText());
    EXPECT_EQ(world.document.baseDir(), exampleDirectory());
    EXPECT_EQ(world.sheet()->rowCount(), 8);
    EXPECT_TRUE(problems().isEmpty());
    EXPECT_EQ(world.sheet()->index(1, SheetModel::kCheckColumn).data().toString(),
              QStringLiteral("80.7 k rows"));
    EXPECT_FALSE(world.document.isModified());
}

TEST_F(LaunchPageTest, SaysWhyAFileCannotBeOpened) {
    world.page->openFile(QStringLiteral("/nowhere/spec.yaml"));
    ASSERT_TRUE(until([&] { return !world.notices.empty(); }));
    EXPECT_EQ(world.notices[0].kind, Notice::Kind::kError);
    EXPECT_TRUE(world.notices[0].text.contains(QStringLiteral("/nowhere/spec.yaml")));
}

TEST_F(LaunchPageTest, ShowsMistakesAsOneTypesWithoutADaemon) {
    world.page->arrive(opening(exampleText(), exampleDirectory()));
    ASSERT_TRUE(world.settle());
    replace(QStringLiteral("learning_rate"), QStringLiteral("learning_rat"));
    ASSERT_TRUE(until([&] { return !problems().isEmpty(); }));
    EXPECT_TRUE(problems()[0].contains(QStringLiteral("learning_rate")));
    EXPECT_EQ(editor().problems()[0].line, 44);
    EXPECT_TRUE(summary().contains(QStringLiteral("1 problem")));
    QTest::keyClick(world.page.get(), Qt::Key_F8);
    EXPECT_EQ(editor().textCursor().blockNumber(), 43);
    editor().undo();
    EXPECT_TRUE(until([&] { return problems().isEmpty(); }));
}

TEST_F(LaunchPageTest, ShowsTheDaemonsMistakesAtTheirPlace) {
    world.daemonErrors = {{"unknown column 'ratng'; did you mean 'rating'?", "unknown_column",
                           "movielens.yaml", "dataset.where", 11, 10}};
    ASSERT_TRUE(world.openExample());
    ASSERT_EQ(problems().size(), 1);
    EXPECT_TRUE(problems()[0].contains(QStringLiteral("did you mean 'rating'")));
    EXPECT_FALSE(world.child<LaunchBar>()->button()->isEnabled());
}

TEST_F(LaunchPageTest, WarningsAreNotNoProblems) {
    const auto says = [this](const QString& text) {
        const auto labels = world.page->findChildren<ElidedLabel*>();
        return std::any_of(labels.begin(), labels.end(),
                           [&](const ElidedLabel* label) { return label->fullText() == text; });
    };
    ASSERT_TRUE(world.openExample());
    EXPECT_TRUE(says("No problems"));
    world.daemonWarnings = {{"train.momentum is for sgd", "", "movielens.yaml", "", 0, 0}};
    replace(QStringLiteral("learning_rate"), QStringLiteral("learning_rate "));
    EXPECT_TRUE(until([&] { return says("No mistakes, 1 warning"); }));
    EXPECT_FALSE(says("No problems"));
    EXPECT_TRUE(world.child<LaunchBar>()->button()->isEnabled());
}

TEST_F(LaunchPageTest, AMistakeOfAVariationKeepsNoOtherFromBeingLaunched) {
    world.daemonErrors = {{"variation 'keep-10': unknown column 'ratng'", "unknown_column",
                           "movielens.yaml", "dataset.where", 11, 10}};
    ASSERT_TRUE(world.openExample());
    world.sheet()->tickAll(false);
    world.sheet()->setTicked(0, true);
    world.sheet()->setTicked(1, true);
    ASSERT_EQ(world.sheet()->nameOf(2), "keep-10");
    EXPECT_EQ(summary(), "2 runs: base, keep-30");
    EXPECT_TRUE(world.child<LaunchBar>()->button()->isEnabled());
    world.sheet()->setTicked(2, true);
    EXPECT_EQ(summary(), "1 problem to fix before launching");
    EXPECT_FALSE(world.child<LaunchBar>()->button()->isEnabled());
    world.sheet()->setTicked(2, false);
    launchByKey();
    ASSERT_TRUE(until([&] { return !world.destinations.empty(); }));
    EXPECT_EQ(world.submits[0].variations, std::vector<std::string>{"keep-30"});
}

TEST_F(LaunchPageTest, AsksTheDaemonOnceForManyKeys) {
    ASSERT_TRUE(world.openExample());
    const int before = world.daemon.numCalls("check");
    for (const char16_t c : u"# a comment") {
        if (c != u'\0') {
            QTest::keyClick(&editor(), static_cast<char>(c));
        }
    }
    ASSERT_TRUE(until([&] { return world.document.isChecked() && world.page->isSettled(); }));
    EXPECT_EQ(world.daemon.numCalls("check"), before + 1);
}

/// A page whose daemon counts: "keep-30" keeps 30 %, "keep-10" 10 %, all others everything.
class LaunchPreviewTest : public LaunchPageTest {
 protected:
    LaunchPreviewTest() {
        world.daemon.onPreview = [this](const values::PreviewRequest& request) {
            return answer(request);
        };
    }
    /// The test owns the daemon's answers, so none may be under way when it ends.
    void TearDown() override {
        EXPECT_TRUE(until([this] { return world.page->isSettled(); }));
    }
    Result<values::PreviewReply> answer(const values::PreviewRequest& request) {
        if (!failure.ok()) {
            return failure;
        }
        values::PreviewReply reply;
        reply.errors = mistakes;
        const double share = request.variation == "keep-30"   ? 0.3
                             : request.variation == "keep-10" ? 0.1
                                                              : 1;
        reply.rows = 80'668;
        reply.splits = 13;
        reply.splitsSampled = share < 1 ? 4 : 13;
        reply.threads = 2;
        reply.rowsKept = {80'668 * share, 80'000 * share, 81'000 * share, share == 1};
        reply.keepShare = {share, share, share, share == 1};
        reply.epochSeconds = {200 * share, 190 * share, 210 * share, false};
        reply.heads = {{"liked",
                        reply.rowsKept,
                        {4'033, 4'000, 4'100, share == 1},
                        {0.05, 0.04, 0.06, share == 1}}};
        return reply;
    }
    QString text(int row, int column) {
        return world.sheet()->index(row, column).data().toString();
    }
    QString kept(int row) { return text(row, SheetModel::kKeptColumn); }

    Status failure = okStatus();
    std::vector<values::SpecError> mistakes;
};

TEST_F(LaunchPreviewTest, ShowsWhatEachVariationKeepsItsPositivesAndItsTime) {
    ASSERT_TRUE(world.openExample());
    EXPECT_EQ(kept(0), QStringLiteral("80.7 k (100 %)"));
    EXPECT_EQ(kept(1), QStringLiteral("\u2248 24.2 k (30 %)"));
    EXPECT_EQ(kept(2), QStringLiteral("\u2248 8.1 k (10 %)"));
    EXPECT_EQ(text(1, SheetModel::kPositivesColumn), QStringLiteral("\u2248 4.0 k (5.0 %)"));
    EXPECT_EQ(text(0, SheetModel::kEpochColumn), QStringLiteral("3 m 20 s"));
    EXPECT_EQ(text(1, SheetModel::kEpochColumn), QStringLiteral("1 m 00 s"));
    const QString tip =
        world.sheet()->index(1, SheetModel::kKeptColumn).data(Qt::ToolTipRole).toString();
    EXPECT_TRUE(tip.contains(QStringLiteral("24,200 of 80,668 rows"))) << tip.toStdString();
    EXPECT_TRUE(tip.contains(QStringLiteral("95 %: 24,000 to 24,300"))) << tip.toStdString();
    EXPECT_TRUE(tip.contains(QStringLiteral("4 of 13 splits"))) << tip.toStdString();
    EXPECT_EQ(world.daemon.numCalls("preview"), 3)
        << "variations that change no row are counted with the base";
}

TEST_F(LaunchPreviewTest, CountsOneAfterTheOtherAndSaysSo) {
    world.daemon.hang("preview");
    world.connectDaemon();
    world.page->openFile(exampleDirectory() + QStringLiteral("/movielens.yaml"));
    ASSERT_TRUE(until([&] { return kept(0) == QStringLiteral("counting\u2026"); }));
    EXPECT_EQ(kept(1), QStringLiteral("waiting\u2026"));
    EXPECT_EQ(text(1, SheetModel::kEpochColumn), QStringLiteral("waiting\u2026"));
    ASSERT_TRUE(until([&] { return world.daemon.numHanging() == 1; }));
    EXPECT_FALSE(world.page->isSettled());
    world.daemon.release("preview");
    EXPECT_TRUE(until([&] { return world.page->isSettled(); }));
    EXPECT_EQ(kept(2), QStringLiteral("\u2248 8.1 k (10 %)"));
}

TEST_F(LaunchPreviewTest, WhatIsTickedIsCountedFirst) {
    std::vector<std::string> order;
    world.daemon.onPreview = [&](const values::PreviewRequest& request) {
        order.push_back(request.variation);
        return answer(request);
    };
    ASSERT_TRUE(world.openExample());
    world.sheet()->tickAll(false);
    world.sheet()->setTicked(2, true);
    order.clear();
    world.planHash = "other files";
    replace(QStringLiteral("seed: 7"), QStringLiteral("seed: 8"));
    ASSERT_TRUE(until([&] { return order.size() == 3 && world.page->isSettled(); }));
    EXPECT_EQ(order.front(), "keep-10");
}

TEST_F(LaunchPreviewTest, AsksNothingAgainWhileTheRowsAreTheSame) {
    ASSERT_TRUE(world.openExample());
    const int before = world.daemon.numCalls("preview");
    replace(QStringLiteral("0.003"), QStringLiteral("0.004"));
    ASSERT_TRUE(until([&] { return world.document.isChecked() && world.page->isSettled(); }));
    EXPECT_EQ(world.daemon.numCalls("preview"), before);
    EXPECT_EQ(kept(1), QStringLiteral("\u2248 24.2 k (30 %)"));
    world.planHash = "other files";
    replace(QStringLiteral("seed: 7"), QStringLiteral("seed: 8"));
    ASSERT_TRUE(until([&] { return world.daemon.numCalls("preview") == before + 3; }));
}

TEST_F(LaunchPreviewTest, AMistakeEndsTheQuestionThatIsUnderWay) {
    world.daemon.hang("preview");
    world.connectDaemon();
    world.page->openFile(exampleDirectory() + QStringLiteral("/movielens.yaml"));
    ASSERT_TRUE(until([&] { return world.daemon.numHanging() == 1; }));
    world.daemonErrors = {
        {"unknown column 'ratng'", "unknown_column", "movielens.yaml", "dataset.where", 11, 10}};
    replace(QStringLiteral("seed: 7"), QStringLiteral("seed: 8"));
    EXPECT_TRUE(until([&] { return world.daemon.numHanging() == 0; }))
        << "the daemon is told that nobody waits";
    EXPECT_EQ(kept(3), QString());
    EXPECT_TRUE(until([&] { return world.page->isSettled(); }));
}

TEST_F(LaunchPreviewTest, NothingIsCountedWhileThePageIsNotInSight) {
    world.daemon.hang("preview");
    world.connectDaemon();
    world.page->openFile(exampleDirectory() + QStringLiteral("/movielens.yaml"));
    ASSERT_TRUE(until([&] { return world.daemon.numHanging() == 1; }));
    world.page->hide();
    EXPECT_TRUE(until([&] { return world.daemon.numHanging() == 0; }))
        << "what was under way is given up";
    EXPECT_EQ(kept(0), QStringLiteral("waiting\u2026"));
    EXPECT_TRUE(until([&] { return world.page->isSettled(); }));
    const int asked = world.daemon.numCalls("preview");
    world.planHash = "other files";
    replace(QStringLiteral("seed: 7"), QStringLiteral("seed: 8"));
    ASSERT_TRUE(until([&] { return world.document.isChecked() && world.page->isSettled(); }));
    EXPECT_EQ(world.daemon.numCalls("preview"), asked);
    world.daemon.release("preview");
    world.page->show();
    EXPECT_TRUE(until([&] { return kept(0) == QStringLiteral("80.7 k (100 %)"); }));
    EXPECT_TRUE(until([&] { return kept(2) == QStringLiteral("\u2248 8.1 k (10 %)"); }));
}

TEST_F(LaunchPreviewTest, WhatCannotBeCountedSaysWhyInItsCell) {
    failure = deadlineExceeded("movielens.yaml: reading it took more than 120 s");
    ASSERT_TRUE(world.openExample());
    EXPECT_EQ(kept(0), QStringLiteral("movielens.yaml: reading it took more than 120 s"));
    EXPECT_EQ(text(0, SheetModel::kEpochColumn), QString());
    EXPECT_EQ(
        world.sheet()->index(0, SheetModel::kKeptColumn).data(SheetModel::kErrorRole).toString(),
        kept(0));
    failure = okStatus();
    mistakes = {{"resources.memory_limit_mb: 64 MB are too little", "preview", "", "", 0, 0}};
    replace(QStringLiteral("seed: 7"), QStringLiteral("seed: 8"));
    EXPECT_TRUE(until([&] {
        return kept(0) == QStringLiteral("resources.memory_limit_mb: 64 MB are too little");
    })) << "what failed is asked again";
}

TEST_F(LaunchPageTest, EditsACellInTheTextAndUndoesBoth) {
    ASSERT_TRUE(world.openExample());
    ASSERT_TRUE(world.sheet()->setData(cell(1, keep), QStringLiteral("0.25"), Qt::EditRole));
    EXPECT_TRUE(editor().text().contains(QStringLiteral("recipe.negatives.keep: 0.25")));
    EXPECT_TRUE(world.document.isModified());
    editor().undo();
    ASSERT_TRUE(until([&] { return cell(1, keep).data().toString() == QStringLiteral("0.3"); }));
    EXPECT_EQ(editor().text(), exampleText());
    EXPECT_FALSE(world.document.isModified());
}

TEST_F(LaunchPageTest, ShowsAMistakeInItsCell) {
    ASSERT_TRUE(world.openExample());
    world.sheet()->setData(cell(1, keep), QStringLiteral("3"), Qt::EditRole);
    EXPECT_TRUE(
        until([&] { return !cell(1, keep).data(SheetModel::kErrorRole).toString().isEmpty(); }));
}

TEST_F(LaunchPageTest, LaunchesWhatIsTickedAndGoesToWatch) {
    ASSERT_TRUE(world.openExample());
    world.sheet()->setTicked(1, true);
    world.sheet()->setTicked(2, true);
    EXPECT_EQ(summary(), QStringLiteral("3 runs: base, keep-30, keep-10"));
    world.child<LaunchBar>()->setFields(QStringLiteral("films"), QStringLiteral("by=me, try=2"),
                                        QStringLiteral("why"));
    launchByKey();
    ASSERT_TRUE(until([&] { return !world.destinations.empty(); }));
    ASSERT_EQ(world.submits.size(), 1U);
    const values::SubmitRequest& sent = world.submits[0];
    EXPECT_EQ(sent.variations, (std::vector<std::string>{"keep-30", "keep-10"}));
    EXPECT_FALSE(sent.withoutBase);
    EXPECT_FALSE(sent.allVariations);
    EXPECT_EQ(sent.project, "films");
    EXPECT_EQ(sent.note, "why");
    EXPECT_EQ(sent.tags, (std::map<std::string, std::string>{{"by", "me"}, {"try", "2"}}));
    EXPECT_EQ(sent.specText, exampleText().toStdString());
    EXPECT_EQ(sent.baseDir, exampleDirectory().toStdString());
    EXPECT_FALSE(sent.key.empty());
    EXPECT_EQ(world.destinations[0].page, PageName::kWatch);
    EXPECT_EQ(world.destinations[0].runIds, (std::vector<std::string>{"r-0", "r-1", "r-2"}));
}

TEST_F(LaunchPageTest, LaunchesVariationsWithoutTheBase) {
    ASSERT_TRUE(world.openExample());
    world.sheet()->tickAll(false);
    EXPECT_FALSE(world.child<LaunchBar>()->button()->isEnabled());
    world.sheet()->setTicked(4, true);
    world.child<LaunchBar>()->button()->click();
    ASSERT_TRUE(until([&] { return !world.destinations.empty(); }));
    EXPECT_TRUE(world.submits[0].withoutBase);
    EXPECT_EQ(world.submits[0].variations, std::vector<std::string>{"liked-3.5"});
}

TEST_F(LaunchPageTest, DoesNotLaunchTwice) {
    ASSERT_TRUE(world.openExample());
    world.daemon.hang("submit");
    launchByKey();
    launchByKey();
    EXPECT_EQ(world.child<LaunchBar>()->button()->text(), QStringLiteral("Launching\u2026"));
    EXPECT_FALSE(world.page->isSettled());
    world.daemon.release("submit");
    ASSERT_TRUE(until([&] { return !world.destinations.empty() && world.page->isSettled(); }));
    EXPECT_EQ(world.submits.size(), 1U);
    EXPECT_EQ(world.destinations.size(), 1U);
}

TEST_F(LaunchPageTest, ShowsWhyALaunchWasRefusedAtItsPlace) {
    ASSERT_TRUE(world.openExample());
    world.submitErrors = {
        {"no file 'ratings.csv'", "file", "movielens.yaml", "dataset.path", 10, 9}};
    launchByKey();
    ASSERT_TRUE(until([&] { return !problems().isEmpty(); }));
    EXPECT_EQ(editor().textCursor().blockNumber(), 9);
    EXPECT_TRUE(world.destinations.empty());
    ASSERT_FALSE(world.notices.empty());
    EXPECT_TRUE(world.notices.back().text.contains(QStringLiteral("no file 'ratings.csv'")));
}

TEST_F(LaunchPageTest, DoesNotLaunchWithoutADaemonOrABaseDirectory) {
    world.page->arrive(opening(exampleText(), QString()));
    ASSERT_TRUE(world.settle());
    launchByKey();
    ASSERT_FALSE(world.notices.empty());
    EXPECT_TRUE(world.notices.back().text.contains(QStringLiteral("base directory")));
    world.document.setBaseDir(QStringLiteral("/tmp"));
    ASSERT_TRUE(world.settle());
    launchByKey();
    EXPECT_TRUE(world.notices.back().text.contains(QStringLiteral("no daemon")));
    EXPECT_TRUE(world.submits.empty());
}

TEST_F(LaunchPageTest, SavesAndNoticesChangesOnTheDisk) {
    QTemporaryDir directory;
    const QString path = directory.filePath(QStringLiteral("spec.yaml"));
    ASSERT_TRUE(QFile::copy(exampleDirectory() + QStringLiteral("/movielens.yaml"), path));
    QFile::setPermissions(path, QFile::ReadOwner | QFile::WriteOwner);
    world.connectDaemon();
    world.page->openFile(path);
    ASSERT_TRUE(until([&] { return world.document.path() == path && world.page->isSettled(); }));
    replace(QStringLiteral("seed: 7"), QStringLiteral("seed: 8"));
    EXPECT_TRUE(world.document.isModified());
    QTest::keyClick(world.page.get(), Qt::Key_S, Qt::ControlModifier);
    ASSERT_TRUE(until([&] { return !world.document.isModified(); }));
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::ReadOnly));
    EXPECT_EQ(QString::fromUtf8(file.readAll()), editor().text());
    file.close();
    ASSERT_TRUE(world.settle());
    ASSERT_TRUE(file.open(QIODevice::WriteOnly | QIODevice::Truncate));
    file.write("name: other\n");
    file.close();
    QPushButton* reload = nullptr;
    for (QPushButton* button : world.page->findChildren<QPushButton*>()) {
        reload = button->text() == QStringLiteral("Reload") ? button : reload;
    }
    ASSERT_TRUE(until([&] { return reload->isVisible(); }));
    reload->click();
    EXPECT_TRUE(until([&] { return editor().text() == QStringLiteral("name: other\n"); }));
    EXPECT_TRUE(until([&] { return !reload->isVisible(); }));
}

TEST_F(LaunchPageTest, KeepsAnUnsavedSpecWhenAnotherArrives) {
    ASSERT_TRUE(world.openExample());
    const QString changed =
        exampleText().replace(QStringLiteral("seed: 7"), QStringLiteral("seed: 9"));
    replace(QStringLiteral("seed: 7"), QStringLiteral("seed: 9"));
    world.page->arrive(opening(QStringLiteral("name: arrived\n"), QStringLiteral("/tmp")));
    EXPECT_EQ(editor().text(), QStringLiteral("name: arrived\n"));
    EXPECT_EQ(world.document.baseDir(), QStringLiteral("/tmp"));
    ASSERT_FALSE(world.notices.empty());
    ASSERT_EQ(world.notices.back().actionText, QStringLiteral("Undo"));
    world.notices.back().action();
    EXPECT_EQ(editor().text(), changed);
    EXPECT_TRUE(world.document.isModified());
}

TEST_F(LaunchPageTest, AsksNothingWhenTheOpenSpecIsSaved) {
    ASSERT_TRUE(world.openExample());
    const std::size_t before = world.notices.size();
    world.page->arrive(opening(QStringLiteral("name: arrived\n"), QStringLiteral("/tmp")));
    EXPECT_EQ(editor().text(), QStringLiteral("name: arrived\n"));
    EXPECT_EQ(world.notices.size(), before);
}

/// A run of "keep-30" with two --sets, opened to be changed. The daemon resolves a spec with its
/// seed.
class ChangedRunTest : public LaunchPageTest {
 protected:
    ChangedRunTest() {
        run.summary.id = "r-m6kqr";
        run.summary.variation = "keep-30";
        run.summary.project = "films";
        run.summary.tags = {{"team", "t0"}, {"why", "a, b"}};
        run.summary.specHash = "0ef2f231584b";
        run.summary.planHash = "p";
        run.specText = exampleText().toStdString();
        run.specFileName = "specs/movielens.yaml";
        run.resolvedSpec = specOf("144", exampleDirectory().toStdString());
        run.sets = {"batch.seed=144", "train.learning_rate=0.001"};
        const auto inner = world.daemon.onCheck;
        world.daemon.onCheck = [inner](const values::CheckRequest& request) {
            Result<values::CheckReply> reply = inner(request);
            const std::string seed =
                request.spec.sets.empty()
                    ? "7"
                    : request.spec.sets[0].substr(request.spec.sets[0].find('=') + 1);
            for (values::CheckedRun& one : reply->runs) {
                one.resolvedSpec = specOf(seed, request.spec.baseDir);
                one.specHash = seed == "144" ? "0ef2f231584b" : "44d0e859ed82";
            }
            return reply;
        };
    }
    static std::string specOf(const std::string& seed, const std::string& baseDir) {
        return R"({"base_dir":")" + baseDir + R"(","batch":{"seed":)" + seed + "}}";
    }
    void arrive() {
        world.connectDaemon();
        Destination destination{PageName::kLaunch};
        destination.changed = std::make_shared<values::RunDetail>(run);
        world.page->arrive(destination);
        ASSERT_TRUE(until([&] { return world.document.isChecked() && world.page->isSettled(); }));
    }
    QString origin() { return world.child<LaunchBar>()->origin()->fullText(); }
    QLineEdit& sets() { return *world.child<QLineEdit>(QStringLiteral("Set")); }

    values::RunDetail run;
};

TEST_F(ChangedRunTest, OpensWithAllThatTheRunWasLaunchedWith) {
    arrive();
    EXPECT_EQ(origin(), QStringLiteral("keep-30: spec hash equal (0ef2f231584b): repeats r-m6kqr"));
    EXPECT_TRUE(sets().isVisible());
    EXPECT_EQ(world.sheet()->tickedVariations(), std::vector<std::string>{"keep-30"});
    EXPECT_FALSE(world.sheet()->isBaseTicked());
    launchByKey();
    ASSERT_TRUE(until([&] { return !world.destinations.empty(); }));
    const values::SubmitRequest& sent = world.submits.at(0);
    EXPECT_EQ(sent.sets, run.sets);
    EXPECT_EQ(sent.variations, std::vector<std::string>{"keep-30"});
    EXPECT_TRUE(sent.withoutBase);
    EXPECT_EQ(sent.project, "films");
    EXPECT_EQ(sent.tags, run.summary.tags);
    EXPECT_EQ(sent.specText, run.specText);
    EXPECT_EQ(sent.fileName, run.specFileName);
    EXPECT_EQ(sent.baseDir, exampleDirectory().toStdString());
}

TEST_F(ChangedRunTest, SaysInWhichKeysItDiffersOnceItIsChanged) {
    arrive();
    sets().setText(QStringLiteral("batch.seed=7 train.learning_rate=0.001"));
    EXPECT_TRUE(until([&] {
        return origin() ==
               QStringLiteral("keep-30: differs from r-m6kqr in 1 key: batch.seed 144 \u2192 7");
    })) << origin().toStdString();
    sets().setText(QStringLiteral("'batch.seed=7"));
    launchByKey();
    EXPECT_TRUE(world.submits.empty());
    EXPECT_TRUE(world.notices.back().text.contains(QStringLiteral("quote")));
}

TEST_F(ChangedRunTest, ASetKeyIsShownInTheSheetAndNotEdited) {
    run.sets = {"batch.seed=144", "recipe.negatives.keep=0.2"};
    arrive();
    for (int column = SheetModel::kFirstKey; column < world.sheet()->columnCount(); ++column) {
        const bool isSet = world.sheet()->keyOf(column) == QStringLiteral("recipe.negatives.keep");
        const QModelIndex cell = world.sheet()->index(1, column);
        if (isSet) {
            EXPECT_EQ(cell.data().toString(), QStringLiteral("0.2"));
        }
        EXPECT_TRUE(!isSet || !cell.flags().testFlag(Qt::ItemIsEditable));
    }
}

TEST_F(ChangedRunTest, AnotherSpecDoesNotInheritTheRunsProject) {
    arrive();
    world.page->openFile(exampleDirectory() + QStringLiteral("/movielens.yaml"));
    ASSERT_TRUE(until([&] { return !world.document.path().isEmpty() && world.page->isSettled(); }));
    EXPECT_EQ(world.child<LaunchBar>()->project(), QString());
    EXPECT_EQ(world.child<LaunchBar>()->tagText(), QString());
    EXPECT_TRUE(world.document.sets().empty());
    EXPECT_EQ(origin(), QString());
    EXPECT_FALSE(sets().isVisible());
}

TEST_F(LaunchPageTest, CopiesTheLaunchAsCommands) {
    ASSERT_TRUE(world.openExample());
    world.sheet()->setTicked(1, true);
    for (const Command& command : world.page->commands()) {
        if (command.title.contains(QStringLiteral("as CLI"))) {
            command.run();
        }
    }
    const QString path = exampleDirectory() + QStringLiteral("/movielens.yaml");
    EXPECT_EQ(QGuiApplication::clipboard()->text(),
              QStringLiteral("millrace run %1 && millrace run %1 --variation keep-30").arg(path));
}

TEST_F(LaunchPageTest, KeepsItsStateOverARestart) {
    QTemporaryDir directory;
    QSettings settings(directory.filePath(QStringLiteral("s.ini")), QSettings::IniFormat);
    ASSERT_TRUE(world.openExample());
    world.sheet()->setTicked(2, true);
    world.page->saveState(settings);
    LaunchWorld next;
    next.page->restoreState(settings);
    ASSERT_TRUE(QTest::qWaitFor([&] { return next.sheet()->rowCount() == 8; }, 20'000));
    EXPECT_EQ(next.sheet()->tickedVariations(), std::vector<std::string>{"keep-10"});
}

TEST_F(LaunchPageTest, StaysUsableWithGarbage) {
    QTemporaryDir directory;
    const QString path = directory.filePath(QStringLiteral("big.yaml"));
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(QByteArray(7 << 20, 'x'));
    file.close();
    world.page->openFile(path);
    ASSERT_TRUE(until([&] { return !world.notices.empty(); }));
    EXPECT_TRUE(world.notices.back().text.contains(QStringLiteral("1 MB")));
    EXPECT_TRUE(editor().text().isEmpty());
}

}  // namespace
}  // namespace millrace::gui

// The console on a live daemon: a session of a user from the spec to the restored run, and a daemon
// that is killed under a watching console.
#include <QAbstractItemView>
#include <QPushButton>
#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <optional>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "app/gui/models/runs/run_diff.h"
#include "app/gui/models/runs/run_rows.h"
#include "app/gui/models/sheet/sheet_model.h"
#include "app/gui/pages/launch/launch_page.h"
#include "app/gui/pages/runs/parts/repeat_dialog.h"
#include "app/gui/pages/runs/parts/run_actions.h"
#include "app/gui/pages/runs/runs_page.h"
#include "app/gui/pages/runs/runs_view.h"
#include "app/gui/pages/watch/watch_charts.h"
#include "app/gui/pages/watch/watch_page.h"
#include "app/gui/widgets/notice_stack.h"
#include "app/gui/widgets/shell/connection_bar.h"
#include "backend/filesystem/files.h"
#include "backend/system/subprocess.h"
#include "backend/text/json.h"
#include "tests/gui/console_place.h"
#include "tests/support/newer_daemon.h"

namespace millrace::gui {
namespace {

using tests::eventually;

class Live : public ::testing::Test {
 protected:
    void SetUp() override {
        if (!place_.home().hasWorkers()) {
            GTEST_SKIP() << "the workers are not built";
        }
        const auto started = place_.home().startDaemon();
        ASSERT_TRUE(started.ok()) << started.status();
        ASSERT_EQ(started->exitCode, 0) << started->err;
        place_.open();
        ASSERT_TRUE(eventually([&] { return place_.isConnected() && app().daemon().isSettled(); }))
            << app().daemon().link().sentence;
        // A bare X server has no window manager to give the focus.
        QApplication::setActiveWindow(&window());
    }

    ConsoleApp& app() { return place_.app(); }
    MainWindow& window() { return place_.window(); }
    LaunchPage& launch() { return dynamic_cast<LaunchPage&>(window().page(PageName::kLaunch)); }
    WatchPage& watch() { return dynamic_cast<WatchPage&>(window().page(PageName::kWatch)); }
    Page& runs() { return window().page(PageName::kRuns); }
    SheetModel& sheet() { return place_.model<SheetModel>(PageName::kLaunch); }
    RunsView& table() { return *runs().findChild<RunsView*>(); }

    void openExample() {
        window().showPage(PageName::kLaunch);
        launch().openFile(QString::fromStdString(place_.specPath()));
        ASSERT_TRUE(eventually([&] {
            return app().spec().isChecked() && !app().spec().checkReply().runs.empty();
        })) << "the spec was not checked";
        ASSERT_TRUE(app().spec().checkReply().errors.empty());
    }
    int rowOf(const QString& variation) {
        for (int row = 0; row < sheet().rowCount(); ++row) {
            if (sheet().nameOf(row) == variation) {
                return row;
            }
        }
        return -1;
    }
    QModelIndex cell(const QString& variation, const QString& key) {
        for (int column = SheetModel::kFirstKey; column < sheet().columnCount(); ++column) {
            if (sheet().keyOf(column) == key) {
                return sheet().index(rowOf(variation), column);
            }
        }
        return {};
    }
    void launchOnly(const QStringList& variations) {
        sheet().tickAll(false);
        for (const QString& name : variations) {
            ASSERT_GE(rowOf(name), 0) << name.toStdString();
            sheet().setTicked(rowOf(name), true);
        }
        ASSERT_EQ(sheet().numTicked(), variations.size());
        QTest::keyClick(&launch(), Qt::Key_Return, Qt::ControlModifier);
        ASSERT_TRUE(eventually([&] { return window().currentPage() == PageName::kWatch; }))
            << "the launch did not lead to Watch";
    }
    bool areAll(values::RunState state, int count) {
        return app().runs().numInState(state) == count && app().runs().numRuns() == count;
    }
    const values::RunSummary* runOf(const std::string& variation) {
        for (int row = 0; row < app().runs().numRuns(); ++row) {
            if (app().runs().run(row).variation == variation) {
                return &app().runs().run(row);
            }
        }
        return nullptr;
    }
    PlotWidget* chartWith(const QString& title) {
        for (int i = 0; i < watch().charts()->numCharts(); ++i) {
            if (watch().charts()->chart(i)->title().contains(title, Qt::CaseInsensitive)) {
                return watch().charts()->chart(i);
            }
        }
        return nullptr;
    }
    static std::size_t numPoints(const Chart& chart) {
        std::size_t count = 0;
        for (const Curve& curve : std::get<Curves>(chart.content()).curves) {
            count += curve.store->size();
        }
        return count;
    }

    tests::ConsolePlace place_;
};

TEST_F(Live, AUserEditsAVariationLaunchesThreeWatchesComparesDeletesAndRestores) {
    openExample();
    const QModelIndex keep = cell("keep-30", "recipe.negatives.keep");
    ASSERT_TRUE(keep.isValid());
    ASSERT_TRUE(sheet().setData(keep, "0.25", Qt::EditRole));
    EXPECT_TRUE(app().spec().text().contains("0.25"));
    ASSERT_TRUE(eventually([&] { return app().spec().isChecked(); }));
    launchOnly({"keep-30", "keep-10", "since-1990"});
    ASSERT_TRUE(eventually([&] { return app().runs().numRuns() == 3; }));
    EXPECT_EQ(watch().lanes().numLanes(), 3);

    // Lanes and charts update.
    ASSERT_TRUE(eventually([&] { return watch().lanes().numGoing() > 0; }));
    PlotWidget* const loss = chartWith("loss");
    ASSERT_NE(loss, nullptr);
    ASSERT_TRUE(eventually([&] { return numPoints(*loss) > 20; }));
    const std::size_t before = numPoints(*loss);
    const QImage early = loss->grabImage();
    ASSERT_TRUE(eventually([&] { return numPoints(*loss) > before + 50; }));
    EXPECT_NE(loss->grabImage(), early);
    ASSERT_TRUE(eventually([&] { return areAll(values::RunState::kFinished, 3); }, 180));
    EXPECT_EQ(app().daemon().droppedUpdates(), 0U);

    // Two runs: their differences with values.
    const values::RunSummary a = *runOf("keep-30"), b = *runOf("keep-10");
    window().goTo({PageName::kRuns, {a.id, b.id}});
    RunDiff& diff = place_.model<RunDiff>(PageName::kRuns);
    ASSERT_TRUE(eventually([&] { return diff.runs().size() == 2 && diff.rowCount() > 0; }));
    bool hasKeep = false, hasDifference = false;
    for (int row = 0; row < diff.rowCount(); ++row) {
        const QString name = diff.index(row, 0).data().toString();
        if (name.contains("recipe.negatives.keep")) {
            hasKeep = true;
            std::set<QString> values;
            for (int column = 1; column < diff.columnCount(); ++column) {
                values.insert(diff.index(row, column).data().toString());
            }
            EXPECT_TRUE(values.count("0.25") == 1 && values.count("0.1") == 1);
        }
        hasDifference =
            hasDifference || (name == "test AUC" && diff.difference(row, 2).has_value());
    }
    EXPECT_TRUE(hasKeep) << "recipe.negatives.keep is not among what differs";
    EXPECT_TRUE(hasDifference) << "test AUC has no difference";

    // A run is deleted and restored.
    table().select({b.id});
    table().focusRows();
    QTest::keyClick(&table().rowsView(), Qt::Key_Delete);
    ASSERT_TRUE(eventually([&] { return app().runs().find(b.id) == nullptr; }));
    ASSERT_TRUE(eventually([&] { return window().notices().newestAction() != nullptr; }));
    window().notices().newestAction()->act();
    ASSERT_TRUE(eventually([&] { return app().runs().find(b.id) != nullptr; }));
    EXPECT_EQ(app().runs().numRuns(), 3);
}

/// Runs that were submitted with all options of a submit, drawn with a fixed seed.
class LiveRepeat : public Live {
 protected:
    template <class T>
    T one(const std::vector<T>& of) {
        return of[random_() % of.size()];
    }
    std::string number(int most) { return std::to_string(1 + random_() % most); }
    std::vector<std::string> someSets() {
        std::vector<std::string> sets = {"batch.seed=" + number(999)};
        const std::vector<std::string> all = {
            "train.learning_rate=0.00" + number(9),
            "batch.epochs=" + number(5),
            "name=small-" + number(99),
            "recipe.negatives.keep=0." + number(9),
            "dataset.where=\"hash01(userId, movieId) < 0." + number(9) + "\"",
            "tags={who: 'a, b', n: \"" + number(9) + "\"}"};
        for (const std::string& set : all) {
            if (random_() % 2 == 0) {
                sets.push_back(set);
            }
        }
        return sets;
    }
    values::SubmitRequest someSubmit(const std::string& text) {
        values::SubmitRequest request;
        request.specText = text;
        request.fileName = "films/movielens.yaml";
        request.baseDir = place_.home().path("spec");
        request.sets = someSets();
        request.project = one<std::string>({"", "films", "a project / of two"});
        if (random_() % 2 == 0) {
            request.tags = {{"team", "t" + number(9)}, {"why", "a=b, \"c d\"\ne'f"}};
        }
        for (const char* name : {"keep-30", "since-1990", "no-power-users"}) {
            if (random_() % 2 == 0) {
                request.variations.emplace_back(name);
            }
        }
        request.withoutBase = !request.variations.empty() && random_() % 2 == 0;
        return request;
    }
    // The facts that a repeat must reproduce. Stops the run, which nobody waits for.
    std::string factsOf(const std::string& id) {
        std::optional<values::RunDetail> detail;
        app().daemon().stop(id, &window(), [](const Result<values::RunSummary>&) {});
        app().daemon().get(id, &window(), [&](Result<values::RunDetail> reply) {
            ASSERT_TRUE(reply.ok()) << reply.status();
            detail = *std::move(reply);
        });
        EXPECT_TRUE(eventually([&] { return detail.has_value(); }));
        const values::RunSummary& run = detail->summary;
        return dumpJson({{"spec", run.specHash},
                         {"stream", run.streamHash},
                         {"plan", run.planHash},
                         {"name", run.name},
                         {"variation", run.variation},
                         {"project", run.project},
                         {"tags", run.tags},
                         {"sets", detail->sets},
                         {"file", detail->specFileName},
                         {"resolved", detail->resolvedSpec},
                         {"is_below_its_base", !run.variationOf.empty()}});
    }

    std::mt19937 random_{20261128};
};

TEST_F(LiveRepeat, LaunchingAgainRepeatsWhateverWasSubmittedAlsoWithoutTheFile) {
    const std::string text = readFile(place_.specPath()).value();
    std::vector<std::string> ids;
    int numOpen = 0;
    for (int i = 0; i < 5; ++i) {
        ++numOpen;
        app().daemon().submit(someSubmit(text), &window(), [&](Result<values::SubmitReply> reply) {
            ASSERT_TRUE(reply.ok()) << reply.status();
            ASSERT_TRUE(reply->errors.empty()) << reply->errors[0].message;
            for (const values::RunSummary& run : reply->runs) {
                ids.push_back(run.id);
            }
            --numOpen;
        });
        ASSERT_TRUE(eventually([&] { return numOpen == 0; }));
    }
    std::multiset<std::string> before, after;
    for (const std::string& id : ids) {
        before.insert(factsOf(id));
    }
    ASSERT_GE(std::set<std::string>(before.begin(), before.end()).size(), 6U) << "they differ";
    std::filesystem::remove(place_.specPath());
    window().showPage(PageName::kRuns);
    dynamic_cast<RunsPage&>(runs()).actions().launchAgain(ids);
    RepeatDialog* dialog = nullptr;
    ASSERT_TRUE(eventually([&] {
        dialog = runs().findChild<RepeatDialog*>();
        return dialog != nullptr && dialog->isChecked();
    }));
    for (const QString& sentence : dialog->sentences()) {
        EXPECT_TRUE(sentence.contains("spec hash equal") && sentence.contains("repeats r-"))
            << sentence.toStdString();
    }
    dialog->launchButton()->click();
    ASSERT_TRUE(eventually([&] { return window().currentPage() == PageName::kWatch; }));
    ASSERT_TRUE(
        eventually([&] { return app().runs().numRuns() == static_cast<int>(2 * ids.size()); }));
    for (int row = 0; row < app().runs().numRuns(); ++row) {
        const std::string id = app().runs().run(row).id;
        if (std::find(ids.begin(), ids.end(), id) == ids.end()) {
            after.insert(factsOf(id));
        }
    }
    EXPECT_EQ(after, before);
}

// Steps of a chart's first curve; each must be there once.
std::vector<double> stepsOf(const Chart& chart) {
    std::vector<double> steps;
    for (const Curve& curve : std::get<Curves>(chart.content()).curves) {
        for (std::size_t i = 0; i < curve.store->size(); ++i) {
            steps.push_back(curve.store->at(i).x);
        }
        break;
    }
    return steps;
}

// A run of 12 epochs, watched until its losses are drawn.
class LiveRun : public Live {
 protected:
    void launchAndWatch() {
        openExample();
        app().spec().setText(QString(app().spec().text()).replace("epochs: 3", "epochs: 12"));
        ASSERT_TRUE(eventually([&] { return app().spec().isChecked(); }));
        sheet().tickAll(false);
        sheet().setTicked(0, true);
        QTest::keyClick(&launch(), Qt::Key_Return, Qt::ControlModifier);
        ASSERT_TRUE(eventually([&] { return app().runs().numRuns() == 1; }));
        ASSERT_TRUE(eventually([&] {
            PlotWidget* loss = chartWith("loss");
            return loss != nullptr && !std::get<Curves>(loss->content()).curves.empty() &&
                   numPoints(*loss) > 30;
        }));
    }
    void expectLost() {
        ASSERT_TRUE(eventually([&] { return !place_.isConnected(); }));
        EXPECT_EQ(app().daemon().link().state, session::LinkState::kReconnecting);
        ASSERT_TRUE(eventually([&] { return !window().connectionBar().problem().isEmpty(); }));
        EXPECT_EQ(QApplication::activeModalWidget(), nullptr);
        EXPECT_EQ(app().runs().numRuns(), 1) << "what was known stays in sight";
    }
    // After reconnecting, the run ends, and the chart has each of its steps once.
    void expectWholeLoss() {
        ASSERT_TRUE(eventually([&] { return place_.isConnected(); }));
        EXPECT_TRUE(eventually([&] { return window().connectionBar().problem().isEmpty(); }));
        ASSERT_TRUE(eventually([&] { return areAll(values::RunState::kFinished, 1); }, 180));
        const double last = static_cast<double>(app().runs().run(0).progress.step);
        PlotWidget* const loss = chartWith("loss");
        ASSERT_TRUE(eventually([&] {
            const auto steps = stepsOf(*loss);
            return !steps.empty() && steps.back() == last;
        })) << "the end did not arrive";
        const std::vector<double> steps = stepsOf(*loss);
        ASSERT_EQ(steps.size(), static_cast<std::size_t>(last));
        for (std::size_t i = 0; i < steps.size(); ++i) {
            ASSERT_EQ(steps[i], static_cast<double>(i + 1)) << "a hole or a repetition";
        }
    }
};

TEST_F(LiveRun, ADaemonKilledUnderAWatchingConsoleComesBackWithoutAGapInTheCharts) {
    launchAndWatch();
    ::kill(place_.home().daemonPid(), SIGKILL);
    expectLost();
    const auto started = place_.home().startDaemon();
    ASSERT_TRUE(started.ok() && started->exitCode == 0);
    expectWholeLoss();
}

TEST_F(LiveRun, AnSshConnectionThatBreaksComesBackWithoutAGapInTheCharts) {
    if (!tests::ConsolePlace::isOverSsh()) {
        GTEST_SKIP() << "only over ssh (tests/integration/ssh/console_test.py)";
    }
    launchAndWatch();
    SubprocessOptions find;
    find.argv = {"pgrep", "-P", std::to_string(::getpid()), "-f", "--", "ssh -M"};
    const auto found = Subprocess::run(find);
    ASSERT_TRUE(found.ok() && !found->out.empty()) << "no ssh of this process runs";
    ::kill(std::atoi(found->out.c_str()), SIGKILL);
    expectWholeLoss();
}

TEST_F(Live, ADaemonOfANewerProtocolIsToldApartAndNamed) {
    const tests::NewerDaemon newer;
    ASSERT_TRUE(newer.isServing());
    app().daemon().connectTo(newer.address());
    ASSERT_TRUE(
        eventually([&] { return app().daemon().link().state == session::LinkState::kRefused; }));
    const std::string sentence = app().daemon().link().sentence;
    EXPECT_NE(sentence.find(tests::NewerDaemon::kVersion), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("99"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("update"), std::string::npos) << sentence;
    EXPECT_EQ(QApplication::activeModalWidget(), nullptr);
}

}  // namespace
}  // namespace millrace::gui

// Renders the page Runs in many situations: runs_shots DIR. A person looks at the pictures; no
// program compares them.
#include <QApplication>
#include <QDateTime>
#include <QDir>
#include <QTest>
#include <cstdio>
#include <functional>
#include <string>

#include "app/gui/models/run_colors.h"
#include "app/gui/models/runs/run_rows.h"
#include "app/gui/models/runs/run_table.h"
#include "app/gui/models/spec/spec_document.h"
#include "app/gui/pages/runs/column_chooser.h"
#include "app/gui/pages/runs/details/details_panel.h"
#include "app/gui/pages/runs/filter_bar.h"
#include "app/gui/pages/runs/parts/run_actions.h"
#include "app/gui/pages/runs/runs_page.h"
#include "app/gui/pages/runs/runs_view.h"
#include "app/gui/widgets/theme.h"
#include "tests/support/gui_poll.h"
#include "tests/support/runs_scene.h"

namespace millrace::gui {
namespace {

using values::RunDetail;

struct Scene {
    std::string name;
    int numRuns = 8;
    std::function<void(RunsPage&)> arrange;
    QSize size{1'440, 900};
    bool isAway = false, hasLongNames = false;
};

class Stage {
 public:
    explicit Stage(const Scene& scene) : scene_(scene) {
        runs_ = client::sceneRuns(scene.numRuns, QDateTime::currentMSecsSinceEpoch());
        for (RunDetail& run : runs_) {
            if (scene.hasLongNames) {
                run.summary.name =
                    "movielens-dlrm-with-a-name-that-goes-on-for-longer-than-anybody"
                    "-would-ever-type-by-hand-2026-11-21";
                run.summary.variation +=
                    run.summary.variation.empty() ? "" : "-and-every-thing-else-that-was-tried";
            }
            daemon_.putDetail(run);
        }
        for (int i = 0; i < 400 && !runs_.empty(); ++i) {
            daemon_.addLines(
                runs_[0].summary.id,
                {{runs_[0].summary.startedMs + i * 30, "rank0", "train: step=" + std::to_string(i),
                  false, 1, i % 50 == 49 ? values::LogLevel::kWarn : values::LogLevel::kInfo}});
        }
        daemon_.onMetricRange =
            [this](const values::MetricRangeRequest& request) -> Result<values::MetricHistory> {
            return client::sceneAnswer(request, runs_);
        };
        daemon_.onParseFilter = [](const std::string& filter) -> Result<values::FilterCheck> {
            if (filter.find("metric.los ") != std::string::npos) {
                return values::FilterCheck{true, "", 0};
            }
            return values::FilterCheck{false, "unknown attribute 'stat'; did you mean 'state'?",
                                       24};
        };
        QObject::connect(&bridge_, &DaemonBridge::runsChanged, &table_, [this](const RunsDelta& d) {
            table_.apply(d.isReset, d.changed, d.removed);
        });
        if (scene.isAway && scene.numRuns == 0) {
            daemon_.goAway();
        }
        page_ = std::make_unique<RunsPage>(PageContext{bridge_, table_, colors_, spec_}, nullptr);
        page_->resize(scene.size);
        page_->show();
        bridge_.connectTo("unix:/run/millrace/daemon.sock");
    }

    void save(const QDir& folder, const std::string& theme) {
        settle();
        if (scene_.arrange) {
            scene_.arrange(*page_);
            test::letTimersRun(std::chrono::milliseconds(150));
            settle();
        }
        if (scene_.isAway) {  // the daemon disconnects after its runs were read
            daemon_.goAway();
            test::letTimersRun(std::chrono::milliseconds(500));
        }
        const QString file =
            folder.filePath(QString::fromStdString("runs-" + scene_.name + "-" + theme + ".png"));
        std::printf("%s\n", qPrintable(file));
        page_->grab().save(file);
    }

 private:
    void settle() {
        const bool isSettled = QTest::qWaitFor(
            [&] { return scene_.numRuns == 0 || (bridge_.isSettled() && page_->isSettled()); },
            20'000);
        test::letTimersRun(std::chrono::milliseconds(200));
        if (!isSettled) {
            std::printf("(not settled)\n");
        }
    }

    Scene scene_;
    std::vector<RunDetail> runs_;
    client::FakeDaemon daemon_;
    DaemonBridge bridge_{[this](const std::string& a) { return daemon_.makeClient(a); }};
    RunTable table_;
    RunColors colors_;
    SpecDocument spec_;
    std::unique_ptr<RunsPage> page_;
};

std::function<void(RunsPage&)> tab(DetailsPanel::Tab tab, const std::string& run = "r-00001") {
    return [tab, run](RunsPage& page) {
        page.view().select({run});
        test::letTimersRun(std::chrono::milliseconds(200));
        page.details().showTab(tab);
    };
}

std::vector<Scene> scenes() {
    using Tab = DetailsPanel::Tab;
    const auto choose = [](std::vector<std::string> ids) {
        return [ids](RunsPage& page) {
            for (const std::string& id : ids) {
                page.rows().setTicked(id, true);
            }
        };
    };
    return {
        {"none", 0, {}},
        {"away", 0, {}, {1'440, 900}, true},
        {"lost", 8, tab(Tab::kOverview), {2'400, 900}, true},
        {"eight", 8, tab(Tab::kOverview)},
        {"failed", 8, tab(Tab::kOverview, "r-00003")},
        {"metrics", 8, tab(Tab::kMetrics, "r-00000")},
        {"spec", 8, tab(Tab::kSpec)},
        {"receipt", 8, tab(Tab::kReceipt)},
        {"environment", 8, tab(Tab::kEnvironment)},
        {"log", 8, tab(Tab::kLog, "r-00000")},
        {"checkpoints", 8, tab(Tab::kCheckpoints, "r-00003")},
        {"note", 8, tab(Tab::kNote, "r-00002")},
        {"compare", 8, choose({"r-00000", "r-00001", "r-00004"})},
        {"many", 10'000, tab(Tab::kOverview, "r-00004")},
        {"long", 8, tab(Tab::kOverview), {1'440, 900}, false, true},
        {"small", 8, choose({"r-00000", "r-00004"}), {1'100, 640}},
        {"filter", 30,
         [](RunsPage& p) { p.filterBar().setText("metrics.loss < 0.5 and stat = 'x'"); }},
        {"nomatch", 30, [](RunsPage& p) { p.filterBar().setText("zebra"); }},
    };
}

}  // namespace
}  // namespace millrace::gui

int main(int argc, char** argv) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication application(argc, argv);
    if (argc < 2) {
        std::fprintf(stderr, "runs_shots DIR [SCENE ...]\n");
        return 2;
    }
    QDir folder(argv[1]);
    folder.mkpath(".");
    millrace::gui::ThemeControl theme(application);
    for (const auto choice :
         {millrace::gui::ThemeChoice::kDark, millrace::gui::ThemeChoice::kLight}) {
        theme.choose(choice);
        for (const auto& scene : millrace::gui::scenes()) {
            bool isWanted = argc == 2;
            for (int i = 2; i < argc; ++i) {
                isWanted = isWanted || scene.name == argv[i];
            }
            if (isWanted) {
                millrace::gui::Stage(scene).save(folder, nameOf(choice).toStdString());
            }
        }
    }
    return 0;
}

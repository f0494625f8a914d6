// Renders the page Watch in many situations: watch_shots DIR. A person looks at the pictures; no
// program compares them.
#include <QApplication>
#include <QDateTime>
#include <QDir>
#include <QTest>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/models/run_colors.h"
#include "app/gui/models/runs/run_table.h"
#include "app/gui/models/spec/spec_document.h"
#include "app/gui/pages/watch/watch_charts.h"
#include "app/gui/pages/watch/watch_page.h"
#include "app/gui/widgets/live/lane_list.h"
#include "app/gui/widgets/theme.h"
#include "tests/support/gui_poll.h"
#include "tests/support/watch_scene.h"

namespace millrace::gui {
namespace {

using values::RunState;
using values::RunSummary;

struct Scene {
    std::string name;
    int numRuns = 1, numNodes = 1, numGpus = 2;
    bool hasLongNames = false, isAway = false;
    QSize size{1'440, 900};
    bool isFrozen = false;
};

// Nothing is logged while a run evaluates or writes a checkpoint.
values::MetricHistory whileTraining(values::MetricHistory all) {
    for (values::MetricSeries& series : all.series) {
        std::erase_if(series.points, [](const values::MetricPoint& point) {
            return client::scenePhase(static_cast<double>(point.step) / 5) !=
                   values::Phase::kTraining;
        });
    }
    return all;
}

class Stage {
 public:
    explicit Stage(const Scene& scene) : scene_(scene) {
        const std::int64_t now = QDateTime::currentMSecsSinceEpoch();
        addNodes(now);
        for (int i = 0; i < scene.numRuns; ++i) {
            addRun(i, now);
        }
        daemon_.onMetricRange =
            [this](const values::MetricRangeRequest& request) -> Result<values::MetricHistory> {
            for (const RunSummary& run : runs_) {
                if (run.id == request.run) {
                    return whileTraining(client::sceneHistory(run, 1, run.progress.step));
                }
            }
            return values::MetricHistory{};
        };
        QObject::connect(&bridge_, &DaemonBridge::runsChanged, &table_, [this](const RunsDelta& d) {
            table_.apply(d.isReset, d.changed, d.removed);
        });
        if (scene.isAway) {
            daemon_.goAway();
        }
        page_ = std::make_unique<WatchPage>(PageContext{bridge_, table_, colors_, spec_}, nullptr);
        page_->resize(scene.size);
        page_->show();
        bridge_.connectTo("unix:/run/millrace/daemon.sock");
        if (!scene.isAway) {
            replay(now);
        }
    }

    bool save(const QDir& folder, const std::string& theme) {
        if (!QTest::qWaitFor([&] { return scene_.isAway || bridge_.isSettled(); }, 10'000)) {
            return false;
        }
        const std::int64_t now = QDateTime::currentMSecsSinceEpoch();
        page_->tick(now);
        test::letTimersRun(std::chrono::milliseconds(900));
        if (scene_.isFrozen) {
            const auto start = static_cast<double>(now);
            page_->charts()->link()->setView({start - 60'000, start - 20'000});
            page_->charts()->link()->setCrosshair(start - 40'000);
            test::letTimersRun(std::chrono::milliseconds(300));
        }
        const QString file =
            folder.filePath(QString::fromStdString("watch-" + scene_.name + "-" + theme + ".png"));
        std::printf("%s\n", qPrintable(file));
        return page_->grab().save(file);
    }

 private:
    void addNodes(std::int64_t now) {
        std::vector<values::NodeInfo> infos;
        for (int i = 0; i < scene_.numNodes; ++i) {
            const std::string number = (i < 9 ? "0" : "") + std::to_string(i + 1);
            infos.push_back(client::sceneNode(
                (scene_.hasLongNames ? "gpu-cluster-eu-central-1b-rack-17-h100-" : "h100-") +
                    number,
                scene_.numGpus > 0 ? 96 : 16, i % 3 == 2 ? 0 : scene_.numGpus));
        }
        nodes_ = infos;
        daemon_.setNodes(infos);
        (void)now;
    }
    void addRun(int i, std::int64_t now) {
        const char* const names[] = {"", "keep-30", "no-spam", "label-3.5", "wide-embeddings"};
        std::string variation = i < 5 ? names[i] : "sweep-" + std::to_string(i);
        if (scene_.hasLongNames) {
            variation += "-with-a-name-that-nobody-can-read-in-one-go-and-more-of-it";
        }
        const RunState state = i == 5   ? RunState::kQueued
                               : i == 6 ? RunState::kFailed
                               : i == 7 ? RunState::kStopping
                                        : RunState::kRunning;
        RunSummary run =
            client::sceneRun("r-" + std::to_string(i), variation, state, now - 90'000 - i * 7'000);
        if (!nodes_.empty()) {
            run.host = nodes_.front().name;
        }
        if (state != RunState::kQueued) {
            client::sceneAdvance(run, static_cast<double>(now - run.startedMs) / 1e3);
            run.latestMetrics = client::scenePoints(run, run.progress.step);
        }
        if (state == RunState::kFailed) {
            run.endedMs = now - 20'000;
            run.exitReason =
                "rank-0 ended with signal 9 (killed: out of memory); restarts made no progress";
        }
        daemon_.addLines(run.id, client::sceneLog(run, 0, 400));
        daemon_.putRun(run);
        runs_.push_back(run);
    }
    // Repeats what an observer of the last minutes has received.
    void replay(std::int64_t now) {
        for (int back = 60; back >= 0; --back) {
            for (const values::NodeInfo& node : nodes_) {
                page_->nodes().addSample(client::sceneSample(node, now - back * 1'000),
                                         now - back * 1'000);
            }
        }
        std::vector<RunSummary> states;
        for (const RunSummary& run : runs_) {
            RunSummary past = run;
            past.progress = {};
            past.state = RunState::kStarting;
            past.endedMs = 0;
            if (run.state != RunState::kQueued) {
                page_->lanes().apply(false, {past}, {}, run.startedMs);
            }
            const std::int64_t end = run.endedMs > 0 ? run.endedMs : now;
            for (double t = 4;
                 run.startedMs > 0 && run.startedMs + t * 1e3 < static_cast<double>(end);
                 t += 0.5) {
                past.state = RunState::kRunning;
                client::sceneAdvance(past, t);
                page_->lanes().apply(false, {past}, {}, run.startedMs);
            }
            page_->lanes().apply(false, {run}, {}, now);
        }
        page_->charts()->rebuild();
        page_->tick(now);
    }

    Scene scene_;
    client::FakeDaemon daemon_;
    std::vector<values::NodeInfo> nodes_;
    std::vector<RunSummary> runs_;
    DaemonBridge bridge_{
        [this](const std::string& address) { return daemon_.makeClient(address); }};
    RunTable table_;
    RunColors colors_;
    SpecDocument spec_;
    std::unique_ptr<WatchPage> page_;
};

std::vector<Scene> scenes() {
    return {{.name = "one"},
            {.name = "eight", .numRuns = 8, .numNodes = 3, .numGpus = 8, .isFrozen = true},
            {.name = "nothing", .numRuns = 0, .numGpus = 0},
            {.name = "away", .numRuns = 0, .numNodes = 0, .isAway = true},
            {.name = "names", .numRuns = 4, .numNodes = 2, .hasLongNames = true},
            {.name = "small", .numRuns = 3, .numGpus = 0, .size = {900, 640}},
            {.name = "cluster", .numRuns = 3, .numNodes = 64, .size = {1'920, 1'080}}};
}

int run(QApplication& application, const QString& path) {
    QDir folder(path);
    folder.mkpath(QStringLiteral("."));
    ThemeControl theme(application);
    bool isFine = true;
    for (const auto& [choice, name] :
         {std::pair(ThemeChoice::kDark, "dark"), std::pair(ThemeChoice::kLight, "light")}) {
        theme.choose(choice);
        for (const Scene& scene : scenes()) {
            isFine = Stage(scene).save(folder, name) && isFine;
        }
    }
    return isFine ? 0 : 1;
}

}  // namespace
}  // namespace millrace::gui

int main(int argc, char** argv) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication application(argc, argv);
    return millrace::gui::run(application, argc > 1 ? argv[1] : "watch-shots");
}

// Measures what the page Watch costs the GUI thread, and prints one JSON object.
//
// live  20 s of 10 runs x 10 metrics at 10 Hz in 10 charts, telemetry and 50,000 log lines/s that
//       come through the bridge; the page paints offscreen: CPU time of the GUI thread per turn of
//       the event loop
// hour  36,000 simulated seconds of reports, telemetry, metrics and log lines: resident memory
//
// watch_bench [live|hour] [seconds]
#include <QAbstractEventDispatcher>
#include <QApplication>
#include <QDateTime>
#include <QElapsedTimer>
#include <QTest>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <time.h>

#include "app/gui/models/run_colors.h"
#include "app/gui/models/runs/run_table.h"
#include "app/gui/models/spec/spec_document.h"
#include "app/gui/pages/watch/watch_charts.h"
#include "app/gui/pages/watch/watch_page.h"
#include "app/gui/widgets/live/lane_list.h"
#include "app/gui/widgets/theme.h"
#include "backend/core/thread.h"
#include "backend/text/json.h"
#include "tests/support/gui_poll.h"
#include "tests/support/poll.h"
#include "tests/support/watch_scene.h"

namespace millrace::gui {
namespace {

constexpr int kRuns = 10, kMetrics = 10, kHz = 10, kLinesPerSecond = 50'000;

double threadCpuMs() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

double residentMiB() {
    std::ifstream file("/proc/self/statm");
    double total = 0, resident = 0;
    file >> total >> resident;
    return resident * 4 / 1'024;
}

std::string metricOf(int i) {
    constexpr const char* kNames[] = {"loss", "samples_per_second", "input_stall_percent",
                                      "loader.rows_read_per_second", "loader.rows_kept_per_second"};
    return i < 5 ? kNames[i] : "extra_" + std::to_string(i);
}

std::vector<values::RunFigure> pointsAt(std::int64_t step, std::int64_t timeMs) {
    std::vector<values::RunFigure> points;
    for (int m = 0; m < kMetrics; ++m) {
        values::RunFigure point;
        point.name = metricOf(m);
        point.value = 50 + 40 * std::sin(static_cast<double>(step) / 30 + m);
        point.step = step;
        point.timeMs = timeMs;
        points.push_back(point);
    }
    return points;
}

// The same values as the daemon sends them to a page: one line, whose keys are numbers of names.
values::MetricLine lineAt(std::int64_t step, std::int64_t timeMs) {
    values::MetricLine line;
    line.number = line.step = step;
    line.timeMs = timeMs;
    for (std::uint32_t key = 0; const values::RunFigure& figure : pointsAt(step, timeMs)) {
        line.values.push_back({key++, figure.value});
    }
    return line;
}

values::MetricNames namesOfLines() {
    values::MetricNames names;
    for (std::uint32_t key = 0; key < kMetrics; ++key) {
        names[key] = metricOf(static_cast<int>(key));
    }
    return names;
}

class Bench {
 public:
    Bench() {
        node_ = client::sceneNode("h100-01", 96, 8);
        daemon_.setNodes({node_});
        daemon_.onMetricRange =
            [](const values::MetricRangeRequest&) -> Result<values::MetricHistory> {
            return values::MetricHistory{};
        };
        QObject::connect(&bridge_, &DaemonBridge::runsChanged, &table_, [this](const RunsDelta& d) {
            table_.apply(d.isReset, d.changed, d.removed);
        });
        startMs_ = QDateTime::currentMSecsSinceEpoch();
        for (int i = 0; i < kRuns; ++i) {
            values::RunSummary run =
                client::sceneRun("r-" + std::to_string(i), "v" + std::to_string(i),
                                 values::RunState::kRunning, startMs_);
            client::sceneAdvance(run, 1);
            runs_.push_back(run);
            daemon_.putRun(run);
        }
        page_ = std::make_unique<WatchPage>(PageContext{bridge_, table_, colors_, spec_}, nullptr);
        page_->resize(1'800, 2'200);
        page_->show();
        bridge_.connectTo("unix:/fake.sock");
        isReady_ = QTest::qWaitFor(
            [&] { return bridge_.isSettled() && page_->lanes().numLanes() == kRuns; }, 10'000);
        std::vector<std::string> ids;
        for (const values::RunSummary& run : runs_) {
            ids.push_back(run.id);
        }
        page_->laneList()->select(ids, ids.front());
        for (int m = 5; m < 9; ++m) {
            page_->charts()->setMetricShown(metricOf(m), true);
        }
        test::letTimersRun(std::chrono::milliseconds(300));
    }

    bool isReady() const { return isReady_; }

    // Pushes on its own thread, in real time. Each turn of the event loop is one measurement.
    Json live(int seconds) {
        const std::jthread pusher = startThread("mr-push", [&](std::stop_token stop) {
            for (int tick = 0; tick < seconds * kHz && !stop.stop_requested(); ++tick) {
                push(tick);
                test::pauseUntil(begin_ + std::chrono::milliseconds(1'000 / kHz) * (tick + 1));
            }
        });
        std::vector<double> turns;
        QElapsedTimer clock;
        clock.start();
        double before = threadCpuMs();
        const double first = before;
        while (clock.elapsed() < seconds * 1'000) {
            QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
            const double now = threadCpuMs();
            if (now - before > 0.05) {
                turns.push_back(now - before);
            }
            before = now;
        }
        Json result = summaryOf(std::move(turns));
        result["seconds"] = seconds;
        result["gui_thread_percent"] = (threadCpuMs() - first) / (seconds * 10.0);
        result["log_lines_received"] = page_->feed().log().numReceived();
        result["log_lines_dropped"] = page_->feed().log().numDropped();
        result["lines_pushed"] = linesPushed_;
        return result;
    }

    // The models and the page without a connection: all updates of each second as fast as possible,
    // and one repaint for each simulated minute.
    Json hour(int seconds) {
        Json result;
        const values::MetricNames names = namesOfLines();
        std::vector<double> memory;
        for (int second = 0; second < seconds; ++second) {
            const std::int64_t now = startMs_ + std::int64_t{1'000} * second;
            page_->nodes().addSample(client::sceneSample(node_, now), now);
            for (values::RunSummary& run : runs_) {
                client::sceneAdvance(run, second + 1);
                run.progress.stepsTotal = 10'000'000;
            }
            page_->lanes().apply(false, runs_, {}, now);
            for (const values::RunSummary& run : runs_) {
                for (int k = 0; k < kHz; ++k) {
                    const std::int64_t step = std::int64_t{second} * kHz + k + 1;
                    const values::MetricLine line = lineAt(step, now + k * 100);
                    page_->feed().series(run.id)->apply(std::nullopt, {&line, 1}, names);
                }
            }
            page_->feed().log().append(client::sceneLog(runs_.front(), second * 100, 100));
            if (second % 60 == 0) {
                page_->charts()->rebuild();
                page_->tick(now);
                QCoreApplication::processEvents();
            }
            if (second % std::max(1, seconds / 20) == 0) {
                memory.push_back(residentMiB());
            }
        }
        result["seconds"] = seconds;
        result["resident_mib"] = memory;
        result["resident_mib_end"] = residentMiB();
        result["log_mib"] = static_cast<double>(page_->feed().log().bytesUsed()) / (1 << 20);
        result["curves_mib"] =
            static_cast<double>(page_->feed().series("r-0")->bytesUsed()) * kRuns / (1 << 20);
        return result;
    }

 private:
    void push(int tick) {
        const std::int64_t now = QDateTime::currentMSecsSinceEpoch();
        for (values::RunSummary& run : runs_) {
            client::sceneAdvance(run, static_cast<double>(now - startMs_) / 1e3);
            daemon_.addPoints(run.id, pointsAt(tick + 1, now));
            daemon_.putRun(run);
        }
        if (tick % kHz == 0) {
            daemon_.sample(client::sceneSample(node_, now));
        }
        const int count = kLinesPerSecond / kHz;
        daemon_.addLines(runs_.front().id,
                         client::sceneLog(runs_.front(), static_cast<int>(linesPushed_), count));
        linesPushed_ += count;
    }
    static Json summaryOf(std::vector<double> turns) {
        std::sort(turns.begin(), turns.end());
        const auto at = [&](double share) {
            return turns.empty() ? 0
                                 : turns[static_cast<std::size_t>(
                                       share * static_cast<double>(turns.size() - 1))];
        };
        double sum = 0;
        std::vector<int> histogram(9, 0);  // < 1, 2, 4, 8, 16, 32, 64, 100, more ms
        constexpr double kEdges[] = {1, 2, 4, 8, 16, 32, 64, 100};
        for (double turn : turns) {
            sum += turn;
            ++histogram[static_cast<std::size_t>(
                std::upper_bound(std::begin(kEdges), std::end(kEdges), turn) - std::begin(kEdges))];
        }
        Json result;
        result["turns"] = turns.size();
        result["cpu_ms_mean"] = turns.empty() ? 0 : sum / static_cast<double>(turns.size());
        result["cpu_ms_p50"] = at(0.5);
        result["cpu_ms_p99"] = at(0.99);
        result["cpu_ms_max"] = at(1);
        result["histogram_below_ms"] = std::vector<double>(std::begin(kEdges), std::end(kEdges));
        result["histogram"] = histogram;
        return result;
    }

    client::FakeDaemon daemon_;
    values::NodeInfo node_;
    std::vector<values::RunSummary> runs_;
    bool isReady_ = false;
    std::int64_t startMs_ = 0, linesPushed_ = 0;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    DaemonBridge bridge_{
        [this](const std::string& address) { return daemon_.makeClient(address); }};
    RunTable table_;
    RunColors colors_;
    SpecDocument spec_;
    std::unique_ptr<WatchPage> page_;
};

}  // namespace
}  // namespace millrace::gui

int main(int argc, char** argv) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication application(argc, argv);
    millrace::gui::ThemeControl theme(application);
    const std::string what = argc > 1 ? argv[1] : "live";
    const int seconds = argc > 2 ? std::atoi(argv[2]) : what == "hour" ? 36'000 : 20;
    millrace::gui::Bench bench;
    if (!bench.isReady()) {
        std::fprintf(stderr, "the page did not settle\n");
        return 1;
    }
    const millrace::Json result = what == "hour" ? bench.hour(seconds) : bench.live(seconds);
    std::printf("%s\n", result.dump(2).c_str());
    return 0;
}

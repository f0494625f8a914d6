// Measures the costs of the page of runs, offscreen and with a daemon in memory. runs_bench prints
// one JSON object.
#include <QApplication>
#include <QDateTime>
#include <QElapsedTimer>
#include <QTest>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "app/gui/charts/plot_widget.h"
#include "app/gui/models/run_colors.h"
#include "app/gui/models/runs/run_rows.h"
#include "app/gui/models/runs/run_table.h"
#include "app/gui/models/spec/spec_document.h"
#include "app/gui/pages/runs/details/details_panel.h"
#include "app/gui/pages/runs/details/metrics_section.h"
#include "app/gui/pages/runs/filter_bar.h"
#include "app/gui/pages/runs/parts/chart_board.h"
#include "app/gui/pages/runs/parts/run_actions.h"
#include "app/gui/pages/runs/runs_page.h"
#include "app/gui/pages/runs/runs_view.h"
#include "app/gui/widgets/theme.h"
#include "backend/text/json.h"
#include "tests/support/runs_scene.h"

namespace millrace::gui {
namespace {

constexpr int kNumRuns = 10'000;
constexpr int kNumMetrics = 100;
constexpr std::int64_t kNumPoints = 100'000;

double secondsOf(const QElapsedTimer& timer) {
    return static_cast<double>(timer.nsecsElapsed()) / 1e9;
}

double threadCpuMs() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

/// Milliseconds: the median and the maximum of `times` calls, in elapsed time and in processor time
/// of the GUI thread. Other work on the machine changes the processor time little.
Json timed(int times, const std::function<void(int)>& call) {
    std::vector<double> all, cpu;
    for (int i = 0; i < times; ++i) {
        const double before = threadCpuMs();
        QElapsedTimer timer;
        timer.start();
        call(i);
        all.push_back(secondsOf(timer) * 1e3);
        cpu.push_back(threadCpuMs() - before);
    }
    std::sort(all.begin(), all.end());
    std::sort(cpu.begin(), cpu.end());
    return {{"median_ms", all[all.size() / 2]},
            {"worst_ms", all.back()},
            {"cpu_median_ms", cpu[cpu.size() / 2]},
            {"cpu_worst_ms", cpu.back()}};
}

class Bench {
 public:
    Bench() : runs_(client::sceneRuns(kNumRuns, QDateTime::currentMSecsSinceEpoch(), 200)) {
        values::RunDetail& heavy = runs_[5];
        light_ = heavy.summary;
        for (int i = 0; i < kNumMetrics; ++i) {
            heavy.summary.latestMetrics.push_back(
                {"custom." + std::to_string(i), 0.5, kNumPoints, 1'700'000'000'000, 1});
            heavy.metricNames.push_back("custom." + std::to_string(i));
        }
        for (const int maxPoints : {120, 2'000}) {
            for (int i = 0; i < kNumMetrics; ++i) {
                series_[maxPoints].push_back(client::sceneSeries("custom." + std::to_string(i), 0.5,
                                                                 static_cast<unsigned>(i),
                                                                 kNumPoints, maxPoints));
            }
        }
        for (const values::RunDetail& run : runs_) {
            summaries_.push_back(run.summary);
        }
        daemon_.putDetail(heavy);
        daemon_.onMetricRange = [this](const values::MetricRangeRequest& request) {
            return answer(request);
        };
    }

    Json table() {
        QElapsedTimer timer;
        timer.start();
        page_ = std::make_unique<RunsPage>(PageContext{bridge_, table_, colors_, spec_}, nullptr);
        page_->resize(1'440, 900);
        page_->show();
        table_.apply(true, summaries_, {});
        RunsDelta delta;
        delta.isComplete = true;
        Q_EMIT bridge_.runsChanged(delta);
        paint();
        const double seconds = secondsOf(timer);
        return {{"runs", page_->rows().numMatching()},
                {"rows", page_->rows().rowCount()},
                {"usable_ms", seconds * 1e3}};
    }

    Json filter() {
        static const char* const kTexts[] = {
            "keep", "keep-3", "wide", "r-0123", "movielens wide", "nothing-is-called-so", ""};
        return timed(21, [&](int i) {
            page_->filterBar().setText(kTexts[i % 7]);
            paint();
        });
    }

    Json sort() {
        static const char* const kKeys[] = {"metric:loss", "name",  "variation", "started",
                                            "duration",    "state", "rate",      "id"};
        return timed(24, [&](int i) {
            page_->rows().setSort(kKeys[i % 8],
                                  i % 2 == 0 ? Qt::AscendingOrder : Qt::DescendingOrder);
            paint();
        });
    }

    Json changes() {
        return timed(20, [&](int i) {
            std::vector<values::RunSummary> changed(summaries_.begin() + i * 100,
                                                    summaries_.begin() + i * 100 + 200);
            for (values::RunSummary& run : changed) {
                run.progress.step += 1;
                run.latestMetrics[3].value += 0.001 * i;
            }
            table_.apply(false, changed, {});
            page_->rows().settle();
            paint();
        });
    }

    /// From the selection to a curve on the screen. The daemon answers on another thread.
    Json select() {
        bridge_.connectTo("unix:/fake.sock");
        require(QTest::qWaitFor([&] { return bridge_.isSettled(); }, 20'000), "connected");
        table_.apply(false, summaries_, {});
        page_->rows().setFolded({});
        page_->details().showTab(DetailsPanel::Tab::kMetrics);
        ChartBoard& board = page_->details().tabs().metrics().board();
        return timed(9, [&](int i) {
            page_->view().select({i % 2 == 0 ? "r-00005" : "r-00010"});
            const auto isDrawn = [&] {
                return page_->details().runId() == (i % 2 == 0 ? "r-00005" : "r-00010") &&
                       !board.plots().empty() && !board.plots()[0]->isEmpty();
            };
            require(QTest::qWaitFor(isDrawn, 10'000), "drawn");
            paint();
        });
    }

 private:
    Result<values::MetricHistory> answer(const values::MetricRangeRequest& request) {
        const bool isHeavy = request.run == runs_[5].summary.id;
        values::MetricHistory found =
            client::sceneAnswer(request, {isHeavy ? client::sceneDetail(light_) : runs_[10]});
        const auto stored = series_.find(request.maxPoints);
        for (std::size_t i = 0; isHeavy && stored != series_.end() && i < kNumMetrics; ++i) {
            const values::MetricSeries& one = stored->second[i];
            if (std::find(request.names.begin(), request.names.end(), one.key) !=
                request.names.end()) {
                found.series.push_back(one);
            }
        }
        return found;
    }
    static void require(bool isTrue, const char* what) {
        if (!isTrue) {
            std::fprintf(stderr, "runs_bench: not %s\n", what);
            std::exit(1);
        }
    }
    void paint() {
        QCoreApplication::sendPostedEvents();
        page_->grab();
    }

    std::vector<values::RunDetail> runs_;
    std::vector<values::RunSummary> summaries_;
    values::RunSummary light_;  // the run with many points, without its hundred metrics
    std::map<int, std::vector<values::MetricSeries>> series_;  // key: number of points
    client::FakeDaemon daemon_;
    DaemonBridge bridge_{[this](const std::string& a) { return daemon_.makeClient(a); }};
    RunTable table_;
    RunColors colors_;
    SpecDocument spec_;
    std::unique_ptr<RunsPage> page_;
};

}  // namespace
}  // namespace millrace::gui

int main(int argc, char** argv) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication application(argc, argv);
    millrace::gui::ThemeControl theme(application);
    theme.choose(millrace::gui::ThemeChoice::kDark);
    millrace::gui::Bench bench;
    millrace::Json report;
    report["table"] = bench.table();
    report["filter"] = bench.filter();
    report["sort"] = bench.sort();
    report["changes_200_runs"] = bench.changes();
    report["select_100_metrics"] = bench.select();
    std::printf("%s\n", millrace::dumpJsonPretty(report).c_str());
    return 0;
}

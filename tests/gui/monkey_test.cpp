// 20,000 seeded events on the whole console, with a daemon in memory that keeps reporting: no
// crash, no leak (under AddressSanitizer), and no turn that takes the GUI thread's processor for
// long.
//
// MILLRACE_MONKEY_EVENTS and MILLRACE_MONKEY_SEED change length and seed. The test prints times,
// and checks them against the budget only if MILLRACE_MONKEY_BUDGET is set (tests/bench/gui),
// because a busy machine cannot keep it.
#include "tests/gui/monkey.h"

#include <QSettings>
#include <QTemporaryDir>
#include <QTimer>
#include <QtTest/QTest>
#include <chrono>
#include <cmath>
#include <cstdio>

#include <gtest/gtest.h>

#include "app/gui/console_app.h"
#include "app/gui/widgets/theme.h"
#include "tests/support/fake_daemon_client.h"

namespace millrace::gui {
namespace {

// The budget of every turn, also of a switch of the theme.
constexpr double kMostCpuMs = 100;

int numberFrom(const char* name, int otherwise) {
    bool isNumber = false;
    const int value = qEnvironmentVariableIntValue(name, &isNumber);
    return isNumber ? value : otherwise;
}

std::int64_t nowMs() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

const char* const kSpec =
    "name: monkey\n"
    "dataset: {path: ratings.csv}\n"
    "recipe:\n"
    "  - filter: rating > 0\n"
    "  - {name: spam, enabled: false, filter: userId <> 3}\n"
    "labels: {liked: rating >= 4.0}\n"
    "features: {ids: [userId, movieId]}\n"
    "variations:\n"
    "  - {name: one, set: {batch.seed: 8}}\n"
    "  - {name: two, set: {recipe.spam.enabled: true}}\n";

// Answers the calls that a page makes; its runs report progress.
class BusyDaemon {
 public:
    BusyDaemon() {
        fake_.addRuns(300);
        addNode();
        for (int i = 0; i < 4; ++i) {
            addLiveRun("r-live" + std::to_string(i), i);
        }
        fake_.onMetricRange = [](const values::MetricRangeRequest& request) {
            return series(request);
        };
        fake_.onCheck = [](const values::CheckRequest&) { return check(); };
        fake_.onDataset = [](const values::DatasetRequest&) { return dataset(); };
        fake_.onSteps = [](const values::StepsRequest&) { return steps(); };
        fake_.onParseFilter = [](const std::string& filter) -> Result<values::FilterCheck> {
            return filter.find('=') != std::string::npos
                       ? values::FilterCheck{true, "", 0}
                       : values::FilterCheck{false, "a comparison is missing", 1};
        };
        fake_.onSubmit = [this](const values::SubmitRequest&) -> Result<values::SubmitReply> {
            values::SubmitReply reply;
            reply.runs.push_back(fake_.runs().front());
            return reply;
        };
    }

    client::FakeDaemon& fake() { return fake_; }

    /// One report: progress, points, lines and a sample.
    void beat() {
        ++step_;
        for (values::RunSummary run : fake_.runs()) {
            if (run.state != values::RunState::kRunning) {
                continue;
            }
            run.progress.step = step_;
            run.progress.rows = step_ * 512;
            run.progress.timeMs = nowMs();
            run.progress.times = values::PhaseTimes{80.0 * step_, 7.0 * step_};
            run.progress.stallPercentNow = step_ % 7;
            run.rowsRead = run.progress.rows * 2;
            run.rowsKept = run.progress.rows;
            const double loss = 1 / std::sqrt(static_cast<double>(step_));
            fake_.addPoints(run.id,
                            {{"loss", loss, step_, nowMs(), 0},
                             {"samples_per_second", 9000.0 + step_ % 50, step_, nowMs(), 0}});
            fake_.addLines(
                run.id, std::vector<values::LogLine>(
                            20, {nowMs(), "rank0", "train: step=" + std::to_string(step_), false, 1,
                                 values::LogLevel::kInfo}));
            fake_.putRun(run);
        }
        values::NodeSample sample;
        sample.node = "node-1";
        sample.timeMs = nowMs();
        sample.cpuPercent = 50 + step_ % 40;
        sample.corePercent = {40, 60};
        sample.memoryUsedBytes = std::uint64_t{8} << 30;
        sample.memoryTotalBytes = std::uint64_t{24} << 30;
        fake_.sample(sample);
    }

 private:
    void addNode() {
        values::NodeInfo node;
        node.name = "node-1";
        node.version = "0.1.0";
        node.isHead = true;
        node.cores = 2;
        node.gpuNote = "no GPU";
        fake_.setNodes({node});
    }
    void addLiveRun(const std::string& id, int i) {
        values::RunDetail detail;
        detail.summary.id = id;
        detail.summary.uid = id;
        detail.summary.name = "monkey";
        detail.summary.variation = "v" + std::to_string(i);
        detail.summary.state = values::RunState::kRunning;
        detail.summary.createdMs = detail.summary.startedMs = nowMs();
        detail.summary.progress.stepsTotal = 100'000;
        detail.specText = kSpec;
        detail.resolvedSpec = R"({"batch":{"seed":7},"name":"monkey"})";
        detail.metricNames = {"loss", "samples_per_second"};
        fake_.putDetail(detail);
    }
    static Result<values::MetricHistory> series(const values::MetricRangeRequest& request) {
        values::MetricHistory all;
        const std::vector<std::string> names =
            request.names.empty() ? std::vector<std::string>{"loss", "eval.auc"} : request.names;
        for (const std::string& name : names) {
            values::MetricSeries one;
            one.key = name;
            for (int i = 1; i <= 2'000; ++i) {
                values::MetricPoint& point = one.points.emplace_back();
                point.step = i;
                point.timeMs = 1'700'000'000'000 + i * 100;
                point.value = std::sin(i * 0.01) + 1.5;
            }
            one.numPoints = 2'000;
            all.series.push_back(std::move(one));
        }
        return all;
    }
    static Result<values::CheckReply> check() {
        values::CheckReply reply;
        reply.runs = {{"", "{}", "aa", "bb", 1000, 1, 4}, {"one", "{}", "cc", "dd", 1000, 1, 4}};
        reply.columns = {{"userId", "int64"}, {"movieId", "int64"}, {"rating", "double"}};
        return reply;
    }
    static Result<values::DatasetReply> dataset() {
        values::DatasetReply reply;
        reply.format = "parquet";
        for (int i = 0; i < 200; ++i) {
            reply.files.push_back({"part-" + std::to_string(i) + ".parquet",
                                   1'000'000,
                                   65'536,
                                   {{32'768, 400'000, 900'000}, {32'768, 500'000, 1'000'000}}});
        }
        reply.filesTotal = 200;
        reply.rows = 200 * 65'536;
        reply.bytes = 200'000'000;
        reply.columns = {{"userId", "int64"}, {"rating", "double", true, 12}};
        return reply;
    }
    static Result<values::StepsReply> steps() {
        values::StepsReply reply;
        reply.splits = 4;
        reply.splitRows = 8'192;
        for (int stage = 0; stage < 3; ++stage) {
            values::SampleStage one;
            one.step = stage == 0 ? "dataset" : "filter" + std::to_string(stage);
            one.kind = stage == 0 ? "dataset" : "filter";
            values::SampleColumn column{"userId", "int64", {}, {}};
            for (int row = 0; row < 50; row += stage + 1) {
                one.rowIds.push_back(row);
                column.values.push_back(std::to_string(row * 11));
            }
            one.columns.push_back(column);
            reply.stages.push_back(one);
        }
        return reply;
    }

    client::FakeDaemon fake_;
    std::int64_t step_ = 0;
};

TEST(MonkeyTest, ManyEventsCrashNothingAndKeepTheWindowQuick) {
    BusyDaemon daemon;
    QTemporaryDir folder;
    QSettings settings(folder.filePath("console.ini"), QSettings::IniFormat);
    ThemeControl theme(*qApp);
    ConsoleOptions options;
    const auto makeClient = [&](const std::string& address) {
        return daemon.fake().makeClient(address);
    };
    ConsoleApp app({makeClient, makePage, settings, theme, "unix:/fake.sock", nowMs}, options);
    app.start();
    QTimer beat;
    QObject::connect(&beat, &QTimer::timeout, &app, [&] { daemon.beat(); });
    beat.start(100);
    ASSERT_TRUE(QTest::qWaitFor([&] { return app.runs().numRuns() >= 304; }, 20'000));
    app.spec().open(QString::fromUtf8(kSpec), {}, folder.path());
    app.window().makeOtherPages();

    const int events = numberFrom("MILLRACE_MONKEY_EVENTS", 20'000);
    const int seed = numberFrom("MILLRACE_MONKEY_SEED", 7);
    tests::Monkey monkey(app.window(), static_cast<std::uint64_t>(seed));
    QObject::connect(&theme, &ThemeControl::changed, &app, [&] { monkey.markTheme(); });
    monkey.start(events);
    ASSERT_TRUE(QTest::qWaitFor([&] { return monkey.isDone(); }, 1'500'000));
    const std::vector<tests::Monkey::Turn>& turns = monkey.turns();
    EXPECT_EQ(turns.size(), static_cast<std::size_t>(events));
    double most = 0, mostTheme = 0;
    for (const auto& turn : turns) {
        double& greatest = turn.isTheme ? mostTheme : most;
        greatest = std::max(greatest, turn.cpuMs);
    }
    std::printf("seed %d, %d events; CPU ms of the GUI thread a turn:\n%s slowest:\n%s", seed,
                events, tests::histogramOf(turns).c_str(),
                tests::describeSlowest(turns, 8).c_str());
    std::printf(" slowest switch of the theme: %.2f ms\n", mostTheme);
    if (qEnvironmentVariableIsSet("MILLRACE_MONKEY_BUDGET")) {
        EXPECT_LE(most, kMostCpuMs);
        EXPECT_LE(mostTheme, kMostCpuMs);
    }
}

}  // namespace
}  // namespace millrace::gui

// Measures what the bridge costs the GUI thread, and prints one JSON object.
//
// live    10 s of 50,000 log lines/s of one run, and 10 runs x 10 metrics at 10 Hz: deliveries, CPU
//         time of the GUI thread per delivery, lines that were left out, time from push to delivery
// runs    10,000 runs with parameters from the first page to the last, until runsChanged
// answer  the time of a request to a thread and back
#include <QCoreApplication>
#include <QTest>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "app/gui/bridge/daemon_bridge.h"
#include "backend/core/thread.h"
#include "backend/text/json.h"
#include "tests/support/fake_daemon_client.h"
#include "tests/support/poll.h"

namespace millrace::gui {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kSeconds = 10, kLinesPerSecond = 50'000, kRuns = 10, kMetrics = 10, kHz = 10;
constexpr int kLimitMs = 60'000;

template <class Condition>
void waitFor(Condition condition) {
    if (!QTest::qWaitFor(condition, kLimitMs)) {
        std::fprintf(stderr, "bridge_bench: what was waited for did not come\n");
        std::exit(1);
    }
}

double msSince(SteadyClock::time_point start) {
    return std::chrono::duration<double, std::milli>(SteadyClock::now() - start).count();
}

double threadCpuMs() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

Json summaryOf(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const auto at = [&](double part) {
        return values.empty() ? 0.0
                              : values[static_cast<std::size_t>(
                                    part * static_cast<double>(values.size() - 1))];
    };
    double sum = 0;
    for (const double value : values) {
        sum += value;
    }
    return {{"count", values.size()},
            {"mean", values.empty() ? 0 : sum / static_cast<double>(values.size())},
            {"p50", at(0.5)},
            {"p99", at(0.99)},
            {"max", at(1)}};
}

std::string idOf(int run) {
    return "r-live" + std::to_string(run);
}

/// Pushes lines and points at their rates from its own thread, every 20 ms.
void produce(client::FakeDaemon& daemon) {
    const auto start = SteadyClock::now();
    int lines = 0, frames = 0;
    for (int tick = 1; tick <= kSeconds * 50; ++tick) {
        test::pauseUntil(start + std::chrono::milliseconds(20) * tick);
        std::vector<values::LogLine> fresh;
        for (const int due = kLinesPerSecond / 50 * tick; lines < due; ++lines) {
            fresh.push_back({lines, "rank0",
                             "step " + std::to_string(lines) + " loss 0.5123 lr 0.01 stall 3 %",
                             false, 1, values::LogLevel::kInfo});
        }
        daemon.addLines(idOf(0), std::move(fresh));
        if (tick % (50 / kHz) != 0) {
            continue;
        }
        ++frames;
        for (int run = 0; run < kRuns; ++run) {
            std::vector<values::RunFigure> points;
            for (int metric = 0; metric < kMetrics; ++metric) {
                points.push_back({"metric" + std::to_string(metric), 0.5 / frames, frames,
                                  frames * 100, 0, frames * 256, 1});
            }
            daemon.addPoints(idOf(run), std::move(points));
        }
    }
}

struct Seen {
    std::size_t numLines = 0, numPoints = 0;
    std::uint64_t numDropped = 0;
};

Json benchLive() {
    client::FakeDaemon daemon;
    std::vector<std::string> ids;
    for (int run = 0; run < kRuns; ++run) {
        values::RunSummary summary;
        summary.id = idOf(run);
        summary.state = values::RunState::kRunning;
        daemon.putRun(summary);
        ids.push_back(summary.id);
    }
    DaemonBridge bridge([&](const std::string& address) { return daemon.makeClient(address); });
    bridge.connectTo("unix:/bench");
    waitFor([&] { return bridge.isSettled(); });
    Seen seen;
    const auto metrics = bridge.followMetrics(
        ids, [&](const std::string&, const MetricsDelta& d) { seen.numPoints += d.lines.size(); });
    const auto logs = bridge.followLogs(idOf(0), 100, [&](const LogsDelta& delta) {
        seen.numLines += delta.lines.size();
        seen.numDropped += delta.droppedLines;
    });
    waitFor([&] { return daemon.numStreams("metrics") == kRuns; });

    const std::uint64_t before = bridge.numDeliveries();
    const double cpuBefore = threadCpuMs();
    const auto start = SteadyClock::now();
    const std::jthread producer([&] { produce(daemon); });
    const std::size_t allLines = std::size_t{kSeconds} * kLinesPerSecond;
    const std::size_t allPoints = std::size_t{kSeconds} * kHz * kRuns * kMetrics;
    std::vector<double> frames;
    while ((seen.numLines + seen.numDropped < allLines || seen.numPoints < allPoints) &&
           msSince(start) < kLimitMs) {
        const std::uint64_t count = bridge.numDeliveries();
        const double cpu = threadCpuMs();
        QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
        if (bridge.numDeliveries() > count) {
            frames.push_back(threadCpuMs() - cpu);
        }
    }
    const double seconds = msSince(start) / 1'000;
    return {
        {"seconds", seconds},
        {"lines", seen.numLines},
        {"points", seen.numPoints},
        {"dropped", seen.numDropped},
        {"deliveries_per_second", static_cast<double>(bridge.numDeliveries() - before) / seconds},
        {"gui_cpu_percent", (threadCpuMs() - cpuBefore) / seconds / 10},
        {"delivery_cpu_ms", summaryOf(frames)}};
}

Json benchRuns() {
    constexpr int kCount = 10'000;
    client::FakeDaemon daemon;
    daemon.addRuns(kCount);
    DaemonBridge bridge([&](const std::string& address) { return daemon.makeClient(address); });
    std::size_t numRuns = 0;
    double firstMs = 0;
    bool isComplete = false;
    const auto start = SteadyClock::now();
    QObject::connect(&bridge, &DaemonBridge::runsChanged, &bridge, [&](const RunsDelta& delta) {
        numRuns += delta.changed.size();
        firstMs = firstMs > 0 ? firstMs : msSince(start);
        isComplete = delta.isComplete;
    });
    const double cpu = threadCpuMs();
    bridge.connectTo("unix:/bench");
    waitFor([&] { return isComplete; });
    return {{"runs", numRuns},
            {"first_page_ms", firstMs},
            {"all_ms", msSince(start)},
            {"gui_cpu_ms", threadCpuMs() - cpu}};
}

Json benchAnswers() {
    client::FakeDaemon daemon;
    DaemonBridge bridge([&](const std::string& address) { return daemon.makeClient(address); });
    bridge.connectTo("unix:/bench");
    std::vector<double> times;
    for (int i = 0; i < 1'000; ++i) {
        bool isDone = false;
        const auto start = SteadyClock::now();
        bridge.parseFilter("", &bridge, [&](Result<values::FilterCheck>) { isDone = true; });
        while (!isDone && msSince(start) < kLimitMs) {
            QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
        }
        times.push_back(msSince(start));
    }
    return summaryOf(times);
}

}  // namespace
}  // namespace millrace::gui

int main(int argc, char** argv) {
    using namespace millrace;
    QCoreApplication application(argc, argv);
    const Json all = {
        {"live", gui::benchLive()}, {"runs", gui::benchRuns()}, {"answer_ms", gui::benchAnswers()}};
    std::printf("%s\n", all.dump(2).c_str());
    const bool isGood = all["live"]["dropped"] == 0 && all["runs"]["runs"] == 10'000;
    return isGood ? 0 : 1;
}

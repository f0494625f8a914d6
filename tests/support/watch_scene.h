#pragma once
// A cluster with jobs in a fake daemon, for tests, pictures and benchmarks of the page Watch.
//
// Threads: the test's own. Times are taken from `nowMs`, so that a picture can be repeated.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "backend/values/metric_names.h"
#include "tests/support/fake_daemon_client.h"

namespace millrace::client {

inline values::NodeInfo sceneNode(const std::string& name, int cores, int numGpus) {
    values::NodeInfo node;
    node.name = name;
    node.cores = cores;
    node.cpuModel = numGpus > 0 ? "AMD EPYC 9654 96-Core Processor" : "Intel Xeon Gold 6338";
    node.memoryBytes = std::uint64_t{numGpus > 0 ? 1'536U : 256U} << 30;
    node.gpuNote = numGpus > 0 ? "" : "libnvidia-ml.so.1 is not installed";
    for (int i = 0; i < numGpus; ++i) {
        node.gpus.push_back({i, "NVIDIA H100 80GB HBM3", "GPU-" + std::to_string(i), "550.54",
                             std::uint64_t{80} << 30});
    }
    return node;
}

inline values::NodeSample sceneSample(const values::NodeInfo& node, std::int64_t timeMs) {
    const double t = static_cast<double>(timeMs) / 1e3;
    values::NodeSample sample;
    sample.node = node.name;
    sample.timeMs = timeMs;
    sample.cpuPercent = 58 + 22 * std::sin(t / 5) + 5 * std::sin(t * 1.7);
    sample.load1 = node.cores * 0.6 + 2 * std::sin(t / 20);
    for (int core = 0; core < node.cores; ++core) {
        sample.corePercent.push_back(
            std::clamp(55 + 45 * std::sin(t / 3 + core * 1.3), 0.0, 100.0));
    }
    sample.memoryTotalBytes = node.memoryBytes;
    sample.memoryUsedBytes = node.memoryBytes / 100 * 43;
    sample.diskTotalBytes = std::uint64_t{7'000} << 30;
    sample.diskFreeBytes = std::uint64_t{2'310} << 30;
    sample.diskReadBytesPerSecond = 6.1e8 + 2e8 * std::sin(t / 4);
    sample.diskWriteBytesPerSecond = 2.2e7 * (1 + std::sin(t / 9));
    sample.networkReceiveBytesPerSecond = 1.1e9 + 3e8 * std::sin(t / 6);
    sample.networkSendBytesPerSecond = 4e6 * (1.2 + std::sin(t / 2));
    for (const values::GpuInfo& gpu : node.gpus) {
        values::GpuSample g;
        g.index = gpu.index;
        g.utilizationPercent = std::clamp(91 + 8 * std::sin(t / 3 + gpu.index), 0.0, 100.0);
        g.memoryTotalBytes = gpu.memoryBytes;
        g.memoryUsedBytes = gpu.memoryBytes / 100 * static_cast<std::uint64_t>(62 + gpu.index * 3);
        g.powerWatts = 560 + 80 * std::sin(t / 3 + gpu.index);
        g.temperatureCelsius = 61 + gpu.index * 3.5;
        sample.gpus.push_back(g);
    }
    return sample;
}

inline values::RunSummary sceneRun(const std::string& id, const std::string& variation,
                                   values::RunState state, std::int64_t startedMs) {
    values::RunSummary run;
    run.id = id;
    run.uid = id;
    run.name = "movielens-dlrm";
    run.variation = variation;
    run.state = state;
    run.createdMs = startedMs - 2'000;
    run.startedMs = state == values::RunState::kQueued ? 0 : startedMs;
    run.attempt = state == values::RunState::kQueued ? 0 : 1;
    run.host = "h100-01";
    run.owner = "ada";
    if (state == values::RunState::kQueued) {
        run.queuedReason = "waits for 1 GPU: 2 runs are before it";
    }
    return run;
}

inline bool isAt(double seconds, double every, double length) {
    return seconds > every && std::fmod(seconds, every) < length;
}
inline values::Phase scenePhase(double seconds) {
    return isAt(seconds, 40, 4)   ? values::Phase::kEvaluating
           : isAt(seconds, 60, 2) ? values::Phase::kCheckpoint
                                  : values::Phase::kTraining;
}

/// Sum in ms of all pauses of `length` s that come every `every` s, up to `seconds`.
inline double sceneTimeIn(double seconds, double every, double length) {
    const double whole = std::max(0.0, std::floor(seconds / every) - 1);
    const double rest = seconds > every ? std::min(length, std::fmod(seconds, every)) : 0;
    return 1e3 * (whole * length + rest);
}
/// The phase times of such a run, which waits for this share of its steps' time.
inline values::PhaseTimes sceneTimes(double seconds, double stallShare) {
    values::PhaseTimes times;
    times.startMs = std::min(seconds, 1.5) * 1e3;
    times.evaluateMs = sceneTimeIn(seconds, 40, 4);
    times.checkpointMs = sceneTimeIn(seconds, 60, 2);
    const double steps = std::max(0.0, seconds * 1e3 - times.sum());
    times.stallMs = stallShare * steps;
    times.busyMs = steps - times.stallMs;
    return times;
}

/// The run after `seconds` of training, five steps a second: every 40 s an evaluation of 4 s, every
/// 60 s a checkpoint of 2 s.
inline void sceneAdvance(values::RunSummary& run, double seconds) {
    values::Progress& p = run.progress;
    p.step = static_cast<std::int64_t>(seconds * 5);
    p.stepsTotal = 3'000;
    p.epochs = 3;
    p.epoch = p.step / 1'000;
    p.rows = p.step * 1'024;
    p.timeMs = run.startedMs + static_cast<std::int64_t>(seconds * 1e3);
    p.phase = scenePhase(seconds);
    const double number = static_cast<double>(run.id.back() - '0');
    p.times = sceneTimes(seconds, 0.02 * (1 + number));
    p.stallPercentNow = 2 * (1 + number);
    p.stepsPerSecond = 5;
}

inline std::vector<values::RunFigure> scenePoints(const values::RunSummary& run,
                                                  std::int64_t step) {
    const double t = static_cast<double>(step), number = static_cast<double>(run.id.back() - '0');
    const std::int64_t time = run.startedMs + step * 200;
    const double noise = std::sin(t * 12.9898 + number * 78.233);
    const auto point = [&](const char* name, double value) {
        values::RunFigure metric;
        metric.name = name;
        metric.value = value;
        metric.step = step;
        metric.timeMs = time;
        return metric;
    };
    return {point("loss", 0.42 + 0.3 * std::exp(-t / 300) + 0.02 * noise + 0.01 * number),
            point("samples_per_second", 41'000 - 2'400 * number + 1'500 * noise),
            point("input_stall_percent", std::max(0.0, 2 * (1 + number) + 2 * noise)),
            point("learning_rate", 0.003 * std::exp(-t / 2'000)),
            point("loader.rows_read_per_second", 61'000 + 4'000 * noise),
            point("loader.rows_kept_per_second", 44'000 + 2'500 * noise)};
}

/// The stored points of steps [from, to], as metricRange gives them.
inline values::MetricHistory sceneHistory(const values::RunSummary& run, std::int64_t from,
                                          std::int64_t to) {
    std::map<std::string, values::MetricSeries> series;
    for (std::int64_t step = std::max<std::int64_t>(1, from); step <= to; ++step) {
        for (const values::RunFigure& point : scenePoints(run, step)) {
            values::MetricPoint& stored = series[point.name].points.emplace_back();
            stored.step = point.step;
            stored.timeMs = point.timeMs;
            stored.value = point.value;
            stored.rows = point.step * 1'024;
        }
        const double seconds = static_cast<double>(step) * 0.2;
        const values::PhaseTimes times = sceneTimes(seconds, 0.02 * (1 + run.id.back() - '0'));
        for (std::size_t i = 0; i < values::metric::kSystemTimes.size(); ++i) {
            values::MetricPoint& stored =
                series[values::metric::kSystemTimes[i]].points.emplace_back();
            stored.step = step;
            stored.timeMs = run.startedMs + step * 200;
            stored.value = times.*values::PhaseTimes::parts()[i];
        }
    }
    values::MetricHistory result;
    for (auto& [name, one] : series) {
        one.key = name;
        one.numPoints = std::ssize(one.points);
        result.series.push_back(std::move(one));
    }
    return result;
}

inline std::vector<values::LogLine> sceneLog(const values::RunSummary& run, int first, int count) {
    std::vector<values::LogLine> lines;
    for (int i = first; i < first + count; ++i) {
        values::LogLine line;
        line.timeMs = run.startedMs + i * 100;
        line.attempt = 1;
        line.worker = i % 7 == 3 ? "feed" : "rank-0";
        line.level = values::LogLevel::kInfo;
        line.text = "train: step step=" + std::to_string(i) + " loss=0.49" +
                    std::to_string(i % 100) + " samples_per_second=41203 grad_norm=0.8421";
        if (i % 23 == 5) {
            line.level = values::LogLevel::kWarn;
            line.text = "feed: slow split file=ratings-0" + std::to_string(i % 10) +
                        ".parquet row_group=12 readMs=842; the ring ran empty for 310 ms";
        } else if (i % 61 == 40) {
            line.level = values::LogLevel::kError;
            line.text = "train: no checkpoint of this step step=" + std::to_string(i) +
                        " error=no space left on device: /state/runs/r-1/attempt-1/checkpoints";
        } else if (i % 11 == 0) {
            line.level = values::LogLevel::kDebug;
            line.text = "ring: frame bytes=184320 waitedUs=12";
        }
        lines.push_back(line);
    }
    return lines;
}

}  // namespace millrace::client

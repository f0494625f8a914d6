#include "daemon/agent/system_metrics.h"

#include <utility>

#include "backend/core/status.h"
#include "backend/job/attempt_paths.h"
#include "backend/values/metric_names.h"

namespace millrace::agent {
namespace {

namespace metric = values::metric;

constexpr std::int64_t kIntervalNs = 2'000'000'000;

using Values = std::vector<std::pair<std::string, double>>;

template <class Number>
void add(Values& values, std::string name, const std::optional<Number>& value) {
    if (value) {
        values.emplace_back(std::move(name), static_cast<double>(*value));
    }
}

// Adds a metric of a run's ranks: the value itself for one rank, a summary for several.
void addRanks(const std::string& name, std::vector<values::RankValue> told, SystemValues& out) {
    if (told.size() == 1) {
        out.values.emplace_back(name, told.front().value);
    } else if (!told.empty()) {
        out.summaries.emplace_back(name, values::summarize(std::move(told)));
    }
}

}  // namespace

SystemValues systemValues(const NodeReport& report, const std::string& runId) {
    SystemValues out;
    Values& all = out.values;
    add(all, metric::kSystemCpuPercent, report.sample.cpuPercent);
    add(all, metric::kSystemMemoryUsedBytes, report.sample.memoryUsedBytes);
    for (const values::GpuSample& gpu : report.sample.gpus) {
        add(all, metric::ofGpu(gpu.index, metric::kGpuUtilizationPercent), gpu.utilizationPercent);
        add(all, metric::ofGpu(gpu.index, metric::kGpuMemoryUsedBytes), gpu.memoryUsedBytes);
    }
    std::vector<values::RankValue> cpu, memory;
    for (const values::ProcessSample& use : report.sample.processes) {
        if (use.runId != runId) {
            continue;
        }
        if (const auto rank = job::rankOf(use.worker)) {
            if (use.cpuPercent) {
                cpu.push_back({*rank, *use.cpuPercent});
            }
            if (use.memoryBytes) {
                memory.push_back({*rank, static_cast<double>(*use.memoryBytes)});
            }
            continue;
        }
        const std::string prefix = strCat("system.", use.worker, ".");
        add(all, prefix + "cpu_percent", use.cpuPercent);
        add(all, prefix + "memory_bytes", use.memoryBytes);
    }
    addRanks("system.rank.cpu_percent", std::move(cpu), out);
    addRanks("system.rank.memory_bytes", std::move(memory), out);
    return out;
}

std::vector<runs::ReportedLine> systemLines(const NodeReport& report, const std::string& runId,
                                            const runs::ReportedLine& position) {
    SystemValues measured = systemValues(report, runId);
    if (measured.values.empty()) {
        return {};
    }
    runs::ReportedLine line;
    line.step = position.step;
    line.epoch = position.epoch;
    line.rows = position.rows;
    line.timeMs = report.sample.timeMs;
    line.values = std::move(measured.values);
    line.summaries = std::move(measured.summaries);
    return {std::move(line)};
}

std::optional<NodeReport> SystemRecorder::due(bool isActive, std::int64_t steadyNs) {
    if (source_ == nullptr || !isActive) {
        recording_.reset();
        return std::nullopt;
    }
    if (recording_ == nullptr) {
        // A sample taken earlier for another reader is out of date.
        stored_ = source_->latest().number;
        recording_ = source_->record();
    }
    if (steadyNs < nextNs_) {
        return std::nullopt;
    }
    NodeReport report = source_->latest();
    if (report.number == stored_) {
        return std::nullopt;
    }
    stored_ = report.number;
    nextNs_ = steadyNs + kIntervalNs;
    return report;
}

}  // namespace millrace::agent

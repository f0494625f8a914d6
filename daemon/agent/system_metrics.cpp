#include "daemon/agent/system_metrics.h"

#include "backend/core/status.h"
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

}  // namespace

Values systemValues(const NodeReport& report, const std::string& runId) {
    Values values;
    add(values, metric::kSystemCpuPercent, report.sample.cpuPercent);
    add(values, metric::kSystemMemoryUsedBytes, report.sample.memoryUsedBytes);
    for (const values::GpuSample& gpu : report.sample.gpus) {
        add(values, metric::ofGpu(gpu.index, metric::kGpuUtilizationPercent),
            gpu.utilizationPercent);
        add(values, metric::ofGpu(gpu.index, metric::kGpuMemoryUsedBytes), gpu.memoryUsedBytes);
    }
    for (const values::ProcessSample& use : report.sample.processes) {
        if (use.runId == runId) {
            const std::string prefix = strCat("system.", use.worker, ".");
            add(values, prefix + "cpu_percent", use.cpuPercent);
            add(values, prefix + "memory_bytes", use.memoryBytes);
        }
    }
    return values;
}

std::optional<NodeReport> SystemRecorder::due(bool isActive, std::int64_t steadyNs) {
    if (source_ == nullptr || !isActive) {
        recording_.reset();
        return std::nullopt;
    }
    if (recording_ == nullptr) {
        // What was sampled before, for somebody else, is of another time.
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

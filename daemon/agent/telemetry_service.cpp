#include "daemon/agent/telemetry_service.h"

#include "backend/core/thread.h"
#include "backend/text/json.h"

namespace millrace::agent {
namespace {

constexpr std::chrono::milliseconds kInterval{1000};
constexpr std::chrono::milliseconds kSlowInterval{2000};
constexpr std::chrono::milliseconds kIdle{60'000};

}  // namespace

std::string hardwareJson(const values::NodeInfo& info) {
    Json gpus = Json::array();
    for (const values::GpuInfo& gpu : info.gpus) {
        gpus.push_back(
            {{"name", gpu.name}, {"memory_bytes", gpu.memoryBytes}, {"driver", gpu.driverVersion}});
    }
    return dumpJson({{"cpu", info.cpuModel},
                     {"cores", info.cores},
                     {"memory_bytes", info.memoryBytes},
                     {"gpus", gpus},
                     {"os", info.os},
                     {"kernel", info.kernel}});
}

TelemetryService::TelemetryService(const Clock& clock, const LiveTable& live, std::string diskPath,
                                   std::string version, const std::string& name)
    : clock_(clock), live_(live), host_(clock, std::move(diskPath)) {
    info_ = host_.info();
    info_.name = name.empty() ? info_.name : name;
    info_.gpus = gpu_.gpus();
    info_.gpuNote = gpu_.note();
    info_.version = std::move(version);
    info_.startedMs = clock.wallMs();
    thread_ = startThread("telemetry", [this](std::stop_token stop) { loop(stop); });
}

TelemetryService::~TelemetryService() {
    {
        MutexLock lock(mutex_);
        isEnding_ = true;
        wake_.notifyAll();
    }
    thread_.request_stop();
    thread_.join();
}

std::shared_ptr<void> TelemetryService::watch(bool isSlow) {
    addWatch(1, isSlow);
    return {this, [isSlow](TelemetryService* service) { service->addWatch(-1, isSlow); }};
}

void TelemetryService::addWatch(int change, bool isSlow) {
    MutexLock lock(mutex_);
    (isSlow ? numSlowWatches_ : numWatches_) += change;
    wake_.notifyAll();
}

NodeReport TelemetryService::latest() const {
    MutexLock lock(mutex_);
    return latest_;
}

void TelemetryService::loop(std::stop_token stop) {
    bool wasWanted = false;
    while (!stop.stop_requested()) {
        bool isWanted = false;
        {
            MutexLock lock(mutex_);
            if (isEnding_) {
                return;
            }
            isWanted = numWatches_ + numSlowWatches_ > 0;
            if (!isWanted || wasWanted) {
                wake_.waitFor(mutex_, numWatches_ > 0 ? kInterval
                                      : isWanted      ? kSlowInterval
                                                      : kIdle);
                isWanted = numWatches_ + numSlowWatches_ > 0 && !isEnding_;
            }
        }
        if (!isWanted) {
            wasWanted = false;
            continue;
        }
        wasWanted = true;
        NodeReport report = takeSample();
        {
            MutexLock lock(mutex_);
            report.number = latest_.number + 1;
            latest_ = std::move(report);
        }
    }
}

NodeReport TelemetryService::takeSample() {
    NodeReport report;
    report.sample = host_.sample();
    report.sample.node = info_.name;
    report.sample.gpus = gpu_.sample();
    report.sample.processes = sampleWorkers();
    return report;
}

std::vector<values::ProcessSample> TelemetryService::sampleWorkers() {
    std::vector<values::ProcessSample> uses;
    std::map<int, std::pair<std::int64_t, double>> now;
    for (const auto& [runId, run] : live_.all()) {
        for (const values::WorkerInfo& worker : run.workers) {
            const bool isHere = worker.node.empty() || worker.node == info_.name;
            if (!isHere || worker.state == "ended" || worker.pid <= 0) {
                continue;
            }
            const telemetry::TreeUse tree = telemetry::sampleProcessTree(worker.pid);
            if (tree.numProcesses == 0) {
                continue;
            }
            values::ProcessSample use{runId, worker.name, worker.pid, std::nullopt, tree.pssBytes};
            const std::int64_t ns = clock_.steadyNs();
            const auto before = cpuBefore_.find(worker.pid);
            if (before != cpuBefore_.end() && ns > before->second.first) {
                const double seconds = static_cast<double>(ns - before->second.first) * 1e-9;
                use.cpuPercent = (tree.cpuSeconds - before->second.second) / seconds * 100;
            }
            now[worker.pid] = {ns, tree.cpuSeconds};
            uses.push_back(std::move(use));
        }
    }
    cpuBefore_ = std::move(now);
    return uses;
}

}  // namespace millrace::agent

#pragma once
// TelemetryService: samples this node: once a second while a client watches, once in two seconds
// while runs are active, otherwise never.
//
// Threads: any; the samples are taken on its own thread ("telemetry"), which sleeps otherwise.
// Owns: the probes. Failure: a value that cannot be measured is absent.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/core/clock.h"
#include "backend/core/mutex.h"
#include "backend/telemetry/probes.h"
#include "daemon/agent/run/live_table.h"
#include "daemon/agent/system_metrics.h"

namespace millrace::agent {

/// Returns {cpu, cores, memory_bytes, gpus: [{name, memory_bytes, driver}], os, kernel} of a node.
std::string hardwareJson(const values::NodeInfo& info);

class TelemetryService final : public SystemSource {
 public:
    /// `name`: of the node; "": the host's.
    TelemetryService(const Clock& clock, const LiveTable& live, std::string diskPath,
                     std::string version, const std::string& name = "");
    ~TelemetryService() override;

    const values::NodeInfo& info() const { return info_; }
    /// While the result exists, samples are taken.
    std::shared_ptr<void> watch(bool isSlow = false);
    std::shared_ptr<void> record() override { return watch(true); }
    NodeReport latest() const override;
    /// LiveTable::frameRates().
    std::map<std::string, std::pair<double, double>> frameRates() const {
        return live_.frameRates();
    }

 private:
    void addWatch(int change, bool isSlow);
    void loop(std::stop_token stop);
    NodeReport takeSample();
    std::vector<values::ProcessSample> sampleWorkers();

    const Clock& clock_;
    const LiveTable& live_;
    telemetry::HostProbe host_;
    telemetry::GpuProbe gpu_;
    values::NodeInfo info_;
    std::map<int, std::pair<std::int64_t, double>> cpuBefore_;  // pid -> (steady ns, cpu seconds)
    mutable Mutex mutex_;
    CondVar wake_;
    int numWatches_ MR_GUARDED_BY(mutex_) = 0;
    int numSlowWatches_ MR_GUARDED_BY(mutex_) = 0;
    bool isEnding_ MR_GUARDED_BY(mutex_) = false;
    NodeReport latest_ MR_GUARDED_BY(mutex_);
    std::jthread thread_;
};

}  // namespace millrace::agent

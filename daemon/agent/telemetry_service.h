#pragma once
// TelemetryService: one sample of this node a second, but only while somebody watches.
//
// Threads: any; the samples are taken on its own thread ("telemetry"), which sleeps otherwise.
// Owns: the probes. Failure: a figure that cannot be had is absent.
#include <functional>
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
#include "daemon/agent/live_table.h"

namespace millrace::agent {

/// What a worker of a running run takes.
struct WorkerUse {
    std::string runId, worker;
    int pid = 0;
    std::optional<double> cpuPercent;  ///< of one core
    std::optional<std::uint64_t> memoryBytes;
};

struct NodeReport {
    std::uint64_t number = 0;  ///< grows with every sample; 0: none yet
    telemetry::NodeSample sample;
    std::vector<WorkerUse> workers;
};

/// {cpu, cores, memory_bytes, gpus: [{name, memory_bytes, driver}], os, kernel} of a node.
std::string hardwareJson(const telemetry::NodeInfo& info);

class TelemetryService {
 public:
    /// As long as it lives, samples are taken.
    class Watch {
     public:
        explicit Watch(TelemetryService* service) : service_(service) { service_->addWatch(1); }
        ~Watch() { service_->addWatch(-1); }
        Watch(const Watch&) = delete;
        Watch& operator=(const Watch&) = delete;

     private:
        TelemetryService* service_;
    };

    TelemetryService(const Clock& clock, const LiveTable& live, std::string diskPath,
                     std::string version);
    ~TelemetryService();

    const telemetry::NodeInfo& info() const { return info_; }
    std::unique_ptr<Watch> watch() { return std::make_unique<Watch>(this); }
    NodeReport latest() const;
    /// Called after each sample, on the thread; set before the first watch.
    void onSample(std::function<void()> listener) { listener_ = std::move(listener); }

 private:
    void addWatch(int change);
    void loop(std::stop_token stop);
    NodeReport takeSample();
    std::vector<WorkerUse> sampleWorkers();

    const Clock& clock_;
    const LiveTable& live_;
    telemetry::HostProbe host_;
    telemetry::GpuProbe gpu_;
    telemetry::NodeInfo info_;
    std::function<void()> listener_;
    std::map<int, std::pair<std::int64_t, double>> cpuBefore_;  // pid -> (steady ns, cpu seconds)
    mutable Mutex mutex_;
    CondVar wake_;
    int numWatches_ MR_GUARDED_BY(mutex_) = 0;
    bool isEnding_ MR_GUARDED_BY(mutex_) = false;
    NodeReport latest_ MR_GUARDED_BY(mutex_);
    std::jthread thread_;
};

}  // namespace millrace::agent

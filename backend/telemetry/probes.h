#pragma once
// Probes: the sources of the figures in a NodeSample.
//
// Threads: one owner each (the telemetry thread). Failure: what cannot be read is absent from the
// sample; a probe never fails as a whole.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "backend/core/clock.h"
#include "backend/values/node.h"

namespace millrace::telemetry {

/// CPU and memory of a process tree.
struct TreeUse {
    double cpuSeconds = 0;       ///< user and system, including children that ended
    std::uint64_t pssBytes = 0;  ///< each shared page is divided among its sharers
    int numProcesses = 0;        ///< 0: the tree is gone
};

/// CPU, memory, disk and network from /proc and /sys. Rates need two samples.
class HostProbe {
 public:
    /// `procRoot`, `sysRoot`, `etcRoot`: "/proc", "/sys", "/etc" or a fixture tree. `diskPath`: its
    /// file system's usage is reported. `clock` outlives the probe.
    HostProbe(const Clock& clock, std::string diskPath, std::string procRoot = "/proc",
              std::string sysRoot = "/sys", std::string etcRoot = "/etc");
    /// Without GPUs, which GpuProbe reports, and without the version and start time of the daemon.
    values::NodeInfo info() const;
    values::NodeSample sample();

 private:
    struct CpuTimes {
        std::uint64_t busy = 0, total = 0;
    };
    void sampleCpu(values::NodeSample& sample);
    void sampleMemory(values::NodeSample& sample) const;
    void sampleRates(values::NodeSample& sample);
    bool isRealDisk(const std::string& name) const;

    const Clock& clock_;
    const std::string diskPath_, procRoot_, sysRoot_, etcRoot_;
    std::vector<CpuTimes> cpus_;  // [0] all cores together, then each core
    std::int64_t ratesNs_ = 0;
    std::map<std::string, std::uint64_t> counters_;  // "diskRead", ...: bytes at ratesNs_
};

/// "libnvidia-ml.so.1", or the value of MILLRACE_NVML_LIBRARY in the environment.
std::string nvmlLibrary();

/// GPUs through NVML, opened at run time: NVIDIA's software is not needed to build, or to run
/// without GPUs.
class GpuProbe {
 public:
    explicit GpuProbe(const std::string& library = nvmlLibrary());
    ~GpuProbe();
    /// Why there are no GPUs ("no GPU: libnvidia-ml.so.1 not found"); "" if there are any.
    const std::string& note() const { return note_; }
    const std::vector<values::GpuInfo>& gpus() const { return gpus_; }
    /// One entry per GPU; a figure that NVML does not provide is absent.
    std::vector<values::GpuSample> sample() const;

 private:
    struct Nvml;
    std::unique_ptr<Nvml> nvml_;
    std::vector<values::GpuInfo> gpus_;
    std::string note_;
};

/// Names for CUDA_VISIBLE_DEVICES of the GPUs that `visible`, this process's own value of it,
/// allows (numbers or UUIDs; null: all), in bus order.
std::vector<std::string> usableGpus(const std::vector<values::GpuInfo>& gpus, const char* visible);

/// CPU time and memory of `root` and all of its descendants.
TreeUse sampleProcessTree(pid_t root, const std::string& procRoot = "/proc");

}  // namespace millrace::telemetry

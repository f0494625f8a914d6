#pragma once
// A machine's fixed facts, and one sample of its load: from the probe to the console's card.
//
// A figure that is not available is absent, never zero. Texts are UTF-8, whatever the machine
// reports.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace::values {

/// A GPU's fixed facts.
struct GpuInfo {
    int index = 0;
    std::string name, uuid, driverVersion;
    std::uint64_t memoryBytes = 0;
    bool operator==(const GpuInfo&) const = default;
};

/// Fixed facts of a node and its daemon.
struct NodeInfo {
    std::string name;     ///< the host's
    std::string version;  ///< Millrace's
    std::string os;       ///< "Debian GNU/Linux 12 (bookworm)"
    std::string kernel;   ///< "6.1.0-18-amd64"
    std::string cpuModel;
    std::string gpuNote;  ///< why there are no GPUs, else ""
    std::string stateDir, address;
    /// "attached"; "away": no contact at the moment; "lost": no contact for too long, its data
    /// workers start on other nodes; "absent": configured, but never connected;
    /// "refused": its agent connected and was rejected; "leaving": its agent is shutting down;
    /// "draining", "drained": no new work is placed there, and some or none is left
    std::string state = "attached";
    std::string trouble;  ///< why its agent cannot be started, or is refused; "": no known trouble
    bool isHead = false;
    bool isClosed = false;  ///< the head's own machine, while runs train on other nodes only
    int cores = 0;          ///< logical cores that the daemon may use
    int pid = 0;            ///< the daemon's
    std::uint64_t memoryBytes = 0;
    std::int64_t startedMs = 0;
    std::int64_t awaySinceMs = 0;  ///< by the head's clock; 0: attached
    std::vector<GpuInfo> gpus;
    bool operator==(const NodeInfo&) const = default;
};

/// A GPU's state at one moment; a figure is absent if the device does not report it.
struct GpuSample {
    int index = 0;
    std::optional<double> utilizationPercent;  ///< 0..100
    std::optional<std::uint64_t> memoryUsedBytes, memoryTotalBytes;
    std::optional<double> powerWatts;
    std::optional<double> temperatureCelsius;
    bool operator==(const GpuSample&) const = default;
};

/// A running run's worker: its resource use on its node.
struct ProcessSample {
    std::string runId, worker;
    int pid = 0;
    std::optional<double> cpuPercent;          ///< of one core
    std::optional<std::uint64_t> memoryBytes;  ///< of its process tree; shared pages count once
    bool operator==(const ProcessSample&) const = default;
};

/// A node's load at one moment. Rates cover the time since the previous sample; a probe's first
/// sample has none.
struct NodeSample {
    std::string node;
    std::int64_t timeMs = 0;
    std::optional<double> cpuPercent;  ///< of all cores together, 0..100
    std::vector<double> corePercent;   ///< 0..100 each; empty in the first sample
    std::optional<double> load1;
    std::optional<std::uint64_t> memoryUsedBytes, memoryTotalBytes;
    std::optional<std::uint64_t> diskFreeBytes, diskTotalBytes;  ///< of the state directory's disk
    std::optional<double> diskReadBytesPerSecond, diskWriteBytesPerSecond;  ///< all real disks
    std::optional<double> networkReceiveBytesPerSecond, networkSendBytesPerSecond;  ///< no loopback
    /// Frames of all runs between machines; absent: no run sends any.
    std::optional<double> framesSendBytesPerSecond, framesReceiveBytesPerSecond;
    std::vector<GpuSample> gpus;
    std::vector<ProcessSample> processes;
    bool operator==(const NodeSample&) const = default;
};

}  // namespace millrace::values

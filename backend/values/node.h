#pragma once
// What a machine is, and one sample of what it does: from the probe to the console's card.
//
// A figure that cannot be had is absent, never zero. Texts are UTF-8, whatever the machine says.
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

/// A node's fixed facts, with those of its daemon.
struct NodeInfo {
    std::string name;     ///< of the host
    std::string version;  ///< Millrace's
    std::string os;       ///< "Debian GNU/Linux 12 (bookworm)"
    std::string kernel;   ///< "6.1.0-18-amd64"
    std::string cpuModel;
    std::string gpuNote;  ///< why there are no GPUs, "" when there are
    std::string stateDir, address;
    /// "attached"; "away": nothing is heard of it; "lost": for so long that its data workers are
    /// had elsewhere; "absent": the configuration names it, and it has not come yet; "refused": its
    /// agent came and was not taken in; "leaving": its agent ends; "draining", "drained": nothing
    /// is placed there, and something or nothing is left there
    std::string state = "attached";
    std::string trouble;  ///< why its agent cannot be started, or is refused; "": none is known
    bool isHead = false;
    bool isClosed = false;  ///< the head's own machine, and runs train on other nodes only
    int cores = 0;          ///< logical ones that the daemon may use
    int pid = 0;            ///< of the daemon
    std::uint64_t memoryBytes = 0;
    std::int64_t startedMs = 0;
    std::int64_t awaySinceMs = 0;  ///< by the head's clock; 0: it is attached
    std::vector<GpuInfo> gpus;
    bool operator==(const NodeInfo&) const = default;
};

/// A GPU's state at one moment; each figure may be one that this device does not tell.
struct GpuSample {
    int index = 0;
    std::optional<double> utilizationPercent;  ///< 0..100
    std::optional<std::uint64_t> memoryUsedBytes, memoryTotalBytes;
    std::optional<double> powerWatts;
    std::optional<double> temperatureCelsius;
    std::optional<double> smClockMhz;
    std::optional<double> pcieReceiveBytesPerSecond, pcieSendBytesPerSecond;
    bool operator==(const GpuSample&) const = default;
};

/// What a worker of a running run takes of its node.
struct ProcessSample {
    std::string runId, worker;
    int pid = 0;
    std::optional<double> cpuPercent;          ///< of one core
    std::optional<std::uint64_t> memoryBytes;  ///< of its tree, a shared page once
    bool operator==(const ProcessSample&) const = default;
};

/// A node at one moment. Rates are over the time since the sample before; the first sample of a
/// probe has none.
struct NodeSample {
    std::string node;
    std::int64_t timeMs = 0;
    std::optional<double> cpuPercent;  ///< of all cores together, 0..100
    std::vector<double> corePercent;   ///< 0..100 each; empty in the first sample
    std::optional<double> load1, load5, load15;
    std::optional<std::uint64_t> memoryUsedBytes, memoryTotalBytes;
    std::optional<std::uint64_t> diskFreeBytes, diskTotalBytes;  ///< of the state directory's
    std::optional<double> diskReadBytesPerSecond, diskWriteBytesPerSecond;  ///< all real disks
    std::optional<double> networkReceiveBytesPerSecond, networkSendBytesPerSecond;  ///< no loopback
    std::vector<GpuSample> gpus;
    std::vector<ProcessSample> processes;
    bool operator==(const NodeSample&) const = default;
};

}  // namespace millrace::values

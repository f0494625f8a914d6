#pragma once
// What a node is and how it does, as plain values: the only header of this room that `app` and
// proto/convert include.
//
// A figure that cannot be had is absent, never zero. Texts are UTF-8, whatever the machine says.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace::telemetry {

/// A GPU's fixed facts.
struct GpuInfo {
    int index = 0;
    std::string name, uuid, driver;
    std::uint64_t memoryBytes = 0;
};

/// A node's fixed facts.
struct NodeInfo {
    std::string hostname;
    std::string os;      ///< "Debian GNU/Linux 12 (bookworm)"
    std::string kernel;  ///< "6.1.0-18-amd64"
    std::string cpuModel;
    int cores = 0;  ///< logical ones that this process may use
    std::uint64_t memoryBytes = 0;
    std::vector<GpuInfo> gpus;
    std::string gpuNote;  ///< why there are none, "" when there are
    std::string version;  ///< Millrace's
    std::int64_t startedMs = 0;
};

/// A GPU's state at one moment; each figure may be one that this device does not tell.
struct GpuSample {
    int index = 0;
    std::optional<double> utilizationPercent;  ///< 0..100
    std::optional<std::uint64_t> memoryUsedBytes, memoryTotalBytes;
    std::optional<double> powerWatts;
    std::optional<double> temperatureCelsius;
    std::optional<double> smClockMhz;
    std::optional<double> pcieRxBytesPerSecond, pcieTxBytesPerSecond;
    bool operator==(const GpuSample&) const = default;
};

/// A node at one moment. Rates are over the time since the sample before; the first sample of a
/// probe has none.
struct NodeSample {
    std::int64_t timeMs = 0;
    std::optional<double> cpuPercent;    ///< of all cores together, 0..100
    std::vector<double> perCorePercent;  ///< 0..100 each; empty in the first sample
    std::optional<double> load1, load5, load15;
    std::optional<std::uint64_t> memoryUsedBytes, memoryTotalBytes;
    std::optional<std::uint64_t> diskUsedBytes, diskTotalBytes;  ///< of the state directory's
    std::optional<double> diskReadBytesPerSecond, diskWriteBytesPerSecond;  ///< all real disks
    std::optional<double> netRxBytesPerSecond, netTxBytesPerSecond;         ///< without loopback
    std::vector<GpuSample> gpus;
    bool operator==(const NodeSample&) const = default;
};

/// CPU and memory of a tree of processes.
struct ProcessSample {
    double cpuSeconds = 0;       ///< user and system, also of children that ended
    std::uint64_t pssBytes = 0;  ///< a shared page counts once over its sharers
    std::uint64_t rssBytes = 0;  ///< sum, shared pages counted in every process
    int numProcesses = 0;        ///< 0: the tree is gone
};

}  // namespace millrace::telemetry

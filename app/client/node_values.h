#pragma once
// What a daemon tells about machines: what they are, and one sample of what they do.
//
// As daemon_values.h: an optional that is empty is unknown, never zero.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace::client {

struct GpuInfo {
    int index = 0;
    std::string name, uuid, driverVersion;
    std::uint64_t memoryBytes = 0;
};
struct NodeInfo {
    std::string name, version, os, cpuModel, gpuNote, stateDir, address;
    bool isHead = false;
    int cores = 0, pid = 0;
    std::uint64_t memoryBytes = 0;
    std::int64_t startedMs = 0;
    std::vector<GpuInfo> gpus;
};
struct GpuSample {
    int index = 0;
    std::optional<double> utilizationPercent, powerWatts, temperatureCelsius;
    std::optional<std::uint64_t> memoryUsedBytes, memoryTotalBytes;
};
struct ProcessSample {
    std::string runId, worker;
    int pid = 0;
    std::optional<double> cpuPercent;  ///< of one core
    std::optional<std::uint64_t> memoryBytes;
};
struct NodeSample {
    std::string node;
    std::int64_t timeMs = 0;
    std::optional<double> cpuPercent, load1;
    std::vector<double> corePercent;
    std::optional<std::uint64_t> memoryUsedBytes, memoryTotalBytes, diskFreeBytes, diskTotalBytes;
    std::optional<double> diskReadBytesPerSecond, diskWriteBytesPerSecond;
    std::optional<double> networkReceiveBytesPerSecond, networkSendBytesPerSecond;
    std::vector<GpuSample> gpus;
    std::vector<ProcessSample> processes;
};

}  // namespace millrace::client

#include "proto/convert/node_convert.h"

#include "proto/convert/fields.h"

namespace millrace::convert {

MR_BOTH_WAYS(GpuInfo, GpuInfo) {
    MR_FIELD(index, index);
    MR_FIELD(name, name);
    MR_FIELD(memoryBytes, memory_bytes);
    MR_FIELD(uuid, uuid);
    MR_FIELD(driverVersion, driver_version);
}

MR_BOTH_WAYS(GpuSample, GpuSample) {
    MR_FIELD(index, index);
    MR_OPTIONAL(utilizationPercent, utilization_percent);
    MR_OPTIONAL(memoryUsedBytes, memory_used_bytes);
    MR_OPTIONAL(memoryTotalBytes, memory_total_bytes);
    MR_OPTIONAL(powerWatts, power_watts);
    MR_OPTIONAL(temperatureCelsius, temperature_celsius);
}

MR_BOTH_WAYS(ProcessSample, ProcessSample) {
    MR_FIELD(runId, run_id);
    MR_FIELD(worker, worker);
    MR_FIELD(pid, pid);
    MR_OPTIONAL(cpuPercent, cpu_percent);
    MR_OPTIONAL(memoryBytes, memory_bytes);
}

MR_BOTH_WAYS(NodeInfo, NodeInfo) {
    MR_FIELD(name, name);
    MR_FIELD(version, version);
    MR_FIELD(isHead, is_head);
    MR_FIELD(os, os);
    MR_FIELD(kernel, kernel);
    MR_FIELD(cpuModel, cpu_model);
    MR_FIELD(cores, cores);
    MR_FIELD(memoryBytes, memory_bytes);
    MR_VALUES(gpus, gpus);
    MR_FIELD(gpuNote, gpu_note);
    MR_FIELD(startedMs, started_ms);
    MR_FIELD(pid, pid);
    MR_PATH(stateDir, state_dir);
    MR_PATH(address, address);
    MR_FIELD(state, state);
    MR_FIELD(awaySinceMs, away_since_ms);
    MR_FIELD(isClosed, is_closed);
    MR_FIELD(trouble, trouble);
}

MR_BOTH_WAYS(NodeSample, NodeSample) {
    MR_FIELD(node, node);
    MR_FIELD(timeMs, time_ms);
    MR_OPTIONAL(cpuPercent, cpu_percent);
    MR_LIST(corePercent, core_percent);
    MR_OPTIONAL(load1, load1);
    MR_OPTIONAL(memoryUsedBytes, memory_used_bytes);
    MR_OPTIONAL(memoryTotalBytes, memory_total_bytes);
    MR_OPTIONAL(diskFreeBytes, disk_free_bytes);
    MR_OPTIONAL(diskTotalBytes, disk_total_bytes);
    MR_OPTIONAL(diskReadBytesPerSecond, disk_read_bytes_per_second);
    MR_OPTIONAL(diskWriteBytesPerSecond, disk_write_bytes_per_second);
    MR_OPTIONAL(networkReceiveBytesPerSecond, network_receive_bytes_per_second);
    MR_OPTIONAL(networkSendBytesPerSecond, network_send_bytes_per_second);
    MR_OPTIONAL(framesSendBytesPerSecond, frames_send_bytes_per_second);
    MR_OPTIONAL(framesReceiveBytesPerSecond, frames_receive_bytes_per_second);
    MR_VALUES(gpus, gpus);
    MR_VALUES(processes, processes);
}

}  // namespace millrace::convert

#include "proto/convert/node_convert.h"

#include "backend/core/utf8.h"

namespace millrace::convert {
namespace {

template <class Value, class Setter>
void setIf(const std::optional<Value>& value, Setter setter) {
    if (value.has_value()) {
        setter(*value);
    }
}

// One line a figure: `field` of the message from and to an optional.
#define MR_TO(message, field, value) setIf(value, [&](auto v) { (message).set_##field(v); })
#define MR_FROM(message, field, value)   \
    do {                                 \
        if ((message).has_##field()) {   \
            (value) = (message).field(); \
        }                                \
    } while (false)

v1::GpuSample gpuToProto(const telemetry::GpuSample& gpu) {
    v1::GpuSample out;
    out.set_index(static_cast<std::uint32_t>(gpu.index));
    MR_TO(out, utilization_percent, gpu.utilizationPercent);
    MR_TO(out, memory_used_bytes, gpu.memoryUsedBytes);
    MR_TO(out, memory_total_bytes, gpu.memoryTotalBytes);
    MR_TO(out, power_watts, gpu.powerWatts);
    MR_TO(out, temperature_celsius, gpu.temperatureCelsius);
    MR_TO(out, sm_clock_mhz, gpu.smClockMhz);
    MR_TO(out, pcie_receive_bytes_per_second, gpu.pcieRxBytesPerSecond);
    MR_TO(out, pcie_send_bytes_per_second, gpu.pcieTxBytesPerSecond);
    return out;
}

telemetry::GpuSample gpuFromProto(const v1::GpuSample& gpu) {
    telemetry::GpuSample out;
    out.index = static_cast<int>(gpu.index());
    MR_FROM(gpu, utilization_percent, out.utilizationPercent);
    MR_FROM(gpu, memory_used_bytes, out.memoryUsedBytes);
    MR_FROM(gpu, memory_total_bytes, out.memoryTotalBytes);
    MR_FROM(gpu, power_watts, out.powerWatts);
    MR_FROM(gpu, temperature_celsius, out.temperatureCelsius);
    MR_FROM(gpu, sm_clock_mhz, out.smClockMhz);
    MR_FROM(gpu, pcie_receive_bytes_per_second, out.pcieRxBytesPerSecond);
    MR_FROM(gpu, pcie_send_bytes_per_second, out.pcieTxBytesPerSecond);
    return out;
}

void workersToProto(const std::vector<WorkerUse>& workers, v1::NodeSample& out) {
    for (const WorkerUse& worker : workers) {
        v1::ProcessSample& process = *out.add_processes();
        process.set_run_id(worker.runId);
        process.set_worker(worker.worker);
        process.set_pid(worker.pid);
        MR_TO(process, cpu_percent, worker.cpuPercent);
        MR_TO(process, memory_bytes, worker.memoryBytes);
    }
}

void workersFromProto(const v1::NodeSample& sample, std::vector<WorkerUse>& out) {
    for (const v1::ProcessSample& process : sample.processes()) {
        WorkerUse worker{process.run_id(), process.worker(), process.pid(), {}, {}};
        MR_FROM(process, cpu_percent, worker.cpuPercent);
        MR_FROM(process, memory_bytes, worker.memoryBytes);
        out.push_back(std::move(worker));
    }
}

}  // namespace

v1::NodeInfo toProto(const NodeFacts& facts) {
    const telemetry::NodeInfo& info = facts.info;
    v1::NodeInfo out;
    out.set_name(info.hostname);
    out.set_version(info.version);
    out.set_is_head(facts.isHead);
    out.set_os(info.os);
    out.set_kernel(info.kernel);
    out.set_cpu_model(info.cpuModel);
    out.set_cores(static_cast<std::uint32_t>(info.cores));
    out.set_memory_bytes(info.memoryBytes);
    out.set_gpu_note(info.gpuNote);
    out.set_started_ms(info.startedMs);
    out.set_pid(facts.pid);
    out.set_state_dir(toUtf8(facts.stateDir));
    out.set_address(toUtf8(facts.address));
    for (const telemetry::GpuInfo& gpu : info.gpus) {
        v1::GpuInfo& one = *out.add_gpus();
        one.set_index(static_cast<std::uint32_t>(gpu.index));
        one.set_name(gpu.name);
        one.set_uuid(gpu.uuid);
        one.set_driver_version(gpu.driver);
        one.set_memory_bytes(gpu.memoryBytes);
    }
    return out;
}

NodeFacts fromProto(const v1::NodeInfo& info) {
    NodeFacts out;
    out.info.hostname = info.name();
    out.info.version = info.version();
    out.isHead = info.is_head();
    out.info.os = info.os();
    out.info.kernel = info.kernel();
    out.info.cpuModel = info.cpu_model();
    out.info.cores = static_cast<int>(info.cores());
    out.info.memoryBytes = info.memory_bytes();
    out.info.gpuNote = info.gpu_note();
    out.info.startedMs = info.started_ms();
    out.pid = info.pid();
    out.stateDir = info.state_dir();
    out.address = info.address();
    for (const v1::GpuInfo& gpu : info.gpus()) {
        out.info.gpus.push_back({static_cast<int>(gpu.index()), gpu.name(), gpu.uuid(),
                                 gpu.driver_version(), gpu.memory_bytes()});
    }
    return out;
}

v1::NodeSample toProto(const NodeMoment& moment) {
    const telemetry::NodeSample& s = moment.sample;
    v1::NodeSample out;
    out.set_node(moment.node);
    out.set_time_ms(s.timeMs);
    MR_TO(out, cpu_percent, s.cpuPercent);
    out.mutable_core_percent()->Add(s.perCorePercent.begin(), s.perCorePercent.end());
    MR_TO(out, load1, s.load1);
    MR_TO(out, load5, s.load5);
    MR_TO(out, load15, s.load15);
    MR_TO(out, memory_used_bytes, s.memoryUsedBytes);
    MR_TO(out, memory_total_bytes, s.memoryTotalBytes);
    MR_TO(out, disk_total_bytes, s.diskTotalBytes);
    if (s.diskTotalBytes.has_value() && s.diskUsedBytes.has_value()) {
        out.set_disk_free_bytes(*s.diskTotalBytes - *s.diskUsedBytes);
    }
    MR_TO(out, disk_read_bytes_per_second, s.diskReadBytesPerSecond);
    MR_TO(out, disk_write_bytes_per_second, s.diskWriteBytesPerSecond);
    MR_TO(out, network_receive_bytes_per_second, s.netRxBytesPerSecond);
    MR_TO(out, network_send_bytes_per_second, s.netTxBytesPerSecond);
    for (const telemetry::GpuSample& gpu : s.gpus) {
        *out.add_gpus() = gpuToProto(gpu);
    }
    workersToProto(moment.workers, out);
    return out;
}

NodeMoment fromProto(const v1::NodeSample& sample) {
    NodeMoment out;
    telemetry::NodeSample& s = out.sample;
    out.node = sample.node();
    s.timeMs = sample.time_ms();
    MR_FROM(sample, cpu_percent, s.cpuPercent);
    s.perCorePercent = {sample.core_percent().begin(), sample.core_percent().end()};
    MR_FROM(sample, load1, s.load1);
    MR_FROM(sample, load5, s.load5);
    MR_FROM(sample, load15, s.load15);
    MR_FROM(sample, memory_used_bytes, s.memoryUsedBytes);
    MR_FROM(sample, memory_total_bytes, s.memoryTotalBytes);
    MR_FROM(sample, disk_total_bytes, s.diskTotalBytes);
    if (sample.has_disk_total_bytes() && sample.has_disk_free_bytes()) {
        s.diskUsedBytes = sample.disk_total_bytes() - sample.disk_free_bytes();
    }
    MR_FROM(sample, disk_read_bytes_per_second, s.diskReadBytesPerSecond);
    MR_FROM(sample, disk_write_bytes_per_second, s.diskWriteBytesPerSecond);
    MR_FROM(sample, network_receive_bytes_per_second, s.netRxBytesPerSecond);
    MR_FROM(sample, network_send_bytes_per_second, s.netTxBytesPerSecond);
    for (const v1::GpuSample& gpu : sample.gpus()) {
        s.gpus.push_back(gpuFromProto(gpu));
    }
    workersFromProto(sample, out.workers);
    return out;
}

}  // namespace millrace::convert

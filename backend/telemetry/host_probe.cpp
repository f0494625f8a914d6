#include <algorithm>
#include <filesystem>

#include <sched.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "backend/system/machine_cores.h"
#include "backend/system/machine_memory.h"
#include "backend/telemetry/probes.h"
#include "backend/telemetry/proc_files.h"
#include "backend/text/utf8.h"

namespace millrace::telemetry {
namespace {

constexpr std::uint64_t kSectorBytes = 512;  // in /proc/diskstats, whatever the disk's own sector
                                             // size

std::string valueBehind(std::string_view text, std::string_view key, char separator) {
    for (const std::string_view line : linesOf(text)) {
        const std::size_t at = line.find(separator);
        if (at == std::string_view::npos || line.rfind(key, 0) != 0) {
            continue;
        }
        std::string_view value = line.substr(at + 1);
        while (!value.empty() && (value.front() == ' ' || value.front() == '"')) {
            value.remove_prefix(1);
        }
        while (!value.empty() && (value.back() == ' ' || value.back() == '"')) {
            value.remove_suffix(1);
        }
        return toUtf8(value);
    }
    return "";
}

std::string hostName() {
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 ? toUtf8(name) : "";
}

int usableCores(std::string_view stat) {
    int listed = 0;
    for (const std::string_view line : linesOf(stat)) {
        listed += line.size() > 3 && line.rfind("cpu", 0) == 0 && line[3] != ' ' ? 1 : 0;
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    const int allowed = ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : listed;
    return listed == 0 ? allowed : std::min(listed, allowed);
}

double percent(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

HostProbe::HostProbe(const Clock& clock, std::string diskPath, std::string procRoot,
                     std::string sysRoot, std::string etcRoot)
    : clock_(clock),
      diskPath_(std::move(diskPath)),
      procRoot_(std::move(procRoot)),
      sysRoot_(std::move(sysRoot)),
      etcRoot_(std::move(etcRoot)) {}

values::NodeInfo HostProbe::info() const {
    values::NodeInfo info;
    info.name = hostName();
    info.os = valueBehind(readProcFile(etcRoot_ + "/os-release"), "PRETTY_NAME", '=');
    const std::string kernel = readProcFile(procRoot_ + "/sys/kernel/osrelease");
    info.kernel = toUtf8(kernel.substr(0, kernel.find('\n')));
    info.cpuModel = valueBehind(readProcFile(procRoot_ + "/cpuinfo"), "model name", ':');
    const ControlGroups groups{procRoot_, sysRoot_ + "/fs/cgroup"};
    info.cores = machineCores(groups, usableCores(readProcFile(procRoot_ + "/stat")));
    const auto memory = kiloBytesOf(readProcFile(procRoot_ + "/meminfo"), "MemTotal:").value_or(0);
    info.memoryBytes =
        static_cast<std::uint64_t>(machineMemory(groups, static_cast<std::int64_t>(memory)));
    return info;
}

values::NodeSample HostProbe::sample() {
    values::NodeSample sample;
    sample.timeMs = clock_.wallMs();
    sampleCpu(sample);
    sampleMemory(sample);
    sampleRates(sample);
    return sample;
}

void HostProbe::sampleCpu(values::NodeSample& sample) {
    // cpu user nice system idle iowait irq softirq steal ...; user already includes guest time.
    constexpr std::size_t kIdle = 4, kIoWait = 5, kEnd = 9;
    std::vector<CpuTimes> now;
    const std::string stat = readProcFile(procRoot_ + "/stat");
    for (const std::string_view line : linesOf(stat)) {
        const std::vector<std::string_view> fields = fieldsOf(line);
        if (fields.size() <= kIdle || fields[0].rfind("cpu", 0) != 0) {
            continue;
        }
        CpuTimes times;
        for (std::size_t i = 1; i < std::min(kEnd, fields.size()); ++i) {
            const std::uint64_t ticks = unsignedOf(fields[i]).value_or(0);
            times.total += ticks;
            times.busy += i == kIdle || i == kIoWait ? 0 : ticks;
        }
        now.push_back(times);
    }
    const bool isComparable = !now.empty() && now.size() == cpus_.size();
    for (std::size_t i = 0; isComparable && i < now.size(); ++i) {
        // Idle and busy time may go back by a tick when a core is suspended.
        const bool hasMoved = now[i].total > cpus_[i].total && now[i].busy >= cpus_[i].busy;
        const double value =
            hasMoved ? percent(now[i].busy - cpus_[i].busy, now[i].total - cpus_[i].total) : 0;
        if (i > 0) {
            sample.corePercent.push_back(value);
        } else if (hasMoved) {
            sample.cpuPercent = value;
        }
    }
    cpus_ = std::move(now);
}

void HostProbe::sampleMemory(values::NodeSample& sample) const {
    const std::string memory = readProcFile(procRoot_ + "/meminfo");
    sample.memoryTotalBytes = kiloBytesOf(memory, "MemTotal:");
    const std::optional<std::uint64_t> available = kiloBytesOf(memory, "MemAvailable:");
    if (sample.memoryTotalBytes && available && *available <= *sample.memoryTotalBytes) {
        sample.memoryUsedBytes = *sample.memoryTotalBytes - *available;
    }
    const std::string load = readProcFile(procRoot_ + "/loadavg");
    const std::vector<std::string_view> loads = fieldsOf(load);
    if (!loads.empty()) {
        sample.load1 = realOf(loads[0]);
    }
    struct statvfs disk{};
    if (::statvfs(diskPath_.c_str(), &disk) == 0 && disk.f_blocks > 0) {
        sample.diskTotalBytes = disk.f_blocks * disk.f_frsize;
        sample.diskFreeBytes = disk.f_bfree * disk.f_frsize;
    }
}

// Whether the disk is hardware: partitions, loop devices and mappings would count twice.
bool HostProbe::isRealDisk(const std::string& name) const {
    std::error_code ignored;
    return std::filesystem::exists(sysRoot_ + "/block/" + name + "/device", ignored);
}

void HostProbe::sampleRates(values::NodeSample& sample) {
    std::map<std::string, std::uint64_t> now;
    const std::string disks = readProcFile(procRoot_ + "/diskstats");
    for (const std::string_view line : linesOf(disks)) {
        const std::vector<std::string_view> fields = fieldsOf(line);
        if (fields.size() >= 10 && isRealDisk(std::string(fields[2]))) {
            now["diskRead"] += unsignedOf(fields[5]).value_or(0) * kSectorBytes;
            now["diskWrite"] += unsignedOf(fields[9]).value_or(0) * kSectorBytes;
        }
    }
    const std::string network = readProcFile(procRoot_ + "/net/dev");
    for (const std::string_view line : linesOf(network)) {
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos) {
            continue;
        }
        const std::vector<std::string_view> name = fieldsOf(line.substr(0, colon));
        const std::vector<std::string_view> fields = fieldsOf(line.substr(colon + 1));
        if (name.size() == 1 && name[0] != "lo" && fields.size() >= 9) {
            now["netRx"] += unsignedOf(fields[0]).value_or(0);
            now["netTx"] += unsignedOf(fields[8]).value_or(0);
        }
    }
    const std::int64_t timeNs = clock_.steadyNs();
    const double seconds = static_cast<double>(timeNs - ratesNs_) / 1e9;
    const auto rate = [&](const std::string& key) -> std::optional<double> {
        const auto before = counters_.find(key), after = now.find(key);
        // A counter that decreased belongs to a device that was removed or added.
        if (before == counters_.end() || after == now.end() || seconds <= 0 ||
            after->second < before->second) {
            return std::nullopt;
        }
        return static_cast<double>(after->second - before->second) / seconds;
    };
    sample.diskReadBytesPerSecond = rate("diskRead");
    sample.diskWriteBytesPerSecond = rate("diskWrite");
    sample.networkReceiveBytesPerSecond = rate("netRx");
    sample.networkSendBytesPerSecond = rate("netTx");
    counters_ = std::move(now);
    ratesNs_ = timeNs;
}

}  // namespace millrace::telemetry

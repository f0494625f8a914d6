#include "backend/system/machine_cores.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include <sched.h>

#include "backend/filesystem/files.h"

namespace millrace {
namespace {

constexpr std::size_t kQuotaBytesMost = 4 << 10;

/// The number at the start of the text; 0: unlimited ("max", or "-1" in version 1).
std::int64_t numberIn(std::string_view text) {
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return std::max<std::int64_t>(number, 0);
}

/// Time on all cores that a group may use per period, both in us.
struct Quota {
    std::int64_t time = 0, period = 0;
};

// Reads "200000 100000" of version 2, or two files of version 1.
Quota quotaOf(const std::string& group) {
    const std::string both = readFile(group + "/cpu.max", kQuotaBytesMost).value_or("");
    if (const std::size_t space = both.find(' '); space != std::string::npos) {
        return {numberIn(both), numberIn(std::string_view(both).substr(space + 1))};
    }
    return {numberIn(readFile(group + "/cpu.cfs_quota_us", kQuotaBytesMost).value_or("")),
            numberIn(readFile(group + "/cpu.cfs_period_us", kQuotaBytesMost).value_or(""))};
}

}  // namespace

int machineCores(const ControlGroups& groups, int allowed) {
    std::int64_t cores = allowed;
    for (const std::string& group : groups.directoriesOf("cpu")) {
        const Quota quota = quotaOf(group);
        if (quota.time > 0 && quota.period > 0) {
            cores = std::min(cores, quota.time / quota.period);
        }
    }
    return static_cast<int>(std::max<std::int64_t>(cores, 1));
}

int machineCores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    return machineCores({}, ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1);
}

}  // namespace millrace

#include "backend/system/machine_memory.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <unistd.h>

#include "backend/core/files.h"

namespace millrace {
namespace {

constexpr std::size_t kMostBytes = 64 << 10;

/// The path of this process in the hierarchy of version 2 ("0::/user.slice/..."); "" without one.
std::string groupOf(const std::string& proc) {
    const Result<std::string> text = readFile(proc + "/self/cgroup", kMostBytes);
    if (!text.ok()) {
        return "";
    }
    constexpr std::string_view kVersion2 = "0::";
    for (std::size_t at = 0; at < text->size();) {
        const std::size_t end = std::min(text->find('\n', at), text->size());
        if (text->compare(at, kVersion2.size(), kVersion2) == 0) {
            return text->substr(at + kVersion2.size(), end - at - kVersion2.size());
        }
        at = end + 1;
    }
    return "";
}

/// "max" and what cannot be read are no limit.
std::int64_t limitIn(const std::string& path, std::int64_t otherwise) {
    const Result<std::string> text = readFile(path, kMostBytes);
    std::int64_t bytes = 0;
    if (!text.ok() ||
        std::from_chars(text->data(), text->data() + text->size(), bytes).ec != std::errc()) {
        return otherwise;
    }
    return bytes > 0 ? bytes : otherwise;
}

}  // namespace

std::int64_t machineMemory(const std::string& proc, const std::string& groups,
                           std::int64_t physical) {
    std::int64_t least = physical;
    // A group is limited by those above it as well.
    for (std::string group = groupOf(proc); group.size() > 1;
         group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'))) {
        least = std::min(least, limitIn(groups + group + "/memory.max", least));
    }
    return std::min(least, limitIn(groups + "/memory.max", least));
}

std::int64_t machineMemory() {
    const std::int64_t physical = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) *
                                  static_cast<std::int64_t>(::sysconf(_SC_PAGE_SIZE));
    return machineMemory("/proc", "/sys/fs/cgroup", physical);
}

}  // namespace millrace

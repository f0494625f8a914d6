#include "backend/system/machine_memory.h"

#include <algorithm>
#include <charconv>

#include <unistd.h>

#include "backend/filesystem/files.h"

namespace millrace {
namespace {

constexpr std::size_t kLimitBytesMost = 64 << 10;

/// "max" and unreadable files set no limit.
std::int64_t limitIn(const std::string& path, std::int64_t otherwise) {
    const Result<std::string> text = readFile(path, kLimitBytesMost);
    std::int64_t bytes = 0;
    if (!text.ok() ||
        std::from_chars(text->data(), text->data() + text->size(), bytes).ec != std::errc()) {
        return otherwise;
    }
    return bytes > 0 ? bytes : otherwise;
}

}  // namespace

std::int64_t machineMemory(const ControlGroups& groups, std::int64_t physical) {
    std::int64_t least = physical;
    for (const std::string& group : groups.directoriesOf("memory")) {
        for (const char* name : {"/memory.max", "/memory.limit_in_bytes"}) {
            least = std::min(least, limitIn(group + name, least));
        }
    }
    return least;
}

std::int64_t machineMemory() {
    const std::int64_t physical = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) *
                                  static_cast<std::int64_t>(::sysconf(_SC_PAGE_SIZE));
    return machineMemory({}, physical);
}

}  // namespace millrace

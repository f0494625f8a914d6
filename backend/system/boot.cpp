#include "backend/system/boot.h"

#include <ctime>

#include "backend/filesystem/files.h"

namespace millrace {

std::string bootId() {
    const Result<std::string> text = readFile("/proc/sys/kernel/random/boot_id", 256);
    return text.ok() ? text->substr(0, text->find('\n')) : std::string();
}

std::int64_t bootTimeMs() {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace millrace

#include "daemon/worker/loader/process.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "backend/filesystem/files.h"

namespace millrace::loader {
namespace {

double secondsOf(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Since boot. A process cannot have used more processor time than the time since its start.
double startOfProcess() {
    const double latest = secondsOf(CLOCK_BOOTTIME) - secondsOf(CLOCK_PROCESS_CPUTIME_ID);
    const auto stat = readFile("/proc/self/stat");
    if (!stat.ok()) {
        return latest;
    }
    // The 22nd field; the second one, in brackets, may contain blanks.
    const char* at = stat->c_str() + std::min(stat->rfind(')'), stat->size());
    for (int field = 2; field < 22 && *at != 0; ++at) {
        field += *at == ' ' ? 1 : 0;
    }
    const auto ticksPerSecond = static_cast<double>(::sysconf(_SC_CLK_TCK));
    const double ticks = std::atof(at);
    return std::clamp(latest, ticks / ticksPerSecond, (ticks + 1) / ticksPerSecond);
}

}  // namespace

double secondsSinceStart() {
    static const double kStart = startOfProcess();
    return secondsOf(CLOCK_BOOTTIME) - kStart;
}

double cpuSeconds() {
    double total = 0;
    for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
        rusage usage{};
        ::getrusage(who, &usage);
        total += static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
    }
    return total;
}

double peakRssMb() {
    double kilobytes = 0;
    for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
        rusage usage{};
        ::getrusage(who, &usage);
        kilobytes += static_cast<double>(usage.ru_maxrss);
    }
    return kilobytes * 1024 / 1e6;
}

int usableCores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    return ::sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

}  // namespace millrace::loader

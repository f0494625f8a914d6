#include "daemon/worker/loader/process.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "backend/core/files.h"

namespace millrace::loader {

double secondsSinceStart() {
    static const double kStart = [] {
        // The 22nd field; the second one, in brackets, may hold blanks.
        const auto stat = readFile("/proc/self/stat");
        if (!stat.ok()) {
            return 0.0;
        }
        const char* at = stat->c_str() + std::min(stat->rfind(')'), stat->size());
        for (int field = 2; field < 22 && *at != 0; ++at) {
            field += *at == ' ' ? 1 : 0;
        }
        return std::atof(at) / static_cast<double>(::sysconf(_SC_CLK_TCK));
    }();
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 - kStart;
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

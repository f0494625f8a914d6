#pragma once
// Measurements of this process: time since its start, processor time, peak memory.
#include <cstdint>

namespace millrace::loader {

/// Seconds since the kernel started this process. The kernel reports the start with 10 ms
/// precision. The processor time at the first call narrows it down, so the first call must be at
/// the beginning of main(): 0.1 ms then, unless the process has waited for a disk before.
double secondsSinceStart();
/// User and system time of this process and of its ended children.
double cpuSeconds();
/// The largest resident set so far, of this process and its ended children together; MB = 10^6.
double peakRssMb();
/// Cores that this process may use.
int usableCores();

}  // namespace millrace::loader

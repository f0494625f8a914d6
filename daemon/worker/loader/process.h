#pragma once
// This process in figures: time since its start, processor time, peak memory.
#include <cstdint>

namespace millrace::loader {

/// Seconds since the kernel started this process. The kernel tells its start to 10 ms; what is left
/// open is closed by the processor time that the process has had by the first call, which therefore
/// belongs to the beginning of main(): at 0.1 ms then, unless it has waited for a disk before.
double secondsSinceStart();
/// User and system time of this process and of its ended children.
double cpuSeconds();
/// The largest resident set so far, of this process and its ended children together; MB = 10^6.
double peakRssMb();
/// Cores that this process may use.
int usableCores();

}  // namespace millrace::loader

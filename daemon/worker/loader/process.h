#pragma once
// This process in figures: time since its start, processor time, peak memory.
#include <cstdint>

namespace millrace::loader {

/// Seconds since the kernel started this process (resolution 10 ms).
double secondsSinceStart();
/// User and system time of this process and of its ended children.
double cpuSeconds();
/// The largest resident set so far, of this process and its ended children together; MB = 10^6.
double peakRssMb();
/// Cores that this process may use.
int usableCores();

}  // namespace millrace::loader

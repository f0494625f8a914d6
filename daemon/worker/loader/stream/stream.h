#pragma once
// `millrace-loader stream SPEC`: the loader alone, with a sink instead of the ring, and a report.
#include <string>

#include "backend/core/status.h"
#include "backend/options/stream_options.h"

namespace millrace::loader {

/// Reports options that cannot be combined, as a sentence; OK otherwise.
Status checkOptions(const options::StreamOptions& options);

/// The role. The process's exit code: 0, 3 stopped by a signal, 4 input or data, 5 other.
int runStream(const options::StreamOptions& options);

}  // namespace millrace::loader

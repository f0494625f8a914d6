#pragma once
// How a loader ends with an error: the sentence on stderr and the exit code (core/exit_codes.h).
#include <cstdio>
#include <string>

#include "backend/core/exit_codes.h"

namespace millrace::loader {

/// Says the sentence on stderr; the exit code.
inline int fail(const Status& status) {
    const std::string text(messageOf(status));
    std::fprintf(stderr, "millrace-loader: %s\n", text.c_str());
    return workerExitOf(status);
}

}  // namespace millrace::loader

#pragma once
// How a loader ends: exit codes of every worker, and the sentence on stderr.
#include <cstdio>
#include <string>

#include "backend/core/status.h"

namespace millrace::loader {

inline constexpr int kExitDone = 0;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitStopped = 3;
inline constexpr int kExitInput = 4;
inline constexpr int kExitOther = 5;

inline int exitCodeOf(const Status& status) {
    switch (status.code()) {
        case absl::StatusCode::kOk:
            return kExitDone;
        case absl::StatusCode::kCancelled:
            return kExitStopped;
        case absl::StatusCode::kInvalidArgument:
        case absl::StatusCode::kNotFound:
        case absl::StatusCode::kDataLoss:
        case absl::StatusCode::kFailedPrecondition:
        case absl::StatusCode::kPermissionDenied:
        case absl::StatusCode::kResourceExhausted:
        case absl::StatusCode::kOutOfRange:
            return kExitInput;
        default:
            return kExitOther;
    }
}

/// Says the sentence on stderr; the exit code.
inline int fail(const Status& status) {
    const std::string text(messageOf(status));
    std::fprintf(stderr, "millrace-loader: %s\n", text.c_str());
    return exitCodeOf(status);
}

}  // namespace millrace::loader

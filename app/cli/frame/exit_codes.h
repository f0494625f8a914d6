#pragma once
// The exit codes of `millrace`, as documented in its help and docs/reference/cli.md.
#include "backend/core/status.h"

namespace millrace::cli {

enum ExitCode {
    kExitOk = 0,
    kExitFailed = 1,
    kExitUsage = 2,
    kExitCancelled = 3,
    kExitRunFailed = 5,
    kExitUnreachable = 6,
};

inline ExitCode exitCodeOf(const Status& status) {
    switch (status.code()) {
        case absl::StatusCode::kOk:
            return kExitOk;
        case absl::StatusCode::kUnavailable:
            return kExitUnreachable;
        case absl::StatusCode::kCancelled:
            return kExitCancelled;
        default:
            return kExitFailed;
    }
}

}  // namespace millrace::cli

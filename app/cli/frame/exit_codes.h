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

/// Marks an error as one of the command line: the command then exits with kExitUsage.
inline Status asUsage(Status status) {
    status.SetPayload("usage", {});
    return status;
}
template <class T>
Result<T> asUsage(Result<T> result) {
    return result.ok() ? std::move(result) : Result<T>(asUsage(result.status()));
}

inline ExitCode exitCodeOf(const Status& status) {
    if (status.GetPayload("usage")) {
        return kExitUsage;
    }
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

#pragma once
// How a loader ends: with an error, the sentence on stderr and its exit code (core/exit_codes.h);
// with an answer, the text on stdout.
#include <cstdio>
#include <string>
#include <string_view>

#include "backend/core/exit_codes.h"
#include "backend/core/standard_output.h"

namespace millrace::loader {

/// Says the sentence on stderr; the exit code.
inline int fail(const Status& status) {
    const std::string text(messageOf(status));
    std::fprintf(stderr, "millrace-loader: %s\n", text.c_str());
    return workerExitOf(status);
}

/// The end of a worker that others end: by SIGTERM or by the daemon's word. It cannot know why; its
/// guardian writes the reason into the log.
inline Status toldToEnd() {
    return cancelled("told to end");
}

/// Prints a role's whole answer. Returns `code`, or that of an answer that was not written.
inline int endWith(std::string_view answer, int code = kExitDone) {
    return endWithText("millrace-loader", answer, code);
}

}  // namespace millrace::loader

#pragma once
// How a loader ends: with an error, the sentence on stderr and its exit code (core/exit_codes.h);
// with an answer, the text on stdout.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/exit_codes.h"
#include "backend/core/standard_output.h"

namespace millrace::loader {

/// Prints the sentence on stderr; returns the exit code.
inline int fail(const Status& status) {
    const std::string text(messageOf(status));
    std::fprintf(stderr, "millrace-loader: %s\n", text.c_str());
    return workerExitOf(status);
}

/// Prints remarks on how the files were read on stderr, before the error that they explain.
inline void printNotes(const std::vector<std::string>& notes) {
    for (const std::string& note : notes) {
        std::fprintf(stderr, "note: %s\n", note.c_str());
    }
}

/// The end of a worker by SIGTERM or by the daemon's order. The worker does not know the reason;
/// its guardian writes that into the log.
inline Status toldToEnd() {
    return cancelled("told to end");
}

/// Prints a role's whole answer. Returns `code`, or the code for an answer that could not be
/// written.
inline int endWith(std::string_view answer, int code = kExitDone) {
    return endWithText("millrace-loader", answer, code);
}

}  // namespace millrace::loader

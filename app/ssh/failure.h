#pragma once
// Turns the output of a failed ssh (or of millrace-ssh, which uses the same words) into a sentence
// that explains the failure and what to do.
//
// Pure. Codes: kUnavailable (unreachable; a retry may help), kPermissionDenied (the host let nobody
// in), kFailedPrecondition (a host key, a file, a configuration, an answer: a person has to act).
#include <string>
#include <string_view>

#include "backend/core/status.h"

namespace millrace::ssh {

struct Ending {
    std::string host;        ///< the address as given, "ssh://alice@gpu1"
    std::string_view words;  ///< the end of ssh's stderr
    int exitCode = 255;
    bool wasUp = false;       ///< it was connected before
    bool wasAsked = false;    ///< somebody could be asked: false with --ssh-strict or no terminal
    bool wasGivenUp = false;  ///< the person gave up
    bool isStrict = false;    ///< --ssh-strict
};

Status failureOf(const Ending& ending);

}  // namespace millrace::ssh

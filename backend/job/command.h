#pragma once
// Resolves the command of a spec (`command: [python, train.py]`) to the program and script to
// start.
//
// Threads: pure, but reads the file system. Failure: kNotFound, one sentence with the places that
// were searched.
#include <string>
#include <vector>

#include "backend/core/status.h"

namespace millrace::job {

/// The place where a command was submitted.
struct CommandPlace {
    std::string searchPath;        ///< PATH
    std::string workingDirectory;  ///< absolute
    std::string baseDir;           ///< the spec's directory, absolute
};

/// `command` with an absolute program: a name without '/' is looked up in the search path, any
/// other is relative to the spec's directory. If its first non-option argument is not a file in the
/// working directory but one beside the spec, it is replaced by that file's path.
Result<std::vector<std::string>> resolveCommand(const std::vector<std::string>& command,
                                                const CommandPlace& place);

}  // namespace millrace::job

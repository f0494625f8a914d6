#pragma once
// The command of a spec (`command: [python, train.py]`) as it is started: which program, and where
// its script lies.
//
// Threads: pure but for looks at the file system. Failure: kNotFound, one sentence that says where
// was looked.
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"

namespace millrace::job {

/// Where a command was submitted from.
struct CommandPlace {
    std::string searchPath;        ///< PATH
    std::string workingDirectory;  ///< absolute
    std::string baseDir;           ///< the spec's directory, absolute
};

/// `command` with an absolute program: a name without '/' from the search path, another one from
/// the spec's directory. Its first argument that is no option, where it names no file from the
/// working directory but one beside the spec, becomes that one's path.
Result<std::vector<std::string>> resolveCommand(const std::vector<std::string>& command,
                                                const CommandPlace& place);

}  // namespace millrace::job

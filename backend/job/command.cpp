#include "backend/job/command.h"

#include <algorithm>

#include <sys/stat.h>
#include <unistd.h>

#include "backend/filesystem/files.h"

namespace millrace::job {
namespace {

bool isFile(const std::string& path) {
    struct stat info{};
    return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

bool isProgram(const std::string& path) {
    return isFile(path) && ::access(path.c_str(), X_OK) == 0;
}

Result<std::string> findProgram(const std::string& program, const CommandPlace& place) {
    if (program.find('/') != std::string::npos) {
        const std::string path = absolutePath(program, place.baseDir);
        return isProgram(path)
                   ? Result<std::string>(path)
                   : notFound("command: ", path, " is not a program that can be started");
    }
    std::string_view rest = place.searchPath;
    while (!program.empty() && !rest.empty()) {
        const std::size_t end = std::min(rest.find(':'), rest.size());
        const std::string folder(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        // An empty entry means the working directory.
        const std::string path = strCat(
            folder.empty() ? place.workingDirectory : absolutePath(folder, place.workingDirectory),
            "/", program);
        if (isProgram(path)) {
            return path;
        }
    }
    const bool isLine = program.find(' ') != std::string::npos;
    return notFound(
        "command: program '", program, "' was not found in PATH (", place.searchPath, ")",
        isLine ? "; a command is a list, one item for each word: [python3, train.py]" : "");
}

// True if the word must be the file of a script. The text after `-c` is a command line.
bool isScript(const std::string& word, const std::string& before) {
    return before != "-c" && (word.ends_with(".py") || word.ends_with(".sh"));
}

}  // namespace

Result<std::vector<std::string>> resolveCommand(const std::vector<std::string>& command,
                                                const CommandPlace& place) {
    if (command.empty()) {
        return invalidArgument("command: is empty");
    }
    std::vector<std::string> resolved = command;
    ASSIGN_OR_RETURN(resolved.front(), findProgram(command.front(), place));
    const auto script = std::find_if(resolved.begin() + 1, resolved.end(), [](const auto& text) {
        return !text.empty() && text.front() != '-';
    });
    if (script == resolved.end() || isFile(absolutePath(*script, place.workingDirectory))) {
        return resolved;
    }
    const std::string beside = absolutePath(*script, place.baseDir);
    if (isFile(beside)) {
        *script = beside;
    } else if (isScript(*script, *(script - 1))) {
        return notFound("command: there is no ", *script, " in ", place.workingDirectory,
                        " (the working directory) nor in ", place.baseDir, " (the spec's)");
    }
    return resolved;
}

}  // namespace millrace::job

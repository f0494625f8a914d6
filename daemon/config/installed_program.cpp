#include "daemon/config/installed_program.h"

#include <unistd.h>

#include "backend/core/log.h"
#include "backend/filesystem/paths.h"
#include "backend/system/subprocess.h"

namespace millrace::config {

void becomeInstalled(const DaemonConfig& config, std::vector<std::string> arguments,
                     std::string_view build) {
    const std::string program = programDirectory() + "/millraced";
    SubprocessOptions asked;
    asked.argv = {program, "--version"};
    asked.timeout = std::chrono::seconds(10);
    const auto version = Subprocess::run(asked);
    const bool isOther = version.ok() && version->exitCode == 0 &&
                         version->out.find(strCat("build ", build, "\n")) == std::string::npos;
    if (!isOther) {
        return;
    }
    logInfo("slot: goes on as the program that is installed", {{"program", program}});
    arguments.insert(arguments.begin(), program);
    arguments.emplace_back("--foreground");
    if (!config.logFile.empty()) {
        arguments.insert(arguments.end(), {"--log-file", config.logFile});
    }
    std::vector<char*> argv;
    for (std::string& argument : arguments) {
        argv.push_back(argument.data());
    }
    argv.push_back(nullptr);
    ::execv(program.c_str(), argv.data());
}

}  // namespace millrace::config

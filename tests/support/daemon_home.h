#pragma once
// A test's own millraced: temporary directories, a unix socket, the real workers if they are built
// (else /bin/false). It leaves nothing behind: it kills every process that carries its mark.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "backend/filesystem/files.h"
#include "backend/system/subprocess.h"
#include "backend/text/json.h"
#include "tests/support/temp_dir.h"

namespace millrace::tests {

class DaemonHome {
 public:
    /// `binDir`: the directory of the built programs.
    explicit DaemonHome(const std::string& binDir)
        : marker_("MILLRACE_DAEMON_TEST=" + dir_.path()) {
        std::filesystem::create_directories(dir_ / "bin");
        for (const char* name :
             {"millraced", "millrace-exec", "millrace-loader", "millrace-trainer"}) {
            const std::string real = binDir + "/" + name;
            const bool isBuilt = std::filesystem::exists(real);
            hasWorkers_ = hasWorkers_ && isBuilt;
            std::filesystem::create_symlink(isBuilt ? real : "/bin/false",
                                            dir_ / (std::string("bin/") + name));
        }
    }
    ~DaemonHome() {
        for (int round = 0; round < 3; ++round) {
            killAll();
        }
    }
    DaemonHome(const DaemonHome&) = delete;
    DaemonHome& operator=(const DaemonHome&) = delete;

    bool hasWorkers() const { return hasWorkers_; }
    std::string path(const std::string& name) const {
        return name.empty() ? dir_.path() : dir_ / name;
    }
    std::string socketPath() const { return dir_ / "run/d.sock"; }
    std::string address() const { return "unix:" + socketPath(); }

    /// Starts the daemon in the background; returns the output of the command.
    Result<SubprocessOutput> startDaemon(const std::vector<std::string>& extra = {}) const {
        SubprocessOptions options;
        options.argv = {dir_ / "bin/millraced", "--socket",  address(),   "--state-dir",
                        dir_ / "state",         "--bin-dir", dir_ / "bin"};
        options.argv.insert(options.argv.end(), extra.begin(), extra.end());
        options.environment = {marker_, "XDG_CACHE_HOME=" + dir_.path() + "/cache"};
        options.timeout = std::chrono::seconds(30);
        return Subprocess::run(options);
    }
    /// Pid of the daemon; 0: none was started, or the last one ended regularly.
    int daemonPid() const {
        const std::string path = dir_ / "state/millraced.lock";
        const Result<std::string> text = readFile(path);
        const Result<Json> json = text.ok() ? parseJson(*text, path) : Result<Json>(text.status());
        return json.ok() ? static_cast<int>(jsonInt(*json, "pid")) : 0;
    }
    /// Every living process that carries this home's mark, from /proc.
    std::vector<int> processes(const std::string& program = "") const {
        std::vector<int> found;
        std::error_code error;
        for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
            const int pid = std::atoi(entry.path().filename().c_str());
            if (pid <= 0) {
                continue;
            }
            const std::string environment = slurp(entry.path() / "environ");
            const std::string command = slurp(entry.path() / "cmdline");
            const std::string name = command.substr(0, command.find('\0'));
            if (environment.find(marker_) != std::string::npos &&
                (program.empty() || name.ends_with("/" + program))) {
                found.push_back(pid);
            }
        }
        return found;
    }
    void killAll() const {
        for (const int pid : processes()) {
            ::kill(pid, SIGKILL);
        }
    }
    static std::string slurp(const std::filesystem::path& path) {
        // Does not use a stream, whose buffer throws if the process of a file in /proc is gone.
        return readFile(path).value_or("");
    }

 private:
    TempDir dir_;
    const std::string marker_;
    bool hasWorkers_ = true;
};

}  // namespace millrace::tests

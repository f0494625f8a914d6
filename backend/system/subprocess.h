#pragma once
// A child process with an owner: started by argument vector (no shell), waited for, ended in time.
//
// Owns: the child; the destructor kills and reaps a child that still runs. run() owns also what the
// child started: it makes a process group of its own, which is killed with it. Threads: one owner.
// Failure: a program that cannot be started is kNotFound/kPermissionDenied with its path.
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"
#include "backend/system/machine_memory.h"

namespace millrace {

struct SubprocessOptions {
    std::vector<std::string> argv;
    std::vector<std::string> environment;  ///< "NAME=value" added to or replacing this process's
    bool isWholeEnvironment = false;       ///< `environment` is all of it
    std::string workingDirectory;          ///< empty: this process's
    std::string input;                     ///< written to stdin, then closed (run() only)
    int stdinFd = -1, stdoutFd = -1, stderrFd = -1;  ///< start(): given to the child; -1: inherited
    std::vector<std::pair<int, int>> passFds;        ///< (ours, number in the child)
    std::int64_t maxOutputBytes = std::int64_t{256} << 20;
    std::int64_t memoryLimitBytes = 0;     ///< RLIMIT_AS; 0: none
    std::chrono::milliseconds timeout{0};  ///< run(): 0: none
    /// run(): asked ten times a second; true ends the child and is kCancelled. Empty: never.
    std::function<bool()> isUnwanted;
    bool newSession = false;
    bool newGroup = false;  ///< a process group of its own, killed as a whole by the destructor
    bool dieWithParent = false;  ///< PR_SET_PDEATHSIG(SIGKILL): only from a lasting thread
};

/// What `memoryLimitBytes` is to be when so many children may run at once: what the machine and the
/// control groups of this process allow (`memory`), divided by them, at least 1 GiB.
std::int64_t memoryShareOf(int children, std::int64_t memory = machineMemory());

struct SubprocessOutput {
    int exitCode = 0;  ///< 128 + n when signal n ended it
    std::string out, err;
};

class Subprocess {
 public:
    static Result<Subprocess> start(const SubprocessOptions& options);
    /// Starts, feeds `input`, collects both outputs and waits for the child's end, also when it
    /// closed its outputs long before. kDeadlineExceeded after `timeout`, kResourceExhausted over
    /// `maxOutputBytes`: then the child and its process group are killed. What a descendant writes
    /// more than a second after the child's end is not waited for, and the group is killed. The
    /// child dies with the calling thread.
    static Result<SubprocessOutput> run(const SubprocessOptions& options);

    Subprocess(Subprocess&& other) noexcept
        : pid_(std::exchange(other.pid_, -1)), hasGroup_(other.hasGroup_) {}
    Subprocess& operator=(Subprocess&& other) noexcept;
    ~Subprocess();
    pid_t pid() const { return pid_; }
    void signal(int number);
    /// Blocks; the exit code as in SubprocessOutput.
    Result<int> wait();
    /// The exit code when it has ended, nothing otherwise. Never blocks.
    Result<bool> poll(int& exitCode);
    /// Gives the child away: it is no longer killed by the destructor.
    pid_t release() { return std::exchange(pid_, -1); }

 private:
    Subprocess(pid_t pid, bool hasGroup) : pid_(pid), hasGroup_(hasGroup) {}
    void killAll();
    pid_t pid_ = -1;
    bool hasGroup_ = false;
};

}  // namespace millrace

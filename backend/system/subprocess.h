#pragma once
// A child process with an owner: started by an argument vector (no shell), waited for, and ended in
// time.
//
// Owns: the child; the destructor kills and reaps a running child. run() also owns the child's
// descendants: the child gets a process group of its own, which is killed with it. Threads: one
// owner.
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
    std::vector<std::string> environment;  ///< "NAME=value": added to this process's environment,
                                           ///< or replacing it
    bool isWholeEnvironment = false;       ///< `environment` is complete
    std::string workingDirectory;          ///< empty: this process's
    std::string input;                     ///< written to stdin, then closed (run() only)
    int stdinFd = -1, stdoutFd = -1, stderrFd = -1;  ///< start(): passed to the child; -1:
                                                     ///< inherited
    std::vector<std::pair<int, int>> passFds;        ///< (ours, number in the child)
    std::int64_t maxOutputBytes = std::int64_t{256} << 20;
    std::int64_t memoryLimitBytes = 0;     ///< RLIMIT_AS; 0: none
    std::chrono::milliseconds timeout{0};  ///< run(): 0: none
    /// run(): called ten times per second; true ends the child with kCancelled. Empty: never.
    std::function<bool()> isUnwanted;
    bool newSession = false;
    bool newGroup = false;  ///< a process group of its own, killed as a whole by the destructor
    bool dieWithParent = false;  ///< PR_SET_PDEATHSIG(SIGKILL): only from a permanent thread
};

/// The `memoryLimitBytes` for this many children at once: the memory that the machine and this
/// process's control groups allow (`memory`), divided by `children`, at least 1 GiB.
std::int64_t memoryShareOf(int children, std::int64_t memory = machineMemory());

struct SubprocessOutput {
    int exitCode = 0;  ///< 128 + n if signal n ended it
    std::string out, err;
};

class Subprocess {
 public:
    static Result<Subprocess> start(const SubprocessOptions& options);
    /// Starts the child, writes `input`, collects both outputs and waits for its end, even if it
    /// closed its outputs long before. kDeadlineExceeded after `timeout`, kResourceExhausted above
    /// `maxOutputBytes`: kills the child and its process group. A descendant's output later than a
    /// second after the child's end is dropped, and the group is killed. The child dies with the
    /// calling thread.
    static Result<SubprocessOutput> run(const SubprocessOptions& options);

    Subprocess(Subprocess&& other) noexcept
        : pid_(std::exchange(other.pid_, -1)), hasGroup_(other.hasGroup_) {}
    Subprocess& operator=(Subprocess&& other) noexcept;
    ~Subprocess();
    pid_t pid() const { return pid_; }
    void signal(int number);
    /// Blocks; returns the exit code as in SubprocessOutput.
    Result<int> wait();
    /// Returns true and the exit code if the child has ended, else false. Never blocks.
    Result<bool> poll(int& exitCode);
    /// Releases the child: the destructor no longer kills it.
    pid_t release() { return std::exchange(pid_, -1); }

 private:
    Subprocess(pid_t pid, bool hasGroup) : pid_(pid), hasGroup_(hasGroup) {}
    void killAll();
    pid_t pid_ = -1;
    bool hasGroup_ = false;
};

}  // namespace millrace

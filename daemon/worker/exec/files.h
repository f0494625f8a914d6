#pragma once
// WorkerDirectory: the guardian's files in a worker's directory: guardian.lock, guardian.json,
// exit.json.
//
// A directory serves one guardian, once: the lock excludes a second one while the first lives, and
// the files exclude it afterwards.
#include <cstdint>
#include <string>

#include <sys/types.h>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace::exec {

/// The resources that a worker's processes used: user and system time of all, memory of the
/// largest.
struct Usage {
    double cpuSeconds = 0;
    std::int64_t peakMemoryBytes = 0;
};

class WorkerDirectory {
 public:
    /// Takes the directory (created if it does not exist) and reserves the space of the exit
    /// record. kAlreadyExists if it was used before.
    static Result<WorkerDirectory> take(const std::string& path);

    const std::string& path() const { return path_; }
    std::string socketPath() const { return path_ + "/guardian.sock"; }
    /// guardian.json: from here on others can find and adopt the guardian.
    /// `group`: the command's control group, "" without one.
    Status writeGuardian(pid_t commandPid, const std::string& group) const;
    /// Writes exit.json into the reserved space: also works on a full disk.
    Status writeExit(int code, int signal, std::string_view reason, std::int64_t droppedLines,
                     const Usage& usage);

 private:
    explicit WorkerDirectory(std::string path) : path_(std::move(path)) {}
    std::string path_;
    UniqueFd lock_, exit_;
};

}  // namespace millrace::exec

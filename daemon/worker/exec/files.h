#pragma once
// A worker's directory as the guardian keeps it: guardian.lock, guardian.json, exit.json.
//
// A directory serves one guardian, once: the lock keeps a second one out while the first lives, and
// the files keep it out afterwards.
#include <cstdint>
#include <string>

#include <sys/types.h>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace::exec {

/// What a worker's processes took: user and system time of all, memory of the largest.
struct Usage {
    double cpuSeconds = 0;
    std::int64_t peakMemoryBytes = 0;
};

class WorkerDirectory {
 public:
    /// Takes the directory (made when it is not there) and reserves the room of the exit record.
    /// kAlreadyExists when it was used before.
    static Result<WorkerDirectory> take(const std::string& path);

    const std::string& path() const { return path_; }
    std::string socketPath() const { return path_ + "/guardian.sock"; }
    /// guardian.json: from here on others can find and adopt the guardian.
    /// `group`: the command's control group, "" without one.
    Status writeGuardian(pid_t commandPid, const std::string& group) const;
    /// exit.json in the room that was reserved: succeeds on a full disk too.
    Status writeExit(int code, int signal, std::string_view reason, std::int64_t droppedLines,
                     const Usage& usage);

 private:
    explicit WorkerDirectory(std::string path) : path_(std::move(path)) {}
    std::string path_;
    UniqueFd lock_, exit_;
};

}  // namespace millrace::exec

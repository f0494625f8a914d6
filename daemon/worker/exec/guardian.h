#pragma once
// Guardian: the process between an owner that may die and a command that must not outlive its job.
// Used by millrace-exec.
//
// It is not a descendant of the owner (double fork, own session): owners end their descendants with
// SIGKILL, and a shim that dies with them cannot clean up. It is the subreaper of everything the
// command starts, so that it also finds and ends processes that called setsid. If the guardian
// itself is killed, the command gets SIGKILL, and what is left of it is found by its control group
// (backend/system/worker_group.h). It has one thread, because PR_SET_PDEATHSIG follows the thread
// that forked. Without a directory the command lives as long as the stub and the life line. With
// one, the guardian can be adopted: it keeps the log, records its identity, answers on its control
// socket, and ends the command if no owner contacts it during the orphan lease.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"
#include "daemon/worker/exec/control.h"
#include "daemon/worker/exec/files.h"
#include "daemon/worker/exec/log.h"

namespace millrace::exec {

struct GuardianOptions {
    std::vector<char*> argv;  ///< ends with a null pointer
    std::string directory;    ///< "" without one
    std::chrono::milliseconds grace{10'000};
    std::chrono::milliseconds orphanLease{600'000};
    std::int64_t logBytesMax = std::int64_t{32} << 20;  ///< for each of the two log files
};

class Guardian {
 public:
    /// `life` closes when the owner is gone, `stub` when the stub is: either ends the command.
    Guardian(const GuardianOptions& options, UniqueFd life, UniqueFd stub);

    /// Forks the command; a directory's files exist before the command runs.
    Status start();
    /// Waits until the command and all of its descendants are gone. Returns the command's code or
    /// 128 + signal.
    int guard();

 private:
    using Time = std::chrono::steady_clock::time_point;

    Status prepareDirectory();
    [[noreturn]] void becomeCommand(pid_t guardian, int go, int out, int err);
    void waitForEvents();
    int waitMs(Time controlAt) const;
    void drainOutput(UniqueFd& pipe, char stream, bool toEnd);
    void readSignals();
    void reap();
    void stop(std::chrono::milliseconds grace, std::string_view why);
    void enforce();
    Json onRequest(const ControlRequest& request);
    void takeGroup();
    bool endGroup();
    int finish();

    const GuardianOptions options_;
    UniqueFd life_, stub_, signals_, out_, err_;
    std::optional<WorkerDirectory> directory_;
    std::unique_ptr<WorkerLog> log_;
    ControlSocket control_;
    pid_t command_ = -1;
    bool isGone_ = false, isStopping_ = false;
    int status_ = 0;
    std::string reason_;
    std::string group_;  ///< the command's control group; "" if none can be made
    Time killAt_{}, leaseEnds_{};
};

}  // namespace millrace::exec

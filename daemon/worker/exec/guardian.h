#pragma once
// Guardian: the process that stands between an owner that may die and a command that must not
// outlive its job.
//
// It is no descendant of the owner (double fork, own session), because owners end their descendants
// with SIGKILL, and a shim that dies with them can clean up nothing. It is the subreaper of
// everything the command starts, so also what called setsid is found and ended; the command gets
// SIGKILL should the guardian itself be killed, and what is left of it is found by its control
// group (backend/system/worker_group.h). It has one thread: PR_SET_PDEATHSIG follows the thread
// that forked. Without a directory the command lives as long as the stub and the life line. With
// one, the guardian is there to be adopted: it keeps the log, says who it is, answers on its
// control socket and ends the command when nobody asked for it during the orphan lease.
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
    std::int64_t logBytesMax = std::int64_t{32} << 20;  ///< of each of the two log files
};

class Guardian {
 public:
    /// `life` closes when the owner is gone, `stub` when the stub is: either ends the command.
    Guardian(const GuardianOptions& options, UniqueFd life, UniqueFd stub);

    /// Forks the command; with a directory its files are there before the command runs.
    Status start();
    /// Until the command and all of its descendants are gone; the command's code or 128 + signal.
    int guard();

 private:
    using Time = std::chrono::steady_clock::time_point;

    Status prepareDirectory();
    [[noreturn]] void becomeCommand(pid_t guardian, int go, int out, int err);
    void waitForEvents();
    int waitMs(Time doorAt) const;
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
    ControlDoor door_;
    pid_t command_ = -1;
    bool isGone_ = false, isStopping_ = false;
    int status_ = 0;
    std::string reason_;
    std::string group_;  ///< the command's control group; "" where none may be made
    Time killAt_{}, leaseEnds_{};
};

}  // namespace millrace::exec

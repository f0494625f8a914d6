#include "daemon/config/daemon_locks.h"

#include <cerrno>
#include <filesystem>

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/filesystem/files.h"
#include "backend/system/unix_socket.h"

namespace millrace::config {
namespace {

constexpr std::chrono::milliseconds kPatience{3'000};

Status removeFile(const std::string& path) {
    return ::unlink(path.c_str()) == 0 || errno == ENOENT ? okStatus() : errnoStatus(errno, path);
}

// Prepares the directory of a socket: a new one is private; an existing one must be safe for a
// socket.
Status prepareSocketDirectory(const std::string& path) {
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0 || path == runtimeDirectory()) {
        return makePrivateDirectory(path);
    }
    return checkSocketDirectory(path);
}

std::string lockPath(const DaemonConfig& config) {
    return config.stateDir + "/millraced.lock";
}

// If this file exists, a bound agent made the directory and removes it.
std::string markPath(const DaemonConfig& config) {
    return config.stateDir + "/made-by-bound-agent";
}

Status mark(const DaemonConfig& config, bool isNew) {
    if (config.isBound) {
        return isNew ? writeFileAtomic(markPath(config), "", 0600) : okStatus();
    }
    return removeFile(markPath(config));
}

// Checked at the start, so that no run finds out only at its first checkpoint.
Status checkCheckpoints(const DaemonConfig& config) {
    const std::string& path = config.checkpoints;
    if (path.empty()) {
        return okStatus();
    }
    Status status = makeDirectories(path, 0700);
    if (status.ok() && ::access(path.c_str(), R_OK | W_OK | X_OK) != 0) {
        status = errnoStatus(errno, path);
    }
    return status.ok() ? status
                       : failedPrecondition(config.checkpointsFrom, " ", messageOf(status),
                                            "; name a directory that this user may write to and "
                                            "that all nodes see at this path");
}

}  // namespace

Result<StateLock> takeStateDirectory(const DaemonConfig& config) {
    const bool isNew = ::access(config.stateDir.c_str(), F_OK) != 0;
    RETURN_IF_ERROR(makePrivateDirectory(config.stateDir));
    StateLockTerms terms;
    terms.what = "the state directory " + config.stateDir;
    terms.here = PidScope::ofThisProcess();
    terms.patience = kPatience;
    terms.takesOver = config.takesOver;
    terms.pause = [](std::chrono::milliseconds time) {
        ::poll(nullptr, 0, static_cast<int>(time.count()));
    };
    ASSIGN_OR_RETURN(StateLock lock, StateLock::take(lockPath(config), std::move(terms)));
    RETURN_IF_ERROR(mark(config, isNew));
    return lock;
}

Status removeOwnDirectory(const DaemonConfig& config, bool keepsLog) {
    if (::access(markPath(config).c_str(), F_OK) != 0) {
        return okStatus();
    }
    std::error_code error;
    std::filesystem::remove_all(config.runsDir(), error);
    if (error) {
        return errnoStatus(error.value(), config.runsDir());
    }
    const std::string log = config.stateDir + "/millraced.log";
    if (keepsLog && ::access(log.c_str(), F_OK) == 0) {
        return removeFile(lockPath(config));
    }
    for (const std::string& path : {log, lockPath(config), markPath(config)}) {
        RETURN_IF_ERROR(removeFile(path));
    }
    const bool isGone = ::rmdir(config.stateDir.c_str()) == 0 || errno == ENOTEMPTY;
    return isGone ? okStatus() : errnoStatus(errno, config.stateDir);
}

Result<DaemonLocks> takeDaemonLocks(const DaemonConfig& config) {
    RETURN_IF_ERROR(checkCheckpoints(config));
    RETURN_IF_ERROR(makePrivateDirectory(config.stateDir));
    const bool isUnix = config.address.isUnix();
    const std::string& path = config.address.unixPath;
    if (isUnix) {
        RETURN_IF_ERROR(prepareSocketDirectory(std::filesystem::path(path).parent_path().string()));
    }
    // The kernel refuses two daemons on one port; the lock file is only for a uniform error.
    ASSIGN_OR_RETURN(InstanceLock socket,
                     InstanceLock::take(isUnix ? path + ".lock" : config.stateDir + "/port.lock",
                                        {isUnix ? "the socket " + path : config.address.text(),
                                         PidScope::ofThisProcess(), kPatience}));
    ASSIGN_OR_RETURN(StateLock state, takeStateDirectory(config));
    return DaemonLocks{std::move(state), std::move(socket)};
}

}  // namespace millrace::config

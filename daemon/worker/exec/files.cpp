#include "daemon/worker/exec/files.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "backend/core/clock.h"
#include "backend/filesystem/directories.h"
#include "backend/filesystem/files.h"
#include "backend/system/boot.h"
#include "backend/system/pid_scope.h"
#include "backend/text/json.h"

namespace millrace::exec {
namespace {

constexpr std::size_t kExitBytes = 1024;

bool exists(const std::string& path) {
    return ::access(path.c_str(), F_OK) == 0;
}

Status writeAt(int fd, std::string_view bytes, const std::string& path) {
    const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), 0);
    return n == static_cast<ssize_t>(bytes.size()) ? okStatus()
                                                   : errnoStatus(n < 0 ? errno : ENOSPC, path);
}

}  // namespace

Result<WorkerDirectory> WorkerDirectory::take(const std::string& path) {
    WorkerDirectory directory(absolutePath(path, "/"));
    RETURN_IF_ERROR(makeDirectories(path, 0700));
    const std::string lock = path + "/guardian.lock";
    directory.lock_.reset(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!directory.lock_.isOpen()) {
        return errnoStatus(errno, lock);
    }
    if (::flock(directory.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
        return alreadyExists(path, ": another guardian holds this directory");
    }
    if (exists(path + "/guardian.json") || exists(path + "/exit.json")) {
        return alreadyExists(path, ": was used by a guardian before; give a fresh directory");
    }
    const std::string aside = path + "/exit.json.tmp";
    directory.exit_.reset(::open(aside.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!directory.exit_.isOpen()) {
        return errnoStatus(errno, aside);
    }
    RETURN_IF_ERROR(writeAt(directory.exit_.get(), std::string(kExitBytes, ' '), aside));
    return directory;
}

Status WorkerDirectory::writeGuardian(pid_t commandPid, const std::string& group) const {
    ASSIGN_OR_RETURN(const std::int64_t startTime, processStartTime(::getpid()));
    if (startTime < 0) {
        return notFound("/proc: does not show this process; mount it");
    }
    Json guardian = {{"pid", ::getpid()},
                     {"start_time", startTime},
                     {"control_socket", socketPath()},
                     {"command_pid", commandPid},
                     {"control_group", group}};
    PidScope::ofThisProcess().addTo(guardian);
    return writeFileAtomic(path_ + "/guardian.json", dumpJson(guardian) + "\n", 0600);
}

Status WorkerDirectory::writeExit(int code, int signal, std::string_view reason,
                                  std::int64_t droppedLines, const Usage& usage) {
    const Json exit = {{"code", code},
                       {"signal", signal},
                       {"time", formatTime(SystemClock().wallMs())},
                       {"boot_id", bootId()},
                       {"boot_ms", bootTimeMs()},
                       {"reason", std::string(reason.substr(0, kExitBytes / 2))},
                       {"dropped_lines", droppedLines},
                       {"cpu_seconds", usage.cpuSeconds},
                       {"peak_memory_bytes", usage.peakMemoryBytes}};
    std::string text = dumpJson(exit);
    text.resize(kExitBytes - 1, ' ');
    text += '\n';
    const std::string aside = path_ + "/exit.json.tmp", path = path_ + "/exit.json";
    RETURN_IF_ERROR(writeAt(exit_.get(), text, aside));
    // Renamed even if the sync failed: after a power cut, no file would be worse for a reader.
    const Status synced = ::fsync(exit_.get()) == 0 ? okStatus() : errnoStatus(errno, aside);
    if (::rename(aside.c_str(), path.c_str()) != 0) {
        return errnoStatus(errno, path);
    }
    ::unlink(socketPath().c_str());
    RETURN_IF_ERROR(synced);
    return syncDirectory(path_);
}

}  // namespace millrace::exec

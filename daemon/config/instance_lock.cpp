#include "daemon/config/instance_lock.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/core/files.h"
#include "backend/system/unix_socket.h"

namespace millrace::config {
namespace {

constexpr std::chrono::milliseconds kPatience{3'000};

/// The process that wrote itself into a lock; 0: not known.
pid_t holderOf(int fd) {
    char text[64] = {};
    const ssize_t n = ::pread(fd, text, sizeof text - 1, 0);
    pid_t pid = 0;
    const std::from_chars_result read = std::from_chars(text, text + std::max<ssize_t>(n, 0), pid);
    return read.ec == std::errc() && pid > 0 ? pid : 0;
}

/// Waits for the end of a process, at most so long.
void awaitEnd(pid_t process, std::chrono::milliseconds patience) {
    if (process == 0 || process == ::getpid()) {
        return;
    }
    const UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
    pollfd item{fd.get(), POLLIN, 0};
    if (fd.isOpen()) {
        ::poll(&item, 1, static_cast<int>(patience.count()));
    }
}

// A directory for a socket: made private; an existing one must be safe for a socket.
Status prepareSocketDirectory(const std::string& path) {
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0 || path == runtimeDirectory()) {
        return makePrivateDirectory(path);
    }
    return checkSocketDirectory(path);
}

}  // namespace

Result<InstanceLock> InstanceLock::take(const std::string& path, const std::string& what,
                                        std::chrono::milliseconds patience) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.isOpen()) {
        return errnoStatus(errno, path);
    }
    const auto isTaken = [&fd] { return ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0; };
    if (!isTaken()) {
        if (errno != EWOULDBLOCK) {
            return errnoStatus(errno, path);
        }
        const pid_t holder = holderOf(fd.get());
        awaitEnd(holder, patience);
        if (!isTaken()) {
            return alreadyExists("another millraced",
                                 holder > 0 ? strCat(" (process ", holder, ")") : std::string(),
                                 " already serves ", what);
        }
    }
    const std::string pid = strCat(::getpid(), "\n");
    if (::ftruncate(fd.get(), 0) != 0 ||
        ::pwrite(fd.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
        return errnoStatus(errno, path);
    }
    return InstanceLock(std::move(fd));
}

Result<InstanceLock> takeStateDirectory(const DaemonConfig& config) {
    RETURN_IF_ERROR(makePrivateDirectory(config.stateDir));
    return InstanceLock::take(config.stateDir + "/millraced.lock",
                              "the state directory " + config.stateDir, kPatience);
}

Result<Premises> takePremises(const DaemonConfig& config) {
    RETURN_IF_ERROR(makePrivateDirectory(config.stateDir));
    const bool isUnix = config.address.isUnix();
    const std::string& path = config.address.unixPath;
    if (isUnix) {
        RETURN_IF_ERROR(prepareSocketDirectory(std::filesystem::path(path).parent_path().string()));
    }
    // Two daemons on one port are refused by the kernel; the file only keeps both cases alike.
    ASSIGN_OR_RETURN(
        InstanceLock socket,
        InstanceLock::take(isUnix ? path + ".lock" : config.stateDir + "/port.lock",
                           isUnix ? "the socket " + path : config.address.text(), kPatience));
    ASSIGN_OR_RETURN(InstanceLock state, takeStateDirectory(config));
    return Premises{std::move(state), std::move(socket)};
}

}  // namespace millrace::config

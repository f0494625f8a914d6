#include "daemon/config/instance_lock.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/core/files.h"
#include "backend/system/unix_socket.h"

namespace millrace::config {
namespace {

std::string holderOf(int fd) {
    char text[64] = {};
    const ssize_t n = ::pread(fd, text, sizeof text - 1, 0);
    std::string pid(text, n > 0 ? static_cast<std::size_t>(n) : 0);
    pid.erase(pid.find_last_not_of("\n ") + 1);
    const bool isNumber = !pid.empty() && pid.find_first_not_of("0123456789") == std::string::npos;
    return isNumber ? strCat(" (process ", pid, ")") : std::string();
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

Result<InstanceLock> InstanceLock::take(const std::string& path, const std::string& what) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.isOpen()) {
        return errnoStatus(errno, path);
    }
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) {
            return errnoStatus(errno, path);
        }
        return alreadyExists("another millraced", holderOf(fd.get()), " already serves ", what);
    }
    const std::string pid = strCat(::getpid(), "\n");
    if (::ftruncate(fd.get(), 0) != 0 ||
        ::pwrite(fd.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
        return errnoStatus(errno, path);
    }
    return InstanceLock(std::move(fd));
}

Result<Premises> takePremises(const DaemonConfig& config) {
    RETURN_IF_ERROR(makePrivateDirectory(config.stateDir));
    const bool isUnix = config.address.isUnix();
    const std::string& path = config.address.unixPath;
    if (isUnix) {
        RETURN_IF_ERROR(prepareSocketDirectory(std::filesystem::path(path).parent_path().string()));
    }
    // Two daemons on one port are refused by the kernel; the file only keeps both cases alike.
    ASSIGN_OR_RETURN(InstanceLock socket,
                     InstanceLock::take(isUnix ? path + ".lock" : config.stateDir + "/port.lock",
                                        isUnix ? "the socket " + path : config.address.text()));
    ASSIGN_OR_RETURN(InstanceLock state,
                     InstanceLock::take(config.stateDir + "/millraced.lock",
                                        "the state directory " + config.stateDir));
    return Premises{std::move(state), std::move(socket)};
}

}  // namespace millrace::config

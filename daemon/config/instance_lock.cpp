#include "daemon/config/instance_lock.h"

#include <cerrno>
#include <chrono>
#include <functional>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "daemon/config/lock_holder.h"

namespace millrace::config {
namespace {

// For a process that cannot be looked up from here: only the lock shows that it has ended.
void awaitLock(std::chrono::milliseconds patience, const std::function<bool()>& isTaken) {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!isTaken() && std::chrono::steady_clock::now() < until) {
        ::poll(nullptr, 0, 20);
    }
}

bool isAt(const std::string& path, int fd) {
    struct stat there{}, own{};
    return ::stat(path.c_str(), &there) == 0 && ::fstat(fd, &own) == 0 &&
           there.st_dev == own.st_dev && there.st_ino == own.st_ino;
}

}  // namespace

Result<UniqueFd> lockFile(const std::string& path, const LockTerms& terms) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.isOpen()) {
        return errnoStatus(errno, path);
    }
    const auto isTaken = [&fd] { return ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0; };
    if (!isTaken()) {
        if (errno != EWOULDBLOCK) {
            return errnoStatus(errno, path);
        }
        const std::optional<LockHolder> holder = LockHolder::read(fd.get());
        if (holder && reachOf(holder->scope, terms.here, 0) == PidReach::kHere) {
            holder->awaitEnd(terms.patience);
        } else {
            awaitLock(terms.patience, isTaken);
        }
        if (!isTaken()) {
            return alreadyExists("another millraced",
                                 holder ? strCat(" (", holder->text(), ")") : std::string(),
                                 " already serves ", terms.what);
        }
    }
    // A bound agent removes the file at its end: then lock the new file.
    return isAt(path, fd.get()) ? Result<UniqueFd>(std::move(fd)) : lockFile(path, terms);
}

Result<InstanceLock> InstanceLock::take(const std::string& path, const LockTerms& terms) {
    ASSIGN_OR_RETURN(UniqueFd fd, lockFile(path, terms));
    RETURN_IF_ERROR(LockHolder::ofThisProcess(terms.here).write(fd.get(), path));
    return InstanceLock(std::move(fd));
}

}  // namespace millrace::config

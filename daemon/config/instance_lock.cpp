#include "daemon/config/instance_lock.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>

#include "daemon/config/lock_holder.h"

namespace millrace::config {

Result<UniqueFd> lockFile(const std::string& path, const LockTerms& terms) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.isOpen()) {
        return errnoStatus(errno, path);
    }
    const auto isTaken = [&fd] { return ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0; };
    if (isTaken()) {
        return fd;
    }
    if (errno != EWOULDBLOCK) {
        return errnoStatus(errno, path);
    }
    const std::optional<LockHolder> holder = LockHolder::read(fd.get());
    if (holder && reachOf(holder->scope, terms.here) == PidReach::kHere) {
        holder->awaitEnd(terms.patience);
    }
    if (isTaken()) {
        return fd;
    }
    return alreadyExists("another millraced",
                         holder ? strCat(" (", holder->text(), ")") : std::string(),
                         " already serves ", terms.what);
}

Result<InstanceLock> InstanceLock::take(const std::string& path, const LockTerms& terms) {
    ASSIGN_OR_RETURN(UniqueFd fd, lockFile(path, terms));
    RETURN_IF_ERROR(LockHolder::ofThisProcess(terms.here).write(fd.get(), path));
    return InstanceLock(std::move(fd));
}

}  // namespace millrace::config

#include "daemon/config/state_lock.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/core/clock.h"
#include "backend/core/log.h"
#include "backend/core/stop_wait.h"
#include "backend/core/thread.h"

namespace millrace::config {
namespace {

// Longer than the guardians' lease of 10 minutes: the workers of a daemon that was silent this long
// have ended.
constexpr std::int64_t kOldS = 11 * 60;
// Two signs of life and a second: a holder that renews the file is noticed, whatever clocks show.
constexpr std::chrono::milliseconds kLook{7'000};

Result<UniqueFd> openFile(const std::string& path) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    return fd.isOpen() ? Result<UniqueFd>(std::move(fd)) : errnoStatus(errno, path);
}

// Seconds since the last write to a file, by the clock of its file system: a new file shows its
// time. The clocks of the two machines do not matter.
std::int64_t ageS(const std::string& path) {
    struct stat then{}, now{};
    std::string probe = path + ".XXXXXX";
    const UniqueFd fd(::mkostemp(probe.data(), O_CLOEXEC));
    if (fd.isOpen()) {
        ::unlink(probe.c_str());
    }
    if (!fd.isOpen() || ::fstat(fd.get(), &now) != 0) {
        now.st_mtim.tv_sec = SystemClock().wallMs() / 1000;
    }
    return ::stat(path.c_str(), &then) == 0
               ? std::max<std::int64_t>(now.st_mtim.tv_sec - then.st_mtim.tv_sec, 0)
               : kOldS;
}

Status servedElsewhere(const LockHolder& holder, const std::string& what, std::int64_t age) {
    const std::int64_t left = std::max<std::int64_t>(kOldS - age, 1);
    return alreadyExists(
        what, ": millraced serves it, ", holder.text(),
        ", on another machine or in another pid namespace; its last sign of life is ", age,
        " s old. End it there. Where it has ended already, start again in ",
        formatDuration(static_cast<double>(left)), ", or now with --take-over");
}

}  // namespace

Result<StateLock> StateLock::take(const std::string& path, StateLockTerms terms) {
    ASSIGN_OR_RETURN(UniqueFd fd, lockFile(path, terms));
    const std::optional<LockHolder> holder = LockHolder::read(fd.get());
    StateLock lock(std::move(fd), path, terms.what, LockHolder::ofThisProcess(terms.here));
    const bool isOther = holder && !holder->isSameAs(lock.own_);
    if (const Status status = isOther ? lock.takeFrom(*holder, terms) : okStatus(); !status.ok()) {
        lock.fd_.reset();  // the file remains the other holder's
        return status;
    }
    RETURN_IF_ERROR(lock.own_.write(lock.fd_.get(), path));
    if (!lock.takenFrom_.empty() && terms.takesOver) {
        // The other process notices it at its next beat and ends; only then is the store opened.
        terms.pause(kLook);
        RETURN_IF_ERROR(lock.beat());
    }
    return lock;
}

Status StateLock::takeFrom(const LockHolder& holder, const StateLockTerms& terms) {
    switch (reachOf(holder.scope, terms.here, 1000 * ageS(path_))) {
        case PidReach::kGone:
            return okStatus();
        case PidReach::kElsewhere:
            return takeFromElsewhere(holder, terms);
        case PidReach::kHere:
            break;
    }
    if (holder.isAlive()) {
        holder.awaitEnd(terms.patience);
    }
    return holder.isAlive()
               ? alreadyExists("another millraced (", holder.text(), ") already serves ", what_)
               : okStatus();
}

Status StateLock::takeFromElsewhere(const LockHolder& holder, const StateLockTerms& terms) {
    const std::int64_t age = ageS(path_);
    takenFrom_ = strCat(holder.text(), ", silent for ", age, " s");
    if (terms.takesOver) {
        return okStatus();
    }
    if (age < kOldS) {
        return servedElsewhere(holder, what_, age);
    }
    terms.pause(kLook);
    ASSIGN_OR_RETURN(const std::optional<LockHolder> now, present());
    const bool isAlive = now && (!now->isSameAs(holder) || now->beat != holder.beat);
    return isAlive ? servedElsewhere(*now, what_, 0) : okStatus();
}

// Opens the file each time, because a network file system then shows its current state. This also
// notices a file that was replaced.
Result<std::optional<LockHolder>> StateLock::present() const {
    ASSIGN_OR_RETURN(const UniqueFd fd, openFile(path_));
    return LockHolder::read(fd.get());
}

Status StateLock::beat() {
    ASSIGN_OR_RETURN(const UniqueFd fd, openFile(path_));
    const std::optional<LockHolder> holder = LockHolder::read(fd.get());
    if (holder && !holder->isSameAs(own_)) {
        return alreadyExists(what_, ": was taken over by ", holder->text(),
                             "; this process ends and leaves its workers to themselves");
    }
    ++own_.beat;
    return own_.write(fd.get(), path_);
}

StateLock::~StateLock() {
    if (!fd_.isOpen()) {
        return;
    }
    const Result<UniqueFd> fd = openFile(path_);
    const auto holder = fd.ok() ? LockHolder::read(fd->get()) : std::nullopt;
    if (holder && holder->isSameAs(own_)) {
        if (const Status freed = LockHolder::clear(fd->get(), path_); !freed.ok()) {
            logWarn("state: lock not freed", {{"error", messageOf(freed)}});
        }
    }
}

Heartbeat::Heartbeat(StateLock& lock, std::chrono::milliseconds every,
                     std::function<void(const Status&)> onLost)
    : lock_(lock), every_(every), onLost_(std::move(onLost)) {
    thread_ = startThread("state-lock", [this](const std::stop_token& stop) { loop(stop); });
}

void Heartbeat::loop(const std::stop_token& stop) {
    bool isFailing = false;
    while (!waitForStop(stop, every_)) {
        const Status status = lock_.beat();
        if (absl::IsAlreadyExists(status)) {
            return onLost_(status);
        }
        if (!status.ok() && !std::exchange(isFailing, true)) {
            logWarn("state: lock not renewed; another machine may take the directory for free",
                    {{"error", messageOf(status)}});
        }
    }
}

}  // namespace millrace::config

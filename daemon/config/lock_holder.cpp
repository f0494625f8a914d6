#include "daemon/config/lock_holder.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/core/unique_fd.h"

namespace millrace::config {
namespace {

constexpr std::size_t kFileBytes = 1024;

Status writePadded(int fd, std::string text, const std::string& path) {
    text.resize(kFileBytes - 1, ' ');
    text += '\n';
    const ssize_t n = ::pwrite(fd, text.data(), text.size(), 0);
    return n == static_cast<ssize_t>(text.size()) ? okStatus()
                                                  : errnoStatus(n < 0 ? errno : ENOSPC, path);
}

}  // namespace

LockHolder LockHolder::ofThisProcess(PidScope here) {
    return {std::move(here), ::getpid(), processStartTime(::getpid()).value_or(0)};
}

std::optional<LockHolder> LockHolder::read(int fd) {
    char text[kFileBytes];
    const ssize_t n = ::pread(fd, text, sizeof text, 0);
    const std::string_view bytes(text, static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    const Result<Json> json = parseJson(bytes, "lock");
    if (!json.ok()) {
        return std::nullopt;
    }
    LockHolder holder{PidScope::fromJson(*json), jsonInt(*json, "pid"),
                      jsonInt(*json, "start_time"), jsonInt(*json, "beat")};
    return holder.pid > 0 ? std::optional(holder) : std::nullopt;
}

Status LockHolder::write(int fd, const std::string& path) const {
    Json json = {{"pid", pid}, {"start_time", startTime}, {"beat", beat}};
    scope.addTo(json);
    return writePadded(fd, dumpJson(json), path);
}

Status LockHolder::clear(int fd, const std::string& path) {
    return writePadded(fd, "", path);
}

bool LockHolder::isSameAs(const LockHolder& other) const {
    return scope == other.scope && pid == other.pid && startTime == other.startTime;
}

bool LockHolder::isAlive() const {
    const Result<std::int64_t> started = processStartTime(static_cast<pid_t>(pid));
    return started.ok() && *started == startTime;
}

void LockHolder::awaitEnd(std::chrono::milliseconds patience) const {
    if (pid == ::getpid()) {
        return;
    }
    const UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0)));
    pollfd item{fd.get(), POLLIN, 0};
    if (fd.isOpen()) {
        ::poll(&item, 1, static_cast<int>(patience.count()));
    }
}

std::string LockHolder::text() const {
    return strCat("process ", pid, scope.host.empty() ? "" : " on ", scope.host);
}

}  // namespace millrace::config

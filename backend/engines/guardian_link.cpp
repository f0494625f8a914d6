#include "backend/engines/guardian_link.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <set>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/core/clock.h"
#include "backend/filesystem/files.h"
#include "backend/system/unix_socket.h"
#include "backend/system/worker_group.h"

namespace millrace::engines {
namespace {

constexpr std::size_t kReplyMax = 4096;

bool hasVariable(std::string_view environment, std::string_view name, std::string_view value) {
    const std::string wanted = strCat(name, "=", value);
    while (!environment.empty()) {
        const std::size_t end = environment.find('\0');
        if (environment.substr(0, end) == wanted) {
            return true;
        }
        environment.remove_prefix(end == std::string_view::npos ? environment.size() : end + 1);
    }
    return false;
}

Result<std::set<pid_t>> killOnce(std::string_view directory) {
    std::set<pid_t> found;
    std::error_code error;
    std::filesystem::directory_iterator it("/proc", error), end;
    for (; !error && it != end; it.increment(error)) {
        const auto pid = static_cast<pid_t>(std::atoi(it->path().filename().c_str()));
        if (pid <= 1 || pid == ::getpid()) {
            continue;
        }
        const Result<std::string> environment = readFile(it->path().string() + "/environ");
        if (absl::IsResourceExhausted(environment.status())) {
            return environment.status();
        }
        if (environment.ok() && hasVariable(*environment, "MR_DIRECTORY", directory)) {
            ::kill(pid, SIGKILL);
            found.insert(pid);
        }
    }
    if (error) {
        return errnoStatus(error.value(), "/proc");
    }
    return found;
}

}  // namespace

GuardianState fateOf(const GuardianRecord& guardian, const PidScope& here) {
    switch (reachOf(guardian.scope, here, SystemClock().wallMs() - guardian.writtenMs)) {
        case PidReach::kGone:
            return GuardianState::kGone;
        case PidReach::kElsewhere:
            return GuardianState::kUnknown;
        case PidReach::kHere:
            break;
    }
    const Result<std::int64_t> started = processStartTime(static_cast<pid_t>(guardian.pid));
    return !started.ok() || *started == guardian.startTime ? GuardianState::kAlive
                                                           : GuardianState::kGone;
}

bool GuardianLine::connect() {
    if (fd_.isOpen()) {
        return true;
    }
    Result<UniqueFd> made = connectUnixNonBlocking(path_);
    if (!made.ok() || !checkPeer(made->get(), path_).ok()) {
        return false;
    }
    fd_ = std::move(*made);
    heard_.clear();
    return true;
}

bool GuardianLine::say(const Json& request) {
    ++numUnanswered_;
    if (!connect()) {
        return false;
    }
    const std::string line = dumpJson(request) + "\n";
    const ssize_t n = ::send(fd_.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n == static_cast<ssize_t>(line.size())) {
        return true;
    }
    // A partial line would corrupt the next one. A full buffer is harmless: the guardian has plenty
    // to read when it continues.
    if (n >= 0 || (errno != EAGAIN && errno != EINTR)) {
        fd_.reset();
    }
    return false;
}

bool GuardianLine::hear() {
    bool isAnswered = false;
    while (fd_.isOpen()) {
        char buffer[kReplyMax];
        const ssize_t n = ::recv(fd_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            break;
        }
        if (n <= 0) {
            fd_.reset();
            break;
        }
        heard_.append(buffer, static_cast<std::size_t>(n));
        for (std::size_t end = heard_.find('\n'); end != std::string::npos;
             end = heard_.find('\n')) {
            isAnswered = true;
            heard_.erase(0, end + 1);
        }
        if (heard_.size() > kReplyMax) {
            fd_.reset();
        }
    }
    if (isAnswered) {
        numUnanswered_ = 0;
    }
    return isAnswered;
}

Result<int> killLeftovers(std::string_view directory, const std::string& controlGroup) {
    // Repeats until none is found: a process may fork while its siblings die.
    std::set<pid_t> all;
    for (int round = 0; round < 10; ++round) {
        ASSIGN_OR_RETURN(const std::set<pid_t> found, killOnce(directory));
        all.insert(found.begin(), found.end());
        if (found.empty()) {
            break;
        }
    }
    // Also ends processes in the group that cleared their environment: they are not counted.
    if (!controlGroup.empty() && !endGroup(controlGroup)) {
        return unavailable(controlGroup, ": processes in it have not ended yet");
    }
    return static_cast<int>(all.size());
}

Result<int> freePort() {
    const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (!fd.isOpen() || ::bind(fd.get(), generic, size) != 0 ||
        ::getsockname(fd.get(), generic, &size) != 0) {
        return errnoStatus(errno, "a port for the ranks");
    }
    return ntohs(address.sin_port);
}

}  // namespace millrace::engines

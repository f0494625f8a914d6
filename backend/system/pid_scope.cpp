#include "backend/system/pid_scope.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include <sys/stat.h>
#include <unistd.h>

#include "backend/filesystem/files.h"
#include "backend/system/boot.h"
#include "backend/text/utf8.h"

namespace millrace {
namespace {

std::string machineId() {
    const Result<std::string> text = readFile("/etc/machine-id", 256);
    return text.ok() ? text->substr(0, text->find('\n')) : std::string();
}

std::int64_t pidNamespaceId() {
    struct stat info{};
    return ::stat("/proc/self/ns/pid", &info) == 0 ? static_cast<std::int64_t>(info.st_ino) : 0;
}

std::string hostName() {
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 && name[0] != 0 ? toUtf8(name) : "localhost";
}

}  // namespace

PidScope PidScope::ofThisProcess() {
    return {machineId(), bootId(), pidNamespaceId(), hostName()};
}

PidScope PidScope::fromJson(const Json& record) {
    return {jsonString(record, "machine_id"), jsonString(record, "boot_id"),
            jsonInt(record, "pid_namespace"), jsonString(record, "host")};
}

void PidScope::addTo(Json& record) const {
    record["machine_id"] = machine;
    record["boot_id"] = boot;
    record["pid_namespace"] = pidNamespace;
    record["host"] = host;
}

PidReach reachOf(const PidScope& record, const PidScope& here, std::int64_t ageMs) {
    const bool areKnown = !record.boot.empty() && !here.boot.empty();
    if (areKnown && record.boot == here.boot) {
        return record.pidNamespace == here.pidNamespace ? PidReach::kHere : PidReach::kElsewhere;
    }
    const bool isOneMachine =
        !record.machine.empty() && record.machine == here.machine && record.host == here.host;
    return areKnown && isOneMachine && ageMs >= bootTimeMs() ? PidReach::kGone
                                                             : PidReach::kElsewhere;
}

Result<std::int64_t> processStartTime(pid_t pid) {
    constexpr std::size_t kMostBytes = 4096;
    const Result<std::string> stat = readFile(strCat("/proc/", pid, "/stat"), kMostBytes);
    if (!stat.ok()) {
        const bool isGone =
            absl::IsNotFound(stat.status()) || (::kill(pid, 0) != 0 && errno == ESRCH);
        return isGone ? Result<std::int64_t>(-1) : Result<std::int64_t>(stat.status());
    }
    // The name in brackets may hold any characters, so fields are counted after its end.
    std::size_t at = stat->rfind(')');
    if (at == std::string::npos || at + 2 >= stat->size() || (*stat)[at + 2] == 'Z') {
        return -1;
    }
    for (int field = 2; field < 22 && at != std::string::npos; ++field) {
        at = stat->find(' ', at + 1);
    }
    return at == std::string::npos ? -1 : std::strtoll(stat->c_str() + at, nullptr, 10);
}

}  // namespace millrace

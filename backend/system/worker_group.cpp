#include "backend/system/worker_group.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/core/hash.h"
#include "backend/core/unique_fd.h"
#include "backend/filesystem/files.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "millrace-";

// The kernel's files exist already and take a value with one write.
Status put(const std::string& path, std::string_view value) {
    const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    const bool isWritten = file.isOpen() && ::write(file.get(), value.data(), value.size()) ==
                                                static_cast<ssize_t>(value.size());
    return isWritten ? okStatus() : errnoStatus(errno, path);
}

// Groups that a worker's processes may have made inside its own group.
std::vector<std::string> groupsIn(const std::string& group) {
    std::vector<std::string> inner;
    std::error_code error;
    fs::directory_iterator entry(group, error), end;
    for (; !error && entry != end; entry.increment(error)) {
        if (entry->is_directory(error)) {
            inner.push_back(entry->path().string());
        }
    }
    return inner;
}

// Does what cgroup.kill does, for kernels before 5.14. Processes forked meanwhile are killed by the
// next call.
void killEach(const std::string& group) {
    const std::string pids = readFile(group + "/cgroup.procs").value_or("");
    const char* at = pids.c_str();
    for (char* end = nullptr;; at = end) {
        const long pid = std::strtol(at, &end, 10);
        if (end == at) {
            break;
        }
        if (pid > 0) {  // 0: a process of another pid namespace
            ::kill(static_cast<pid_t>(pid), SIGKILL);
        }
    }
    for (const std::string& inner : groupsIn(group)) {
        killEach(inner);
    }
}

void killAll(const std::string& group) {
    if (!put(group + "/cgroup.kill", "1").ok()) {
        killEach(group);
    }
}

// Whether the group or its subgroups have processes. An unreadable group counts as populated.
bool isPopulated(const std::string& group) {
    const Result<std::string> events = readFile(group + "/cgroup.events");
    return events.ok() ? events->find("populated 1") != std::string::npos
                       : !absl::IsNotFound(events.status());
}

// ".../r-abcde/a1/rank0" gives "millrace-r-abcde.a1.rank0-<hash>": people can find the run, and two
// daemons in one group have different names.
std::string nameOf(const std::string& workerDirectory) {
    constexpr std::size_t kHashDigits = 16;
    const fs::path worker = absolutePath(workerDirectory, "/"), attempt = worker.parent_path();
    return strCat(kPrefix, attempt.parent_path().filename().string(), ".",
                  attempt.filename().string(), ".", worker.filename().string(), "-",
                  hashHex(worker.string()).substr(0, kHashDigits));
}

}  // namespace

Result<std::string> delegatedGroup(const ControlGroups& groups) {
    ASSIGN_OR_RETURN(const std::string group, groups.ownOfVersion2());
    if (::access(group.c_str(), W_OK) != 0) {
        return errnoStatus(errno, group);
    }
    const std::string members = group + "/cgroup.procs";
    return ::access(members.c_str(), W_OK) == 0 ? Result<std::string>(group)
                                                : errnoStatus(errno, members);
}

Result<std::string> makeWorkerGroup(const std::string& workerDirectory,
                                    const ControlGroups& groups) {
    ASSIGN_OR_RETURN(const std::string own, delegatedGroup(groups));
    std::string group = strCat(own, "/", nameOf(workerDirectory));
    if (::mkdir(group.c_str(), 0755) != 0) {
        if (errno != EEXIST) {
            return errnoStatus(errno, group);
        }
        killAll(group);
    }
    return group;
}

Status enterGroup(const std::string& group, pid_t pid) {
    return put(group + "/cgroup.procs", std::to_string(pid));
}

bool endGroup(const std::string& group) {
    if (::rmdir(group.c_str()) == 0 || errno == ENOENT) {
        return true;
    }
    killAll(group);
    if (isPopulated(group)) {
        return false;
    }
    for (const std::string& inner : groupsIn(group)) {
        endGroup(inner);
    }
    ::rmdir(group.c_str());
    return true;
}

void removeEmptyGroups(const std::string& own) {
    for (const std::string& group : groupsIn(own)) {
        if (fs::path(group).filename().string().starts_with(kPrefix)) {
            ::rmdir(group.c_str());
        }
    }
}

}  // namespace millrace

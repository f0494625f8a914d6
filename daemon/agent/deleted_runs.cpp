#include "daemon/agent/deleted_runs.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "backend/core/log.h"
#include "backend/core/stop_wait.h"
#include "backend/core/thread.h"

namespace millrace::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours kBetweenSweeps{1}, kRunningTime{24};

std::int64_t millisecondsOf(std::chrono::hours hours) {
    return std::chrono::milliseconds(hours).count();
}

std::uint64_t treeBytes(const std::string& path) {
    std::uint64_t bytes = 0;
    std::error_code error;
    fs::recursive_directory_iterator it(path, error);
    for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
        std::error_code own;
        if (it->is_regular_file(own) && !it->is_symlink(own)) {
            const std::uintmax_t size = it->file_size(own);
            bytes += own ? 0 : size;
        }
    }
    return bytes;
}

// A run's last messages and its retention may still write while its files are removed; the next
// round removes what they wrote.
Status removeTree(const std::string& path) {
    constexpr int kMostRounds = 10;
    std::error_code error = std::make_error_code(std::errc::directory_not_empty);
    for (int i = 0; i < kMostRounds && error == std::errc::directory_not_empty; ++i) {
        fs::remove_all(path, error);
    }
    return error ? errnoStatus(error.value(), path) : okStatus();
}

// The checkpoint directory may be a symbolic link.
std::uint64_t runBytes(const RunDirectory& run) {
    return treeBytes(run.path()) + treeBytes(run.paths().sharedCheckpoints());
}

Status removeCheckpoints(const RunDirectory& run) {
    const std::string shared = run.paths().sharedCheckpoints();
    RETURN_IF_ERROR(shared.empty() ? okStatus() : removeTree(shared));
    return removeTree(run.checkpointsPath());
}

Status removeRun(const RunDirectory& run) {
    RETURN_IF_ERROR(removeCheckpoints(run));
    return removeTree(run.path());
}

}  // namespace

void DeletedRuns::start() {
    thread_ = startThread("janitor", [this](const std::stop_token& stop) { loop(stop); });
}

void DeletedRuns::loop(const std::stop_token& stop) {
    do {
        sweep();
    } while (!waitForStop(stop, kBetweenSweeps));
    addRunningTime();
}

void DeletedRuns::addRunningTime() {
    const std::int64_t now = clock_.steadyNs();
    const std::int64_t ran = now - countedNs_.exchange(now);
    if (const Status status = store_.addRunningTime(ran / kNsPerMs); !status.ok()) {
        countedNs_ -= ran;
        logWarn("runs: running time not counted", {{"why", messageOf(status)}});
    }
}

std::uint64_t DeletedRuns::bytesOf(const std::string& id) const {
    return runBytes(RunDirectory(runsDir_, id));
}

// Deletes from the store first: from then on no run owns the files, and a sweep removes the rest.
Result<std::uint64_t> DeletedRuns::purge(const std::string& id) {
    RETURN_IF_ERROR(store_.purge(id));
    const RunDirectory run(runsDir_, id);
    const std::uint64_t bytes = runBytes(run);
    RETURN_IF_ERROR(removeRun(run));
    logInfo("run: purged", {{"run", id}, {"bytes", bytes}});
    return bytes;
}

std::uint64_t DeletedRuns::freeCheckpoints(const std::string& id) {
    const RunDirectory run(runsDir_, id);
    const std::uint64_t bytes = treeBytes(run.checkpointsPath());
    if (bytes == 0) {
        return 0;
    }
    // Marks the checkpoints first, so that no attempt relies on a file that is being removed.
    Status status = store_.dropCheckpoints(id);
    if (status.ok()) {
        status = removeCheckpoints(run);
    }
    if (!status.ok()) {
        logWarn("run: checkpoints not freed", {{"run", id}, {"why", messageOf(status)}});
        return 0;
    }
    run.addEvent({clock_.wallMs(), "its checkpoints were freed: it had been deleted long ago"});
    logInfo("run: checkpoints freed", {{"run", id}, {"bytes", bytes}});
    return bytes;
}

std::uint64_t DeletedRuns::finishPurges() {
    std::vector<std::string> ids;
    std::error_code error;
    for (fs::directory_iterator entry(runsDir_, error), end; !error && entry != end;
         entry.increment(error)) {
        ids.push_back(entry->path().filename().string());
    }
    const auto purged = store_.purgedAmong(ids);
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; purged.ok() && i < purged->size(); ++i) {
        const std::uint64_t left = bytesOf((*purged)[i]);
        const Status status = removeRun(RunDirectory(runsDir_, (*purged)[i]));
        bytes += status.ok() ? left : 0;
    }
    return bytes;
}

std::uint64_t DeletedRuns::sweep() {
    addRunningTime();
    const auto old = store_.deletedBefore(clock_.wallMs() - millisecondsOf(keep_),
                                          millisecondsOf(std::min(keep_, kRunningTime)));
    if (!old.ok()) {
        logWarn("runs: deleted ones not read", {{"why", messageOf(old.status())}});
        return 0;
    }
    std::uint64_t bytes = 0;
    for (const std::string& id : *old) {
        bytes += freeCheckpoints(id);
    }
    return bytes + finishPurges();
}

}  // namespace millrace::agent

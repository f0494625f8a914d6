#pragma once
// FileLogs: workers' logs in the files that their guardians write, out.log and out.log.1 of each
// worker's folder, read as one stream across their rotation.
//
// After a rotation the new file starts with the line "TIME m log-offset N"; N is the offset of its
// own first byte. Threads: any; a call opens and closes what it reads. Failure: as WorkerLogs.
#include <string>
#include <utility>

#include "backend/job/log_watcher.h"
#include "backend/job/worker_logs.h"

namespace millrace::job {

class FileLogs final : public WorkerLogs {
 public:
    /// `root`: the directory of all runs.
    explicit FileLogs(std::string root) : root_(std::move(root)) {}

    std::vector<int> attempts(const std::string& run) const override;
    std::vector<std::string> workers(const std::string& run, int attempt) const override;
    Result<LogBlock> read(const LogKey& key, std::uint64_t from,
                          std::size_t maxBytes) const override;
    Result<LogBlock> readBack(const LogKey& key, std::uint64_t before,
                              std::size_t maxBytes) const override;
    std::uint64_t end(const LogKey& key) const override;
    LogSubscription subscribe(const std::string& run, OnLogNews onNews) const override;

 private:
    std::string folderOf(const LogKey& key) const;

    const std::string root_;
    const std::unique_ptr<LogWatcher> watcher_ = std::make_unique<LogWatcher>();
};

}  // namespace millrace::job

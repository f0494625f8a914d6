#pragma once
// WorkerLogs: the output of runs' workers, as streams of bytes by (run, attempt, worker).
//
// An offset counts from the first byte ever written to a worker's log; reads skip what is no longer
// kept. A log consists of whole lines (log_text.h has their format). Callers do not know where the
// bytes are stored: on this machine they are the guardians' files (FileLogs).
// Threads: any. Failure: an error names the log; a missing log is not an error.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/core/status.h"

namespace millrace::job {

struct LogKey {
    std::string run;
    int attempt = 1;
    std::string worker;  ///< "feed", "rank0"
    bool operator==(const LogKey&) const = default;
};

/// Whole lines and the offset of their first byte.
struct LogBlock {
    std::string bytes;
    std::uint64_t start = 0;
    std::uint64_t end() const { return start + bytes.size(); }
};

inline constexpr std::uint64_t kLogEnd = ~std::uint64_t{0};

enum class LogNews {
    kLines,   ///< existing logs have grown
    kWorkers  ///< there may also be new workers or attempts
};
using OnLogNews = std::function<void(LogNews)>;

/// A subscription to news; its destruction unsubscribes (and waits for a call in progress).
using LogSubscription = std::shared_ptr<void>;

class WorkerLogs {
 public:
    virtual ~WorkerLogs() = default;
    /// Attempts of the run with a folder, ascending.
    virtual std::vector<int> attempts(const std::string& run) const = 0;
    /// Workers of the attempt with a log, sorted.
    virtual std::vector<std::string> workers(const std::string& run, int attempt) const = 0;
    /// Returns lines from offset `from` on, at most `maxBytes` (but at least one line). An empty
    /// block at `from` means that there are no more yet.
    virtual Result<LogBlock> read(const LogKey& key, std::uint64_t from,
                                  std::size_t maxBytes) const = 0;
    /// Returns the last lines before offset `before` (the start of a block, or kLogEnd), at most
    /// `maxBytes` (but at least one line). An empty block means that there are none.
    virtual Result<LogBlock> readBack(const LogKey& key, std::uint64_t before,
                                      std::size_t maxBytes) const = 0;
    /// End of the stored bytes; 0 without a log.
    virtual std::uint64_t end(const LogKey& key) const = 0;
    /// Calls `onNews` when a log of the run may have grown or started, from any thread; it must be
    /// quick. Never null; the subscription must end before this object does.
    virtual LogSubscription subscribe(const std::string& run, OnLogNews onNews) const = 0;
};

/// The worker's own last words, without time and level; "" if it printed nothing.
std::string lastWordsOf(const WorkerLogs& logs, const LogKey& key);

}  // namespace millrace::job

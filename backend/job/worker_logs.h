#pragma once
// WorkerLogs: what the workers of runs print, as streams of bytes by (run, attempt, worker).
//
// An offset counts from the first byte that was ever written of a worker's log; what is no longer
// kept is skipped. A log holds whole lines (log_text.h says what one looks like). Who asks does not
// know where the bytes lie: on this machine they are the files of the guardians (FileLogs).
// Threads: any. Failure: an error names the log; no log yet is none.
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
    kLines,   ///< logs that were there have grown
    kWorkers  ///< workers or attempts may have come, too
};
using OnLogNews = std::function<void(LogNews)>;

/// Somebody who is told of news; its death unsubscribes (and waits for a call in progress).
class LogSubscription {
 public:
    virtual ~LogSubscription() = default;
};

class WorkerLogs {
 public:
    virtual ~WorkerLogs() = default;
    /// Attempts of the run that have a folder, ascending.
    virtual std::vector<int> attempts(const std::string& run) const = 0;
    /// Workers of the attempt that have a log, sorted.
    virtual std::vector<std::string> workers(const std::string& run, int attempt) const = 0;
    /// Lines from offset `from` on, at most `maxBytes` (at least one line). An empty block at
    /// `from`: nothing more yet.
    virtual Result<LogBlock> read(const LogKey& key, std::uint64_t from,
                                  std::size_t maxBytes) const = 0;
    /// The last lines before offset `before` (the start of a block, or kLogEnd), at most `maxBytes`
    /// (at least one line). Nothing before it is an empty block.
    virtual Result<LogBlock> readBack(const LogKey& key, std::uint64_t before,
                                      std::size_t maxBytes) const = 0;
    /// Behind the last byte that is there; 0 without a log.
    virtual std::uint64_t end(const LogKey& key) const = 0;
    /// `onNews` is called when a log of the run may have grown or begun, from any thread; it must
    /// be quick. Never null; the subscription ends before this does.
    virtual std::unique_ptr<LogSubscription> subscribe(const std::string& run,
                                                       OnLogNews onNews) const = 0;
};

/// The last thing that the worker itself said, without its time and level; "" when it said nothing.
std::string lastWordsOf(const WorkerLogs& logs, const LogKey& key);

}  // namespace millrace::job

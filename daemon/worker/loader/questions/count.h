#pragma once
// `millrace-loader count SPEC`: how many rows and steps each epoch of a spec's training has. With
// --job: for the run of a job.json, as the daemon resolved it.
//
// It reads only the columns that decide which rows are kept, in all rows, and none if all rows are
// kept. The counts are cached under the stream hash, and are valid as long as the plan and the
// files' versions (size and times of change, ETag) are the same. Threads: one owner; the pass has
// its own, joined before it returns. Failure: the errors of resolving a spec and reading its data.
// If the cache cannot be read or written, the rows are read again.
#include <cstdint>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/text/json.h"
#include "daemon/worker/loader/resolve.h"

namespace millrace::loader {

struct CountOptions : SpecChoice {
    std::string jobPath;       ///< a job.json, instead of a spec's file; "": none
    std::int64_t threads = 0;  ///< 0: the spec's, else one per core
    bool isJson = false;
};

/// The role. The process's exit code: 0, 3 stopped by a signal, 4 input or data, 5 other.
int runCount(const CountOptions& options);

class Watch;
/// Counts the rows of the first epoch, or takes them from the cache.
Result<std::int64_t> rowsOfFirstEpoch(const ResolvedRun& run, int threads, const Watch& watch);

/// Cached rows by epoch: of the first epochs, or of all.
class CountStore {
 public:
    /// `directory` "": nothing is cached.
    CountStore(const std::string& directory, const ResolvedRun& run);
    /// Empty if nothing is cached, if it is for other files or another plan, or if the file is
    /// invalid.
    std::vector<std::int64_t> read() const;
    void write(const std::vector<std::int64_t>& rows) const;

 private:
    std::string directory_, path_;
    std::string streamHash_, planHash_, filesVersion_;
};

}  // namespace millrace::loader

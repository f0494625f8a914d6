#pragma once
// `millrace-loader count SPEC`: how many rows and steps each epoch of a spec's training has. With
// --job, of the run that a job.json describes, as the daemon resolved it.
//
// Reads only the columns that decide which rows are kept, all rows of them, and none where nothing
// does. What was counted is kept in the cache directory under the stream hash, and counts as long
// as the plan and the files' versions (size and times of change, ETag) are the same. Threads: one
// owner; the pass has its own, joined before it returns. Failure: what resolving a spec and reading
// its data can say. A cache that cannot be read or written costs the pass.
#include <cstdint>
#include <string>
#include <vector>

#include "backend/core/json.h"
#include "backend/core/status.h"
#include "daemon/worker/loader/resolve.h"

namespace millrace::loader {

struct CountOptions : SpecChoice {
    std::string jobPath;       ///< a job.json, instead of a spec's file; "": none
    std::int64_t threads = 0;  ///< 0: the spec's, else one for each core
    bool isJson = false;
};

/// The role. The process's exit code: 0, 3 stopped by a signal, 4 input or data, 5 other.
int runCount(const CountOptions& options);

/// Rows by epoch, as they were counted before: the first of them, or all.
class CountStore {
 public:
    /// `directory` "": nothing is kept.
    CountStore(const std::string& directory, const ResolvedRun& run);
    /// Empty where nothing is kept, where it is of other files or another plan, and where the file
    /// is no such.
    std::vector<std::int64_t> read() const;
    void write(const std::vector<std::int64_t>& rows) const;

 private:
    std::string directory_, path_;
    std::string streamHash_, planHash_, filesVersion_;
};

}  // namespace millrace::loader

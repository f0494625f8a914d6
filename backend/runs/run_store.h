#pragma once
// The run store: one SQLite file (WAL) on the head that holds every run, its metrics and its
// documents. It combines several parts, one per duty; callers that need only one part take that
// part.
//
// Threads: any (store_file.h). A call that returned OK is on disk.
// Owns: the file's connections; only the daemon opens it for writing.
// Failure: kResourceExhausted for a full disk, kDataLoss naming the file when it is corrupt,
// kFailedPrecondition when another version of Millrace wrote it, kNotFound for an unknown run,
// kInvalidArgument for a bad filter or page token, kDeadlineExceeded for a list that takes too
// long.
#include <memory>
#include <string>

#include "backend/core/clock.h"
#include "backend/core/status.h"
#include "backend/runs/metrics/run_metrics.h"
#include "backend/runs/run_checkpoints.h"
#include "backend/runs/run_documents.h"
#include "backend/runs/run_lines.h"
#include "backend/runs/run_list.h"
#include "backend/runs/run_record.h"
#include "backend/runs/run_table.h"
#include "backend/runs/store_maintenance.h"

namespace millrace::runs {

class RunStore final : public RunTable,
                       public RunLists,
                       public RunLines,
                       public RunCheckpoints,
                       public RunMetrics,
                       public DocumentPages,
                       public StoreMaintenance {
 public:
    /// Opens or creates the file. `clock` outlives the store.
    static Result<std::unique_ptr<RunStore>> open(const std::string& path, const Clock& clock);
    ~RunStore();
    RunStore(const RunStore&) = delete;
    RunStore& operator=(const RunStore&) = delete;

 private:
    explicit RunStore(std::unique_ptr<StoreFile> file);

    const std::unique_ptr<StoreFile> file_;
};

}  // namespace millrace::runs

#pragma once
// Plain values of runs that only the run store uses; those that others see are in backend/values.
// No SQLite, no JSON type: documents are canonical JSON text.
//
// Times are UTC milliseconds since 1970; 0 means "not yet".
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/values/metric_line.h"
#include "backend/values/metric_sense.h"
#include "backend/values/run_detail.h"
#include "backend/values/run_list.h"

namespace millrace::runs {

/// A piece of a large document; it may start at any byte.
struct DocumentPage {
    std::string bytes;
    std::int64_t totalBytes = 0;  ///< of the whole document; 0: there is none
    std::string hash;             ///< of the whole document
};

/// One execution of one variation, complete: the input for creating a run, and the result of
/// reading one that is to be started. Lists use RunSummary.
struct RunRecord : values::RunSummary, values::RunDocuments {
    std::string baseDir;          ///< base of the spec's relative paths
    std::int64_t resumeFrom = 0;  ///< while queued: the step that a resume requested, kFromLast...
    std::int64_t queueNo = 0;     ///< place in the queue: grows with every submit and resume
};

/// A checkpoint that a worker reported.
struct CheckpointRecord {
    int attempt = 1;
    std::int64_t seq = 0;  ///< of the line that reported it; 0: it was found in the directory
    std::int64_t step = 0, epoch = 0;
    std::string name;  ///< of the file in the run's directory of checkpoints
    std::int64_t bytes = 0;
    std::string hash;
    std::string cursor;  ///< the state text that came with it
    std::int64_t timeMs = 0;
    bool isDeleted = false;  ///< no attempt may resume from it: removed, set aside or gone
    bool isWaiting = false;  ///< a rank has not ended its step: no attempt may resume from it yet
};

/// An attempt of a run and the step from which it resumed (0: the start). It has begun once one of
/// its ranks has reported a metric, a checkpoint or a later step (its feed's lines do not count).
/// Only then are reports of older attempts after that step void.
struct AttemptRecord {
    int attempt = 1;
    std::int64_t resumeStep = 0;
    bool hasBegun = false;
    int numRanks = 1;
    /// The last step that all of its ranks have ended. Ranks that meet at each step have all ended
    /// every step that one of them has.
    std::int64_t settledStep = INT64_MAX;
    std::int64_t startedMs = 0;  ///< UTC
    values::PhaseTimes times{};  ///< of rank 0, as far as it is stored
    bool operator==(const AttemptRecord&) const = default;
};

/// Whether the work of `attempt` at `step` is part of the course that the run has taken since.
/// Attempt 0 (a file that names none) is treated as the first.
constexpr bool isOnCourse(const std::vector<AttemptRecord>& attempts, std::int64_t attempt,
                          std::int64_t step) {
    for (const AttemptRecord& later : attempts) {
        if (later.hasBegun && later.attempt > std::max<std::int64_t>(attempt, 1) &&
            step > later.resumeStep) {
            return false;
        }
    }
    return true;
}

/// A request for a list of runs.
struct RunQuery {
    std::string filter;                   ///< backend/search/run_filter.h's grammar; "" matches all
    std::vector<std::string> orderBy;     ///< "metrics.loss ASC"; default: newest first
    int pageSize = 1000;                  ///< 1..50,000
    std::string pageToken;                ///< RunPage::nextPageToken of the same query
    std::int64_t pageBytesMax = 8 << 20;  ///< a page ends early beyond it; one run at least
    values::RunView view = values::RunView::kActive;
    std::int64_t changedSince = -1;  ///< >= 0: only runs changed after this cursor, of any view
    bool withParams = false;
    bool withMetrics = true;
    bool withSystemMetrics = false;  ///< with metrics: also those of isSystemMetric
};

}  // namespace millrace::runs

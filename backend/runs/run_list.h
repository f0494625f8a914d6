#pragma once
// RunLists: finds runs: pages of a filter, names, groups, the queue.
//
// Threads: any. Failure: as of RunStore.
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/runs/run_record.h"
#include "backend/search/run_filter.h"

namespace millrace::runs {

class StoreFile;

class RunLists {
 public:
    explicit RunLists(StoreFile& file) : file_(file) {}

    /// The runs of a submit key, without documents, the base first.
    struct Group {
        std::vector<values::RunSummary> runs;  ///< empty: the key is not known
        std::string specText, submitted;       ///< documents of the run that has the key
    };
    Result<Group> findGroup(std::string_view submitKey) const;
    /// The run's id for an id, uid, submit key, name, or a unique prefix of id, uid or name. An id
    /// without its "r-" counts as a whole only: a few letters are more likely a name. A name that
    /// several runs share is kInvalidArgument with their ids; a deleted run is found by id.
    Result<std::string> findId(std::string_view text) const;
    Result<values::RunPage> list(const RunQuery& query) const;
    /// "no run has a metric 'auk'; did you mean 'auc'?": the first metric, param or tag of the
    /// filter that is in none of the runs, deleted ones included; "" if each is in one.
    Result<std::string> unknownNameIn(const search::RunFilter& filter) const;
    /// The newest change cursor.
    Result<std::int64_t> changeCursor() const;
    /// A run in the queue: state kQueued, in queue order.
    struct WaitingRun {
        std::string id;
        std::int64_t resumeFrom = 0;
    };
    Result<std::vector<WaitingRun>> waiting() const;
    /// Ids of the runs that are starting, running or stopping, oldest first.
    Result<std::vector<std::string>> underWay() const;

 private:
    StoreFile& file_;
};

}  // namespace millrace::runs

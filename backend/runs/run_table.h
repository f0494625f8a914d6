#pragma once
// RunTable: the rows and documents of runs: creates them, and changes their states, tags and notes.
//
// Threads: any. Failure: as of RunStore.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/runs/run_record.h"

namespace millrace::runs {

class StoreFile;

/// A change of state; empty members leave the value unchanged.
struct StateChange {
    values::RunState state = values::RunState::kQueued;
    std::string exitReason;
    int attempt = 0;  ///< > 0: rejected (kFailedPrecondition) if a newer attempt was begun
    std::int64_t settledStep = 0;  ///< > 0: all ranks of the newest attempt have ended that step
};

/// The change of a spec by a resume with another number of ranks.
struct SpecChange {
    std::string resolvedSpec, specHash;
    std::map<std::string, std::string> params;  ///< only those that changed
};
using MaybeSpecChange = std::optional<SpecChange>;
/// The changes to a run once its vocabularies were counted.
struct CountedSpec : SpecChange {
    std::string streamHash, planHash;
    std::shared_ptr<const std::string> plan;  ///< with the counted values
};

class RunTable {
 public:
    explicit RunTable(StoreFile& file) : file_(file) {}

    struct Created {
        RunRecord run;
        bool isNew = true;  ///< false: the submit key was known; `run` is the run it made then
    };
    /// Stores a run; fills in id, uid, createdMs and change. A known submit key with another spec
    /// text or variation is kAlreadyExists.
    Result<Created> create(const RunRecord& run);
    /// Stores the runs of one submit in one transaction: all or none. The first is the base of the
    /// others. Runs whose key is known are left unchanged: another call has stored them.
    Result<std::vector<Created>> createGroup(std::vector<RunRecord> runs);
    /// Everything about one run but its large documents.
    Result<RunRecord> get(std::string_view id) const;
    /// startedMs is set on the first kRunning, endedMs on a terminal state; a change from a
    /// terminal state to another one clears endedMs and the reason (resume).
    Status setState(std::string_view id, const StateChange& change);
    /// Returns the run to kQueued, at the end of the queue; `resumeFrom` is kept until the next
    /// attempt. Rejected (kFailedPrecondition) for a run that has not ended, and for a deleted one.
    /// `change`: the parts of the spec that change.
    Status requeue(std::string_view id, std::int64_t resumeFrom,
                   const MaybeSpecChange& change = std::nullopt);
    /// Pins the counted values of the run before its first attempt.
    Status setCounted(std::string_view id, const CountedSpec& counted);
    /// Also updates what lists show of it.
    Status setReceipt(std::string_view id, std::string_view receiptJson);
    /// Adds to the run's packages; the newest value of each counts.
    Status addPackages(std::string_view id, const std::map<std::string, std::string>& packages);
    Status setTag(std::string_view id, std::string_view key, std::string_view value);
    Status deleteTag(std::string_view id, std::string_view key);
    Status setNote(std::string_view id, std::string_view note);
    /// The name of the machine that the run trains on.
    Status setHost(std::string_view id, std::string_view host);
    /// Hides a run from lists; rejected while it is not in a terminal state.
    Status markDeleted(std::string_view id);
    Status restore(std::string_view id);

 private:
    StoreFile& file_;
};

}  // namespace millrace::runs

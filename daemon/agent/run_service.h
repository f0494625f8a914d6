#pragma once
// RunService: what the services ask about runs, in values. Checks, decides, and calls store and
// controller.
//
// Threads: any. submit() blocks for as long as reading the dataset's footers takes; the others for
// a few milliseconds. Failure: kInvalidArgument, kNotFound, kFailedPrecondition, kAlreadyExists
// with one sentence each, as of the store.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/core/clock.h"
#include "backend/runs/run_store.h"
#include "daemon/agent/deleted_runs.h"
#include "daemon/agent/inspector.h"
#include "daemon/agent/live_table.h"
#include "daemon/agent/log_reader.h"
#include "daemon/agent/receipts.h"
#include "daemon/agent/run_controller.h"
#include "daemon/agent/run_directory.h"
#include "daemon/agent/run_watch.h"

namespace millrace::agent {

struct SubmitOrder {
    InspectRequest spec;
    std::string key, owner, project, note;
    std::map<std::string, std::string> tags, packages;
    std::string gitCommit, gitBranch, gitRemote;
    bool isGitDirty = false;
};

struct SubmitOutcome {
    std::vector<RunView> runs;
    spec::SpecErrors errors;
    std::vector<std::string> warnings;
    bool wasKnown = false;
};

inline constexpr std::size_t kReceiptFilesShown = 1'000;

struct RunDetails {
    RunView view;  ///< with documents, but for the large ones
    std::optional<ReceiptHead> receipt;  ///< with the first kReceiptFilesShown files
    Json planFacts;                      ///< numbers: files, splits, rows, bytes
    std::vector<runs::CheckpointRecord> checkpoints;
    std::vector<RunEvent> events;
    SubmitFacts submit;
    std::vector<std::string> metricNames;
    std::string directory;
};

/// A quarter of what a message may take.
inline constexpr std::int64_t kDocumentPageBytes = std::int64_t{4} << 20;

struct RunPageView {
    std::vector<RunView> runs;
    std::string nextPageToken;
    std::int64_t changeCursor = 0, total = 0;
};

struct ServiceOptions {
    std::string runsDir, host;
    std::int64_t maxSpecBytes = 0;
    std::string version;   ///< of the daemon
    std::string hardware;  ///< JSON of this node, kept with each run
};

class RunService {
 public:
    RunService(ServiceOptions options, runs::RunStore& store, LiveTable& live, Inspector& inspector,
               RunController& controller, DeletedRuns& deleted)
        : options_(std::move(options)),
          store_(store),
          live_(live),
          inspector_(inspector),
          controller_(controller),
          deleted_(deleted) {}

    /// kCancelled, with nothing stored, when it became unwanted while the dataset was read.
    Result<SubmitOutcome> submit(const SubmitOrder& order, const IsUnwanted& isUnwanted = {});
    Result<RunPageView> list(const runs::RunQuery& query) const;
    /// `run`: id, uid, name or a unique prefix; here and below.
    Result<RunDetails> get(const std::string& run) const;
    struct Document {
        std::string runId;
        runs::DocumentPage page;
    };
    /// A piece of a large document, at most kDocumentPageBytes.
    Result<Document> document(const std::string& run, runs::LargeDocument which,
                              std::int64_t offset) const;
    Result<RunView> stop(const std::string& run, const std::string& reason,
                         std::chrono::milliseconds grace);
    Result<RunView> resume(const std::string& run, std::int64_t step);
    struct Removed {
        RunView view;
        std::uint64_t freedBytes = 0, heldBytes = 0;  ///< of its files
        std::chrono::hours keep{0};                   ///< how long its checkpoints stay
    };
    /// Hides a run; `isForGood`: frees what it takes, with no way back.
    Result<Removed> remove(const std::string& run, bool isForGood = false);
    Result<RunView> restore(const std::string& run);
    Result<RunView> setNote(const std::string& run, const std::string& note);
    Result<RunView> setTags(const std::string& run, const std::map<std::string, std::string>& set,
                            const std::vector<std::string>& remove);
    /// OK, or what is wrong with it.
    Status checkFilter(const std::string& filter, const std::vector<std::string>& orderBy) const;

    struct MetricAnswer {
        std::string runId;
        std::vector<runs::MetricSeries> series;
        values::MetricCursor cursor;  ///< behind all that was stored then, of whatever metrics
    };
    /// `names`: none for all of the run's own and, `withSystem`, what is measured beside it.
    Result<MetricAnswer> metrics(const std::string& run, const std::vector<std::string>& names,
                                 const runs::MetricRange& range, bool withSystem = false) const;

    Result<RunWatch> watch(const std::vector<std::string>& runs) const;
    Result<MetricFollower> followMetrics(const std::string& run, MetricWish wish) const;
    struct RunLog {
        std::string runId;
        LogReader reader;
    };
    Result<RunLog> readLogs(const std::string& run, const LogQuery& query) const;
    /// True when no line can follow any more.
    bool hasEnded(const std::string& runId) const;
    LiveTable& live() { return live_; }

 private:
    Status checkOrder(const SubmitOrder& order) const;
    Status checkInitFrom(const InspectedRun& inspected) const;
    Result<SubmitOutcome> findKnown(const SubmitOrder& order) const;
    Result<runs::RunRecord> recordOf(const SubmitOrder& order, const InspectedRun& run) const;
    void takeOver(const SubmitOrder& order, std::vector<runs::RunStore::Created> group,
                  SubmitOutcome& outcome);
    Result<RunView> viewOf(const std::string& id) const;
    Result<Json> planFacts(const runs::RunRecord& run) const;
    Result<RunView> change(const std::string& run,
                           const std::function<Status(const std::string& id)>& what);
    RunDirectory directoryOf(const std::string& id) const { return {options_.runsDir, id}; }

    const ServiceOptions options_;
    runs::RunStore& store_;
    LiveTable& live_;
    Inspector& inspector_;
    RunController& controller_;
    DeletedRuns& deleted_;
};

/// The submit key of one of the runs that a key stands for.
std::string submitKeyOf(const std::string& key, const std::string& variation);

}  // namespace millrace::agent

#pragma once
// RunService: answers the services' requests about runs, in values. It checks, decides, and calls
// store and controller.
//
// Threads: any. submit() blocks for as long as reading the dataset's footers takes, the others for
// a few milliseconds. Failure: kInvalidArgument, kNotFound, kFailedPrecondition, kAlreadyExists
// with one sentence each, as the store's.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/core/clock.h"
#include "backend/runs/run_store.h"
#include "backend/values/rank_count.h"
#include "backend/values/submit.h"
#include "daemon/agent/deleted_runs.h"
#include "daemon/agent/inspector.h"
#include "daemon/agent/log_follower.h"
#include "daemon/agent/run/live_table.h"
#include "daemon/agent/run/receipts.h"
#include "daemon/agent/run/run_directory.h"
#include "daemon/agent/run_controller.h"
#include "daemon/agent/run_watch.h"

namespace millrace::agent {

inline constexpr std::size_t kReceiptFilesShown = 1'000;

/// A quarter of the largest message.
inline constexpr std::int64_t kDocumentPageBytes = std::int64_t{4} << 20;

struct ServiceOptions {
    std::string runsDir, host;
    std::int64_t maxSpecBytes = 0;
    std::string version;         ///< of the daemon
    std::string hardware;        ///< JSON of this node, kept with each run
    std::string noTrainer = {};  ///< why no model is trained here; empty: models are
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

    /// kCancelled, with nothing stored, if it became unwanted while the dataset was read.
    /// `certificate`: the name of the client's, which is the owner whatever the spec claims; "":
    /// without one the owner is the spec's, else the request's.
    Result<values::SubmitReply> submit(const values::SubmitRequest& request,
                                       const IsUnwanted& isUnwanted = {},
                                       const std::string& certificate = "");
    Result<values::RunPage> list(const values::ListRequest& request) const;
    /// `run`: id, uid, name or a unique prefix; so in the methods below.
    Result<values::RunDetail> get(const std::string& run) const;
    struct Owned {
        std::string id, owner;
    };
    /// Returns which run it is, and its owner.
    Result<Owned> ownerOf(const std::string& run) const;
    struct Document {
        std::string runId;
        runs::DocumentPage page;
    };
    /// Returns a piece of a large document, at most kDocumentPageBytes.
    Result<Document> document(const std::string& run, values::LargeDocument which,
                              std::int64_t offset) const;
    Result<values::RunSummary> stop(const std::string& run, const std::string& reason,
                                    std::chrono::milliseconds grace);
    Result<values::RunSummary> resume(const std::string& run, std::int64_t step,
                                      const values::RankCount& wanted = {});
    /// Hides a run. `isForGood`: frees its disk space; this cannot be undone.
    Result<values::RemovedRun> remove(const std::string& run, bool isForGood = false);
    Result<values::RunSummary> restore(const std::string& run);
    Result<values::RunSummary> setNote(const std::string& run, const std::string& note);
    Result<values::RunSummary> setTags(const std::string& run,
                                       const std::map<std::string, std::string>& set,
                                       const std::vector<std::string>& remove);
    values::FilterCheck checkFilter(const std::string& filter,
                                    const std::vector<std::string>& orderBy) const;

    Result<values::MetricHistory> metrics(const values::MetricRangeRequest& request) const;

    Result<RunWatch> watch(const std::vector<std::string>& runs) const;
    Result<MetricFollower> followMetrics(values::MetricsRequest request) const;
    /// `onNews` as in LogFollower::open().
    Result<LogFollower> followLogs(const values::LogsRequest& request,
                                   std::function<void()> onNews) const;
    LiveTable& live() { return live_; }

 private:
    static Status checkRequest(const values::SubmitRequest& request);
    Status checkTrainer() const;
    Status checkInitFrom(const spec::TrainSpec& train) const;
    Result<values::SubmitReply> findKnown(const values::SubmitRequest& request,
                                          const std::vector<std::string>& variations) const;
    Result<runs::RunRecord> recordOf(const values::SubmitRequest& request, const InspectedRun& run,
                                     const spec::RunSpec& spec) const;
    void takeOver(const std::string& diff, std::vector<runs::RunStore::Created> group,
                  const std::vector<SharedSpec>& specs, const std::vector<InspectedRun>& inspected,
                  values::SubmitReply& reply);
    Result<values::RunSummary> viewOf(const std::string& id) const;
    static void addScript(const std::string& launch, const RunDirectory& directory,
                          values::RunDetail& detail);
    Result<values::RunSummary> change(const std::string& run,
                                      const std::function<Status(const std::string& id)>& what);
    RunDirectory directoryOf(const std::string& id) const { return {options_.runsDir, id}; }

    const ServiceOptions options_;
    runs::RunStore& store_;
    LiveTable& live_;
    Inspector& inspector_;
    RunController& controller_;
    DeletedRuns& deleted_;
};

/// The submit key of one of the runs of a key.
std::string submitKeyOf(const std::string& key, const std::string& variation);

}  // namespace millrace::agent

#pragma once
// Workplace: the services that all active runs share. All of it outlives the runs.
#include <functional>
#include <string>

#include "backend/core/clock.h"
#include "backend/job/worker_logs.h"
#include "backend/runs/run_store.h"
#include "daemon/agent/crew/nodes.h"
#include "daemon/agent/run/checkpoints/checkpoint_catalogue.h"
#include "daemon/agent/run/live_table.h"
#include "daemon/agent/run/rank_listener.h"
#include "daemon/agent/run/side_thread.h"

namespace millrace::agent {

class ActiveRun;

/// Time limits.
struct RunTimes {
    std::int64_t silentRankNs = 14'000'000'000;  ///< until the gang of a silent rank is ended
    std::int64_t crewPaceNs = 5'000'000'000;     ///< as DataWorkerSetOptions::paceNs
};

/// Counts the values of a run's vocabularies with a worker. The worker writes its progress into
/// `progressFile`, rows read and rows in all: {"rows": 1, "all_rows": 2}. It is ended once
/// `isUnwanted`, called several times a second, returns true.
using CountValues = std::function<Result<runs::CountedSpec>(
    const std::string& resolvedSpec, const std::string& plan, const std::string& progressFile,
    const std::function<bool()>& isUnwanted)>;

struct Workplace {
    runs::RunStore& store;
    ListenerMaker& listeners;
    LiveTable& live;
    const CheckpointCatalogue& checkpoints;
    SideThread& side;       ///< for reading or removing large files
    SideThread& documents;  ///< for plans and receipts: never waits for a checkpoint's bytes
    SideThread& counting;   ///< for counting rows, one run at a time
    const Clock& clock;
    const job::WorkerLogs& logs;
    std::string runsDir;
    std::function<RankCallbacks(const std::string&)> listener;  ///< the callbacks for a run
    std::function<ActiveRun*(const std::string&)> find;         ///< null: the run is not active
    Nodes& nodes;
    RunTimes times = {};
    /// Directory that all nodes share, for checkpoints of new runs; "": the run's directory.
    std::string sharedCheckpoints = {};
    CountValues countValues = {};

    /// Whether feeds, ranks and data workers may be on the head's machine.
    bool trainsHere() const { return !nodes.standing("").isClosed; }
};

}  // namespace millrace::agent

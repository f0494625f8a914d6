#pragma once
// Functions that turn a run into what its workers get: job.json and the gang. Used by ActiveRun and
// RunService. Pure, except that they read a wait policy that was set on purpose from the
// environment.
//
// Failure: kInvalidArgument with the reason why the run cannot be started as it is.
#include <optional>
#include <string>
#include <vector>

#include "backend/engines/engine.h"
#include "backend/job/attempt_paths.h"
#include "backend/job/job_file.h"
#include "backend/runs/run_record.h"
#include "daemon/agent/crew/nodes.h"

namespace millrace::agent {

/// The facts of a resolved spec that the agent needs.
struct JobFacts {
    int ranks = 1;
    int nodes = 1;  ///< number of nodes that the ranks are spread over
    std::int64_t threadsPerRank = 1;
    std::int64_t loaderThreads = 0;  ///< 0: one per core
    std::int64_t memoryLimitMb = 0;
    std::int64_t gpusPerRank = 0;
    int dataWorkers = 0, dataWorkersMost = 0;  ///< the spec's bounds
    std::int64_t maxRestarts = 0;
    std::int64_t checkpointKeep = 3;
    std::int64_t epochs = 1;
    std::int64_t maxSteps = 0;  ///< 0: until the stream ends
    std::string initFrom;       ///< train.init_from: the run, and whether its best checkpoint
    bool initBest = false;
    bool hasDataset = true;  ///< false: `command` without a stream, and therefore without a feed
    std::string params;      ///< JSON, for the user's own ranks
    std::vector<std::string> stepNames;  ///< that the loader counts: "where", enabled steps
    std::vector<std::string> command;    ///< of the user's own ranks; empty: the built-in trainer
    std::int64_t noProgressMinutes = 30, exitMinutes = 30;
    std::string model, dataset;

    bool isScript() const { return !command.empty(); }
    /// Returns whether a checkpoint of rank 0 counts for all ranks as soon as it is written.
    bool hasOneStep() const { return !isScript() || ranks == 1 || !hasDataset; }
    int ranksPerNode() const { return ranks / nodes; }

    static Result<JobFacts> read(std::string_view resolvedSpec);
};

/// kInvalidArgument: no daemon of this version can run it. kFailedPrecondition: this daemon cannot,
/// because of `noTrainer` (empty: it can); a run that an abler daemon queued waits for such a
/// daemon.
Status checkStartable(const JobFacts& facts, const std::string& noTrainer);
/// Returns the reason that a run shows while it waits because of such a status, or of damage.
std::string reasonToWait(const Status& why);

/// Returns which node each part runs on and what it takes there: part 0 with the feed that leads
/// (on the head's machine if that trains), then the other parts, then the data workers beside the
/// feed.
std::vector<schedule::Part> partsOf(const JobFacts& facts, bool trainsHere);

/// Returns the attempt's job.json without a plan and without checkpoints.
Result<job::JobFile> makeJob(const runs::RunRecord& run, int attempt, const job::RunPaths& paths);

/// How ranks of other nodes reach the node of part 0.
struct Meeting {
    std::string host;       ///< "": all nodes are one machine
    std::string interface;  ///< with `host`, on part 0's machine; "": unknown, or the node finds it
};

/// Part 0: its node's ranks, and the feed that leads if there is a stream. kNotFound, for a run
/// with a command: its program or its script no longer exists.
Result<engines::Gang> makeGang(const runs::RunRecord& run, int attempt, const JobFacts& facts,
                               const schedule::Resources& needs, const Meeting& meeting);
/// Part 0 for the node with the address in `meeting`; its job is the attempt's, at `paths`.
/// `isHere`: that node is the head's machine, which has the job file already.
Result<Placement> makeLead(const runs::RunRecord& run, const PartName& name, const JobFacts& facts,
                           const job::RunPaths& paths, const Meeting& meeting, bool isHere,
                           const schedule::Resources& needs);
/// The part of the attempt on another training node, without its join file. Its job is the
/// attempt's, at `paths`.
Result<Placement> makePart(const runs::RunRecord& run, const PartName& name, const JobFacts& facts,
                           const job::RunPaths& paths, const Meeting& meeting, int masterPort,
                           const schedule::Resources& needs);

/// RunRecord::launch as text, and back.
std::string launchText(const values::LaunchPlace& place);
Result<values::LaunchPlace> launchOf(const std::string& text);

/// "<run id>.a<attempt>"
std::string gangKey(const std::string& runId, int attempt);

}  // namespace millrace::agent

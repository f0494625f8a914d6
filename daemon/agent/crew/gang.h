#pragma once
// From a run to what its workers get: job.json and the gang. Pure, but for the environment, in
// which a wait policy may have been set on purpose.
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

/// What the agent needs to know of a resolved spec.
struct JobFacts {
    int ranks = 1;
    int nodes = 1;  ///< that the ranks are spread over
    std::int64_t threadsPerRank = 1;
    std::int64_t loaderThreads = 0;  ///< 0: one a core
    std::int64_t memoryLimitMb = 0;
    std::int64_t gpusPerRank = 0;
    int dataWorkers = 0, dataWorkersMost = 0;  ///< as the spec bounds them
    std::int64_t maxRestarts = 0;
    std::int64_t checkpointKeep = 3;
    std::int64_t epochs = 1;
    std::int64_t maxSteps = 0;  ///< 0: as many as the stream has
    std::string initFrom;       ///< of train.init_from: the run, and whether its best checkpoint
    bool initBest = false;
    bool hasDataset = true;  ///< false: `command` without a stream, and so without a feed
    std::string params;      ///< JSON, for the user's own ranks
    std::vector<std::string> stepNames;  ///< that the loader counts: where, then enabled ones
    std::vector<std::string> command;    ///< of the user's own ranks; empty: the built-in trainer
    std::int64_t noProgressMinutes = 30, exitMinutes = 30;
    std::string model, dataset;

    bool isScript() const { return !command.empty(); }
    /// Whether a checkpoint of rank 0 is one of all as soon as it is written.
    bool hasOneStep() const { return !isScript() || ranks == 1 || !hasDataset; }
    int ranksPerNode() const { return ranks / nodes; }

    static Result<JobFacts> read(std::string_view resolvedSpec);
};

/// kInvalidArgument: no daemon of this version runs it. kFailedPrecondition: this one cannot,
/// because of `noTrainer` (empty: it can); what a daemon that could has queued waits for one.
Status checkStartable(const JobFacts& facts, const std::string& noTrainer);
/// What a run that waits because of such a status, or of damage, shows.
std::string reasonToWait(const Status& why);

/// Where its parts go and what they take of their nodes: part 0 with the feed that leads, on the
/// head's machine where that trains, then the others, then the data workers beside the feed.
std::vector<schedule::Part> partsOf(const JobFacts& facts, bool trainsHere);

/// The attempt's job without a plan and without checkpoints.
Result<job::JobFile> makeJob(const runs::RunRecord& run, int attempt, const job::RunPaths& paths);

/// How the node of part 0 is reached by the ranks of other nodes.
struct Meeting {
    std::string host;       ///< "": all nodes are one machine
    std::string interface;  ///< of part 0's machine that `host` is on; "": not known, or told there
};

/// Part 0: the feed that leads, where there is a stream, and its node's ranks. Of a run with a
/// command: kNotFound when its program or its script is not there any more.
Result<engines::Gang> makeGang(const runs::RunRecord& run, int attempt, const JobFacts& facts,
                               const schedule::Resources& needs, const Meeting& meeting);
/// Part 0 for the node whose address `meeting` has; its job is the attempt's, which `paths` has.
/// `isHere`: that is the head's machine, which has the job file already.
Result<Placement> makeLead(const runs::RunRecord& run, const PartName& name, const JobFacts& facts,
                           const job::RunPaths& paths, const Meeting& meeting, bool isHere,
                           const schedule::Resources& needs);
/// The part of the attempt on another training node, without its join file. Its job is the
/// attempt's, which `paths` has.
Result<Placement> makePart(const runs::RunRecord& run, const PartName& name, const JobFacts& facts,
                           const job::RunPaths& paths, const Meeting& meeting, int masterPort,
                           const schedule::Resources& needs);

/// What RunRecord::launch holds, from and to text.
std::string launchText(const values::LaunchPlace& place);
Result<values::LaunchPlace> launchOf(const std::string& text);

/// "<run id>.a<attempt>"
std::string gangKey(const std::string& runId, int attempt);

}  // namespace millrace::agent

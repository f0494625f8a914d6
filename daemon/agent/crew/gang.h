#pragma once
// Functions that turn a run into what its workers get: job.json and the gang. Used by ActiveRun and
// RunService. Pure, except that they read a wait policy that was set on purpose from the
// environment.
//
// Failure: kInvalidArgument with the reason why the run cannot be started as it is.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/engines/engine.h"
#include "backend/job/attempt_paths.h"
#include "backend/job/job_file.h"
#include "backend/runs/run_record.h"
#include "backend/spec/run_spec.h"
#include "daemon/agent/crew/nodes.h"

namespace millrace::agent {

/// A run's resolved spec: parsed once, then shared by all that start and follow the run.
using SharedSpec = std::shared_ptr<const spec::RunSpec>;
Result<SharedSpec> readSpec(std::string_view resolvedSpec);

/// Whether the ranks are the user's own (`command`).
inline bool isScript(const spec::RunSpec& spec) {
    return !spec.command.empty();
}
/// Returns whether a checkpoint of rank 0 counts for all ranks as soon as it is written.
bool hasOneStep(const spec::RunSpec& spec);
/// 0 without a stream.
std::int64_t epochsOf(const spec::RunSpec& spec);
/// Returns the names of what the loader counts: "where", and the enabled steps.
std::vector<std::string> stepNames(const spec::RunSpec& spec);

/// kInvalidArgument: no daemon of this version can run it. kFailedPrecondition: this daemon cannot,
/// because of `noTrainer` (empty: it can); a run that an abler daemon queued waits for such a
/// daemon.
Status checkStartable(const spec::RunSpec& spec, const std::string& noTrainer);
/// Returns the reason that a run shows while it waits because of such a status, or of damage.
std::string reasonToWait(const Status& why);

/// Returns which node each part runs on and what it takes there: part 0 with the feed that leads
/// (on the head's machine if that trains), then the other parts, then the data workers beside the
/// feed, and those beside other parts that reserve their cores.
std::vector<schedule::Part> partsOf(const spec::RunSpec& spec, bool trainsHere);
/// Returns the data workers beside the parts other than 0. `nodes`: the node of each part.
std::vector<WorkerBeside> workersBeside(const spec::RunSpec& spec,
                                        const std::vector<std::string>& nodes);

/// Returns the attempt's job.json without a plan and without checkpoints.
job::JobFile makeJob(const runs::RunRecord& run, const spec::RunSpec& spec, int attempt,
                     const job::RunPaths& paths);

/// How ranks of other nodes reach the node of part 0.
struct Rendezvous {
    std::string host;       ///< "": all nodes are one machine
    std::string interface;  ///< with `host`, on part 0's machine; "": unknown, or the node finds it
};

/// Part 0: its node's ranks, and the feed that leads if there is a stream. kNotFound, for a run
/// with a command: its program or its script no longer exists.
Result<engines::Gang> makeGang(const runs::RunRecord& run, int attempt, const spec::RunSpec& spec,
                               const schedule::Resources& needs, const Rendezvous& rendezvous);
/// Part 0 for the node with the address in `rendezvous`; its job is the attempt's, at `paths`.
/// `isHere`: that node is the head's machine, which has the job file already.
Result<Placement> makeLead(const runs::RunRecord& run, const PartName& name,
                           const spec::RunSpec& spec, const job::RunPaths& paths,
                           const Rendezvous& rendezvous, bool isHere,
                           const schedule::Resources& needs);
/// The part of the attempt on another training node, without its join file. Its job is the
/// attempt's, at `paths`.
Result<Placement> makePart(const runs::RunRecord& run, const PartName& name,
                           const spec::RunSpec& spec, const job::RunPaths& paths,
                           const Rendezvous& rendezvous, int masterPort,
                           const schedule::Resources& needs);

/// RunRecord::launch as text, and back.
std::string launchText(const values::LaunchPlace& place);
Result<values::LaunchPlace> launchOf(const std::string& text);

/// "<run id>.a<attempt>"
std::string gangKey(const std::string& runId, int attempt);

}  // namespace millrace::agent

#pragma once
// From a run to what its workers get: job.json and the gang. Pure functions.
//
// Failure: kInvalidArgument with the reason why the run cannot be started as it is.
#include <optional>
#include <string>

#include "backend/core/json.h"
#include "backend/engines/engine.h"
#include "backend/runs/run_record.h"
#include "daemon/agent/run/run_directory.h"

namespace millrace::agent {

/// What the agent needs to know of a resolved spec.
struct JobFacts {
    int ranks = 1;
    std::int64_t threadsPerRank = 1;
    std::int64_t loaderThreads = 0;  ///< 0: one a core
    std::int64_t memoryLimitMb = 0;
    std::int64_t gpusPerRank = 0;
    std::int64_t maxRestarts = 0;
    std::int64_t checkpointKeep = 3;
    std::int64_t epochs = 1;
    std::string initFrom;
    std::vector<std::string> stepNames;  ///< that the loader counts: where, then enabled ones
    bool hasCommand = false;
    std::string model, dataset;

    static Result<JobFacts> read(std::string_view resolvedSpec);
};

/// What the run takes of a machine that has `total`: never more cores or memory than there are, so
/// that a default written for a larger machine still runs.
schedule::Resources needsOf(const JobFacts& facts, const schedule::Resources& total);

struct JobInputs {
    std::string resumePath;    ///< checkpoint to go on from; "": from the start
    std::string initFromPath;  ///< checkpoint whose weights to start with; "": none
};
/// All of job.json but the plan.
Json makeJob(const runs::RunRecord& run, int attempt, const RunDirectory& directory,
             const JobInputs& inputs);
/// job.json: `job` and `plan`, a document that is put in as it is; "": null.
std::string jobText(const Json& job, std::string_view plan);

engines::Gang makeGang(const runs::RunRecord& run, int attempt, const JobFacts& facts,
                       const RunDirectory& directory, const std::string& binDir,
                       const schedule::Resources& needs);

/// "<run id>.a<attempt>"
std::string gangKey(const std::string& runId, int attempt);

}  // namespace millrace::agent

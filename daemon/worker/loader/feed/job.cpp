#include "daemon/worker/loader/feed/job.h"

#include <algorithm>
#include <numeric>

#include "backend/checkpoint/checkpoint_name.h"
#include "backend/filesystem/files.h"
#include "backend/job/attempt_paths.h"
#include "backend/job/job_file.h"
#include "backend/spec/column_origins.h"
#include "backend/stream/steps.h"
#include "daemon/worker/loader/elsewhere.h"

namespace millrace::loader {
namespace {

Result<stream::Plan> planOf(const std::string& text) {
    if (text.empty()) {
        return invalidArgument("plan: there is none; a feed needs one");
    }
    ASSIGN_OR_RETURN(const Json json, parseJson(text, "plan"));
    return stream::Plan::fromJson(json);
}

std::vector<int> allRanks(int worldSize) {
    std::vector<int> ranks(static_cast<std::size_t>(worldSize));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

Status checkWorld(int worldSize, const spec::RunSpec& spec) {
    const std::int64_t perStep = spec.microBatchesPerStep();
    if (worldSize >= 1 && perStep % worldSize == 0) {
        return okStatus();
    }
    return invalidArgument("--world: ", worldSize, " does not divide the ", perStep,
                           " micro-batches of a step (batch.rows ", spec.batch.rows,
                           ", micro_rows ", spec.batch.microRows,
                           "); admissible: ", stream::admissibleRanks(perStep));
}

/// Expects sorted ranks.
Status checkOnce(const std::vector<int>& ranks) {
    const bool isTwice = std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end();
    return isTwice ? invalidArgument("--ranks: a rank appears twice") : okStatus();
}

Result<std::vector<int>> servedRanks(std::vector<int> ranks, int worldSize) {
    if (ranks.empty()) {
        return allRanks(worldSize);
    }
    std::sort(ranks.begin(), ranks.end());
    RETURN_IF_ERROR(checkOnce(ranks));
    if (ranks.front() < 0 || ranks.back() >= worldSize) {
        return invalidArgument("--ranks: ", ranks.front() < 0 ? ranks.front() : ranks.back(),
                               " is not a rank of ", worldSize, "; they are 0 to ", worldSize - 1);
    }
    return ranks;
}

}  // namespace

Result<FeedJob> FeedJob::read(const std::string& path) {
    ASSIGN_OR_RETURN(job::JobFile file, job::JobFile::read(path));
    FeedJob job;
    job.follow = std::move(file.follow);
    if (job.follow.empty()) {
        Result<stream::Plan> plan = planOf(file.planText);
        if (!plan.ok()) {
            return annotate(plan.status(), path);
        }
        job.plan = std::move(*plan);
    }
    job.attempt = file.attempt;
    job.spec = std::move(file.spec);
    job.feedSocket = std::move(file.feedSocket);
    job.ranks = job.follow.empty() ? allRanks(job.worldSize()) : std::move(file.ranks);
    job.run = std::move(file.run);
    const auto resumed =
        checkpoint::CheckpointName::parse(file.resume.substr(file.resume.rfind('/') + 1));
    job.startStep = resumed.has_value() ? resumed->step : 0;
    job.feed = file.feed;
    job.rankSocket = std::move(file.rankSocket);
    const job::AttemptPaths paths = job::AttemptPaths::ofJob(path);
    job.directory = paths.worker(job::feedName(job.feed));
    job.hasDataWorkers =
        job.follow.empty() && (job.spec.resources.dataWorkersMax > 0 ||
                               mayHaveWorkersBeside(job.spec, !file.dataListen.empty()));
    if (job.hasDataWorkers || file.followers > 0) {
        job.joinFile = paths.joinFile();
        job.listen = std::move(file.dataListen);
    }
    // A script's ranks use a library of their own to meet.
    if (job.spec.command.empty() && (file.followers > 0 || !job.follow.empty())) {
        job.groupSocket = paths.groupSocket();
    }
    RETURN_IF_ERROR(makeDirectories(job.directory, 0700));
    return job;
}

Result<FeedJob> FeedJob::resolve(const FeedRequest& request) {
    FeedJob job;
    job.attempt = request.attempt;
    job.feedSocket = request.socketPath;
    job.groupSocket = request.groupSocket;
    job.follow = request.follow;
    if (!job.follow.empty()) {
        job.ranks = request.ranks;
        std::sort(job.ranks.begin(), job.ranks.end());
        RETURN_IF_ERROR(checkOnce(job.ranks));
        return job;
    }
    ASSIGN_OR_RETURN(ResolvedRun run, resolveFile(request));
    job.spec = std::move(run.spec);
    job.plan = std::move(run.plan);
    if (!request.pinnedPath.empty()) {
        RETURN_IF_ERROR(writePinned(request.pinnedPath, job.plan));
    }
    job.joinFile = request.joinFile;
    job.listen = request.listen;
    job.isUncoded = request.isUncoded;
    if (job.joinFile.empty() && job.spec.resources.dataWorkersMax > 0) {
        job.joinFile = request.socketPath + ".join";
    }
    job.hasDataWorkers = !job.joinFile.empty();
    if (request.worldSize > 0) {
        RETURN_IF_ERROR(checkWorld(request.worldSize, job.spec));
        job.spec.train.ranks = request.worldSize;
    }
    ASSIGN_OR_RETURN(job.ranks, servedRanks(request.ranks, job.worldSize()));
    return job;
}

Status FeedJob::checkPlace(const stream::Cursor& at) const {
    const auto epochs = static_cast<std::uint32_t>(spec.batch.epochs);
    const bool isEnd = at.next == 0 && at.segment == 0 && at.rest.empty();
    if (at.epoch > epochs || (at.epoch == epochs && !isEnd)) {
        return invalidArgument("state: epoch ", at.epoch, ", micro-batch ", at.next,
                               " of a stream of ", epochs, " epochs; it was changed");
    }
    const std::int64_t most = plan.numRows() / spec.batch.microRows + 1;
    if (at.next > most || at.offset > at.next || at.segment > plan.numSplits()) {
        return invalidArgument("state: micro-batch ", at.next, " (segment ", at.segment, ", ",
                               at.offset, " of its own before) of an epoch of at most ", most,
                               " in ", plan.numSplits(), " splits; it was changed");
    }
    return okStatus();
}

LoaderSetUp FeedJob::setUp() const {
    LoaderSetUp setUp = trainingSetUp(spec);
    setUp.rings = static_cast<int>(ranks.size());
    setUp.evalReaders = spec.eval ? setUp.rings : 0;
    // A trainer takes micro-batches as they are; scripts want one batch a step.
    setUp.wantsJoined = setUp.wantsJoined || rankSocket.empty();
    return setUp;
}

void tellInputs(const spec::RunSpec& spec, ring::FeedServerOptions& server) {
    server.inputs = dumpJson(spec::inputsOf(spec, spec.recipe));
    if (spec.eval) {
        server.evalInputs = dumpJson(spec::inputsOf(spec, spec.eval->recipe));
    }
}

}  // namespace millrace::loader

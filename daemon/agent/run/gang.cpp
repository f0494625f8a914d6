#include "daemon/agent/run/gang.h"

#include <algorithm>
#include <cstdlib>

namespace millrace::agent {
namespace {

std::string joined(const Json& list) {
    std::string text;
    for (const Json& item : list) {
        strAppend(&text, text.empty() ? "" : ", ", item.is_string() ? item.get<std::string>() : "");
    }
    return text;
}

Json documentOf(const std::string& text) {
    const Result<Json> json = parseJson(text, "stored document");
    return json.ok() ? *json : Json(nullptr);
}

Json textOrNull(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}

}  // namespace

Result<JobFacts> JobFacts::read(std::string_view resolvedSpec) {
    ASSIGN_OR_RETURN(const Json spec, parseJson(resolvedSpec, "resolved spec"));
    const Json& train = jsonMember(spec, "train");
    const Json& resources = jsonMember(spec, "resources");
    JobFacts facts;
    facts.ranks = static_cast<int>(std::max<std::int64_t>(1, jsonInt(train, "ranks", 1)));
    facts.threadsPerRank = std::max<std::int64_t>(1, jsonInt(train, "threads", 1));
    facts.maxRestarts = jsonInt(train, "max_restarts", 0);
    facts.checkpointKeep = jsonInt(jsonMember(train, "checkpoint"), "keep", 3);
    facts.initFrom = jsonString(train, "init_from");
    facts.loaderThreads = jsonInt(resources, "loader_threads", 0);
    facts.memoryLimitMb = jsonInt(resources, "memory_limit_mb", 0);
    facts.gpusPerRank = jsonInt(resources, "gpus_per_rank", 0);
    facts.epochs = jsonInt(jsonMember(spec, "batch"), "epochs", 1);
    facts.stepNames.emplace_back("where");  // what the loader counts first
    for (const Json& step : jsonMember(spec, "recipe")) {
        if (jsonBool(step, "enabled", true)) {
            facts.stepNames.push_back(jsonString(step, "name", jsonString(step, "kind")));
        }
    }
    const Json& command = jsonMember(spec, "command");
    facts.hasCommand = command.is_array() && !command.empty();
    facts.model = jsonString(jsonMember(spec, "model"), "type");
    const Json& path = jsonMember(jsonMember(spec, "dataset"), "path");
    facts.dataset = path.is_string() ? path.get<std::string>() : joined(path);
    return facts;
}

schedule::Resources needsOf(const JobFacts& facts, const schedule::Resources& total) {
    schedule::Resources needs;
    const double loader =
        facts.loaderThreads > 0 ? static_cast<double>(facts.loaderThreads) : total.cpus;
    const double ranks = static_cast<double>(facts.ranks * facts.threadsPerRank);
    needs.cpus = std::min(total.cpus, loader + ranks);
    needs.gpus = static_cast<int>(facts.ranks * facts.gpusPerRank);
    needs.memoryBytes =
        std::min(total.memoryBytes, static_cast<std::uint64_t>(facts.memoryLimitMb) * 1'000'000);
    return needs;
}

Json makeJob(const runs::RunRecord& run, int attempt, const RunDirectory& directory,
             const JobInputs& inputs) {
    return {{"run", run.id},
            {"uid", run.uid},
            {"attempt", attempt},
            {"spec", documentOf(run.resolvedSpec)},
            {"spec_hash", run.specHash},
            {"stream_hash", run.streamHash},
            {"plan_hash", run.planHash},
            {"resume", textOrNull(inputs.resumePath)},
            {"init_from", textOrNull(inputs.initFromPath)},
            {"checkpoint_dir", directory.checkpointsPath()},
            {"rank_socket", directory.rankSocketPath(attempt)},
            {"feed_socket", directory.feedSocketPath(attempt)},
            {"directory", directory.attemptPath(attempt)}};
}

std::string jobText(const Json& job, std::string_view plan) {
    const std::string rest = dumpJson(job);
    return strCat(R"({"plan":)", plan.empty() ? "null" : plan, ",", rest.substr(1));
}

engines::Gang makeGang(const runs::RunRecord& run, int attempt, const JobFacts& facts,
                       const RunDirectory& directory, const std::string& binDir,
                       const schedule::Resources& needs) {
    const std::string job = directory.jobPath(attempt);
    engines::Group feed;
    feed.name = "feed";
    feed.argv = {binDir + "/millrace-loader", "feed", "--job", job};
    feed.resources.memoryBytes = needs.memoryBytes;
    engines::Group rank;
    rank.name = "rank";
    rank.procs = facts.ranks;
    rank.hasRanks = true;
    rank.argv = {binDir + "/millrace-trainer", "--job", job, "--rank", "{rank}"};
    // The trainer wants its waiting threads asleep; set here it need not start itself again. What
    // was set for the daemon on purpose reaches it as it is.
    if (std::getenv("OMP_WAIT_POLICY") == nullptr) {
        rank.environment["OMP_WAIT_POLICY"] = "PASSIVE";
    }
    rank.resources.cpus = needs.cpus;
    rank.resources.gpus = needs.gpus;
    engines::Gang gang;
    gang.key = gangKey(run.id, attempt);
    gang.attempt = attempt;
    gang.groups = {feed, rank};
    gang.user = run.owner;
    return gang;
}

std::string gangKey(const std::string& runId, int attempt) {
    return strCat(runId, ".a", attempt);
}

}  // namespace millrace::agent

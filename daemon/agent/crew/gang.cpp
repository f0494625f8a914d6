#include "daemon/agent/crew/gang.h"

#include <algorithm>
#include <cstdlib>

#include "backend/core/paths.h"
#include "backend/job/command.h"
#include "backend/spec/run_spec.h"

namespace millrace::agent {
namespace {

constexpr int kFeedReplacements = 3;
constexpr std::int64_t kTenYears = 10LL * 366 * 24 * 60;  // in minutes

Result<spec::RunSpec> specOf(std::string_view resolvedSpec) {
    ASSIGN_OR_RETURN(const Json json, parseJson(resolvedSpec, "resolved spec"));
    return spec::RunSpec::fromJson(json);
}

std::string joined(const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts) {
        strAppend(&all, all.empty() ? "" : ", ", text);
    }
    return all;
}

// Makes the ranks run the user's own program, as it was submitted.
Status becomeScript(engines::Group& rank, const runs::RunRecord& run, const JobFacts& facts,
                    const Meeting& meeting) {
    ASSIGN_OR_RETURN(values::LaunchPlace place, launchOf(run.launch));
    rank.isUsers = true;
    rank.workingDirectory = place.workingDirectory.empty() ? run.baseDir : place.workingDirectory;
    rank.environment = std::move(place.environment);
    rank.environment.try_emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
    ASSIGN_OR_RETURN(rank.argv,
                     job::resolveCommand(facts.command, {rank.environment["PATH"],
                                                         rank.workingDirectory, run.baseDir}));
    rank.environment.try_emplace("OMP_NUM_THREADS", std::to_string(facts.threadsPerRank));
    rank.environment["MILLRACE_SPEC"] = place.specPath;
    rank.environment["MILLRACE_PARAMS"] = facts.params;
    if (facts.nodes > 1 && rank.place.node == 0 && !meeting.interface.empty()) {
        rank.environment.try_emplace("GLOO_SOCKET_IFNAME", meeting.interface);
    }
    return okStatus();
}

// Returns the ranks of one training node, before settle() adds what only that node knows.
Result<engines::Group> makeRanks(const runs::RunRecord& run, const JobFacts& facts, int node,
                                 const Meeting& meeting) {
    engines::Group rank;
    rank.name = "rank";
    rank.procs = facts.ranksPerNode();
    rank.hasRanks = true;
    if (facts.nodes > 1) {
        const auto host = Address::parseHost(meeting.host);  // MASTER_ADDR takes no brackets
        rank.place = {node * facts.ranksPerNode(),
                      facts.ranks,
                      node,
                      facts.nodes,
                      host.ok() ? host->host : rank.place.masterAddress,
                      0};
    }
    if (facts.isScript()) {
        RETURN_IF_ERROR(becomeScript(rank, run, facts, meeting));
        return rank;
    }
    giveCommand(rank);
    if (std::getenv("OMP_WAIT_POLICY") == nullptr) {
        // The trainer restarts itself unless its waiting threads sleep; set here, it need not. A
        // value that was set for the daemon on purpose is passed on.
        rank.environment["OMP_WAIT_POLICY"] = "PASSIVE";
    }
    return rank;
}

}  // namespace

Result<JobFacts> JobFacts::read(std::string_view resolvedSpec) {
    ASSIGN_OR_RETURN(const spec::RunSpec spec, specOf(resolvedSpec));
    JobFacts facts;
    facts.ranks = static_cast<int>(spec.train.ranks);
    facts.nodes = static_cast<int>(spec.train.nodes);
    facts.threadsPerRank = std::max<std::int64_t>(1, spec.train.threads);
    facts.maxRestarts = spec.train.maxRestarts;
    facts.checkpointKeep = spec.train.checkpointKeep;
    facts.initFrom = spec.train.initFrom;
    facts.initBest = spec.train.initBest;
    facts.loaderThreads = spec.resources.loaderThreads;
    facts.memoryLimitMb = spec.resources.memoryLimitMb;
    facts.gpusPerRank = spec.resources.gpusPerRank;
    facts.dataWorkers = static_cast<int>(spec.resources.dataWorkersMin);
    facts.dataWorkersMost = static_cast<int>(spec.resources.dataWorkersMax);
    facts.epochs = spec.hasDataset() ? spec.batch.epochs : 0;
    facts.maxSteps = spec.train.maxSteps;
    facts.stepNames.emplace_back("where");  // "where" is what the loader counts first
    for (const spec::Step& step : spec.recipe) {
        if (step.enabled) {
            facts.stepNames.push_back(step.name);
        }
    }
    facts.command = spec.command;
    facts.params = dumpJson(spec.params);
    facts.hasDataset = spec.hasDataset();
    // Without a stream neither a command's progress nor the time that it may take is known.
    facts.noProgressMinutes = facts.hasDataset ? spec.train.noProgressMinutes : kTenYears;
    facts.exitMinutes = facts.hasDataset ? spec.train.exitMinutes : kTenYears;
    facts.model = spec.model.type();
    facts.dataset = joined(spec.dataset.path);
    return facts;
}

Status checkStartable(const JobFacts& facts, const std::string& noTrainer) {
    return noTrainer.empty() || facts.isScript() ? okStatus() : failedPrecondition(noTrainer);
}

std::string reasonToWait(const Status& why) {
    return absl::IsFailedPrecondition(why)
               ? strCat("waits: ", messageOf(why))
               : strCat("cannot be read: ", messageOf(why), "; trying again");
}

std::vector<schedule::Part> partsOf(const JobFacts& facts, bool trainsHere) {
    using Where = schedule::Part::Where;
    const double loader = !facts.hasDataset         ? 0
                          : facts.loaderThreads > 0 ? static_cast<double>(facts.loaderThreads)
                                                    : schedule::kAllCores;
    const auto memory =
        facts.hasDataset ? static_cast<std::uint64_t>(facts.memoryLimitMb) * 1'000'000 : 0;
    const schedule::Resources ranks{
        static_cast<double>(facts.ranksPerNode() * facts.threadsPerRank),
        static_cast<int>(facts.ranksPerNode() * facts.gpusPerRank), memory};
    std::vector<schedule::Part> parts(static_cast<std::size_t>(facts.nodes),
                                      {ranks, Where::kOther, 0});
    parts.front().needs.cpus = std::min(schedule::kAllCores, ranks.cpus + loader);
    if (trainsHere) {
        parts.front().where = Where::kHead;
        parts.insert(parts.end(), static_cast<std::size_t>(facts.dataWorkers),
                     {{loader, 0, memory}, Where::kBeside, 0});
    }
    return parts;
}

Result<job::JobFile> makeJob(const runs::RunRecord& run, int attempt, const job::RunPaths& paths) {
    const job::AttemptPaths files = paths.attempt(attempt);
    job::JobFile job;
    job.run = run.id;
    job.uid = run.uid;
    job.attempt = attempt;
    ASSIGN_OR_RETURN(job.spec, specOf(run.resolvedSpec));
    job.specHash = run.specHash;
    job.streamHash = run.streamHash;
    job.planHash = run.planHash;
    job.checkpointDirectory = paths.checkpoints();
    job.rankSocket = files.rankSocket();
    job.feedSocket = files.feedSocket();
    job.followers = static_cast<int>(job.spec.train.nodes) - 1;
    return job;
}

std::string launchText(const values::LaunchPlace& place) {
    return dumpJson({{"working_directory", place.workingDirectory},
                     {"environment", place.environment},
                     {"spec_path", place.specPath}});
}

Result<values::LaunchPlace> launchOf(const std::string& text) {
    ASSIGN_OR_RETURN(const Json json, parseJson(text, "place of the submit"));
    values::LaunchPlace place;
    place.workingDirectory = jsonString(json, "working_directory");
    place.specPath = jsonString(json, "spec_path");
    for (const auto& [name, value] : jsonMember(json, "environment").items()) {
        place.environment[name] = value.is_string() ? value.get<std::string>() : "";
    }
    return place;
}

Result<engines::Gang> makeGang(const runs::RunRecord& run, int attempt, const JobFacts& facts,
                               const schedule::Resources& needs, const Meeting& meeting) {
    ASSIGN_OR_RETURN(engines::Group rank, makeRanks(run, facts, 0, meeting));
    rank.resources.cpus = needs.cpus;
    rank.resources.gpus = needs.gpus;
    engines::Gang gang;
    gang.key = gangKey(run.id, attempt);
    gang.attempt = attempt;
    if (facts.hasDataset) {
        engines::Group feed;
        feed.name = job::kFeed;
        feed.argv = {"{bin}/millrace-loader", "feed", "--job", "{attempt}/job.json"};
        feed.resources.memoryBytes = needs.memoryBytes;
        if (facts.isScript()) {
            feed.replacements = kFeedReplacements;  // loading a user's model may take minutes
        }
        gang.groups.push_back(std::move(feed));
    }
    gang.groups.push_back(std::move(rank));
    return gang;
}

Result<Placement> makeLead(const runs::RunRecord& run, const PartName& name, const JobFacts& facts,
                           const job::RunPaths& paths, const Meeting& meeting, bool isHere,
                           const schedule::Resources& needs) {
    ASSIGN_OR_RETURN(const engines::Gang gang, makeGang(run, name.attempt, facts, needs, meeting));
    Placement made{name.key(), engines::gangText(gang), "", "", "", ""};
    if (!isHere) {
        ASSIGN_OR_RETURN(job::JobFile job,
                         job::JobFile::read(paths.attempt(name.attempt).jobFile()));
        job.dataListen = meeting.host;
        made.jobFile = job.toText();
    }
    return made;
}

Result<Placement> makePart(const runs::RunRecord& run, const PartName& name, const JobFacts& facts,
                           const job::RunPaths& paths, const Meeting& meeting, int masterPort,
                           const schedule::Resources& needs) {
    ASSIGN_OR_RETURN(engines::Group ranks, makeRanks(run, facts, name.part, meeting));
    ranks.place.masterPort = masterPort;
    ranks.resources.cpus = needs.cpus;
    ranks.resources.gpus = needs.gpus;
    const job::AttemptPaths files = paths.attempt(name.attempt);
    ASSIGN_OR_RETURN(job::JobFile job, job::JobFile::read(files.jobFile()));
    job.followers = 0;
    job.follow = files.joinFile();
    job.feed = name.part;
    for (int i = 0; i < facts.ranksPerNode(); ++i) {
        job.ranks.push_back(ranks.place.first + i);
    }
    return Placement{
        name.key(), engines::gangText(relayGang(name, std::move(ranks))), job.toText(), "", "", ""};
}

std::string gangKey(const std::string& runId, int attempt) {
    return PartName{runId, attempt, 0}.key();
}

}  // namespace millrace::agent

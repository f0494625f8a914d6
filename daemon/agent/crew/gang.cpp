#include "daemon/agent/crew/gang.h"

#include <algorithm>
#include <cstdlib>

#include "backend/filesystem/paths.h"
#include "backend/job/command.h"
#include "backend/spec/run_spec.h"

namespace millrace::agent {
namespace {

constexpr int kFeedReplacements = 3;

int ranksPerNode(const spec::RunSpec& spec) {
    return static_cast<int>(spec.train.ranks / spec.train.nodes);
}

std::uint64_t memoryLimitBytes(const spec::RunSpec& spec) {
    return static_cast<std::uint64_t>(spec.resources.memoryLimitMb) * 1'000'000;
}

// Makes the ranks run the user's own program, as it was submitted.
Status becomeScript(engines::Group& rank, const runs::RunRecord& run, const spec::RunSpec& spec,
                    const Rendezvous& rendezvous) {
    ASSIGN_OR_RETURN(values::LaunchPlace place, launchOf(run.launch));
    rank.isUsers = true;
    rank.workingDirectory = place.workingDirectory.empty() ? run.baseDir : place.workingDirectory;
    rank.environment = std::move(place.environment);
    rank.environment.try_emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
    ASSIGN_OR_RETURN(rank.argv,
                     job::resolveCommand(spec.command, {rank.environment["PATH"],
                                                        rank.workingDirectory, run.baseDir}));
    rank.environment.try_emplace("OMP_NUM_THREADS", std::to_string(spec.train.threads));
    rank.environment["MILLRACE_SPEC"] = place.specPath;
    rank.environment["MILLRACE_PARAMS"] = dumpJson(spec.params);
    if (spec.train.nodes > 1 && rank.place.node == 0 && !rendezvous.interface.empty()) {
        rank.environment.try_emplace("GLOO_SOCKET_IFNAME", rendezvous.interface);
    }
    return okStatus();
}

// Returns the ranks of one training node, before settle() adds what only that node knows.
Result<engines::Group> makeRanks(const runs::RunRecord& run, const spec::RunSpec& spec, int node,
                                 const Rendezvous& rendezvous) {
    engines::Group rank;
    rank.name = "rank";
    rank.procs = ranksPerNode(spec);
    rank.hasRanks = true;
    if (spec.train.nodes > 1) {
        const auto host = Address::parseHost(rendezvous.host);  // MASTER_ADDR takes no brackets
        rank.place = {node * ranksPerNode(spec),
                      static_cast<int>(spec.train.ranks),
                      node,
                      static_cast<int>(spec.train.nodes),
                      host.ok() ? host->host : rank.place.masterAddress,
                      0};
    }
    if (isScript(spec)) {
        RETURN_IF_ERROR(becomeScript(rank, run, spec, rendezvous));
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

Result<SharedSpec> readSpec(std::string_view resolvedSpec) {
    ASSIGN_OR_RETURN(const Json json, parseJson(resolvedSpec, "resolved spec"));
    ASSIGN_OR_RETURN(spec::RunSpec spec, spec::RunSpec::fromJson(json));
    return std::make_shared<const spec::RunSpec>(std::move(spec));
}

bool hasOneStep(const spec::RunSpec& spec) {
    return !isScript(spec) || spec.train.ranks == 1 || !spec.hasDataset();
}

std::int64_t epochsOf(const spec::RunSpec& spec) {
    return spec.hasDataset() ? spec.batch.epochs : 0;
}

std::vector<std::string> stepNames(const spec::RunSpec& spec) {
    std::vector<std::string> names = {"where"};
    for (const spec::Step& step : spec.recipe) {
        if (step.enabled) {
            names.push_back(step.name);
        }
    }
    return names;
}

Status checkStartable(const spec::RunSpec& spec, const std::string& noTrainer) {
    return noTrainer.empty() || isScript(spec) ? okStatus() : failedPrecondition(noTrainer);
}

std::string reasonToWait(const Status& why) {
    return absl::IsFailedPrecondition(why)
               ? strCat("waits: ", messageOf(why))
               : strCat("cannot be read: ", messageOf(why), "; trying again");
}

std::vector<schedule::Part> partsOf(const spec::RunSpec& spec, bool trainsHere) {
    using Where = schedule::Part::Where;
    const double loader = !spec.hasDataset() ? 0
                          : spec.resources.loaderThreads > 0
                              ? static_cast<double>(spec.resources.loaderThreads)
                              : schedule::kAllCores;
    const std::uint64_t memory = spec.hasDataset() ? memoryLimitBytes(spec) : 0;
    const schedule::Resources ranks{
        static_cast<double>(ranksPerNode(spec) * spec.train.threads),
        static_cast<int>(ranksPerNode(spec) * spec.resources.gpusPerRank), memory};
    std::vector<schedule::Part> parts(static_cast<std::size_t>(spec.train.nodes),
                                      {ranks, Where::kOther, 0});
    parts.front().needs.cpus = std::min(schedule::kAllCores, ranks.cpus + loader);
    if (trainsHere) {
        parts.front().where = Where::kHead;
        parts.insert(parts.end(), static_cast<std::size_t>(spec.resources.dataWorkersMin),
                     {{loader, 0, memory}, Where::kBeside, 0});
    }
    const auto beside = static_cast<double>(spec.resources.besideRanks.value_or(0));
    for (int part = 1; beside > 0 && spec.hasDataset() && part < spec.train.nodes; ++part) {
        parts.push_back({{beside, 0, memory}, Where::kBeside, part});
    }
    return parts;
}

std::vector<WorkerBeside> workersBeside(const spec::RunSpec& spec,
                                        const std::vector<std::string>& nodes) {
    std::vector<WorkerBeside> all;
    for (std::size_t part = 1; spec.mayHaveWorkersBesideRanks() && part < nodes.size(); ++part) {
        all.push_back({nodes[part], spec.resources.besideRanks, memoryLimitBytes(spec)});
    }
    return all;
}

job::JobFile makeJob(const runs::RunRecord& run, const spec::RunSpec& spec, int attempt,
                     const job::RunPaths& paths) {
    const job::AttemptPaths files = paths.attempt(attempt);
    job::JobFile job;
    job.run = run.id;
    job.uid = run.uid;
    job.attempt = attempt;
    job.spec = spec;
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

Result<engines::Gang> makeGang(const runs::RunRecord& run, int attempt, const spec::RunSpec& spec,
                               const schedule::Resources& needs, const Rendezvous& rendezvous) {
    ASSIGN_OR_RETURN(engines::Group rank, makeRanks(run, spec, 0, rendezvous));
    rank.resources.cpus = needs.cpus;
    rank.resources.gpus = needs.gpus;
    engines::Gang gang;
    gang.key = gangKey(run.id, attempt);
    gang.attempt = attempt;
    if (spec.hasDataset()) {
        engines::Group feed;
        feed.name = job::kFeed;
        feed.argv = {"{bin}/millrace-loader", "feed", "--job", "{attempt}/job.json"};
        feed.resources.memoryBytes = needs.memoryBytes;
        if (isScript(spec)) {
            feed.replacements = kFeedReplacements;  // loading a user's model may take minutes
        }
        gang.groups.push_back(std::move(feed));
    }
    gang.groups.push_back(std::move(rank));
    return gang;
}

Result<Placement> makeLead(const runs::RunRecord& run, const PartName& name,
                           const spec::RunSpec& spec, const job::RunPaths& paths,
                           const Rendezvous& rendezvous, bool isHere,
                           const schedule::Resources& needs) {
    ASSIGN_OR_RETURN(const engines::Gang gang,
                     makeGang(run, name.attempt, spec, needs, rendezvous));
    Placement made{name.key(), engines::gangText(gang), "", "", "", ""};
    if (!isHere) {
        ASSIGN_OR_RETURN(job::JobFile job,
                         job::JobFile::read(paths.attempt(name.attempt).jobFile()));
        job.dataListen = rendezvous.host;
        made.jobFile = job.toText();
    }
    return made;
}

Result<Placement> makePart(const runs::RunRecord& run, const PartName& name,
                           const spec::RunSpec& spec, const job::RunPaths& paths,
                           const Rendezvous& rendezvous, int masterPort,
                           const schedule::Resources& needs) {
    ASSIGN_OR_RETURN(engines::Group ranks, makeRanks(run, spec, name.part, rendezvous));
    ranks.place.masterPort = masterPort;
    ranks.resources.cpus = needs.cpus;
    ranks.resources.gpus = needs.gpus;
    const job::AttemptPaths files = paths.attempt(name.attempt);
    ASSIGN_OR_RETURN(job::JobFile job, job::JobFile::read(files.jobFile()));
    job.followers = 0;
    job.follow = files.joinFile();
    job.feed = name.part;
    for (int i = 0; i < ranksPerNode(spec); ++i) {
        job.ranks.push_back(ranks.place.first + i);
    }
    return Placement{
        name.key(), engines::gangText(relayGang(name, std::move(ranks))), job.toText(), "", "", ""};
}

std::string gangKey(const std::string& runId, int attempt) {
    return PartName{runId, attempt, 0}.key();
}

}  // namespace millrace::agent

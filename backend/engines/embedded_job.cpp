#include "backend/engines/embedded_job.h"

#include <algorithm>
#include <csignal>

#include "backend/core/exit_codes.h"
#include "backend/core/log.h"
#include "backend/core/transient.h"
#include "backend/filesystem/files.h"
#include "backend/system/subprocess.h"
#include "backend/text/utf8.h"

namespace millrace::engines {
namespace {

using Milliseconds = std::chrono::milliseconds;

constexpr std::chrono::seconds kStartTimeout{30};
// Time beyond the grace after which a guardian counts as hung.
constexpr std::int64_t kHungGuardianMs = 5'000;
// Interval between requests to a guardian, and number of unanswered ones after which it counts as
// silent: a stopped one is detected within 15 seconds.
constexpr std::int64_t kRenewMaxMs = 5'000;
constexpr int kSilentAfter = 3;
constexpr int kKilled = kExitSignal + SIGKILL;

std::string withRank(const std::string& argument, int number) {
    constexpr std::string_view kPlace = "{rank}";
    std::string out = argument;
    for (std::size_t at = 0; (at = out.find(kPlace, at)) != std::string::npos;) {
        out.replace(at, kPlace.size(), std::to_string(number));
    }
    return out;
}

// Why a gang ends, for its workers' logs; limited, since a control line has 4 KiB.
std::string wordsFor(const std::string& reason) {
    constexpr std::size_t kMostBytes = 500;
    return reason.empty() ? "the workers that it was there for have ended"
                          : toUtf8(reason, kMostBytes);
}

double seconds(Milliseconds time) {
    return static_cast<double>(time.count()) / 1000;
}

}  // namespace

EmbeddedJob::EmbeddedJob(std::string root, std::string directory, GangRecord record,
                         const Clock& clock, PidScope here)
    : root_(std::move(root)),
      directory_(std::move(directory)),
      record_(std::move(record)),
      clock_(clock),
      here_(std::move(here)) {
    for (const WorkerRecord& record : record_.workers) {
        Worker worker;
        worker.record = record;
        worker.directory = strCat(directory_, "/", record.name);
        workers_.push_back(std::move(worker));
    }
}

Result<std::unique_ptr<EmbeddedJob>> EmbeddedJob::create(const std::string& root,
                                                         const GangRecord& record,
                                                         const Clock& clock, const PidScope& here) {
    ASSIGN_OR_RETURN(std::string directory, gangDirectoryOf(root, record.key));
    RETURN_IF_ERROR(makeDirectories(directory, 0700));
    GangRecord filled = record;
    const auto numRanks =
        std::ranges::count_if(record.workers, [](const WorkerRecord& w) { return w.rank >= 0; });
    if (numRanks > 0 && filled.masterPort == 0) {
        ASSIGN_OR_RETURN(filled.masterPort, freePort());
    }
    RETURN_IF_ERROR(writeGangRecord(directory, filled));
    RETURN_IF_ERROR(addLivingMark(root, record.key));
    return std::unique_ptr<EmbeddedJob>(
        new EmbeddedJob(root, std::move(directory), std::move(filled), clock, here));
}

Result<std::unique_ptr<EmbeddedJob>> EmbeddedJob::load(const std::string& root,
                                                       std::string_view key, const Clock& clock,
                                                       const PidScope& here) {
    ASSIGN_OR_RETURN(std::string directory, gangDirectoryOf(root, key));
    ASSIGN_OR_RETURN(GangRecord record, readGangRecord(directory, key));
    std::unique_ptr<EmbeddedJob> job(
        new EmbeddedJob(root, std::move(directory), std::move(record), clock, here));
    job->endGrace_ = job->record_.grace;
    for (Worker& worker : job->workers_) {
        job->refresh(worker);
    }
    RETURN_IF_ERROR(job->checkReach());
    return job;
}

Status EmbeddedJob::checkReach() const {
    for (const Worker& worker : workers_) {
        if (isLiving(worker) && fateOf(*worker.guardian, here_) == GuardianState::kUnknown) {
            return unavailable(
                "its workers were started on ", worker.guardian->scope.host,
                ", on another machine or in another pid namespace, and cannot be seen from here");
        }
    }
    return okStatus();
}

Status EmbeddedJob::startMissing(const Gang& gang, const GuardianProgram& program) {
    std::size_t at = 0;
    for (const Group& group : gang.groups) {
        for (int number = 0; number < group.slots * group.procs; ++number, ++at) {
            Worker& worker = workers_[at];
            refresh(worker);
            if (worker.guardian || worker.exit || isEnding()) {
                continue;
            }
            const Status started = startWorker(worker, group, number, program);
            if (absl::IsResourceExhausted(started)) {  // no room: the same submit starts the rest
                return unavailable(worker.record.name, ": ", messageOf(started));
            }
            if (isTransient(started)) {
                return annotate(started, worker.record.name);
            }
            if (!started.ok()) {
                end(Cause::kEngineFailed, strCat(worker.record.name, ": ", messageOf(started)),
                    record_.grace);
                return okStatus();
            }
        }
    }
    renewedMs_ = steadyMs();
    return okStatus();
}

std::vector<std::string> EmbeddedJob::environmentOf(const Worker& worker, const Group& group,
                                                    int number) const {
    std::map<std::string, std::string> all = group.environment;
    all["MR_KEY"] = record_.key;
    all["MR_ATTEMPT"] = std::to_string(record_.attempt);
    all["MR_WORKER"] = worker.record.name;
    all["MR_DIRECTORY"] = worker.directory;
    all["MR_REPLACED"] = std::to_string(worker.record.numReplaced);
    if (group.hasRanks) {
        const int local = group.slots * group.procs;
        const std::string world = std::to_string(group.place.world > 0 ? group.place.world : local);
        all["RANK"] = std::to_string(group.place.first + number);
        all["LOCAL_RANK"] = std::to_string(number);
        all["WORLD_SIZE"] = world;
        all["LOCAL_WORLD_SIZE"] = std::to_string(local);
        all["GROUP_RANK"] = std::to_string(group.place.node);
        all["MASTER_ADDR"] = group.place.masterAddress;
        if (record_.masterPort > 0) {
            all["MASTER_PORT"] = std::to_string(record_.masterPort);
        }
        // All GPUs of the gang, as in torchrun: a rank's own begin at LOCAL_RANK times its share.
        std::string gpus;
        for (const std::string& gpu : record_.gpus) {
            strAppend(&gpus, gpus.empty() ? "" : ",", gpu);
        }
        all["CUDA_VISIBLE_DEVICES"] = gpus;
        if (group.isUsers) {
            all["TORCHELASTIC_RUN_ID"] = record_.key.substr(0, record_.key.rfind(".a"));
            all["TORCHELASTIC_RESTART_COUNT"] = std::to_string(record_.attempt - 1);
            all["TORCHELASTIC_MAX_RESTARTS"] = "0";
            all["ROLE_RANK"] = all["RANK"];
            all["ROLE_WORLD_SIZE"] = world;
            all["GROUP_WORLD_SIZE"] = std::to_string(group.place.nodes);
        }
    }
    std::vector<std::string> texts;
    for (const auto& [name, value] : all) {
        texts.push_back(strCat(name, "=", value));
    }
    return texts;
}

Status EmbeddedJob::startWorker(Worker& worker, const Group& group, int number,
                                const GuardianProgram& program) {
    RETURN_IF_ERROR(makeDirectories(worker.directory, 0700));
    SubprocessOptions options;
    options.argv = {program.path,
                    "--dir",
                    worker.directory,
                    "--grace",
                    strCat(seconds(record_.grace)),
                    "--orphan-lease",
                    strCat(record_.orphanLease.count())};
    if (program.lifeFd >= 0) {
        constexpr int kInChild = 3;
        options.passFds = {{program.lifeFd, kInChild}};
        options.argv.insert(options.argv.end(), {"--life-fd", std::to_string(kInChild)});
    }
    options.argv.emplace_back("--");
    for (const std::string& argument : group.argv) {
        options.argv.push_back(group.isUsers ? argument
                                             : withRank(argument, group.place.first + number));
    }
    options.environment = environmentOf(worker, group, number);
    options.isWholeEnvironment = group.isUsers;
    options.workingDirectory =
        group.workingDirectory.empty() ? worker.directory : group.workingDirectory;
    options.timeout = kStartTimeout;
    ASSIGN_OR_RETURN(const SubprocessOutput output, Subprocess::run(options));
    // The guardian of an earlier, interrupted start may hold the directory: uses that one then.
    for (int tries = 0; tries < 100 && !worker.guardian; ++tries) {
        refresh(worker);
        if (!worker.guardian && output.exitCode == 0) {
            return dataLoss(worker.directory, "/guardian.json: cannot be read");
        }
        if (!worker.guardian && output.err.find("another guardian holds") == std::string::npos) {
            break;
        }
    }
    if (!worker.guardian) {
        const std::string_view words = output.err;
        const std::string why = strCat("could not be started: ", words.substr(0, words.find('\n')));
        return output.exitCode == kExitResources ? resourceExhausted(why) : internalError(why);
    }
    return okStatus();
}

void EmbeddedJob::refresh(Worker& worker) {
    if (worker.exit) {
        return;
    }
    if (!worker.guardian) {
        worker.guardian = readGuardianRecord(worker.directory);
    }
    if (worker.guardian && !worker.line) {
        worker.line = std::make_unique<GuardianLine>(worker.guardian->controlSocket);
    }
    // Checked first: if the guardian ends after this, its record is already written.
    const bool isGone = worker.guardian && fateOf(*worker.guardian, here_) == GuardianState::kGone;
    const auto exit = readExitRecord(worker.directory);
    worker.exit = exit.ok() ? *exit : std::nullopt;
    if (!exit.ok() || worker.exit || !isGone) {
        return;
    }
    const Result<int> numLeft = killLeftovers(worker.directory, worker.guardian->controlGroup);
    if (!numLeft.ok()) {
        return;  // the next state() tries again
    }
    worker.exit = ExitRecord{kKilled, SIGKILL, clock_.wallMs(), "its guardian was killed"};
    worker.exit->isAssumed = true;
    logWarn("engine: guardian lost",
            {{"gang", record_.key}, {"worker", worker.record.name}, {"killed", *numLeft}});
}

void EmbeddedJob::advance() {
    if (record_.isEnded) {
        return;
    }
    for (Worker& worker : workers_) {
        refresh(worker);
        listen(worker);
    }
    if (!isEnding()) {
        replaceFailed();
        drawConsequences();
    }
    if (isEnding()) {
        finish();
    } else {
        renewLeases();
    }
}

// Frees the worker's place: the gang's owner submits it again, which starts missing workers.
void EmbeddedJob::replaceFailed() {
    const bool areRanksThere = std::ranges::none_of(
        workers_, [](const Worker& worker) { return worker.record.rank >= 0 && worker.exit; });
    for (std::size_t i = 0; areRanksThere && i < workers_.size(); ++i) {
        Worker& worker = workers_[i];
        const bool isReplaced = worker.exit && !worker.exit->isAssumed && worker.exit->code != 0 &&
                                worker.exit->code != kExitInput && worker.record.replacements > 0;
        if (!isReplaced) {
            continue;
        }
        logWarn(
            "engine: worker is replaced",
            {{"gang", record_.key}, {"worker", worker.record.name}, {"exit", worker.exit->code}});
        // Counts the replacement first, so that repeated failures end.
        --worker.record.replacements;
        ++worker.record.numReplaced;
        worker.record.cpuSeconds += worker.exit->cpuSeconds;
        worker.record.peakMemoryBytes =
            std::max(worker.record.peakMemoryBytes, worker.exit->peakMemoryBytes);
        record_.workers[i] = worker.record;
        (void)save();
        const Status aside = setGuardianAside(worker.directory, worker.record.numReplaced);
        if (!aside.ok()) {
            return end(Cause::kEngineFailed, std::string(messageOf(aside)), record_.grace);
        }
        worker.guardian.reset();
        worker.exit.reset();
        worker.line.reset();
    }
}

void EmbeddedJob::drawConsequences() {
    const Worker* failed = nullptr;
    bool isDone = true, hasCritical = false;
    for (const Worker& worker : workers_) {
        hasCritical = hasCritical || worker.record.isCritical;
    }
    for (const Worker& worker : workers_) {
        const bool counts = worker.record.isCritical || !hasCritical;
        isDone = isDone && (!counts || worker.exit);
        if (counts && worker.exit && worker.exit->code != 0 &&
            (failed == nullptr || isEarlier(*worker.exit, *failed->exit))) {
            failed = &worker;
        }
    }
    if (failed != nullptr) {
        record_.worker = failed->record.name;
        record_.exitCode = failed->exit->code;
        std::string reason =
            failed->exit->signal != 0
                ? strCat(failed->record.name, " was ended by signal ", failed->exit->signal)
                : strCat(failed->record.name, " ended with exit code ", failed->exit->code);
        if (!failed->exit->reason.empty()) {
            strAppend(&reason, " (", failed->exit->reason, ")");
        }
        end(Cause::kWorkerFailed, std::move(reason), record_.grace);
    } else if (isDone) {
        end(Cause::kOk, "", record_.grace);
    }
}

void EmbeddedJob::end(Cause cause, std::string reason, Milliseconds grace) {
    const bool isFirst = !isEnding();
    if (record_.isEnded || (!isFirst && grace >= endGrace_)) {
        return;
    }
    endGrace_ = grace;
    if (isFirst) {
        record_.cause = cause;
        record_.reason = std::move(reason);
        (void)save();
    }
    for (Worker& worker : workers_) {
        stop(worker, grace);
    }
}

// If the connection broke, the guardian may not have received earlier requests.
void EmbeddedJob::listen(Worker& worker) {
    if (!isLiving(worker)) {
        return;
    }
    if (worker.line->hear()) {
        worker.answeredMs = clock_.wallMs();
    }
    worker.isToldToStop = worker.isToldToStop && worker.line->isConnected();
    press(worker);
}

bool EmbeddedJob::isSilent(const Worker& worker) {
    return worker.guardian && !worker.exit && worker.line->numUnanswered() >= kSilentAfter;
}

// A later call with a shorter grace takes effect.
void EmbeddedJob::stop(Worker& worker, Milliseconds grace) {
    const std::int64_t killAtMs = steadyMs() + grace.count();
    if (!isLiving(worker) || (worker.killAtMs != 0 && killAtMs >= worker.killAtMs)) {
        return;
    }
    worker.killAtMs = killAtMs;
    worker.isToldToStop = false;
    press(worker);
}

// Sends a pending stop request to an ending worker; kills a guardian that does not obey.
void EmbeddedJob::press(Worker& worker) {
    if (!isLiving(worker) || worker.killAtMs == 0) {
        return;
    }
    const std::int64_t leftMs = worker.killAtMs - steadyMs();
    if (!worker.isToldToStop) {
        const Milliseconds grace(std::max<std::int64_t>(leftMs, 0));
        worker.isToldToStop = worker.line->say(
            {{"stop", true}, {"grace", seconds(grace)}, {"why", wordsFor(record_.reason)}});
    }
    if (leftMs < -kHungGuardianMs && reachOf(worker.guardian->scope, here_, 0) == PidReach::kHere) {
        logWarn("engine: guardian hangs, killing it",
                {{"gang", record_.key}, {"worker", worker.record.name}});
        ::kill(static_cast<pid_t>(worker.guardian->pid), SIGKILL);
    }
}

void EmbeddedJob::finish() {
    bool isLeft = false;
    for (Worker& worker : workers_) {
        if (isLiving(worker)) {
            isLeft = true;
            stop(worker, endGrace_);  // includes a worker that started after the others were
                                      // stopped
        }
    }
    if (isLeft) {
        return;
    }
    // An end that a full disk could not store is not told: the engine forgets a gang that it has
    // told as ended, and would read from the files that it lives. The next advance() tries again.
    record_.isEnded = true;
    if (absl::IsResourceExhausted(save())) {
        record_.isEnded = false;
        return;
    }
    removeLivingMark(root_, record_.key);
}

void EmbeddedJob::renewLeases() {
    const std::int64_t every =
        std::min<std::int64_t>(kRenewMaxMs, record_.orphanLease.count() * 1000 / 4);
    if (renewedMs_ != 0 && steadyMs() - renewedMs_ < every) {
        return;
    }
    renewedMs_ = steadyMs();
    for (Worker& worker : workers_) {
        if (!isLiving(worker)) {
            continue;
        }
        if (!worker.line->say({{"keepalive", true}})) {
            logDebug("engine: keepalive not sent",
                     {{"gang", record_.key}, {"worker", worker.record.name}});
        }
    }
}

// Reports the first of several failures in a row.
Status EmbeddedJob::save() {
    const Status written = writeGangRecord(directory_, record_);
    if (!written.ok() && isSaved_) {
        logWarn("engine: gang.json not written",
                {{"gang", record_.key}, {"error", messageOf(written)}});
    }
    isSaved_ = written.ok();
    return written;
}

State EmbeddedJob::state() const {
    State state;
    bool isStarted = true;
    for (const Worker& worker : workers_) {
        WorkerState w;
        w.name = worker.record.name;
        w.rank = worker.record.rank;
        w.isCritical = worker.record.isCritical;
        w.isStarted = worker.guardian.has_value();
        w.numReplaced = worker.record.numReplaced;
        w.pid = worker.guardian ? worker.guardian->commandPid : 0;
        w.cpuSeconds = worker.record.cpuSeconds;
        w.peakMemoryBytes = worker.record.peakMemoryBytes;
        if (worker.exit) {
            w.cpuSeconds += worker.exit->cpuSeconds;
            w.peakMemoryBytes = std::max(w.peakMemoryBytes, worker.exit->peakMemoryBytes);
            w.exitCode = worker.exit->code;
            w.isExitAssumed = worker.exit->isAssumed;
            w.signal = worker.exit->signal;
            w.endedMs = worker.exit->timeMs;
        }
        w.isSilent = isSilent(worker);
        w.silentSinceMs = w.isSilent ? worker.answeredMs : 0;
        isStarted = isStarted && w.isStarted;
        state.workers.push_back(std::move(w));
    }
    state.phase = record_.isEnded ? Phase::kEnded
                  : isEnding()    ? Phase::kStopping
                  : isStarted     ? Phase::kRunning
                                  : Phase::kSubmitting;
    state.cause = record_.cause;
    state.exitCode = record_.exitCode;
    state.worker = record_.worker;
    state.reason = record_.reason;
    state.masterPort = record_.masterPort;
    state.asOfMs = clock_.wallMs();
    return state;
}

}  // namespace millrace::engines

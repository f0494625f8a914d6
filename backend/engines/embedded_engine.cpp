#include "backend/engines/embedded_engine.h"

#include <algorithm>
#include <utility>

#include <unistd.h>

#include "backend/core/log.h"
#include "backend/engines/embedded_job.h"
#include "backend/filesystem/files.h"
#include "backend/job/log_files.h"
#include "backend/job/log_text.h"
#include "backend/system/machine_cores.h"
#include "backend/system/machine_memory.h"
#include "backend/system/worker_group.h"
#include "backend/text/text.h"

namespace millrace::engines {
namespace {

EmbeddedOptions filledIn(EmbeddedOptions options) {
    if (options.total.cpus <= 0) {
        options.total.cpus = machineCores();
    }
    if (options.total.memoryBytes == 0) {
        options.total.memoryBytes = static_cast<std::uint64_t>(machineMemory());
    }
    if (!options.gpus.empty()) {
        options.total.gpus = static_cast<int>(options.gpus.size());
    }
    if (options.here.host.empty()) {
        options.here = PidScope::ofThisProcess();
    }
    return options;
}

constexpr std::size_t kLogReach = 64 << 10;

// The last lines that the guardian itself wrote into a worker's log.
std::string guardiansWords(std::string_view log, std::size_t maxBytes) {
    std::string words;
    while (!log.empty()) {
        const std::optional<job::LogText> line = job::splitLogLine(job::takeLastLine(log));
        if (!line.has_value() || line->origin != 'm') {
            continue;
        }
        const std::string_view gap = words.empty() ? "" : "\n";
        if (line->text.size() + gap.size() + words.size() > maxBytes) {
            break;
        }
        words = strCat(line->text, gap, words);
    }
    return words;
}

}  // namespace

// One call's exclusive turn on a gang. Its result is what other calls see meanwhile.
class EmbeddedEngine::Turn {
 public:
    /// Waits until another call's turn ends.
    Turn(EmbeddedEngine& engine, std::shared_ptr<Entry> entry)
        : engine_(engine), entry_(std::move(entry)) {
        MutexLock lock(engine_.mutex_);
        while (entry_->isTaken) {
            engine_.given_.wait(engine_.mutex_);
        }
        entry_->isTaken = true;
    }
    /// Returns nothing if another call has the turn.
    static std::unique_ptr<Turn> tryTake(EmbeddedEngine& engine, std::shared_ptr<Entry> entry) {
        MutexLock lock(engine.mutex_);
        if (entry->isTaken) {
            return nullptr;
        }
        entry->isTaken = true;
        return std::unique_ptr<Turn>(new Turn(engine, std::move(entry), Taken{}));
    }
    ~Turn() {
        const std::unique_ptr<EmbeddedJob>& job = entry_->job;
        State seen = job ? job->state() : State{};
        MutexLock lock(engine_.mutex_);
        if (job) {
            entry_->last = std::move(seen);
            entry_->isMade = true;
            entry_->isEnded = job->record().isEnded;
            entry_->gpus = job->record().gpus;
        }
        entry_->isTaken = false;
        engine_.given_.notifyAll();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    std::unique_ptr<EmbeddedJob>& job() { return entry_->job; }

 private:
    struct Taken {};
    Turn(EmbeddedEngine& engine, std::shared_ptr<Entry> entry, Taken)
        : engine_(engine), entry_(std::move(entry)) {}
    EmbeddedEngine& engine_;
    const std::shared_ptr<Entry> entry_;
};

Result<std::unique_ptr<EmbeddedEngine>> EmbeddedEngine::open(const EmbeddedOptions& options,
                                                             const Clock& clock) {
    RETURN_IF_ERROR(makeDirectories(options.root, 0700));
    std::unique_ptr<EmbeddedEngine> engine(new EmbeddedEngine(filledIn(options), clock));
    if (const auto group = delegatedGroup(); group.ok()) {
        removeEmptyGroups(*group);
    } else {
        logInfo("engine: workers have no control groups", {{"why", messageOf(group.status())}});
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> keys, livingMarks(options.root));
    for (const std::string& key : keys) {
        auto job = EmbeddedJob::load(options.root, key, clock, engine->options_.here);
        if (job.ok()) {
            auto entry = std::make_shared<Entry>();
            entry->job = std::move(*job);
            {
                Turn(*engine, entry);
            }  // sets the state that others see until the first list()
            MutexLock lock(engine->mutex_);
            engine->jobs_[key] = std::move(entry);
            continue;
        }
        // An unreadable gang must not keep others from being adopted.
        logWarn("engine: gang not adopted", {{"gang", key}, {"error", messageOf(job.status())}});
        if (job.status().code() == absl::StatusCode::kNotFound) {
            removeLivingMark(options.root, key);
        }
    }
    return engine;
}

EmbeddedEngine::EmbeddedEngine(EmbeddedOptions options, const Clock& clock)
    : options_(std::move(options)), clock_(clock) {}

EmbeddedEngine::~EmbeddedEngine() = default;

Result<std::string> EmbeddedEngine::gangDirectory(std::string_view key) const {
    return gangDirectoryOf(options_.root, key);
}

std::vector<std::string> EmbeddedEngine::recordedKeys() const {
    return engines::recordedKeys(options_.root);
}

// A followed gang; null for a gang that is only on disk (followed until list() reported its end).
std::shared_ptr<EmbeddedEngine::Entry> EmbeddedEngine::entryOf(std::string_view key) {
    MutexLock lock(mutex_);
    const auto it = jobs_.find(key);
    return it == jobs_.end() ? nullptr : it->second;
}

std::shared_ptr<EmbeddedEngine::Entry> EmbeddedEngine::entryFor(const std::string& key) {
    MutexLock lock(mutex_);
    std::shared_ptr<Entry>& known = jobs_[key];
    if (known == nullptr) {
        known = std::make_shared<Entry>();
    }
    return known;
}

bool EmbeddedEngine::isFollowed(const std::string& key, const Entry& entry) {
    MutexLock lock(mutex_);
    const auto it = jobs_.find(key);
    return it != jobs_.end() && it->second.get() == &entry;
}

State EmbeddedEngine::seenOf(const Entry& entry) const {
    if (entry.isMade) {
        return entry.last;
    }
    State state;
    state.phase = Phase::kSubmitting;
    state.asOfMs = clock_.wallMs();
    return state;
}

Status EmbeddedEngine::checkFits(const std::string& key, const schedule::Resources& needs) const {
    if (needs.fitsIn(options_.total)) {
        return okStatus();
    }
    return failedPrecondition(
        "gang ", key, ": never fits: needs ", needs.cpus, " cores, ", needs.gpus, " GPUs and ",
        formatBytes(static_cast<double>(needs.memoryBytes)), "; this machine has ",
        options_.total.cpus, ", ", options_.total.gpus, " and ",
        formatBytes(static_cast<double>(options_.total.memoryBytes)));
}

// Grants GPUs that no unfinished gang has: a process of such a gang may still use them.
Status EmbeddedEngine::grantGpus(GangRecord& record, Entry& entry) {
    const auto wanted = static_cast<std::size_t>(record.resources.gpus);
    MutexLock lock(mutex_);
    for (const std::string& gpu : options_.gpus) {
        const bool isTaken = std::ranges::any_of(jobs_, [&](const auto& job) {
            const Entry& other = *job.second;
            return !other.isEnded && std::ranges::find(other.gpus, gpu) != other.gpus.end();
        });
        if (!isTaken && record.gpus.size() < wanted) {
            record.gpus.push_back(gpu);
        }
    }
    if (record.gpus.size() < wanted) {
        return unavailable("gang ", record.key, ": needs ", wanted, " GPUs, and ",
                           record.gpus.size(), " are free");
    }
    entry.gpus = record.gpus;
    return okStatus();
}

// Loads the job from its files, or creates it on disk.
Result<std::unique_ptr<EmbeddedJob>> EmbeddedEngine::openJob(GangRecord record, Entry& entry) {
    Result<std::unique_ptr<EmbeddedJob>> job =
        EmbeddedJob::load(options_.root, record.key, clock_, options_.here);
    if (job.status().code() != absl::StatusCode::kNotFound) {
        return job;
    }
    RETURN_IF_ERROR(checkFits(record.key, record.resources));
    RETURN_IF_ERROR(grantGpus(record, entry));
    auto made = EmbeddedJob::create(options_.root, record, clock_, options_.here);
    if (absl::IsResourceExhausted(made.status())) {
        return unavailable(messageOf(made.status()));  // a full disk is transient
    }
    return made;
}

Status EmbeddedEngine::submit(const Gang& gang) {
    ASSIGN_OR_RETURN(const GangRecord record, recordOf(gang));
    RETURN_IF_ERROR(gangDirectory(gang.key).status());
    std::shared_ptr<Entry> entry = entryFor(gang.key);
    auto turn = std::make_unique<Turn>(*this, entry);
    while (!isFollowed(gang.key, *entry)) {  // it was given up while this call waited
        turn.reset();
        entry = entryFor(gang.key);
        turn = std::make_unique<Turn>(*this, entry);
    }
    if (turn->job() == nullptr) {
        Result<std::unique_ptr<EmbeddedJob>> job = openJob(record, *entry);
        if (!job.ok()) {
            MutexLock lock(mutex_);
            jobs_.erase(gang.key);
            return job.status();
        }
        turn->job() = std::move(*job);
    }
    EmbeddedJob& job = *turn->job();
    if (job.record().hash != record.hash) {
        return alreadyExists("gang ", gang.key, ": exists with other contents; use a new attempt");
    }
    if (!job.record().isEnded) {
        RETURN_IF_ERROR(job.startMissing(gang, {options_.execProgram, options_.lifeFd}));
        job.advance();
    }
    return okStatus();
}

Result<bool> EmbeddedEngine::has(const std::string& key) {
    ASSIGN_OR_RETURN(const std::string directory, gangDirectory(key));
    const Result<GangRecord> record = readGangRecord(directory, key);
    if (record.status().code() == absl::StatusCode::kNotFound) {
        return false;
    }
    RETURN_IF_ERROR(record.status());
    if (!record->isEnded && entryOf(key) == nullptr) {
        // It was unreadable when the engine was opened.
        auto entry = std::make_shared<Entry>();
        ASSIGN_OR_RETURN(entry->job, EmbeddedJob::load(options_.root, key, clock_, options_.here));
        {
            Turn(*this, entry);
        }
        MutexLock lock(mutex_);
        jobs_.try_emplace(key, std::move(entry));
    }
    return true;
}

Result<State> EmbeddedEngine::state(const std::string& key) {
    if (const std::shared_ptr<Entry> entry = entryOf(key)) {
        if (const auto turn = Turn::tryTake(*this, entry); turn && turn->job()) {
            turn->job()->advance();
            return turn->job()->state();
        }
        MutexLock lock(mutex_);
        return seenOf(*entry);
    }
    const Result<std::unique_ptr<EmbeddedJob>> job =
        EmbeddedJob::load(options_.root, key, clock_, options_.here);
    if (job.status().code() == absl::StatusCode::kNotFound) {
        State missing;
        missing.reason = "no gang.json";
        missing.asOfMs = clock_.wallMs();
        return missing;
    }
    RETURN_IF_ERROR(job.status());
    return (*job)->state();
}

Result<std::vector<std::pair<std::string, State>>> EmbeddedEngine::list() {
    std::vector<std::pair<std::string, std::shared_ptr<Entry>>> followed;
    {
        MutexLock lock(mutex_);
        followed.assign(jobs_.begin(), jobs_.end());
    }
    for (const auto& [key, entry] : followed) {
        if (const auto turn = Turn::tryTake(*this, entry); turn && turn->job()) {
            turn->job()->advance();
        }
    }
    std::vector<std::pair<std::string, State>> all;
    MutexLock lock(mutex_);
    for (const auto& [key, entry] : followed) {
        if (entry->isMade) {
            all.emplace_back(key, entry->last);
        }
        if (entry->isEnded) {
            jobs_.erase(key);
        }
    }
    return all;
}

Status EmbeddedEngine::cancel(const std::string& key, std::chrono::milliseconds grace,
                              std::string_view why) {
    if (const std::shared_ptr<Entry> entry = entryOf(key)) {
        Turn turn(*this, entry);
        if (turn.job()) {
            turn.job()->advance();
            turn.job()->end(Cause::kCancelled, std::string(why), grace);
            turn.job()->advance();
        }
    }
    return okStatus();
}

Status EmbeddedEngine::forget(const std::string& key) {
    ASSIGN_OR_RETURN(const std::string directory, gangDirectory(key));
    const Result<GangRecord> record = readGangRecord(directory, key);
    if (record.status().code() == absl::StatusCode::kNotFound) {
        return okStatus();
    }
    RETURN_IF_ERROR(record.status());
    if (!record->isEnded || entryOf(key) != nullptr) {
        return failedPrecondition("gang ", key, ": has not ended; its files stay");
    }
    return removeGang(directory, *record);
}

Result<std::string> EmbeddedEngine::log(const std::string& key, std::string_view worker,
                                        std::size_t maxBytes) {
    ASSIGN_OR_RETURN(const std::string directory, gangDirectory(key));
    ASSIGN_OR_RETURN(const GangRecord record, readGangRecord(directory, key));
    const bool isKnown = std::ranges::any_of(
        record.workers, [&](const WorkerRecord& one) { return one.name == worker; });
    if (!isKnown) {
        return notFound("gang ", key, ": has no worker '", worker, "'");
    }
    const job::LogKey log{key.substr(0, key.rfind(".a")), record.attempt, std::string(worker)};
    ASSIGN_OR_RETURN(const job::LogBlock block,
                     job::FileLogs(options_.root).readBack(log, job::kLogEnd, kLogReach));
    return guardiansWords(block.bytes, maxBytes);
}

}  // namespace millrace::engines

#include "backend/engines/embedded_engine.h"

#include <sched.h>
#include <unistd.h>

#include "backend/core/files.h"
#include "backend/core/log.h"
#include "backend/core/text.h"
#include "backend/engines/embedded_job.h"
#include "backend/engines/worker_log.h"

namespace millrace::engines {
namespace {

EmbeddedOptions filledIn(EmbeddedOptions options) {
    if (options.total.cpus <= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        options.total.cpus = ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    }
    if (options.total.memoryBytes == 0) {
        options.total.memoryBytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                                    static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    }
    return options;
}

}  // namespace

Result<std::unique_ptr<EmbeddedEngine>> EmbeddedEngine::open(const EmbeddedOptions& options,
                                                             const Clock& clock) {
    RETURN_IF_ERROR(makeDirectories(options.root, 0700));
    std::unique_ptr<EmbeddedEngine> engine(new EmbeddedEngine(filledIn(options), clock));
    ASSIGN_OR_RETURN(const std::vector<std::string> keys, livingMarks(options.root));
    MutexLock lock(engine->mutex_);
    for (const std::string& key : keys) {
        auto job = EmbeddedJob::load(options.root, key, clock);
        if (job.ok()) {
            engine->jobs_[key] = std::move(*job);
            continue;
        }
        // One gang that cannot be read keeps no other from being adopted.
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

// A gang that is followed, or one that has ended and is on disk only (kept until list() tells it).
Result<EmbeddedJob*> EmbeddedEngine::jobLocked(std::string_view key) {
    if (const auto it = jobs_.find(key); it != jobs_.end()) {
        return it->second.get();
    }
    return notFound("gang ", key, ": not followed");
}

Status EmbeddedEngine::checkFitsLocked(const std::string& key,
                                       const schedule::Resources& needs) const {
    if (needs.fitsIn(options_.total)) {
        return okStatus();
    }
    return resourceExhausted("gang ", key, ": never fits: needs ", needs.cpus, " cores, ",
                             needs.gpus, " GPUs and ",
                             formatBytes(static_cast<double>(needs.memoryBytes)),
                             "; this machine has ", options_.total.cpus, ", ", options_.total.gpus,
                             " and ", formatBytes(static_cast<double>(options_.total.memoryBytes)));
}

Result<JobId> EmbeddedEngine::submit(const Gang& gang) {
    ASSIGN_OR_RETURN(const GangRecord record, recordOf(gang));
    ASSIGN_OR_RETURN(const std::string directory, gangDirectory(gang.key));
    const JobId id{name(), options_.root, gang.key};
    MutexLock lock(mutex_);
    if (Result<EmbeddedJob*> known = jobLocked(gang.key); !known.ok()) {
        Result<std::unique_ptr<EmbeddedJob>> job =
            EmbeddedJob::load(options_.root, gang.key, clock_);
        if (job.status().code() == absl::StatusCode::kNotFound) {
            RETURN_IF_ERROR(checkFitsLocked(gang.key, record.resources));
            job = EmbeddedJob::create(options_.root, record, clock_);
        }
        RETURN_IF_ERROR(job.status());
        jobs_[gang.key] = std::move(*job);
    }
    EmbeddedJob& job = *jobs_[gang.key];
    if (job.record().hash != record.hash) {
        return alreadyExists("gang ", gang.key, ": exists with other contents; use a new attempt");
    }
    if (!job.record().isEnded) {
        job.startMissing(gang, options_.execProgram);
        job.advance();
    }
    return id;
}

Result<std::optional<JobId>> EmbeddedEngine::find(std::string_view key) {
    ASSIGN_OR_RETURN(const std::string directory, gangDirectory(key));
    const Result<GangRecord> record = readGangRecord(directory);
    if (record.status().code() == absl::StatusCode::kNotFound) {
        return std::optional<JobId>();
    }
    RETURN_IF_ERROR(record.status());
    return std::optional<JobId>(JobId{name(), options_.root, std::string(key)});
}

Result<State> EmbeddedEngine::state(const JobId& id) {
    MutexLock lock(mutex_);
    if (Result<EmbeddedJob*> job = jobLocked(id.native); job.ok()) {
        (*job)->advance();
        return (*job)->state();
    }
    const Result<std::unique_ptr<EmbeddedJob>> job =
        EmbeddedJob::load(options_.root, id.native, clock_);
    if (job.status().code() == absl::StatusCode::kNotFound) {
        State missing;
        missing.reason = "no gang.json";
        missing.asOfMs = clock_.wallMs();
        return missing;
    }
    RETURN_IF_ERROR(job.status());
    return (*job)->state();
}

Result<std::vector<std::pair<JobId, State>>> EmbeddedEngine::list() {
    MutexLock lock(mutex_);
    std::vector<std::pair<JobId, State>> all;
    for (auto it = jobs_.begin(); it != jobs_.end();) {
        it->second->advance();
        all.emplace_back(JobId{name(), options_.root, it->first}, it->second->state());
        it = it->second->record().isEnded ? jobs_.erase(it) : std::next(it);
    }
    return all;
}

Status EmbeddedEngine::cancel(const JobId& id, std::chrono::milliseconds grace) {
    MutexLock lock(mutex_);
    if (Result<EmbeddedJob*> job = jobLocked(id.native); job.ok()) {
        (*job)->advance();
        (*job)->end(Cause::kCancelled, "cancelled", grace);
        (*job)->advance();
    }
    return okStatus();
}

Status EmbeddedEngine::stopWorker(const JobId& id, std::string_view worker,
                                  std::chrono::milliseconds grace) {
    MutexLock lock(mutex_);
    ASSIGN_OR_RETURN(EmbeddedJob * job, jobLocked(id.native));
    return job->stopWorker(worker, grace);
}

Result<LogChunk> EmbeddedEngine::log(const JobId& id, std::string_view worker, std::uint64_t from,
                                     std::size_t maxBytes) {
    ASSIGN_OR_RETURN(const std::string directory, gangDirectory(id.native));
    ASSIGN_OR_RETURN(const GangRecord record, readGangRecord(directory));
    for (const WorkerRecord& known : record.workers) {
        if (known.name == worker) {
            return readWorkerLog(strCat(directory, "/", worker), from, maxBytes);
        }
    }
    return notFound("gang ", id.native, ": has no worker '", worker, "'");
}

Result<Capacity> EmbeddedEngine::capacity() {
    MutexLock lock(mutex_);
    Capacity capacity{options_.total, options_.total, 1, false, clock_.wallMs()};
    for (const auto& [key, job] : jobs_) {
        if (!job->record().isEnded) {
            capacity.free -= job->record().resources;
        }
    }
    return capacity;
}

}  // namespace millrace::engines

#pragma once
// EmbeddedEngine: places gangs on this machine, each worker behind its own millrace-exec guardian.
//
// Everything it knows is in files: ROOT/<run>/a<attempt>/gang.json (written before anything is
// started) and one folder per worker with the guardian's guardian.json, out.log and exit.json. A
// new object over the same root therefore goes on where a killed one stood; workers do not notice.
// Every state() and list() also moves gangs on: the first critical failure or the time limit stops
// the others, finished critical workers stop what is left, guardians' orphan leases are renewed.
// A gang is ended when no process of it is left.
// Threads: any. No file, socket or process is touched under the lock: it guards who works on which
// gang. One call at a time works on a gang; list() and state() tell what was seen last of one that
// is being worked on, the others wait for it.
// Failure: kInvalidArgument for a gang that makes no sense, kAlreadyExists for a known key with
// another gang, kResourceExhausted when it never fits, kUnavailable while the disk is full.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/core/clock.h"
#include "backend/core/mutex.h"
#include "backend/engines/engine.h"
#include "backend/system/pid_scope.h"

namespace millrace::engines {

class EmbeddedJob;
struct GangRecord;

struct EmbeddedOptions {
    std::string root;           ///< the runs' directory: ROOT/<run>/a<attempt>
    std::string execProgram;    ///< millrace-exec
    schedule::Resources total;  ///< what this machine gives; 0 cpus or memory: asked of the machine
    std::vector<std::string> gpus;  ///< it gives, by their names for CUDA_VISIBLE_DEVICES
    PidScope here;    ///< whose processes it can see; without a host's name: this process's
    int lifeFd = -1;  ///< workers end when its other end is closed; -1: they outlive this process
};

class EmbeddedEngine final : public Engine {
 public:
    /// Reads the directories of gangs that have not ended and adopts them. `clock` outlives it.
    static Result<std::unique_ptr<EmbeddedEngine>> open(const EmbeddedOptions& options,
                                                        const Clock& clock);
    ~EmbeddedEngine() override;

    /// Starts the workers that have not been started. When one cannot be, the others are ended and
    /// the state tells it (ended, engine_failed), and submit has not failed. One that cannot
    /// be started now (isTransient) is an error: the same submit goes on with the rest.
    Status submit(const Gang& gang) override;
    Result<bool> has(const std::string& key) override;
    Result<State> state(const std::string& key) override;
    Result<std::vector<std::pair<std::string, State>>> list() override;
    /// SIGTERM to every worker's process group, SIGKILL to all of it after `grace`.
    Status cancel(const std::string& key, std::chrono::milliseconds grace,
                  std::string_view why) override;
    /// What the worker's guardian wrote into its log.
    Result<std::string> log(const std::string& key, std::string_view worker,
                            std::size_t maxBytes) override;
    schedule::Resources total() const override { return options_.total; }
    /// ROOT/<run>/a<attempt>.
    Result<std::string> gangDirectory(std::string_view key) const override;
    std::vector<std::string> recordedKeys() const override;
    Status forget(const std::string& key) override;

 private:
    /// A gang and its files: of the one call that has taken it.
    struct Entry {
        std::unique_ptr<EmbeddedJob> job;
        bool isTaken = false;  // as all below: guarded by mutex_
        bool isMade = false;   // false while the first submit works on it
        bool isEnded = false;
        std::vector<std::string> gpus;
        State last;
    };
    class Turn;

    EmbeddedEngine(EmbeddedOptions options, const Clock& clock);
    std::shared_ptr<Entry> entryOf(std::string_view key) MR_EXCLUDES(mutex_);
    std::shared_ptr<Entry> entryFor(const std::string& key) MR_EXCLUDES(mutex_);
    bool isFollowed(const std::string& key, const Entry& entry) MR_EXCLUDES(mutex_);
    State seenOf(const Entry& entry) const MR_REQUIRES(mutex_);
    Result<std::unique_ptr<EmbeddedJob>> openJob(GangRecord record, Entry& entry)
        MR_EXCLUDES(mutex_);
    Status grantGpus(GangRecord& record, Entry& entry) MR_EXCLUDES(mutex_);
    Status checkFits(const std::string& key, const schedule::Resources& needs) const;

    const EmbeddedOptions options_;
    const Clock& clock_;
    Mutex mutex_;
    CondVar given_;  ///< a turn ended
    /// What has not ended, and what list() has not told the end of.
    std::map<std::string, std::shared_ptr<Entry>, std::less<>> jobs_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::engines

#pragma once
// EmbeddedEngine: places gangs on this machine, each worker behind its own millrace-exec guardian.
//
// All its knowledge is in files: ROOT/<run>/a<attempt>/gang.json (written before anything starts)
// and one folder per worker with the guardian's guardian.json, out.log and exit.json. A new object
// over the same root therefore continues after a killed one; workers do not notice. Every state()
// and list() also advances gangs. The first critical failure or the time limit stops the other
// workers, and finished critical workers stop the remaining ones. Guardians' orphan leases are
// renewed. A gang has ended when no process of it is left.
// Threads: any. No file, socket or process is touched under the lock: it only guards which call
// works on which gang, one at a time per gang. list() and state() report a busy gang as last seen;
// other calls wait for it.
// Failure: kInvalidArgument for an invalid gang, kAlreadyExists for a known key with another gang,
// kResourceExhausted if it can never fit, kUnavailable while the disk is full.
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
    std::string root;               ///< root of the runs' directories: ROOT/<run>/a<attempt>
    std::string execProgram;        ///< millrace-exec
    schedule::Resources total;      ///< resources of this machine; 0 cpus or memory: detected
    std::vector<std::string> gpus;  ///< available GPUs, by their names for CUDA_VISIBLE_DEVICES
    PidScope here;    ///< scope of visible processes; without a host name: this process's
    int lifeFd = -1;  ///< workers end when its other end is closed; -1: they outlive this process
};

class EmbeddedEngine final : public Engine {
 public:
    /// Reads the directories of unfinished gangs and adopts them. `clock` outlives the engine.
    static Result<std::unique_ptr<EmbeddedEngine>> open(const EmbeddedOptions& options,
                                                        const Clock& clock);
    ~EmbeddedEngine() override;

    /// Starts the workers that are not started yet. If one cannot be started, ends the others and
    /// reports it in the state (ended, engine_failed); submit itself succeeds. If one cannot be
    /// started now (isTransient), returns an error: the same submit later starts the rest.
    Status submit(const Gang& gang) override;
    Result<bool> has(const std::string& key) override;
    Result<State> state(const std::string& key) override;
    Result<std::vector<std::pair<std::string, State>>> list() override;
    /// Sends SIGTERM to every worker's process group, and SIGKILL to all of it after `grace`.
    Status cancel(const std::string& key, std::chrono::milliseconds grace,
                  std::string_view why) override;
    /// The guardian's own lines in the worker's log.
    Result<std::string> log(const std::string& key, std::string_view worker,
                            std::size_t maxBytes) override;
    schedule::Resources total() const override { return options_.total; }
    /// ROOT/<run>/a<attempt>.
    Result<std::string> gangDirectory(std::string_view key) const override;
    std::vector<std::string> recordedKeys() const override;
    Status forget(const std::string& key) override;

 private:
    /// A gang and its files; belongs to the call that has the turn.
    struct Entry {
        std::unique_ptr<EmbeddedJob> job;
        bool isTaken = false;  // this and all members below are guarded by mutex_
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
    CondVar given_;  ///< signalled when a turn ends
    /// Gangs that have not ended, or whose end list() has not reported.
    std::map<std::string, std::shared_ptr<Entry>, std::less<>> jobs_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::engines

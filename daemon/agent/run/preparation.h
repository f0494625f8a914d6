#pragma once
// Preparation: what an attempt needs before it can begin. Used by ActiveRun.
//
// It finds the checkpoint to resume from by reading the run's checkpoints; before the first attempt
// it counts the values of vocabularies that are to be counted. Then it writes job.json. All this
// runs outside the agent's thread and is answered on it; the number of a preparation identifies
// answers to an older one. Threads: one owner (the controller's). Failure: in the answers.
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "backend/core/transient.h"
#include "backend/job/job_file.h"
#include "daemon/agent/crew/gang.h"
#include "daemon/agent/run/checkpoints/checkpoint_catalogue.h"
#include "daemon/agent/run/run_directory.h"
#include "daemon/agent/run/workplace.h"

namespace millrace::agent {

class Preparation {
 public:
    using Surveyed = std::function<void(std::uint64_t number, const CheckpointScan& scan)>;
    using Written = std::function<void(std::uint64_t number, const Status& written)>;

    /// `place` outlives it. `fromStep`: a checkpoint's, values::kFromLast or kFromStart;
    /// `isRestart`: the daemon restarts the run after a failure; `isCounting`: values are to be
    /// counted.
    Preparation(Workplace& place, std::uint64_t number, std::int64_t fromStep, bool isRestart,
                bool isCounting)
        : place_(place),
          number_(number),
          fromStep_(fromStep),
          isRestart_(isRestart),
          isCounting_(isCounting) {}

    std::uint64_t number() const { return number_; }
    std::int64_t fromStep() const { return fromStep_; }
    bool isRestart() const { return isRestart_; }
    bool isCounting() const { return isCounting_; }

    /// False: no room now. `order.fromStep` is this preparation's.
    bool askSurvey(CheckpointScanRequest order, Surveyed then);
    void setSurvey(const CheckpointScan& scan) { scan_ = scan; }
    /// Nothing: not surveyed yet.
    const std::optional<CheckpointScan>& scan() const { return scan_; }
    std::int64_t resumeStep() const;
    /// Writes `job`, with the plan that the store has, and `start`. False: no room now.
    bool askJob(job::JobFile job, const AttemptStart& start, Written then);
    ~Preparation() { (void)stop(); }

    /// The run is to end: what is being read is read no further. True: the scan that was asked
    /// for had not begun, and no answer comes.
    bool stop() {
        stop_.request_stop();
        return !progress_->isTaken.test_and_set();
    }
    /// The present activity, for people.
    std::string text() const;

 private:
    Workplace& place_;
    const std::uint64_t number_;
    const std::int64_t fromStep_;
    const bool isRestart_, isCounting_;
    std::stop_source stop_;
    /// Written by the working thread, which may outlive this object.
    struct Progress {
        std::atomic<std::uint64_t> bytesRead{0};
        std::atomic<std::int64_t> rows{0}, allRows{0};
        std::atomic_flag isTaken{};  ///< by the thread that surveys, or by stop() before it
    };
    static CheckpointScan count(const Workplace& place, const std::string& run, Progress& progress,
                                const std::function<bool()>& isUnwanted);
    std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();
    std::optional<CheckpointScan> scan_;
};

/// Returns whether the spec has vocabularies with values that are still to be counted.
bool isToBeCounted(const spec::RunSpec& spec);

/// Returns the pause before a failed start is retried, ns: 1 s, growing to 30 s. Always 1 s if the
/// start waits for nodes, which may attach at any time. `lastNs`: the previous pause, 0: none.
std::int64_t pauseBehind(std::int64_t lastNs, bool awaitsNodes);

/// Returns the pause after `attempts` attempts in a row that took no step, ns: 1 s, growing to 30
/// s.
std::int64_t pauseBehindIdle(int attempts);

/// Ends the gang of the previous attempt, whatever ended the run, because no attempt may begin
/// beside its workers. `key`: key of that gang. kUnavailable: its workers live, and were told to
/// end.
Status endFormer(const Workplace& place, const std::string& key);

/// Returns the newest checkpoint of the run that train.init_from names, or its best, with which
/// `run` starts; "" for no run. A checkpoint that counted other values is refused. An error is
/// transient if the file may be read later.
Result<std::string> findInitFrom(const Workplace& place, const spec::RunSpec& spec);

}  // namespace millrace::agent

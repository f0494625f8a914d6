#pragma once
// Preparation: what an attempt needs before it can begin: the checkpoint it goes on from, found by
// reading the run's checkpoints, or before the first one the values of vocabularies that are to be
// counted; and its job.json.
//
// All are done beside the agent's thread and answered there; each preparation has a number, by
// which an answer to an older one is known. Threads: one owner (the controller's). Failure: in the
// answers.
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
#include "daemon/agent/run/checkpoint_catalogue.h"
#include "daemon/agent/run/run_directory.h"
#include "daemon/agent/run/workplace.h"

namespace millrace::agent {

class Preparation {
 public:
    using Surveyed = std::function<void(std::uint64_t number, const Survey& survey)>;
    using Written = std::function<void(std::uint64_t number, const Status& written)>;

    /// `place` outlives it. `fromStep`: a checkpoint's, values::kFromLast or kFromStart;
    /// `isRestart`: by itself, after a failure; `isCounting`: values are to be counted.
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
    bool askSurvey(SurveyOrder order, Surveyed then);
    void setSurvey(const Survey& survey) { survey_ = survey; }
    /// Nothing: not looked yet.
    const std::optional<Survey>& survey() const { return survey_; }
    std::int64_t resumeStep() const;
    /// Writes `job`, with the plan that the store has, and `start`. False: no room now.
    bool askJob(job::JobFile job, const AttemptStart& start, Written then);
    /// The run is to end: what is being read is read no further.
    void stop() { stop_.request_stop(); }
    /// What is being done, for people.
    std::string text() const;

 private:
    Workplace& place_;
    const std::uint64_t number_;
    const std::int64_t fromStep_;
    const bool isRestart_, isCounting_;
    std::stop_source stop_;
    /// Written by the thread that works, which may outlive this.
    struct Progress {
        std::atomic<std::uint64_t> bytesRead{0};
        std::atomic<std::int64_t> rows{0}, allRows{0};
    };
    static Survey count(const Workplace& place, const std::string& run, Progress& progress,
                        const std::function<bool()>& isUnwanted);
    std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();
    std::optional<Survey> survey_;
};

/// Whether the spec has vocabularies whose values are still to be counted.
bool isToBeCounted(const std::string& resolvedSpec);

/// Until a start that did not go is tried again, ns: 1 s, then up to 30 s; where it waits for
/// nodes, which may come at any time, always 1 s. `lastNs`: the pause before, 0: none.
std::int64_t pauseBehind(std::int64_t lastNs, bool awaitsNodes);

/// Until the attempt after so many in a row that took no step, ns: 1 s, then up to 30 s.
std::int64_t pauseBehindIdle(int attempts);

/// Whatever ended the run: no attempt begins beside workers of the one before, whose gang's key
/// this is. kUnavailable: they live, and are told to end.
Status endFormer(const Workplace& place, const std::string& key);

/// The newest checkpoint of the run that train.init_from names, or its best, with which `run`
/// starts; "" for no run. One that counted other values is refused. An error is transient where the
/// file may be read later.
Result<std::string> findInitFrom(const Workplace& place, const runs::RunRecord& run,
                                 const JobFacts& facts);

}  // namespace millrace::agent

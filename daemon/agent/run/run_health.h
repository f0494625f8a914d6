#pragma once
// RunHealth: what is wrong with a run that is running: workers that stand still, and problems that
// they and the daemon report. Used by ActiveRun.
//
// It gathers signs of the workers, lets findStandstills() judge them, and returns what is new as
// sentences for the run's history. Threads: one owner (the controller's). Time in which no look
// took place (the daemon itself stood still) does not count against the workers.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/core/clock.h"
#include "backend/engines/engine.h"
#include "backend/rank/rank_line.h"
#include "backend/values/run_live.h"
#include "daemon/agent/run/standstill.h"
#include "daemon/agent/times/time_account.h"

namespace millrace::agent {

class RunHealth {
 public:
    /// Returns the letter of a process's state as in /proc/PID/stat; 0 if it is not known.
    using ProcessState = std::function<char(int pid)>;

    explicit RunHealth(const Clock& clock);
    RunHealth(const Clock& clock, ProcessState processState)
        : clock_(clock), processState_(std::move(processState)) {}

    /// Sets how long its workers are given.
    void setLimits(const StandstillLimits& limits) { limits_ = limits; }

    /// Starts a new attempt: nothing is known of its workers.
    void restart();
    /// Takes the engine's report: which workers run, with their pids, and which guardians are
    /// silent.
    void setWorkers(const engines::State& state);
    void hello(const rank::Sender& sender);
    void heard(const rank::Sender& sender, const rank::RankLine& line);
    /// Sets what is wrong with `what` ("store"), as one sentence; "": it works again.
    void setTrouble(const std::string& what, const std::string& sentence);

    /// Looks again; returns what is new since the last time, for the run's history. `unreached`:
    /// workers that cannot report now, because their node is away; the time does not count against
    /// them. `held`: a sentence about a node that is waited for; "": none is.
    std::vector<std::string> look(const std::set<std::string>& unreached = {},
                                  const std::string& held = "");
    /// The present problems as sentences, joined by "; "; "" if there are none.
    std::string trouble() const;
    /// When the run last made progress, UTC ms; 0: it is making progress.
    std::int64_t standsSinceMs() const;
    /// Returns a rank that has been silent for `forNs`, as worker and sentence. Nothing: there is
    /// none.
    std::optional<std::pair<std::string, std::string>> silentRank(std::int64_t forNs) const;
    /// Returns a rank that has waited for data for `forNs`, and after which step. Nothing: there is
    /// none.
    std::optional<std::pair<std::string, std::int64_t>> waitingRank(std::int64_t forNs) const;
    /// See findHeldUp().
    std::optional<HeldUp> heldUp(std::int64_t forNs) const {
        return findHeldUp(signs_, clock_.steadyNs(), forNs);
    }
    /// The newest step that the rank has reported in this attempt; 0: none.
    std::int64_t stepOf(int rank) const;
    /// Returns a rank at its end that has not left in time. Nothing: there is none.
    std::optional<LateRank> lateRank() const {
        return findLateRank(signs_, clock_.steadyNs(), limits_);
    }
    /// Notes that a rank reported `done` to an earlier daemon.
    void noteDone(const std::string& worker);
    /// Notes that an earlier daemon has heard from these ranks: their silence counts from now on.
    void noteHeard(const std::vector<std::string>& workers);
    /// State of a worker: "stopped", "silent", "hung", "waiting"; "" if it works.
    std::string_view standingOf(const std::string& worker) const;
    /// The gang's workers with what they do, for people.
    std::vector<values::WorkerInfo> workers(const engines::State& gang, int attempt) const;
    /// Its ranks with their newest reports, the first values::kRanksTold.
    std::vector<values::RankNow> ranks(const engines::State& gang) const;
    const RecentReports& recent(int rank) { return recent_[rank]; }
    /// Writes all of this into the run's live entry.
    void tell(const engines::State& gang, int attempt, values::RunLive& live) const;

 private:
    struct Still {
        Standstill what;
        std::string sentence;
        std::int64_t sinceMs = 0;  // UTC
        char process = 0;
    };

    WorkerSigns* find(const std::string& worker);
    WorkerSigns* findOrAdd(const std::string& worker, bool isRank);
    void drop(const std::string& worker);
    int pidOf(const std::string& worker) const;
    void note(WorkerSigns& signs, const rank::RankLine& line);
    void noteLoss(const std::string& worker, const rank::Metrics& metrics);
    void noteRank(int rank, const rank::RankLine& line);
    void noteStep(WorkerSigns& signs, std::int64_t step) const;
    void learn(WorkerSigns& signs, std::int64_t tookNs) const;
    void forgive(std::int64_t nowNs, const std::set<std::string>& unreached);
    void lookAtWorkers(std::int64_t nowNs, std::vector<std::string>& news);
    void lookAtTroubles(std::vector<std::string>& news);

    const Clock& clock_;
    StandstillLimits limits_;
    const ProcessState processState_;
    std::vector<WorkerSigns> signs_;
    std::unordered_map<std::string, std::size_t> places_;  // index in signs_, by worker
    std::map<std::string, int> pids_;
    std::map<std::string, Still> still_;           // by worker
    std::map<int, values::RankNow> ranks_;         // newest report of each rank
    std::map<int, RecentReports> recent_;          // of each rank
    std::map<std::string, std::string> troubles_;  // by "store", "node", "loss" or worker
    std::map<std::string, std::string> told_;      // troubles that are in the history
    std::int64_t lookedNs_ = 0;
};

/// Reads /proc.
char processStateOf(int pid);

}  // namespace millrace::agent

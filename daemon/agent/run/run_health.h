#pragma once
// RunHealth: what is wrong with a run that goes on: workers that stand still, and what they and the
// daemon say themselves.
//
// It gathers signs of the workers, lets findStandstills() judge them and tells what is new in
// sentences for the run's history. Threads: one owner (the controller's). Time in which nobody
// looked (the daemon stood still itself) does not count against the workers.
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
    /// The letter of a process's state as in /proc/PID/stat; 0 where it is not known.
    using ProcessState = std::function<char(int pid)>;

    explicit RunHealth(const Clock& clock);
    RunHealth(const Clock& clock, ProcessState processState)
        : clock_(clock), processState_(std::move(processState)) {}

    /// How long its workers are given.
    void setLimits(const StandstillLimits& limits) { limits_ = limits; }

    /// A new attempt: nothing is known of its workers.
    void restart();
    /// The engine's word: which workers go, with their pids, and whose guardian is silent.
    void setWorkers(const engines::State& state);
    void hello(const rank::Sender& sender);
    void heard(const rank::Sender& sender, const rank::RankLine& line);
    /// What is wrong with `what` ("store"), one sentence; "": it is well again.
    void setTrouble(const std::string& what, const std::string& sentence);

    /// Looks again: what is new since the last time, for the run's history. `unreached`: workers
    /// that cannot be heard of now, as their node is away; the time does not count against them.
    /// `held`: a sentence about a node that is waited for; "": none is.
    std::vector<std::string> look(const std::set<std::string>& unreached = {},
                                  const std::string& held = "");
    /// What is wrong now: sentences, joined by "; "; "" when all is well.
    std::string trouble() const;
    /// When the run was last seen to get on, UTC ms; 0: it does.
    std::int64_t standsSinceMs() const;
    /// A rank of which nothing has been heard for `forNs`, and what is said of it: worker,
    /// sentence. Nothing: there is none.
    std::optional<std::pair<std::string, std::string>> silentRank(std::int64_t forNs) const;
    /// A rank that has waited for data for `forNs`, and after which step. Nothing: there is none.
    std::optional<std::pair<std::string, std::int64_t>> waitingRank(std::int64_t forNs) const;
    /// As findHeldUp().
    std::optional<HeldUp> heldUp(std::int64_t forNs) const {
        return findHeldUp(signs_, clock_.steadyNs(), forNs);
    }
    /// The newest step that a rank has told of in this attempt; 0: none.
    std::int64_t stepOf(int rank) const;
    /// A rank at its end that has not left in time. Nothing: there is none.
    std::optional<LateRank> lateRank() const {
        return findLateRank(signs_, clock_.steadyNs(), limits_);
    }
    /// A rank said in an earlier daemon's time that it was done.
    void noteDone(const std::string& worker);
    /// An earlier daemon has heard of these ranks: their silence counts from now on.
    void noteHeard(const std::vector<std::string>& workers);
    /// How a worker stands: "stopped", "silent", "hung", "waiting"; "" when it moves.
    std::string_view standingOf(const std::string& worker) const;
    /// The gang's workers with what they do, for people.
    std::vector<values::WorkerInfo> workers(const engines::State& gang, int attempt) const;
    /// Its ranks with what they said last, the first values::kRanksTold.
    std::vector<values::RankNow> ranks(const engines::State& gang) const;
    const RecentReports& recent(int rank) { return recent_[rank]; }
    /// All of this into what is live of the run.
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
    std::unordered_map<std::string, std::size_t> places_;  // in signs_, by worker
    std::map<std::string, int> pids_;
    std::map<std::string, Still> still_;           // by worker
    std::map<int, values::RankNow> ranks_;         // what each said last
    std::map<int, RecentReports> recent_;          // of each
    std::map<std::string, std::string> troubles_;  // by who has it
    std::map<std::string, std::string> told_;      // troubles that the history has
    std::int64_t lookedNs_ = 0;
};

/// By /proc.
char processStateOf(int pid);

}  // namespace millrace::agent

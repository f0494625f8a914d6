#pragma once
// Evidence: the state of the whole world for the laws: the runs and what their ranks did, what may
// have ended an attempt, which nodes can be reached. Judge collects it; SecondLaws and RestLaws
// compare the product with it.
//
// Threads: one.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backend/values/run_state.h"
#include "tests/sim/rank.h"

namespace millrace::sim {

/// The ranks of an attempt on all machines, including those that have ended.
std::vector<Rank*> ranksOf(const Machines& machines, const std::string& run, int attempt);

/// Resources that a run requests.
struct Terms {
    int parts = 1, ranks = 1;
    std::int64_t steps = 100, checkpointEvery = 10;
    int dataWorkers = 0;  ///< number that its feed advises, which is also the maximum
    int dataWorkersLeast() const { return std::max(0, dataWorkers - 1); }
    int threads = 1;  ///< cores of each rank
    /// Cores that the part with this number takes of a node; part 0 includes its loader's thread
    /// and, on the head's machine, the cores reserved for data workers.
    double cores(int part, bool isOnHead) const;
};

/// The observed state of a run.
struct Course {
    Terms terms;
    int attempt = 0;  ///< the latest; 0: none yet
    std::map<int, std::string> blamed;
    std::map<int, std::int64_t> resumedFrom;        ///< by attempt, once one of its ranks has begun
    std::map<std::string, rank::Checkpoint> saved;  ///< by name
    std::set<std::int64_t> untold;    ///< steps whose rank died before it reported them
    std::set<values::RunState> ends;  ///< permitted end states, besides finished
    std::int64_t queuedNs = 0;        ///< time since which it waits in the queue
    std::int64_t completeNs = 0;  ///< last time with enough data workers, or without need of them
    std::int64_t toldNs = 0;      ///< last time with few unacknowledged lines of its ranks
    std::int64_t movedNs = 0;     ///< last time of progress, or without need of progress
    std::int64_t runsNs = 0;      ///< last time it was running, or not all ranks trained
    std::int64_t stoppedNs = INT64_MAX;  ///< time at which a user stopped it
    std::int64_t stopByNs = INT64_MAX;   ///< end of a stop's grace period
    std::int64_t roomyNs = 0;            ///< last time with room for it, or in the queue
    std::int64_t overNs = 0;             ///< last time under way, or without a living rank
    std::size_t numLate = 0;             ///< checkpoints that arrived after its end
    int resumeJudged = 0;                ///< the latest attempt whose resumed step was judged
    bool isWaiting = true;               ///< in the queue
    bool isRemoved = false;              ///< a user deleted it
    bool isPurged = false;               ///< deleted for good
};

struct Evidence {
    // After this time an agent that could not be reached has come back, has received what it must
    // end, and has ended it.
    static constexpr std::int64_t kReachedNs = 5 * kSecond;

    /// `machines`: the head's machine is the first.
    Evidence(World& world, const Machines& machines, bool trainsHere);

    std::int64_t nowNs() const { return world.nowNs(); }
    bool isReached(const Machine& machine) const;
    /// Whether nothing is wrong with any machine now, and nothing was a moment ago.
    bool isCalm() const;
    double coresTaken(const Machine& machine, const std::string& butRun) const;
    /// Whether the run's parts fit on the nodes beside the present runs.
    bool hasRoom(const std::string& run) const;
    /// Notes that a law did not hold.
    void wrong(const std::string& what);
    void wrongOf(const std::string& run, const std::string& what);

    World& world;
    const Machines& machines;
    const bool trainsHere;
    std::map<std::string, Course> courses;  ///< by run
    std::vector<std::int64_t> apartNs;  ///< last time at which each machine and the head were apart
    std::int64_t hungUntilNs = 0;
    std::int64_t excusedNs = 0, troubledNs = 0;
    std::set<std::int64_t> refused;  ///< steps whose metrics the store cannot take
    bool isDiskTrusted = true;       ///< no machine's disk has failed or lost data
    std::vector<std::string> problems;
};

}  // namespace millrace::sim

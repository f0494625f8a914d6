#pragma once
// Evidence: what is true of the whole world, for the laws: which runs there are and what their
// ranks did, what may have ended an attempt, which nodes can be reached. Judge gathers it;
// SecondLaws and RestLaws hold the product against it.
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

/// The ranks of an attempt, on all machines, ended ones as well.
std::vector<Rank*> ranksOf(const Machines& machines, const std::string& run, int attempt);

/// Resources that a run requests.
struct Terms {
    int parts = 1, ranks = 1;
    std::int64_t steps = 100, checkpointEvery = 10;
    int dataWorkers = 0;  ///< that its feed advises, and the most
    int dataWorkersLeast() const { return std::max(0, dataWorkers - 1); }
    int threads = 1;  ///< cores of each rank
    /// Cores that its part of that number takes of a node; of part 0 with its loader's thread, and
    /// on the head's machine with those kept for data workers.
    double cores(int part, bool isOnHead) const;
};

/// The observed state of a run.
struct Course {
    Terms terms;
    int attempt = 0;  ///< the latest; 0: none yet
    std::map<int, std::string> blamed;
    std::map<int, std::int64_t> resumedFrom;        ///< by attempt, once a rank of it has begun
    std::map<std::string, rank::Checkpoint> saved;  ///< by name
    std::set<std::int64_t> untold;       ///< steps of which a rank died before it told of them
    std::set<values::RunState> ends;     ///< that are well, beside finished
    std::int64_t queuedNs = 0;           ///< since when it waits in the queue
    std::int64_t completeNs = 0;         ///< when there were enough data workers, or no need
    std::int64_t toldNs = 0;             ///< when its ranks had few lines unacknowledged
    std::int64_t movedNs = 0;            ///< when it got on, or need not
    std::int64_t runsNs = 0;             ///< when it was running, or not all of its ranks trained
    std::int64_t stoppedNs = INT64_MAX;  ///< when a user stopped it
    std::int64_t stopByNs = INT64_MAX;   ///< when a stop's grace is over
    std::int64_t roomyNs = 0;            ///< when there was room for it, or it waited in the queue
    std::int64_t overNs = 0;             ///< when it was under way, or no rank of it lived
    std::size_t numLate = 0;             ///< checkpoints that came after its end
    int resumeJudged = 0;                ///< the latest attempt whose resumed step was judged
    bool isWaiting = true;               ///< in the queue
    bool isRemoved = false;              ///< a user deleted it
    bool isPurged = false;               ///< for good
};

struct Evidence {
    // From then on an agent that could not be reached has come back, heard what is to end, and
    // ended it.
    static constexpr std::int64_t kReachedNs = 5 * kSecond;

    /// `machines`: the head's first.
    Evidence(World& world, const Machines& machines, bool trainsHere);

    std::int64_t nowNs() const { return world.nowNs(); }
    bool isReached(const Machine& machine) const;
    /// Whether nothing is wrong with any machine, and was not a moment ago.
    bool isCalm() const;
    double coresTaken(const Machine& machine, const std::string& butRun) const;
    /// Whether its parts fit on the nodes beside the runs that are there.
    bool hasRoom(const std::string& run) const;
    /// A law did not hold.
    void wrong(const std::string& what);
    void wrongOf(const std::string& run, const std::string& what);

    World& world;
    const Machines& machines;
    const bool trainsHere;
    std::map<std::string, Course> courses;  ///< by run
    std::vector<std::int64_t> apartNs;      ///< when each machine and the head were apart last
    std::int64_t hungUntilNs = 0;
    std::int64_t excusedNs = 0, troubledNs = 0;
    std::set<std::int64_t> refused;  ///< steps whose metrics the store cannot take
    bool isDiskTrusted = true;       ///< no machine's disk failed or forgot
    std::vector<std::string> problems;
};

}  // namespace millrace::sim

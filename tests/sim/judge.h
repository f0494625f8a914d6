#pragma once
// Judge: whether what the product does fits what is true of the whole world (README.md's laws). It
// knows why each attempt may end: a rank was killed, a node was away, a user stopped it.
//
// Threads: one.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backend/runs/run_store.h"
#include "tests/sim/rank.h"

namespace millrace::sim {

/// The ranks of an attempt, on all machines, ended ones as well.
std::vector<Rank*> ranksOf(const Machines& machines, const std::string& run, int attempt);

/// What a run asks for.
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

class Judge {
 public:
    // From then on an agent that could not be reached has come back, heard what is to end, and
    // ended it.
    static constexpr std::int64_t kReachedNs = 5 * kSecond;

    /// `machines`: the head's first.
    Judge(World& world, const Machines& machines, bool trainsHere);

    void submitted(const std::string& run, const Terms& terms);
    bool knows(const std::string& run) const { return courses_.contains(run); }
    const Terms& termsOf(const std::string& run) const { return courses_.at(run).terms; }

    // Causes.
    /// All runs that are under way.
    void blame(const std::string& why);
    void blame(const std::string& run, const std::string& why);
    /// A rank is killed, and with it what it has not told.
    void rankKilled(const Rank& rank);
    /// A machine is about to lose all its processes.
    void losesPower(const Machine& machine);
    /// A rank ended by itself, as a collective fails.
    void rankFailed(const Rank& rank);
    /// A user stopped it; its ranks are to end within the grace.
    void stopped(const std::string& run, std::int64_t graceNs);
    /// A user resumed it: it waits again, behind all others.
    void resumed(const std::string& run);
    /// It may end so.
    void mayEnd(const std::string& run, values::RunState state);
    /// Something may stand still for that long, as a fault says.
    void excuse(std::int64_t ns);
    /// A rank takes no notice of a stop for that long.
    void hangs(std::int64_t ns);
    /// After each event: which nodes the head cannot reach.
    void look();

    // Deeds.
    /// A gang begins on that machine: the attempt before it is over.
    void placed(const std::string& gang, const Machine& machine);
    /// The head ends a gang, or a part of one.
    void cancelled(const std::string& gang, const std::string& why);
    void beginsStep(const Rank& rank);
    /// It has ended its last step and leaves.
    void leaves(const Rank& rank);
    /// It has written a checkpoint, which it tells of.
    void saved(const Rank& rank, const rank::Checkpoint& checkpoint);

    // Each second; null: there is no head.
    void check(const runs::RunStore* store);
    /// At rest.
    void checkEnd(runs::RunStore& store, const std::string& headRoot);

    bool isCalmSince(std::int64_t ns) const { return troubledNs_ < ns; }
    void wrong(const std::string& what);
    const std::vector<std::string>& problems() const { return problems_; }
    /// The latest of a run; 0: none yet.
    int attemptOf(const std::string& run) const { return courses_.at(run).attempt; }

 private:
    /// What is known of a run.
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
        std::int64_t stoppedNs = INT64_MAX;  ///< when a user stopped it
        std::int64_t stopByNs = INT64_MAX;   ///< when a stop's grace is over
        std::int64_t roomyNs = 0;  ///< when there was room for it, or it waited in the queue
        std::int64_t overNs = 0;   ///< when it was under way, or no rank of it lived
        bool isWaiting = true;     ///< in the queue
    };
    using Courses = std::map<std::string, Course>;

    /// Another machine's agent has the same name.
    bool hasRival(const Machine& machine) const;
    /// Of the run's latest attempt, or may get some: not all of its parts have been placed.
    bool mayHaveRanks(const std::string& run, const Machine& machine) const;
    /// Whether nothing is wrong with any machine, and was not a moment ago.
    bool isCalm() const;
    bool isReached(const Machine& machine) const;
    double coresTaken(const Machine& machine, const std::string& butRun) const;
    bool hasRoom(const std::string& run) const;
    void checkNumber(const std::string& gang, const Machine& machine);
    void checkTaken(const Machine& machine);
    void checkTurn(const std::string& run);
    void countDataWorkers(const std::string& run, Course& course);
    void checkBegun(const runs::RunStore& store, const std::string& run);
    void checkMoves(const runs::RunStore& store, const std::string& run, Course& course);
    void checkOver(const runs::RunStore& store, const std::string& run, Course& course);
    void checkPlace(const runs::RunRecord& record, Course& course);
    void checkLeft();
    void checkStop(const std::string& run, Course& course);
    void checkMetrics(runs::RunStore& store, const std::string& run);
    void checkRecord(runs::RunStore& store, const runs::RunRecord& run);
    void checkAttempts(runs::RunStore& store, const std::string& run);
    void checkCheckpoints(runs::RunStore& store, const std::string& run, const std::string& root);
    void wrongOf(const std::string& run, const std::string& what);

    World& world_;
    const Machines& machines_;
    const bool trainsHere_;
    Courses courses_;  ///< by run
    /// By machine: since when its agent and the head are apart; -1: they are not.
    std::vector<std::int64_t> apartSinceNs_;
    std::vector<std::int64_t> apartNs_;  ///< when they were so last
    std::vector<std::int64_t> leftNs_;   ///< since when it is to be empty and can be
    std::int64_t hungUntilNs_ = 0;
    std::int64_t excusedNs_ = 0, troubledNs_ = 0;
    bool isDiskTrusted_ = true;  ///< no machine's disk failed or forgot
    std::vector<std::string> problems_;
};

}  // namespace millrace::sim

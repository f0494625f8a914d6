#pragma once
// Judge: whether what the product does fits what is true of the whole world (README.md's laws). It
// knows why each attempt may end: a rank was killed, a node was away, a user stopped it.
//
// Threads: one.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backend/runs/run_store.h"
#include "tests/sim/rank.h"

namespace millrace::sim {

/// The ranks of an attempt, on all machines, ended ones as well.
std::vector<Rank*> ranksOf(const Machines& machines, const std::string& run, int attempt);

class Judge {
 public:
    /// `machines`: the head's first.
    Judge(World& world, const Machines& machines, bool trainsHere, int numParts);

    // Causes.
    void blame(const std::string& why);
    /// A rank is killed, and with it what it has not told.
    void rankKilled(const Rank& rank);
    /// A machine is about to lose all its processes.
    void losesPower(const Machine& machine);
    /// A rank ended by itself, as a collective fails.
    void rankFailed(const Rank& rank);
    /// After each event: which nodes the head cannot reach.
    void look();
    /// Each second: whether the run has the data workers that it is to have.
    void countDataWorkers(int wanted);

    // Deeds.
    /// A gang begins on that machine: the attempt before it is over.
    void placed(const std::string& gang, const Machine& machine);
    /// The head ends a gang, or a part of one.
    void cancelled(const std::string& gang, const std::string& why);
    void beginsStep(const Rank& rank);
    /// Each second: whether an attempt counts as begun before a rank of it has worked, which cuts
    /// what the one before it told.
    void checkBegun(const runs::RunStore& store, const std::string& run);
    /// At rest.
    void checkEnd(runs::RunStore& store, const std::string& run, std::int64_t steps);

    void wrong(const std::string& what);
    const std::vector<std::string>& problems() const { return problems_; }
    /// The latest; 0: none yet.
    int attempt() const { return attempt_; }

 private:
    /// Another machine's agent has the same name.
    bool hasRival(const Machine& machine) const;
    /// Of the latest attempt, or may get some: not all of its parts have been placed.
    bool mayHaveRanks(const Machine& machine) const;

    World& world_;
    const Machines& machines_;
    const bool trainsHere_;
    const int numParts_;
    int attempt_ = 0;
    std::map<int, std::string> blamed_;  ///< by attempt
    /// By machine: since when its agent and the head are apart; -1: they are not.
    std::vector<std::int64_t> apartSinceNs_;
    std::vector<std::int64_t> apartNs_;  ///< when they were so last
    std::int64_t completeNs_ = 0;        ///< when there were enough data workers, or no need
    std::set<std::int64_t> untold_;      ///< steps of which a rank died before it told of them
    std::vector<std::string> problems_;
};

}  // namespace millrace::sim

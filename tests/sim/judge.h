#pragma once
// Judge: checks that the product acts according to the state of the whole world (the laws in
// README.md). It knows why each attempt may end: a rank was killed, a node was away, a user stopped
// the run.
//
// Threads: one.
#include <string>
#include <vector>

#include "backend/runs/run_store.h"
#include "tests/sim/evidence.h"
#include "tests/sim/rest_laws.h"
#include "tests/sim/second_laws.h"

namespace millrace::sim {

class Judge {
 public:
    /// `machines`: the head's machine is the first.
    Judge(World& world, const Machines& machines, bool trainsHere);

    void submitted(const std::string& run, const Terms& terms);
    bool knows(const std::string& run) const { return seen_.courses.contains(run); }
    const Terms& termsOf(const std::string& run) const { return seen_.courses.at(run).terms; }

    // Causes.
    /// Blames all runs that are under way.
    void blame(const std::string& why);
    void blame(const std::string& run, const std::string& why);
    /// A rank is killed; the lines that it has not sent are lost.
    void rankKilled(const Rank& rank);
    /// A machine is about to lose all its processes.
    void losesPower(const Machine& machine);
    /// A rank ended by itself, as a collective fails.
    void rankFailed(const Rank& rank);
    /// A user stopped the run; its ranks must end within the grace period.
    void stopped(const std::string& run, std::int64_t graceNs);
    /// A user resumed the run: it waits again, behind all others.
    void resumed(const std::string& run);
    /// A user deleted the run, maybe for good.
    void removed(const std::string& run, bool isForGood);
    void restored(const std::string& run) { seen_.courses.at(run).isRemoved = false; }
    bool isRemoved(const std::string& run) const { return seen_.courses.at(run).isRemoved; }
    /// The run may end in this state.
    void mayEnd(const std::string& run, values::RunState state);
    /// Nothing needs to make progress for that long, because of a fault.
    void excuse(std::int64_t ns);
    /// The store cannot take the metrics of these steps, of any run.
    void refused(std::int64_t first, std::int64_t last);
    /// A node handed over a checkpoint after the run's end; nothing removes it any more.
    void cameLate(const std::string& run) { ++seen_.courses[run].numLate; }
    /// A rank ignores stops for that long.
    void hangs(std::int64_t ns);
    /// Called after each event: notes which nodes the head cannot reach.
    void look();

    // Deeds.
    /// A gang begins on that machine, so the earlier attempt is over.
    void placed(const std::string& gang, const Machine& machine);
    /// The head ends a gang, or a part of one.
    void cancelled(const std::string& gang, const std::string& why);
    void beginsStep(const Rank& rank);
    /// The rank has ended its last step and leaves.
    void leaves(const Rank& rank);
    /// The rank has written a checkpoint and reports it.
    void saved(const Rank& rank, const rank::Checkpoint& checkpoint);

    /// Called each second. `store` is null while there is no head.
    void check(const runs::RunStore* store) { laws_.check(store); }
    /// Called at the end, when nothing happens any more.
    void checkEnd(runs::RunStore& store, const std::string& headRoot) {
        seen_.machines.front()->disk.failNone();  // the judge's own calls
        RestLaws(seen_, store).check(headRoot);
    }

    /// A user stopped the run and has not resumed it.
    bool isStopped(const std::string& run) const {
        return seen_.courses.at(run).stoppedNs != INT64_MAX;
    }
    bool isCalmSince(std::int64_t ns) const { return seen_.troubledNs < ns; }
    void wrong(const std::string& what) { seen_.wrong(what); }
    const std::vector<std::string>& problems() const { return seen_.problems; }
    /// The latest attempt of a run; 0: none yet.
    int attemptOf(const std::string& run) const { return seen_.courses.at(run).attempt; }

 private:
    /// Whether another machine's agent has the same name.
    bool hasRival(const Machine& machine) const;
    /// Whether the machine has ranks of the run's latest attempt, or may still get some because not
    /// all of its parts have been placed.
    bool mayHaveRanks(const std::string& run, const Machine& machine) const;
    void checkNumber(const std::string& gang, const Machine& machine);

    Evidence seen_;
    SecondLaws laws_{seen_};
    /// For each machine, the time since which its agent and the head are apart; -1: they are not.
    std::vector<std::int64_t> apartSinceNs_;
    std::vector<std::int64_t>
        lostNs_;  ///< when each was last away for so long that it counts as lost
};

}  // namespace millrace::sim

#include "tests/sim/judge.h"

#include <algorithm>

namespace millrace::sim {
namespace {

constexpr std::int64_t kAwayNs = 20 * kSecond;  // as --node-away
// From then on an agent that could not be reached has come back, heard what is to end, and ended
// it.
constexpr std::int64_t kReachedNs = 5 * kSecond;
// From a data worker's end, or its attempt's beginning, to another one.
constexpr std::int64_t kCrewNs = 10 * kSecond;

bool isLiving(const SimGang& gang) {
    return std::any_of(gang.workers.begin(), gang.workers.end(),
                       [](const auto& worker) { return !worker->state.exitCode.has_value(); });
}

}  // namespace

std::vector<Rank*> ranksOf(const Machines& machines, const std::string& run, int attempt) {
    std::vector<Rank*> found;
    for (const auto& machine : machines) {
        for (auto& [key, gang] : machine->gangs) {
            for (auto& worker : gang.workers) {
                if (auto* rank = dynamic_cast<Rank*>(worker.get());
                    rank != nullptr && rank->run() == run && rank->attempt() == attempt) {
                    found.push_back(rank);
                }
            }
        }
    }
    return found;
}

Judge::Judge(World& world, const Machines& machines, bool trainsHere, int numParts)
    : world_(world),
      machines_(machines),
      trainsHere_(trainsHere),
      numParts_(numParts),
      apartSinceNs_(machines.size(), -1),
      apartNs_(machines.size(), -kReachedNs) {}

void Judge::wrong(const std::string& what) {
    problems_.push_back(what);
    world_.tell("WRONG: " + what);
}

void Judge::blame(const std::string& why) {
    world_.tell(strCat("attempt ", attempt_, " may end: ", why));
    blamed_.try_emplace(attempt_, why);
}

void Judge::rankKilled(const Rank& rank) {
    blame("a rank was killed");
    const auto steps = rank.untold();
    untold_.insert(steps.begin(), steps.end());
}

void Judge::losesPower(const Machine& machine) {
    if (mayHaveRanks(machine)) {
        blame(machine.name + " lost its power");
    }
    for (const auto& [key, gang] : machine.gangs) {
        for (const auto& worker : gang.workers) {
            const auto* rank = dynamic_cast<const Rank*>(worker.get());
            if (rank != nullptr && !rank->state.exitCode.has_value()) {
                rankKilled(*rank);
            }
        }
    }
}

void Judge::rankFailed(const Rank& rank) {
    if (rank.attempt() == attempt_ && !blamed_.contains(attempt_)) {
        blame(strCat("rank", rank.state.rank, " failed, for another has gone"));
    }
}

void Judge::look() {
    for (std::size_t i = 1; i < machines_.size(); ++i) {
        const Machine& machine = *machines_[i];
        if (machine.isToBeLeft && !blamed_.contains(attempt_) && mayHaveRanks(machine)) {
            blame(machine.name + " is to be left");
        }
        if (!machine.hasBegun) {
            continue;
        }
        const bool isApart = !machine.cable.isWhole() || !machine.agent.isAlive() ||
                             machine.agent.isStopped() || hasRival(machine) ||
                             machine.build != machines_.front()->program;
        if (!isApart) {
            apartSinceNs_[i] = -1;
            continue;
        }
        apartNs_[i] = world_.nowNs();
        if (apartSinceNs_[i] < 0) {
            apartSinceNs_[i] = world_.nowNs();
        }
        // Less what is left of a turn of the agent and of the head.
        if (world_.nowNs() - apartSinceNs_[i] >= kAwayNs - 2 * kSecond &&
            !blamed_.contains(attempt_)) {
            blame(strCat(machine.name, " was away for ", kAwayNs / kSecond, " s"));
        }
    }
}

bool Judge::hasRival(const Machine& machine) const {
    return std::any_of(machines_.begin(), machines_.end(), [&](const auto& other) {
        return other.get() != &machine && other->agent.isAlive() &&
               other->nodeName == machine.nodeName;
    });
}

bool Judge::mayHaveRanks(const Machine& machine) const {
    const auto isOfAttempt = [&](const auto& one) {
        const std::string& key = one.first;
        return !agent::DataWorkerName::parse(key).has_value() &&
               std::stoi(key.substr(key.rfind(".a") + 2)) == attempt_;
    };
    int numPlaced = 0;
    for (const auto& one : machines_) {
        numPlaced +=
            static_cast<int>(std::count_if(one->gangs.begin(), one->gangs.end(), isOfAttempt));
    }
    return numPlaced < numParts_ ||
           std::any_of(machine.gangs.begin(), machine.gangs.end(), isOfAttempt);
}

void Judge::placed(const std::string& gang, const Machine& machine) {
    if (!trainsHere_ && machine.number == 0) {
        wrong(strCat(gang, " begins on the head's machine, which does not train"));
    }
    for (const auto& other : machines_) {
        const auto same = other->gangs.find(gang);
        if (other.get() != &machine && same != other->gangs.end() && isLiving(same->second)) {
            wrong(strCat(gang, " begins on ", machine.name, " and lives on ", other->name));
        }
    }
    const std::string rest = gang.substr(gang.rfind(".a") + 2);
    if (rest.find('.') != std::string::npos) {
        return;
    }
    if (attempt_ > 0 && !blamed_.contains(attempt_)) {
        wrong(strCat("attempt ", attempt_, " ended without a cause"));
    }
    // One between them may have been stopped before it was placed.
    attempt_ = std::stoi(rest);
}

void Judge::cancelled(const std::string& gang, const std::string& why) {
    const std::size_t at = gang.rfind(".a");
    const int attempt = std::stoi(gang.substr(at + 2));
    if (agent::DataWorkerName::parse(gang).has_value()) {
        return;
    }
    const std::vector<Rank*> ranks = ranksOf(machines_, gang.substr(0, at), attempt);
    const bool areDone = std::all_of(ranks.begin(), ranks.end(),
                                     [](const Rank* rank) { return rank->state.exitCode == 0; });
    if (attempt == attempt_ && !areDone && !blamed_.contains(attempt)) {
        wrong(strCat("attempt ", attempt, " is ended without a cause: ", why));
    }
}

// When a node counts as lost, its data workers start on another one.
void Judge::countDataWorkers(int wanted) {
    const bool isWell = std::all_of(machines_.begin(), machines_.end(), [this](const auto& one) {
        const auto i = static_cast<std::size_t>(one->number);
        const bool isApart = i > 0 && one->hasBegun && world_.nowNs() - apartNs_[i] < kReachedNs;
        return !one->isToBeLeft && !isApart && one->disk.isWell() && one->startsNs == 0 &&
               one->busyNs == 0;
    });
    int numLiving = 0, numWorking = 0;
    for (const auto& machine : machines_) {
        for (const auto& [key, gang] : machine->gangs) {
            const auto name = agent::DataWorkerName::parse(key);
            const bool counts = isLiving(gang) && gang.state.cause == engines::Cause::kNone;
            numLiving += name.has_value() && counts && name->attempt == attempt_ ? 1 : 0;
            numWorking += !name.has_value() && counts ? 1 : 0;
        }
    }
    const bool isTraining = machines_.front()->agent.isAlive() &&
                            !machines_.front()->agent.isStopped() && numWorking == numParts_;
    if (!isWell || !isTraining || numLiving == wanted) {
        completeNs_ = world_.nowNs();
    } else if (world_.nowNs() - completeNs_ > kCrewNs) {
        completeNs_ = world_.nowNs();
        wrong(strCat(numLiving, " data workers of ", wanted, " for ", kCrewNs / kSecond, " s"));
    }
}

// Never two attempts that could both commit; an agent that cannot be reached cannot end the old
// one.
void Judge::beginsStep(const Rank& rank) {
    for (int attempt = rank.attempt() + 1; attempt <= attempt_; ++attempt) {
        for (const Rank* other : ranksOf(machines_, rank.run(), attempt)) {
            const auto machine = static_cast<std::size_t>(rank.machine.number);
            const bool isReached = world_.nowNs() - apartNs_[machine] >= kReachedNs;
            if (other->begun() > other->resumedFrom() && isReached) {
                return wrong(strCat("attempt ", rank.attempt(), " takes steps on ",
                                    rank.machine.name, " beside attempt ", attempt));
            }
        }
    }
}

void Judge::checkBegun(const runs::RunStore& store, const std::string& run) {
    const auto attempts = store.attempts(run);
    if (!attempts.ok() || attempts->empty() || !attempts->back().hasBegun) {
        return;
    }
    const std::vector<Rank*> ranks = ranksOf(machines_, run, attempts->back().attempt);
    if (std::none_of(ranks.begin(), ranks.end(),
                     [](const Rank* rank) { return rank->begun() > rank->resumedFrom(); })) {
        wrong(strCat("attempt ", attempts->back().attempt,
                     " has begun, and no rank of it has taken a step"));
    }
}

void Judge::checkEnd(runs::RunStore& store, const std::string& id, std::int64_t steps) {
    const runs::RunRecord run = *store.get(id);
    if (run.state != values::RunState::kFinished) {
        return wrong(strCat("the run is ", values::nameOf(run.state), ": ", run.exitReason));
    }
    const auto losses = store.metrics(id, "loss", {.maxPoints = 0});
    INVARIANT(losses.ok(), "the store is read");
    std::int64_t step = 0;
    for (const auto& point : losses->points) {
        for (++step; point.step != step && untold_.contains(step); ++step) {
        }
        if (point.step != step || point.value != lossOf(point.step)) {
            return wrong(
                strCat("the points of loss: step ", point.step, " in the place of ", step));
        }
    }
    if (step != steps) {
        wrong(strCat("the points of loss end at step ", step, " of ", steps));
    }
}

}  // namespace millrace::sim

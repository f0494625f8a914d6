#include "tests/sim/judge.h"

#include <algorithm>

#include "backend/job/attempt_paths.h"

namespace millrace::sim {
namespace {

constexpr std::int64_t kAwayNs = 20 * kSecond;  // as --node-away

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

double Terms::cores(int part, bool isOnHead) const {
    return threads * ranks / parts + (part == 0 ? 1 + (isOnHead ? dataWorkersLeast() : 0) : 0);
}

Judge::Judge(World& world, const Machines& machines, bool trainsHere)
    : world_(world),
      machines_(machines),
      trainsHere_(trainsHere),
      apartSinceNs_(machines.size(), -1),
      apartNs_(machines.size(), -kReachedNs),
      leftNs_(machines.size(), 0) {}

void Judge::submitted(const std::string& run, const Terms& terms) {
    Course& course = courses_[run];
    course.terms = terms;
    course.queuedNs = course.movedNs = world_.nowNs();
}

void Judge::wrong(const std::string& what) {
    problems_.push_back(what);
    world_.tell("WRONG: " + what);
}

// Where there is one run alone its name says nothing.
void Judge::wrongOf(const std::string& run, const std::string& what) {
    const auto number = std::distance(courses_.begin(), courses_.find(run));
    wrong(courses_.size() == 1 ? what : strCat(what, " (run ", number + 1, " by name)"));
}

void Judge::blame(const std::string& why) {
    for (const auto& [run, course] : courses_) {
        blame(run, why);
    }
}

void Judge::blame(const std::string& run, const std::string& why) {
    Course& course = courses_.at(run);
    if (course.blamed.try_emplace(course.attempt, why).second) {
        world_.tell(strCat(run, ".a", course.attempt, " may end: ", why));
    }
}

void Judge::rankKilled(const Rank& rank) {
    blame(rank.run(), "a rank was killed");
    const auto steps = rank.untold();
    courses_.at(rank.run()).untold.insert(steps.begin(), steps.end());
}

void Judge::losesPower(const Machine& machine) {
    isDiskTrusted_ = false;
    for (const auto& [run, course] : courses_) {
        if (mayHaveRanks(run, machine)) {
            blame(run, machine.name + " lost its power");
        }
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
    if (rank.attempt() == courses_.at(rank.run()).attempt) {
        blame(rank.run(), strCat("rank", rank.state.rank, " failed, for another has gone"));
    }
}

void Judge::stopped(const std::string& run, std::int64_t graceNs) {
    blame(run, "it was stopped");
    Course& course = courses_.at(run);
    course.stoppedNs = std::min(course.stoppedNs, world_.nowNs());
    course.stopByNs = std::min(course.stopByNs, world_.nowNs() + graceNs);
}

void Judge::resumed(const std::string& run) {
    Course& course = courses_.at(run);
    course.queuedNs = course.movedNs = world_.nowNs();
    course.stopByNs = course.stoppedNs = INT64_MAX;
    course.isWaiting = true;
}

void Judge::mayEnd(const std::string& run, values::RunState state) {
    courses_.at(run).ends.insert(state);
}

void Judge::excuse(std::int64_t ns) {
    excusedNs_ = std::max(excusedNs_, world_.nowNs() + ns);
}

void Judge::hangs(std::int64_t ns) {
    hungUntilNs_ = std::max(hungUntilNs_, world_.nowNs() + ns);
}

void Judge::look() {
    for (std::size_t i = 0; i < machines_.size(); ++i) {
        const Machine& machine = *machines_[i];
        isDiskTrusted_ = isDiskTrusted_ && machine.disk.isWell();
        for (const auto& [run, course] : courses_) {
            if (machine.isToBeLeft && !course.blamed.contains(course.attempt) &&
                mayHaveRanks(run, machine)) {
                blame(run, machine.name + " is to be left");
            }
        }
        if (i == 0 || !machine.hasBegun) {
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
        if (world_.nowNs() - apartSinceNs_[i] >= kAwayNs - 2 * kSecond) {
            blame(strCat(machine.name, " was away for ", kAwayNs / kSecond, " s"));
        }
    }
}

bool Judge::hasRival(const Machine& machine) const {
    const Machine& twin = *machines_.back();  // the only one that has another's name
    return twin.nodeName != twin.name &&
           std::any_of(machines_.begin(), machines_.end(), [&](const auto& other) {
               return other.get() != &machine && other->agent.isAlive() &&
                      other->nodeName == machine.nodeName;
           });
}

bool Judge::mayHaveRanks(const std::string& run, const Machine& machine) const {
    const Course& course = courses_.at(run);
    const auto isOfAttempt = [&](const auto& one) {
        const auto name = agent::PartName::parse(one.first);
        return name.has_value() && name->run == run && name->attempt == course.attempt;
    };
    int numPlaced = 0;
    for (const auto& one : machines_) {
        numPlaced +=
            static_cast<int>(std::count_if(one->gangs.begin(), one->gangs.end(), isOfAttempt));
    }
    return numPlaced < course.terms.parts ||
           std::any_of(machine.gangs.begin(), machine.gangs.end(), isOfAttempt);
}

void Judge::placed(const std::string& gang, const Machine& machine) {
    const auto owner = job::ownerOf(gang);
    if (!owner.has_value() || !courses_.contains(owner->run)) {
        return;  // of a run that nobody knows
    }
    if (!trainsHere_ && machine.number == 0) {
        wrong(strCat(gang, " begins on the head's machine, which does not train"));
    }
    for (const auto& other : machines_) {
        const auto same = other->gangs.find(gang);
        if (other.get() != &machine && same != other->gangs.end() && same->second.hasLiving()) {
            wrong(strCat(gang, " begins on ", machine.name, " and lives on ", other->name));
        }
    }
    const auto name = agent::PartName::parse(gang);
    if (!name.has_value()) {
        return checkNumber(gang, machine);
    }
    Course& course = courses_.at(name->run);
    course.movedNs = world_.nowNs();
    if (name->part == 0) {
        if (course.attempt > 0 && course.attempt != name->attempt &&
            !course.blamed.contains(course.attempt)) {
            wrongOf(name->run, strCat("attempt ", course.attempt, " ended without a cause"));
        }
        checkTurn(name->run);
        course.isWaiting = false;
        // One between them may have been stopped before it was placed.
        course.attempt = name->attempt;
    }
    checkTaken(machine);
}

// Each data worker has a number of its own.
void Judge::checkNumber(const std::string& gang, const Machine& machine) {
    for (const auto& other : machines_) {
        if (other.get() != &machine && other->gangs.contains(gang)) {
            wrong(strCat(gang, " begins on ", machine.name, " and was on ", other->name));
        }
    }
}

void Judge::cancelled(const std::string& gang, const std::string& why) {
    const auto name = agent::PartName::parse(gang);
    if (!name.has_value() || !courses_.contains(name->run)) {
        return;
    }
    const Course& course = courses_.at(name->run);
    const std::vector<Rank*> ranks = ranksOf(machines_, name->run, name->attempt);
    const bool areDone = std::all_of(ranks.begin(), ranks.end(),
                                     [](const Rank* rank) { return rank->state.exitCode == 0; });
    if (name->attempt == course.attempt && !areDone && !course.blamed.contains(name->attempt)) {
        wrongOf(name->run, strCat("attempt ", name->attempt, " is ended without a cause: ", why));
    }
}

bool Judge::isReached(const Machine& machine) const {
    return world_.nowNs() - apartNs_[static_cast<std::size_t>(machine.number)] >= kReachedNs;
}

// Never two attempts that could both commit; an agent that cannot be reached cannot end the old
// one.
void Judge::beginsStep(const Rank& rank) {
    Course& course = courses_.at(rank.run());
    course.movedNs = world_.nowNs();
    course.resumedFrom[rank.attempt()] = rank.resumedFrom();
    for (int attempt = rank.attempt() + 1; attempt <= course.attempt; ++attempt) {
        for (const Rank* other : ranksOf(machines_, rank.run(), attempt)) {
            if (other->begun() > other->resumedFrom() && isReached(rank.machine)) {
                return wrongOf(rank.run(), strCat("attempt ", rank.attempt(), " takes steps on ",
                                                  rank.machine.name, " beside attempt ", attempt));
            }
        }
    }
}

// All ranks of an attempt stop behind one step: else one waits for another that has left.
void Judge::leaves(const Rank& rank) {
    for (const Rank* other : ranksOf(machines_, rank.run(), rank.attempt())) {
        if (other->begun() > rank.begun()) {
            wrongOf(rank.run(),
                    strCat("rank", rank.state.rank, " leaves behind step ", rank.begun(),
                           ", and rank", other->state.rank, " is at step ", other->begun()));
        }
    }
}

void Judge::saved(const Rank& rank, const rank::Checkpoint& checkpoint) {
    courses_.at(rank.run()).saved[checkpoint.name] = checkpoint;
}

}  // namespace millrace::sim

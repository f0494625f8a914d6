#include "tests/sim/judge.h"

#include <algorithm>

#include "backend/job/attempt_paths.h"

namespace millrace::sim {
namespace {

constexpr std::int64_t kAwayNs = 20 * kSecond;  // the default of --node-away

}  // namespace

Judge::Judge(World& world, const Machines& machines, bool trainsHere)
    : seen_(world, machines, trainsHere),
      apartSinceNs_(machines.size(), -1),
      lostNs_(machines.size(), INT64_MIN / 2) {}

void Judge::submitted(const std::string& run, const Terms& terms) {
    Course& course = seen_.courses[run];
    course.terms = terms;
    course.queuedNs = course.movedNs = seen_.nowNs();
}

void Judge::blame(const std::string& why) {
    for (const auto& [run, course] : seen_.courses) {
        blame(run, why);
    }
}

void Judge::blame(const std::string& run, const std::string& why) {
    Course& course = seen_.courses.at(run);
    if (course.blamed.try_emplace(course.attempt, why).second) {
        seen_.world.tell(strCat(run, ".a", course.attempt, " may end: ", why));
    }
}

void Judge::rankKilled(const Rank& rank) {
    blame(rank.run(), "a rank was killed");
    const auto steps = rank.untold();
    seen_.courses.at(rank.run()).untold.insert(steps.begin(), steps.end());
}

void Judge::losesPower(const Machine& machine) {
    seen_.isDiskTrusted = false;
    for (const auto& [run, course] : seen_.courses) {
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
    if (rank.attempt() == seen_.courses.at(rank.run()).attempt) {
        blame(rank.run(), strCat("rank", rank.state.rank, " failed, for another has gone"));
    }
}

void Judge::stopped(const std::string& run, std::int64_t graceNs) {
    blame(run, "it was stopped");
    Course& course = seen_.courses.at(run);
    course.stoppedNs = std::min(course.stoppedNs, seen_.nowNs());
    course.stopByNs = std::min(course.stopByNs, seen_.nowNs() + graceNs);
}

void Judge::resumed(const std::string& run) {
    Course& course = seen_.courses.at(run);
    course.queuedNs = course.movedNs = seen_.nowNs();
    course.stopByNs = course.stoppedNs = INT64_MAX;
    course.ends.erase(values::RunState::kCancelled);
    course.isWaiting = true;
}

void Judge::removed(const std::string& run, bool isForGood) {
    Course& course = seen_.courses.at(run);
    course.isRemoved = true;
    course.isPurged = course.isPurged || isForGood;
    course.isWaiting = false;
}

void Judge::mayEnd(const std::string& run, values::RunState state) {
    seen_.courses.at(run).ends.insert(state);
}

void Judge::excuse(std::int64_t ns) {
    seen_.excusedNs = std::max(seen_.excusedNs, seen_.nowNs() + ns);
}

void Judge::refused(std::int64_t first, std::int64_t last) {
    seen_.world.tell(strCat("the store refuses steps ", first, " to ", last));
    for (std::int64_t step = first; step <= last; ++step) {
        seen_.refused.insert(step);
    }
}

void Judge::hangs(std::int64_t ns) {
    seen_.hungUntilNs = std::max(seen_.hungUntilNs, seen_.nowNs() + ns);
}

void Judge::look() {
    for (std::size_t i = 0; i < seen_.machines.size(); ++i) {
        const Machine& machine = *seen_.machines[i];
        seen_.isDiskTrusted = seen_.isDiskTrusted && machine.disk.isWell();
        for (auto& [run, course] : seen_.courses) {
            if (machine.isToBeLeft && !course.blamed.contains(course.attempt) &&
                mayHaveRanks(run, machine)) {
                blame(run, machine.name + " is to be left");
                if (course.isWaiting) {  // the order to begin the next attempt may be on its way
                    course.blamed.try_emplace(course.attempt + 1, "a node is to be left");
                }
            }
        }
        if (i == 0 || !machine.hasBegun) {
            continue;
        }
        const bool isApart = !machine.cable.isWhole() || !machine.agent.isAlive() ||
                             machine.agent.isStopped() || hasRival(machine) ||
                             machine.build != seen_.machines.front()->program;
        if (!isApart) {
            apartSinceNs_[i] = -1;
            continue;
        }
        seen_.apartNs[i] = seen_.nowNs();
        if (apartSinceNs_[i] < 0) {
            apartSinceNs_[i] = seen_.nowNs();
        }
        // Two seconds less, for the rest of a turn of the agent and of the head.
        if (seen_.nowNs() - apartSinceNs_[i] >= kAwayNs - 2 * kSecond) {
            blame(strCat(machine.name, " was away for ", kAwayNs / kSecond, " s"));
            lostNs_[i] = seen_.nowNs();
        }
    }
}

bool Judge::hasRival(const Machine& machine) const {
    const Machine& twin = *seen_.machines.back();  // only its agent may have another's name
    return twin.nodeName != twin.name &&
           std::any_of(seen_.machines.begin(), seen_.machines.end(), [&](const auto& other) {
               return other.get() != &machine && other->agent.isAlive() &&
                      other->nodeName == machine.nodeName;
           });
}

bool Judge::mayHaveRanks(const std::string& run, const Machine& machine) const {
    const Course& course = seen_.courses.at(run);
    const auto isOfAttempt = [&](const auto& one) {
        const auto name = agent::PartName::parse(one.first);
        return name.has_value() && name->run == run && name->attempt == course.attempt;
    };
    int numPlaced = 0;
    for (const auto& one : seen_.machines) {
        numPlaced +=
            static_cast<int>(std::count_if(one->gangs.begin(), one->gangs.end(), isOfAttempt));
    }
    return numPlaced < course.terms.parts ||
           std::any_of(machine.gangs.begin(), machine.gangs.end(), isOfAttempt);
}

void Judge::placed(const std::string& gang, const Machine& machine) {
    const auto owner = job::ownerOf(gang);
    if (!owner.has_value() || !seen_.courses.contains(owner->run)) {
        return;  // a run that nobody knows
    }
    if (!seen_.trainsHere && machine.number == 0) {
        seen_.wrong(strCat(gang, " begins on the head's machine, which does not train"));
    }
    for (const auto& other : seen_.machines) {
        const auto same = other->gangs.find(gang);
        if (other.get() != &machine && same != other->gangs.end() && same->second.hasLiving()) {
            seen_.wrong(strCat(gang, " begins on ", machine.name, " and lives on ", other->name));
        }
    }
    const auto name = agent::PartName::parse(gang);
    if (!name.has_value()) {
        return checkNumber(gang, machine);
    }
    Course& course = seen_.courses.at(name->run);
    course.movedNs = seen_.nowNs();
    if (name->part == 0) {
        if (course.attempt > 0 && course.attempt != name->attempt &&
            !course.blamed.contains(course.attempt)) {
            seen_.wrongOf(name->run, strCat("attempt ", course.attempt, " ended without a cause"));
        }
        laws_.checkTurn(name->run);
        course.isWaiting = false;
        // An attempt between the two may have been stopped before it was placed.
        course.attempt = name->attempt;
        const std::int64_t lostNs = lostNs_[static_cast<std::size_t>(machine.number)];
        if (seen_.nowNs() - lostNs < Evidence::kReachedNs) {
            blame(name->run, machine.name + " was away after it was placed");
        }
    }
    laws_.checkTaken(machine);
}

// Each data worker has its own number.
void Judge::checkNumber(const std::string& gang, const Machine& machine) {
    for (const auto& other : seen_.machines) {
        if (other.get() != &machine && other->gangs.contains(gang)) {
            seen_.wrong(strCat(gang, " begins on ", machine.name, " and was on ", other->name));
        }
    }
}

void Judge::cancelled(const std::string& gang, const std::string& why) {
    const auto name = agent::PartName::parse(gang);
    if (!name.has_value() || !seen_.courses.contains(name->run)) {
        return;
    }
    const Course& course = seen_.courses.at(name->run);
    const std::vector<Rank*> ranks = ranksOf(seen_.machines, name->run, name->attempt);
    const bool areDone = std::all_of(ranks.begin(), ranks.end(),
                                     [](const Rank* rank) { return rank->state.exitCode == 0; });
    if (name->attempt == course.attempt && !areDone && !course.blamed.contains(name->attempt)) {
        seen_.wrongOf(name->run,
                      strCat("attempt ", name->attempt, " is ended without a cause: ", why));
    }
}

// Two attempts that could both commit must never run; an agent that cannot be reached cannot end
// the old attempt.
void Judge::beginsStep(const Rank& rank) {
    Course& course = seen_.courses.at(rank.run());
    course.movedNs = seen_.nowNs();
    course.resumedFrom[rank.attempt()] = rank.resumedFrom();
    for (int attempt = rank.attempt() + 1; attempt <= course.attempt; ++attempt) {
        for (const Rank* other : ranksOf(seen_.machines, rank.run(), attempt)) {
            if (other->begun() > other->resumedFrom() && seen_.isReached(rank.machine)) {
                return seen_.wrongOf(rank.run(),
                                     strCat("attempt ", rank.attempt(), " takes steps on ",
                                            rank.machine.name, " beside attempt ", attempt));
            }
        }
    }
}

// All ranks of an attempt stop after the same step; otherwise a rank would wait for one that has
// left.
void Judge::leaves(const Rank& rank) {
    for (const Rank* other : ranksOf(seen_.machines, rank.run(), rank.attempt())) {
        if (other->begun() > rank.begun()) {
            seen_.wrongOf(rank.run(),
                          strCat("rank", rank.state.rank, " leaves behind step ", rank.begun(),
                                 ", and rank", other->state.rank, " is at step ", other->begun()));
        }
    }
}

void Judge::saved(const Rank& rank, const rank::Checkpoint& checkpoint) {
    seen_.courses.at(rank.run()).saved[checkpoint.name] = checkpoint;
}

}  // namespace millrace::sim

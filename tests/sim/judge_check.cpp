// Judge, the laws that hold at each second: nodes are not given twice, runs start in turn and get
// on, a stop's grace is kept, data workers are there.
#include <algorithm>

#include "tests/sim/judge.h"
#include "tests/sim/sim_engine.h"

namespace millrace::sim {
namespace {

// From a data worker's end, or its attempt's beginning, to another one: the feed's advice is
// followed slowly.
constexpr std::int64_t kCrewNs = 20 * kSecond;
// From the last trouble to a step: the longest wait between two starts, and a start.
constexpr std::int64_t kMovesNs = 45 * kSecond;
// After trouble: how long what it caused may last.
constexpr std::int64_t kCalmNs = 15 * kSecond;
// Beyond a stop's grace: the forced end, the engines' and the agents' turns.
constexpr std::int64_t kStopNs = 10 * kSecond;
// From a node's drain to its last worker's end.
constexpr std::int64_t kLeftNs = 30 * kSecond;
// From a run's end to that of its ranks.
constexpr std::int64_t kOverNs = 10 * kSecond;
// Lines of a rank that are not acknowledged, and how long there may be more.
constexpr std::size_t kUntoldMost = 100;
constexpr std::int64_t kTellsNs = 5 * kSecond;

}  // namespace

bool Judge::isCalm() const {
    const Machine& head = *machines_.front();
    return head.agent.isAlive() && !head.agent.isStopped() &&
           std::all_of(machines_.begin(), machines_.end(), [this](const auto& one) {
               const bool isApart = one->number > 0 && one->hasBegun && !isReached(*one);
               return !isApart && !one->isToBeLeft && !one->isOff() && one->disk.isWell() &&
                      one->startsNs == 0 && one->busyNs == 0 &&
                      world_.nowNs() >= std::max(one->unreadableUntilNs, one->noTunnelUntilNs);
           });
}

double Judge::coresTaken(const Machine& machine, const std::string& butRun) const {
    double cores = 0;
    for (const auto& [key, gang] : machine.gangs) {
        const auto name = agent::PartName::parse(key);
        const auto course = name.has_value() ? courses_.find(name->run) : courses_.end();
        const bool counts = course != courses_.end() && name->run != butRun && gang.hasLiving() &&
                            gang.state.cause == engines::Cause::kNone &&
                            name->attempt == course->second.attempt &&
                            !course->second.blamed.contains(name->attempt);
        cores += counts ? course->second.terms.cores(name->part, machine.number == 0) : 0;
    }
    return cores;
}

void Judge::checkTaken(const Machine& machine) {
    if (const double cores = coresTaken(machine, ""); cores > kCores) {
        wrong(strCat(machine.name, " has ", kCores, " cores, and ", cores, " are taken"));
    }
}

// Whether its parts fit on the nodes beside the runs that are there.
bool Judge::hasRoom(const std::string& run) const {
    const Terms& terms = courses_.at(run).terms;
    int part = 0;
    for (const auto& machine : machines_) {
        const bool isHead = machine->number == 0;
        if (isHead ? !trainsHere_ : !machine->agent.isAlive()) {
            continue;
        }
        const bool fits =
            coresTaken(*machine, run) + terms.cores(part, isHead) <= kCores && part < terms.parts;
        if (isHead && !fits) {
            return false;
        }
        part += fits ? 1 : 0;
    }
    return part == terms.parts;
}

// A run does not start before one that asks for no more and waits for longer.
void Judge::checkTurn(const std::string& run) {
    const Course& course = courses_.at(run);
    if (!course.isWaiting || world_.nowNs() - troubledNs_ < kCalmNs) {
        return;
    }
    for (const auto& [id, other] : courses_) {
        const bool asksForMore = other.terms.parts > course.terms.parts ||
                                 other.terms.cores(0, true) > course.terms.cores(0, true) ||
                                 other.terms.cores(1, false) > course.terms.cores(1, false);
        if (other.isWaiting && !asksForMore && other.queuedNs + kSecond < course.queuedNs) {
            wrongOf(run, strCat("it starts before one that waits for longer"));
        }
    }
}

// When a node counts as lost, its data workers start on another one.
void Judge::countDataWorkers(const std::string& run, Course& course) {
    int numLiving = 0, numWorking = 0;
    for (const auto& machine : machines_) {
        for (const auto& [key, gang] : machine->gangs) {
            const auto data = agent::DataWorkerName::parse(key);
            const auto part = agent::PartName::parse(key);
            const bool counts = gang.hasLiving() && gang.state.cause == engines::Cause::kNone;
            const bool isData =
                data.has_value() && data->run == run && data->attempt == course.attempt;
            numLiving += counts && isData ? 1 : 0;
            numWorking += counts && part.has_value() && part->run == run ? 1 : 0;
        }
    }
    const bool isTraining = numWorking == course.terms.parts;
    if (!isCalm() || !isTraining || numLiving == course.terms.dataWorkers) {
        course.completeNs = world_.nowNs();
    } else if (world_.nowNs() - course.completeNs > kCrewNs) {
        course.completeNs = world_.nowNs();
        wrongOf(run, strCat(numLiving, " data workers of ", course.terms.dataWorkers, " for ",
                            kCrewNs / kSecond, " s"));
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
        wrongOf(run, strCat("attempt ", attempts->back().attempt,
                            " has begun, and no rank of it has taken a step"));
    }
}

// One that trains takes steps, and the one that is next starts where there is room.
void Judge::checkMoves(const runs::RunStore& store, const std::string& run, Course& course) {
    const Result<runs::RunRecord> record = store.get(run);
    const bool isOver = !record.ok() || values::isEnded(record->state);
    course.isWaiting = course.isWaiting && !isOver;
    bool mayMove = isCalm() && world_.nowNs() >= excusedNs_ && !isOver;
    if (course.isWaiting) {
        const bool isNext = std::all_of(courses_.begin(), courses_.end(), [&](const auto& other) {
            return !other.second.isWaiting || other.second.queuedNs >= course.queuedNs;
        });
        mayMove = mayMove && isNext && hasRoom(run);
    }
    if (!mayMove) {
        course.movedNs = world_.nowNs();
    } else if (world_.nowNs() - course.movedNs > kMovesNs) {
        course.movedNs = world_.nowNs();
        wrongOf(run, strCat("it is ", values::nameOf(record->state), " and does not get on"));
    }
    if (record.ok()) {
        checkPlace(*record, course);
    }
    const std::vector<Rank*> ranks = ranksOf(machines_, run, course.attempt);
    const bool isTold = std::all_of(ranks.begin(), ranks.end(), [](const Rank* rank) {
        return rank->state.exitCode.has_value() || rank->numUnacked() <= kUntoldMost;
    });
    if (isTold || !mayMove) {
        course.toldNs = world_.nowNs();
    } else if (world_.nowNs() - course.toldNs > kTellsNs) {
        course.toldNs = world_.nowNs();
        wrongOf(run, "a rank's lines are not acknowledged");
    }
}

// A run leaves the queue when there is room for it, and its step is not behind its metrics.
void Judge::checkPlace(const runs::RunRecord& record, Course& course) {
    const bool isPlaced = record.state != values::RunState::kStarting || !course.isWaiting;
    if (isPlaced || !isCalm() || hasRoom(record.id)) {
        course.roomyNs = world_.nowNs();
    } else if (world_.nowNs() - course.roomyNs > kCalmNs) {
        course.roomyNs = world_.nowNs();
        wrongOf(record.id, "it has left the queue, and there is no room for it");
    }
    const values::RunFigure* loss = record.newest("loss");
    if (loss != nullptr && loss->attempt == record.attempt && loss->step > record.progress.step) {
        wrongOf(record.id, strCat("its newest loss is of step ", loss->step, ", and it is at step ",
                                  record.progress.step));
    }
}

// Nothing lives on a node that is to be left.
void Judge::checkLeft() {
    const Machine& head = *machines_.front();
    for (const auto& machine : machines_) {
        std::int64_t& left = leftNs_[static_cast<std::size_t>(machine->number)];
        const bool isExcused =
            !machine->isToBeLeft || !isReached(*machine) || !head.agent.isAlive() ||
            head.agent.isStopped() || !head.disk.isWell() || !machine->disk.isWell() ||
            machine->startsNs > 0 || machine->busyNs > 0 || world_.nowNs() < hungUntilNs_;
        if (isExcused) {
            left = world_.nowNs();
            continue;
        }
        for (const auto& [key, gang] : machine->gangs) {
            if (gang.hasLiving() && world_.nowNs() - left > kLeftNs) {
                left = world_.nowNs();
                wrong(strCat(key, " lives on ", machine->name, ", which is to be left"));
            }
        }
    }
}

// Once a run has ended no rank of it lives where the head can end it.
void Judge::checkOver(const runs::RunStore& store, const std::string& run, Course& course) {
    const Result<runs::RunRecord> record = store.get(run);
    const std::vector<Rank*> ranks = ranksOf(machines_, run, course.attempt);
    const bool isWell = !isCalm() || !record.ok() || !values::isEnded(record->state) ||
                        std::all_of(ranks.begin(), ranks.end(), [](const Rank* rank) {
                            return rank->state.exitCode.has_value();
                        });
    if (isWell) {
        course.overNs = world_.nowNs();
    } else if (world_.nowNs() - course.overNs > kOverNs) {
        course.overNs = world_.nowNs();
        wrongOf(run, "it has ended, and its ranks live");
    }
}

// A stop is obeyed soon, where nothing hinders, and its grace is kept in any case.
void Judge::checkStop(const std::string& run, Course& course) {
    const std::int64_t freeNs = std::max({course.stoppedNs, troubledNs_, hungUntilNs_});
    const std::int64_t lateNs = std::max(course.stopByNs, troubledNs_);
    const bool isDue = course.stoppedNs != INT64_MAX &&
                       (world_.nowNs() - freeNs >= kStopNs || world_.nowNs() - lateNs >= kStopNs);
    const std::vector<Rank*> ranks = ranksOf(machines_, run, course.attempt);
    const auto living = std::find_if(ranks.begin(), ranks.end(), [](const Rank* rank) {
        return !rank->state.exitCode.has_value();
    });
    if (isDue && living != ranks.end()) {
        course.stoppedNs = course.stopByNs = INT64_MAX;
        wrongOf(run, strCat("it was stopped, and rank", (*living)->state.rank, " lives"));
    }
}

void Judge::check(const runs::RunStore* store) {
    checkLeft();
    troubledNs_ = store != nullptr && isCalm() ? troubledNs_ : world_.nowNs();
    for (auto& [run, course] : courses_) {
        countDataWorkers(run, course);
        if (store == nullptr) {
            course.movedNs = course.toldNs = course.overNs = world_.nowNs();
            continue;
        }
        checkBegun(*store, run);
        checkMoves(*store, run, course);
        checkOver(*store, run, course);
        checkStop(run, course);
    }
}

}  // namespace millrace::sim

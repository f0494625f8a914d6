#include "tests/sim/second_laws.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "backend/job/attempt_paths.h"
#include "tests/sim/sim_engine.h"

namespace millrace::sim {
namespace {

// From the end of a data worker, or the start of its attempt, to the next one. The head follows the
// feed's advice slowly.
constexpr std::int64_t kCrewNs = 20 * kSecond;
// From the last trouble to a step: the longest wait between two starts, and one start.
constexpr std::int64_t kMovesNs = 45 * kSecond;
// From the last trouble to the start of the next run in the queue.
constexpr std::int64_t kStartsNs = 8 * kSecond;
// From the first step of all ranks to the run's state in the store.
constexpr std::int64_t kRunsNs = 5 * kSecond;
// Longest consequence of a trouble after its end.
constexpr std::int64_t kCalmNs = 15 * kSecond;
// After a stop's grace period: the forced end, and turns of engines and agents.
constexpr std::int64_t kStopNs = 10 * kSecond;
// From a stop to its entry in the store; the second counts from the last trouble, because an end
// that could not be stored is retried.
constexpr std::int64_t kStoredNs = kSecond, kStoredLateNs = 6 * kSecond;
// From a node's drain to its last worker's end.
constexpr std::int64_t kLeftNs = 30 * kSecond;
// From a run's end to the end of its ranks.
constexpr std::int64_t kOverNs = 10 * kSecond;
// Unacknowledged lines of a rank, and how long there may be more.
constexpr std::size_t kUntoldMost = 100;
constexpr std::int64_t kTellsNs = 5 * kSecond;

}  // namespace

void SecondLaws::checkTaken(const Machine& machine) {
    if (const double cores = seen_.coresTaken(machine, ""); cores > kCores) {
        seen_.wrong(strCat(machine.name, " has ", kCores, " cores, and ", cores, " are taken"));
    }
}

// A run must not start before another that asks for no more and has waited longer.
void SecondLaws::checkTurn(const std::string& run) {
    const Course& course = seen_.courses.at(run);
    if (!course.isWaiting || seen_.nowNs() - seen_.troubledNs < kCalmNs) {
        return;
    }
    for (const auto& [id, other] : seen_.courses) {
        const bool asksForMore = other.terms.parts > course.terms.parts ||
                                 other.terms.cores(0, true) > course.terms.cores(0, true) ||
                                 other.terms.cores(1, false) > course.terms.cores(1, false);
        if (other.isWaiting && !asksForMore && other.queuedNs + kSecond < course.queuedNs) {
            // Both may have been started already, because agents take turns.
            seen_.world.after(kSecond, [this, run, &other, since = other.queuedNs] {
                if (other.isWaiting && other.queuedNs == since) {
                    seen_.wrongOf(run, "it starts before one that waits for longer");
                }
            });
        }
    }
}

// Data workers of a lost node start on another node.
void SecondLaws::countDataWorkers(const std::string& run, Course& course) {
    int numLiving = 0, numWorking = 0;
    for (const auto& machine : seen_.machines) {
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
    if (!seen_.isCalm() || !isTraining || numLiving == course.terms.dataWorkers) {
        course.completeNs = seen_.nowNs();
    } else if (seen_.nowNs() - course.completeNs > kCrewNs) {
        course.completeNs = seen_.nowNs();
        seen_.wrongOf(run, strCat(numLiving, " data workers of ", course.terms.dataWorkers, " for ",
                                  kCrewNs / kSecond, " s"));
    }
}

void SecondLaws::checkBegun(const runs::RunStore& store, const std::string& run) {
    const auto attempts = store.attempts(run);
    if (!attempts.ok() || attempts->empty() || !attempts->back().hasBegun) {
        return;
    }
    const std::vector<Rank*> ranks = ranksOf(seen_.machines, run, attempts->back().attempt);
    if (std::none_of(ranks.begin(), ranks.end(),
                     [](const Rank* rank) { return rank->begun() > rank->resumedFrom(); })) {
        seen_.wrongOf(run, strCat("attempt ", attempts->back().attempt,
                                  " has begun, and no rank of it has taken a step"));
    }
    checkResumed(store, run, attempts->back().attempt);
}

// An attempt resumes from the newest checkpoint of the earlier attempts. Checked once, when it
// begins.
void SecondLaws::checkResumed(const runs::RunStore& store, const std::string& run, int attempt) {
    Course& course = seen_.courses.at(run);
    const auto from = course.resumedFrom.find(attempt);
    if (from == course.resumedFrom.end() || !seen_.isDiskTrusted ||
        std::exchange(course.resumeJudged, attempt) == attempt) {
        return;
    }
    const auto records = store.checkpoints(run, false);
    for (std::size_t i = 0; records.ok() && i < records->size(); ++i) {
        const runs::CheckpointRecord& one = (*records)[i];
        if (one.attempt < attempt && one.step > from->second) {
            seen_.wrongOf(run, strCat("attempt ", attempt, " resumes from step ", from->second,
                                      " although ", one.name, " counts"));
        }
    }
}

// Whether a run under way may hold room that no rank shows: it has no living rank, so its next
// attempt holds the room, or its attempt may end.
bool SecondLaws::isAnyBetween(const runs::RunStore& store) const {
    return std::any_of(seen_.courses.begin(), seen_.courses.end(), [&](const auto& one) {
        const Result<runs::RunRecord> record = store.get(one.first);
        const std::vector<Rank*> ranks = ranksOf(seen_.machines, one.first, one.second.attempt);
        return record.ok() && !values::isEnded(record->state) &&
               record->state != values::RunState::kQueued &&
               (one.second.blamed.contains(one.second.attempt) ||
                std::all_of(ranks.begin(), ranks.end(),
                            [](const Rank* rank) { return rank->state.exitCode.has_value(); }));
    });
}

// A run that trains takes steps, and the next waiting run starts as soon as there is room.
void SecondLaws::checkMoves(const runs::RunStore& store, const std::string& run, Course& course) {
    const Result<runs::RunRecord> record = store.get(run);
    const bool isOver = !record.ok() || values::isEnded(record->state);
    course.isWaiting = course.isWaiting && !isOver;
    bool mayMove = seen_.isCalm() && seen_.nowNs() >= seen_.excusedNs && !isOver;
    if (course.isWaiting) {
        const bool isNext =
            std::all_of(seen_.courses.begin(), seen_.courses.end(), [&](const auto& other) {
                return !other.second.isWaiting || other.second.queuedNs >= course.queuedNs;
            });
        mayMove = mayMove && isNext && seen_.hasRoom(run);
    }
    const bool isFirst = course.isWaiting && record.ok() &&
                         record->state == values::RunState::kQueued && !isAnyBetween(store);
    if (!mayMove) {
        course.movedNs = seen_.nowNs();
    } else if (seen_.nowNs() - course.movedNs > (isFirst ? kStartsNs : kMovesNs)) {
        course.movedNs = seen_.nowNs();
        seen_.wrongOf(run, strCat("it is ", values::nameOf(record->state), " and does not get on"));
    }
    if (record.ok()) {
        checkPlace(*record, course);
    }
    const std::vector<Rank*> ranks = ranksOf(seen_.machines, run, course.attempt);
    const bool isRunning =
        record.ok() && course.stoppedNs == INT64_MAX && !ranks.empty() &&
        std::all_of(ranks.begin(), ranks.end(), [](const Rank* rank) {
            return rank->begun() > rank->resumedFrom() && !rank->state.exitCode.has_value();
        });
    if (!isRunning || !mayMove || record->state == values::RunState::kRunning) {
        course.runsNs = seen_.nowNs();
    } else if (seen_.nowNs() - course.runsNs > kRunsNs) {
        course.runsNs = seen_.nowNs();
        seen_.wrongOf(run, strCat("it is ", values::nameOf(record->state), ", and trains"));
    }
    const bool isTold = std::all_of(ranks.begin(), ranks.end(), [](const Rank* rank) {
        return rank->state.exitCode.has_value() || rank->numUnacked() <= kUntoldMost;
    });
    if (isTold || !mayMove) {
        course.toldNs = seen_.nowNs();
    } else if (seen_.nowNs() - course.toldNs > kTellsNs) {
        course.toldNs = seen_.nowNs();
        seen_.wrongOf(run, "a rank's lines are not acknowledged");
    }
}

// A run leaves the queue if there is room for it, and its step is not behind its metrics.
void SecondLaws::checkPlace(const runs::RunRecord& record, Course& course) {
    const bool isPlaced = record.state != values::RunState::kStarting || !course.isWaiting;
    if (isPlaced || !seen_.isCalm() || seen_.hasRoom(record.id)) {
        course.roomyNs = seen_.nowNs();
    } else if (seen_.nowNs() - course.roomyNs > kCalmNs) {
        course.roomyNs = seen_.nowNs();
        seen_.wrongOf(record.id, "it has left the queue, and there is no room for it");
    }
    const values::RunFigure* loss = record.newest("loss");
    if (loss != nullptr && loss->attempt == record.attempt && loss->step > record.progress.step) {
        seen_.wrongOf(record.id, strCat("its newest loss is of step ", loss->step,
                                        ", and it is at step ", record.progress.step));
    }
}

// No worker lives on a node that must be left.
void SecondLaws::checkLeft() {
    const Machine& head = *seen_.machines.front();
    for (const auto& machine : seen_.machines) {
        std::int64_t& left = leftNs_[static_cast<std::size_t>(machine->number)];
        const bool isExcused = !machine->isToBeLeft || !seen_.isReached(*machine) ||
                               !head.agent.isAlive() || head.agent.isStopped() ||
                               !head.disk.isWell() || !machine->disk.isWell() ||
                               seen_.nowNs() < head.unreadableUntilNs || machine->startsNs > 0 ||
                               machine->agent.isPaused() || seen_.nowNs() < seen_.hungUntilNs;
        if (isExcused) {
            left = seen_.nowNs();
            continue;
        }
        for (const auto& [key, gang] : machine->gangs) {
            if (gang.hasLiving() && seen_.nowNs() - left > kLeftNs) {
                left = seen_.nowNs();
                seen_.wrong(strCat(key, " lives on ", machine->name, ", which is to be left"));
            }
        }
    }
}

// After a run's end none of its ranks lives if the head can end it.
void SecondLaws::checkOver(const runs::RunStore& store, const std::string& run, Course& course) {
    const Result<runs::RunRecord> record = store.get(run);
    const std::vector<Rank*> ranks = ranksOf(seen_.machines, run, course.attempt);
    const bool isWell = !seen_.isCalm() || !record.ok() || !values::isEnded(record->state) ||
                        std::all_of(ranks.begin(), ranks.end(), [](const Rank* rank) {
                            return rank->state.exitCode.has_value();
                        });
    if (isWell) {
        course.overNs = seen_.nowNs();
    } else if (seen_.nowNs() - course.overNs > kOverNs) {
        course.overNs = seen_.nowNs();
        seen_.wrongOf(run, "it has ended, and its ranks live");
    }
}

// A stop is soon stored and obeyed if nothing prevents it, and its grace period is kept in any
// case.
void SecondLaws::checkStop(const runs::RunStore& store, const std::string& run, Course& course) {
    const Result<runs::RunRecord> record = store.get(run);
    const bool isStored = !record.ok() || record->state == values::RunState::kStopping ||
                          values::isEnded(record->state);
    const std::int64_t freeNs = std::max({course.stoppedNs, seen_.troubledNs, seen_.hungUntilNs});
    const std::int64_t lateNs = std::max(course.stopByNs, seen_.troubledNs);
    const bool isDue = course.stoppedNs != INT64_MAX &&
                       (seen_.nowNs() - freeNs >= kStopNs || seen_.nowNs() - lateNs >= kStopNs);
    const std::vector<Rank*> ranks = ranksOf(seen_.machines, run, course.attempt);
    const auto living = std::find_if(ranks.begin(), ranks.end(), [](const Rank* rank) {
        return !rank->state.exitCode.has_value();
    });
    const bool isLost = course.stoppedNs != INT64_MAX && !isStored &&
                        seen_.nowNs() - course.stoppedNs >= kStoredNs &&
                        seen_.nowNs() - seen_.troubledNs >= kStoredLateNs;
    if (isLost) {
        course.stoppedNs = course.stopByNs = INT64_MAX;
        seen_.wrongOf(
            run, strCat("it was stopped, and the store has it ", values::nameOf(record->state)));
    } else if (isDue && living != ranks.end()) {
        course.stoppedNs = course.stopByNs = INT64_MAX;
        seen_.wrongOf(run, strCat("it was stopped, and rank", (*living)->state.rank, " lives"));
    }
}

// A checkpoint counts only if the head has its bytes.
void SecondLaws::checkFiles(const runs::RunStore& store, const std::string& run) {
    const Machine& head = *seen_.machines.front();
    const auto records = store.checkpoints(run, false);
    const std::string folder = job::RunPaths(head.root + "/runs", run).checkpoints();
    for (std::size_t i = 0; records.ok() && seen_.isDiskTrusted && i < records->size(); ++i) {
        if (!std::filesystem::exists(strCat(folder, "/", (*records)[i].name))) {
            seen_.wrongOf(run,
                          strCat("checkpoint ", (*records)[i].name, " counts, and is not there"));
        }
    }
}

void SecondLaws::check(const runs::RunStore* store) {
    checkLeft();
    seen_.troubledNs = store != nullptr && seen_.isCalm() ? seen_.troubledNs : seen_.nowNs();
    for (auto& [run, course] : seen_.courses) {
        if (course.isRemoved) {
            continue;
        }
        countDataWorkers(run, course);
        if (store == nullptr) {
            course.movedNs = course.runsNs = course.toldNs = course.overNs = seen_.nowNs();
            continue;
        }
        checkBegun(*store, run);
        checkMoves(*store, run, course);
        checkOver(*store, run, course);
        checkFiles(*store, run);
        checkStop(*store, run, course);
    }
}

}  // namespace millrace::sim

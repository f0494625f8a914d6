#include "daemon/agent/run/standstill.h"

#include <algorithm>
#include <cmath>

#include "backend/core/clock.h"
#include "backend/core/status.h"
#include "backend/job/attempt_paths.h"
#include "backend/text/text.h"
#include "daemon/agent/crew/gang.h"

namespace millrace::agent {
namespace {

const WorkerSigns* feedOf(const std::vector<WorkerSigns>& workers) {
    const auto found = std::find_if(workers.begin(), workers.end(),
                                    [](const WorkerSigns& w) { return !w.isRank; });
    return found == workers.end() ? nullptr : &*found;
}

// A feed reports its rows per second each second: an older report is not about now.
bool isReading(const WorkerSigns* feed, std::int64_t nowNs, const StandstillLimits& limits) {
    return feed != nullptr && feed->rowsReadPerSecond > 0 && feed->rowsReadNs != 0 &&
           nowNs - feed->rowsReadNs < limits.silentNs;
}

// The times of its present kind of work.
WorkTimes& timesOf(WorkerSigns& worker) {
    return worker.isWritingCheckpoint ? worker.checkpoints : worker.steps;
}

std::int64_t workLimit(const WorkerSigns& worker, const StandstillLimits& limits) {
    const std::int64_t least = !worker.hasWorked            ? limits.firstWorkNs
                               : worker.isWritingCheckpoint ? limits.checkpointNs
                                                            : limits.workNs;
    const WorkTimes& times = worker.isWritingCheckpoint ? worker.checkpoints : worker.steps;
    const std::int64_t slow = std::min(limits.mostNs, limits.slowFactor * times.slowestNs);
    return std::max({least, slow, times.allowedNs});
}

std::int64_t waitLimit(const WorkerSigns& worker, const WorkerSigns* feed, std::int64_t nowNs,
                       const StandstillLimits& limits) {
    // Before the first step a feed opens its files and tables and reports little.
    return worker.step == 0 || isReading(feed, nowNs, limits) ? limits.fillingNs : limits.waitNs;
}

bool isAtItsEnd(const WorkerSigns& worker) {
    return worker.isRank && (worker.isEnding || worker.hasSaidDone);
}

Standstill judge(const WorkerSigns& worker, const WorkerSigns* feed, std::int64_t nowNs,
                 const StandstillLimits& limits) {
    if (!worker.hasSaidHello) {
        const bool isLate = nowNs - worker.sinceNs >= limits.unheardNs;
        return {worker.worker, isLate ? Standing::kUnheard : Standing::kMoves, worker.sinceNs};
    }
    if (isAtItsEnd(worker)) {
        return {worker.worker, Standing::kMoves, nowNs};
    }
    if (worker.promisesAlive && nowNs - worker.heardNs >= limits.silentNs) {
        return {worker.worker, Standing::kSilent, worker.heardNs};
    }
    if (!worker.isRank) {
        return {worker.worker, Standing::kMoves, nowNs};
    }
    if (nowNs - worker.workedNs >= workLimit(worker, limits)) {
        return {worker.worker, Standing::kHung, worker.workedNs};
    }
    const bool isStarved = worker.waitsSinceNs != 0 &&
                           nowNs - worker.waitsSinceNs >= waitLimit(worker, feed, nowNs, limits);
    return {worker.worker, isStarved ? Standing::kStarved : Standing::kMoves, worker.waitsSinceNs};
}

// Says what the process does according to the kernel; "" if that explains nothing.
std::string_view processText(char state) {
    switch (state) {
        case 'T':
            return "its process is stopped (SIGSTOP)";
        case 't':
            return "a debugger holds its process";
        case 'D':
            return "its process waits for a disk or another device";
        default:
            return "its process says nothing";
    }
}

std::string afterStep(const WorkerSigns& worker) {
    return worker.step > 0 ? strCat(" after step ", worker.step) : std::string();
}

std::string starvedText(const WorkerSigns& worker, const WorkerSigns* feed) {
    const std::string start = strCat(worker.worker, " waits for data", afterStep(worker), ": ");
    if (feed == nullptr || !feed->hasSaidHello) {
        return start + "there is no feed";
    }
    if (feed->awaits >= 0) {
        return strCat(start, "the feed waits for ", job::rankName(static_cast<int>(feed->awaits)),
                      " to connect again");
    }
    if (feed->rowsReadPerSecond > 0) {
        return strCat(start, "the feed reads ", formatCount(std::llround(feed->rowsReadPerSecond)),
                      " rows/s and gives none");
    }
    return start + "the feed lives, reads nothing and gives nothing";
}

LateRank lateRank(const WorkerSigns& worker, std::int64_t limitNs, std::string_view since) {
    const std::string limit = formatDuration(static_cast<double>(limitNs) / 1e9);
    return {
        worker.worker,
        strCat(worker.worker, " has not left ", limit, " after ", since, " (train.exit_minutes)"),
        worker.hasSaidDone};
}

}  // namespace

StandstillLimits scriptLimits(std::int64_t noProgressNs, std::int64_t exitNs) {
    StandstillLimits limits;
    limits.workNs = limits.firstWorkNs = limits.checkpointNs = limits.mostNs = noProgressNs;
    limits.unheardNs = noProgressNs;
    limits.slowFactor = 1;
    limits.exitNs = exitNs;
    return limits;
}

StandstillLimits scriptLimits(const spec::RunSpec& spec) {
    constexpr std::int64_t kNsPerMinute = 60'000 * kNsPerMs;
    constexpr std::int64_t kTenYearsNs = 10LL * 366 * 24 * 60 * kNsPerMinute;
    return spec.hasDataset() ? scriptLimits(spec.train.noProgressMinutes * kNsPerMinute,
                                            spec.train.exitMinutes * kNsPerMinute)
                             : scriptLimits(kTenYearsNs, kTenYearsNs);
}

std::optional<LateRank> findLateRank(const std::vector<WorkerSigns>& workers, std::int64_t nowNs,
                                     const StandstillLimits& limits) {
    const WorkerSigns* late = nullptr;
    std::int64_t workedNs = 0;
    bool areAllAtTheirEnd = true;
    for (const WorkerSigns& worker : workers) {
        const std::int64_t errorLimit = std::min(limits.exitNs, limits.errorExitNs);
        if (worker.isRank && worker.hasSaidError && nowNs - worker.workedNs >= errorLimit) {
            return lateRank(worker, errorLimit, "it told its error");
        }
        areAllAtTheirEnd = areAllAtTheirEnd && (!worker.isRank || isAtItsEnd(worker));
        workedNs = std::max(workedNs, worker.isRank ? worker.workedNs : 0);
        if (worker.isRank && (late == nullptr || (late->hasSaidDone && !worker.hasSaidDone))) {
            late = &worker;
        }
    }
    if (late == nullptr || !areAllAtTheirEnd || nowNs - workedNs < limits.exitNs) {
        return std::nullopt;
    }
    return lateRank(*late, limits.exitNs,
                    late->hasSaidDone ? "it said that it was done" : "its stream was at its end");
}

std::vector<Standstill> findStandstills(const std::vector<WorkerSigns>& workers, std::int64_t nowNs,
                                        const StandstillLimits& limits) {
    const WorkerSigns* feed = feedOf(workers);
    std::vector<Standstill> found;
    for (const WorkerSigns& worker : workers) {
        Standstill still = judge(worker, feed, nowNs, limits);
        if (still.standing != Standing::kMoves) {
            found.push_back(std::move(still));
        }
    }
    const bool isFeedQuiet =
        feed != nullptr && std::any_of(found.begin(), found.end(), [&](const Standstill& s) {
            return s.worker == feed->worker;
        });
    if (isFeedQuiet) {
        std::erase_if(found, [](const Standstill& s) {
            return s.standing == Standing::kStarved || s.standing == Standing::kHung;
        });
    }
    return found;
}

std::optional<HeldUp> findHeldUp(const std::vector<WorkerSigns>& workers, std::int64_t nowNs,
                                 std::int64_t forNs) {
    constexpr std::int64_t kFreshNs = 3'000 * kNsPerMs;  // signs of life come each second
    const auto isHeard = [&](const WorkerSigns& w) { return nowNs - w.heardNs < kFreshNs; };
    const auto feed = std::find_if(workers.begin(), workers.end(), [&](const WorkerSigns& w) {
        return !w.isRank && w.awaits >= 0 && nowNs - w.awaitsSinceNs >= forNs && isHeard(w);
    });
    if (feed == workers.end()) {
        return std::nullopt;
    }
    const std::string name = job::rankName(static_cast<int>(feed->awaits));
    const WorkerSigns *awaited = nullptr, *waiting = nullptr;
    for (const WorkerSigns& worker : workers) {
        if (!worker.isRank || isAtItsEnd(worker)) {
            continue;
        }
        if (nowNs - worker.steppedNs < forNs) {
            return std::nullopt;
        }
        const bool waits = worker.waitsSinceNs != 0 && nowNs - worker.waitsSinceNs >= forNs;
        if (worker.worker == name) {
            awaited = &worker;
        } else if (waits && isHeard(worker)) {
            waiting = &worker;
        }
    }
    const bool isInItsStep = awaited != nullptr && isHeard(*awaited) && awaited->hasWorked &&
                             !awaited->isEvaluating && !awaited->isWritingCheckpoint &&
                             awaited->waitsSinceNs == 0;
    if (!isInItsStep || waiting == nullptr) {
        return std::nullopt;
    }
    return HeldUp{
        name, strCat(name, " is in the step behind ", awaited->step,
                     " and has not connected to the feed again for ",
                     formatDuration(static_cast<double>(forNs) / 1e9), ", and ", waiting->worker,
                     " waits for data", afterStep(*waiting), ": none of them can go on")};
}

void learnPace(WorkerSigns& worker, std::int64_t tookNs) {
    WorkTimes& times = timesOf(worker);
    times.slowestNs = std::max(times.slowestNs, tookNs);
}

void learnStandstill(WorkerSigns& worker, std::int64_t stoodNs, const StandstillLimits& limits) {
    const std::int64_t next = std::min(
        {limits.mostNs, stoodNs + stoodNs / 2, limits.standFactor * workLimit(worker, limits)});
    WorkTimes& times = timesOf(worker);
    times.allowedNs = std::max(times.allowedNs, next);
}

std::string describe(const Standstill& still, const std::vector<WorkerSigns>& workers,
                     char processState) {
    const auto found = std::find_if(workers.begin(), workers.end(),
                                    [&](const WorkerSigns& w) { return w.worker == still.worker; });
    const WorkerSigns worker = found == workers.end() ? WorkerSigns{still.worker} : *found;
    const std::string start = strCat(worker.worker, " stands still", afterStep(worker), ": ");
    switch (still.standing) {
        case Standing::kMoves:
            return "";
        case Standing::kUnheard:
            return strCat(worker.worker,
                          " has said nothing since it was started: ", processText(processState));
        case Standing::kSilent:
            return strCat(start, processText(processState));
        case Standing::kStarved:
            return starvedText(worker, feedOf(workers));
        case Standing::kHung:
            break;
    }
    if (!worker.promisesAlive) {
        return strCat(start, "nothing is heard of it");
    }
    return worker.isWritingCheckpoint
               ? strCat(start, "its process lives, the checkpoint does not get on")
               : strCat(start, "its process lives, its training thread does not get on");
}

}  // namespace millrace::agent

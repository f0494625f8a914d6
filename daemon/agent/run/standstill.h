#pragma once
// Standstill: whether the workers of a run get on, by what was heard of them. Pure decisions.
//
// Three things stay apart, because they are put right in different ways: a process of which nothing
// is heard (it is stopped, or its machine is stuck), one that lives and whose work does not get on,
// and a rank that only waits for data.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace::agent {

/// How long work of one kind took, between two lines, ns.
struct WorkTimes {
    std::int64_t slowestNs = 0;  ///< while it got on
    std::int64_t allowedNs = 0;  ///< what standstills that ended taught
};

/// What was heard of a worker in the present attempt. Times are of a steady clock, in ns; "work"
/// are lines that the run's own work leads to, not those that only say that the process lives.
struct WorkerSigns {
    std::string worker;  ///< "rank0", "feed"
    bool isRank = true;
    bool hasSaidHello = false;
    bool promisesAlive = false;  ///< it says all the time that it lives
    bool hasSaidDone = false;    ///< its work is over, well or with an error
    bool hasSaidError = false;
    bool isEnding = false;   ///< rank: its stream is at its end, or its program is
    bool hasWorked = false;  ///< rank: it told of work at least once
    bool isWritingCheckpoint = false;
    std::int64_t sinceNs = 0;   ///< it is watched since
    std::int64_t heardNs = 0;   ///< the newest line of any kind
    std::int64_t workedNs = 0;  ///< the newest line of its work
    WorkTimes steps, checkpoints;
    std::int64_t waitsSinceNs = 0;  ///< rank: for data; 0: it does not wait
    std::int64_t step = 0;          ///< rank: the last one
    std::int64_t steppedNs = 0;     ///< rank: when it came to that one, or is watched since
    bool isEvaluating = false;
    std::int64_t awaits = -1;  ///< feed: the rank that it hung up on and waits for
    std::int64_t awaitsSinceNs = 0;
    double rowsReadPerSecond = 0;  ///< feed: told last
    std::int64_t rowsReadNs = 0;   ///< when; 0: never
};

enum class Standing {
    kMoves,
    kUnheard,  ///< started, and never heard of
    kSilent,   ///< its process says nothing any more
    kHung,     ///< it lives, its work does not get on
    kStarved,  ///< it waits for data and gets none
};

/// How long a worker is given, ns.
struct StandstillLimits {
    std::int64_t silentNs = 10'000'000'000;
    std::int64_t workNs = 12'000'000'000;
    std::int64_t firstWorkNs = 60'000'000'000;   ///< up to its first word of work
    std::int64_t checkpointNs = 60'000'000'000;  ///< writing one
    std::int64_t waitNs = 12'000'000'000;        ///< for data
    std::int64_t fillingNs = 60'000'000'000;     ///< waiting for a feed that reads
    std::int64_t unheardNs = 30'000'000'000;
    std::int64_t exitNs = 1'800'000'000'000;     ///< to leave, behind the last word of its work
    std::int64_t errorExitNs = 120'000'000'000;  ///< the same of one that told an error
    int slowFactor = 5;   ///< of the longest time that its work took so far, where that is more
    int standFactor = 3;  ///< most by which one standstill that ended lengthens a limit
    std::int64_t mostNs = 600'000'000'000;
};

/// Of a rank that is a program of the user's own: it may work as long as it likes and is named
/// after `noProgressNs` without a step; at its end it is given `exitNs`.
StandstillLimits scriptLimits(std::int64_t noProgressNs, std::int64_t exitNs);

/// One that does not move.
struct Standstill {
    std::string worker;
    Standing standing = Standing::kMoves;
    std::int64_t sinceNs = 0;  ///< steady, the newest sign that it moved
    bool operator==(const Standstill&) const = default;
};

/// Those of a run's workers that stand still at `nowNs`. Ranks that live and do not get on while
/// nothing is heard of the feed are left out: it is the cause.
std::vector<Standstill> findStandstills(const std::vector<WorkerSigns>& workers, std::int64_t nowNs,
                                        const StandstillLimits& limits = {});

/// A rank at its end that has not left in time: behind the last word of work of any rank, once all
/// are at their end (it may wait for the others there), or behind its error. What it does there is
/// its own, however long it says nothing: it stands still by no other rule.
struct LateRank {
    std::string worker, sentence;
    bool hasSaidDone = false;  ///< or an error: how it ends is known
};
std::optional<LateRank> findLateRank(const std::vector<WorkerSigns>& workers, std::int64_t nowNs,
                                     const StandstillLimits& limits);

/// A rank for which all others wait, and which cannot come: the feed has hung up on it, it lives,
/// is in a step of training, and has not connected again for `forNs`. All that while another rank
/// has waited for data, the feed has told that it waits for this one, and no rank has taken a step.
/// A rank that evaluates, writes a checkpoint, waits for data itself, or left the stream is none.
struct HeldUp {
    std::string worker, sentence;
};
std::optional<HeldUp> findHeldUp(const std::vector<WorkerSigns>& workers, std::int64_t nowNs,
                                 std::int64_t forNs);

/// Work that got on took `tookNs`.
void learnPace(WorkerSigns& worker, std::int64_t tookNs);
/// A rank that had been called hung goes on after `stoodNs`: it was slow. From now on its work of
/// that kind is given half as much again; a single long standstill does not hide the next.
void learnStandstill(WorkerSigns& worker, std::int64_t stoodNs,
                     const StandstillLimits& limits = {});

/// "rank0 stands still after step 240: its process is stopped (SIGSTOP)": one sentence.
/// `processState`: the letter of /proc/PID/stat; 0: not known. `workers`: of which this is one.
std::string describe(const Standstill& still, const std::vector<WorkerSigns>& workers,
                     char processState);

}  // namespace millrace::agent

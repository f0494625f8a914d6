#pragma once
// Standstill: judges from the signs of a run's workers whether they make progress. Pure decisions.
// Used by RunHealth.
//
// It distinguishes three cases, because each has another remedy: a silent process (it is stopped,
// or its machine is stuck), a process that lives but makes no progress, and a rank that only waits
// for data.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace::spec {
struct RunSpec;
}

namespace millrace::agent {

/// How long work of one kind took, between two lines, ns.
struct WorkTimes {
    std::int64_t slowestNs = 0;  ///< while it made progress
    std::int64_t allowedNs = 0;  ///< learned from standstills that ended
};

/// The signs of a worker in the current attempt. Times are of a steady clock, in ns. "Work" are
/// lines that the run's own work causes, not those that only report that the process lives.
struct WorkerSigns {
    std::string worker;  ///< "rank0", "feed"
    bool isRank = true;
    bool hasSaidHello = false;
    bool promisesAlive = false;  ///< it regularly reports that it lives
    bool hasSaidDone = false;    ///< its work is over, with success or an error
    bool hasSaidError = false;
    bool isEnding = false;   ///< rank: its stream, or its program, is at its end
    bool hasWorked = false;  ///< rank: it reported work at least once
    bool isWritingCheckpoint = false;
    std::int64_t sinceNs = 0;   ///< when watching it began
    std::int64_t heardNs = 0;   ///< the newest line of any kind
    std::int64_t workedNs = 0;  ///< the newest line of its work
    WorkTimes steps, checkpoints;
    std::int64_t waitsSinceNs = 0;  ///< rank: waiting for data; 0: it does not wait
    std::int64_t step = 0;          ///< rank: its last one
    std::int64_t steppedNs = 0;     ///< rank: when it reached that step, or watching began
    bool isEvaluating = false;
    std::int64_t awaits = -1;  ///< feed: the rank that it hung up on and waits for
    std::int64_t awaitsSinceNs = 0;
    double rowsReadPerSecond = 0;  ///< feed: last report
    std::int64_t rowsReadNs = 0;   ///< when that was reported; 0: never
};

enum class Standing {
    kMoves,
    kUnheard,  ///< started, but never reported
    kSilent,   ///< its process does not report any more
    kHung,     ///< it lives but makes no progress
    kStarved,  ///< it waits for data and gets none
};

/// How long a worker is given, ns.
struct StandstillLimits {
    std::int64_t silentNs = 10'000'000'000;
    std::int64_t workNs = 12'000'000'000;
    std::int64_t firstWorkNs = 60'000'000'000;   ///< until its first report of work
    std::int64_t checkpointNs = 60'000'000'000;  ///< writing one
    std::int64_t waitNs = 12'000'000'000;        ///< for data
    std::int64_t fillingNs = 60'000'000'000;     ///< waiting for a feed that reads
    std::int64_t unheardNs = 30'000'000'000;
    std::int64_t exitNs = 1'800'000'000'000;     ///< to leave, after its last report of work
    std::int64_t errorExitNs = 120'000'000'000;  ///< the same for a rank that reported an error
    int slowFactor = 5;   ///< times the longest time of its work so far, if that is more
    int standFactor = 3;  ///< most by which one standstill that ended lengthens a limit
    std::int64_t mostNs = 600'000'000'000;
};

/// Limits for a rank that is a user's own program. Between steps it may work as long as it likes;
/// after `noProgressNs` without a step it is reported. At its end it has `exitNs`.
StandstillLimits scriptLimits(std::int64_t noProgressNs, std::int64_t exitNs);
/// By the spec's minutes. Without a stream neither a command's progress nor the time that it may
/// take is known: the limits are years.
StandstillLimits scriptLimits(const spec::RunSpec& spec);

/// A worker that makes no progress.
struct Standstill {
    std::string worker;
    Standing standing = Standing::kMoves;
    std::int64_t sinceNs = 0;  ///< steady: the newest sign of progress
    bool operator==(const Standstill&) const = default;
};

/// Returns a run's workers that stand still at `nowNs`. While the feed is silent, ranks that live
/// but make no progress are left out: the feed is the cause.
std::vector<Standstill> findStandstills(const std::vector<WorkerSigns>& workers, std::int64_t nowNs,
                                        const StandstillLimits& limits = {});

/// A rank at its end that has not left in time. The time counts from the last report of work of any
/// rank once all are at their end (it may wait for the others there), or from its error. What it
/// does at its end is its own business, however long it is silent: no other rule applies to it.
struct LateRank {
    std::string worker, sentence;
    bool hasSaidDone = false;  ///< or an error: how it ends is known
};
std::optional<LateRank> findLateRank(const std::vector<WorkerSigns>& workers, std::int64_t nowNs,
                                     const StandstillLimits& limits);

/// A rank for which all others wait, and which cannot connect. The feed has hung up on it; it
/// lives, is in a training step, and has not connected again for `forNs`. All that time another
/// rank has waited for data, the feed has reported that it waits for this rank, and no rank has
/// taken a step. A rank that evaluates, writes a checkpoint, waits for data itself, or left the
/// stream does not count.
struct HeldUp {
    std::string worker, sentence;
};
std::optional<HeldUp> findHeldUp(const std::vector<WorkerSigns>& workers, std::int64_t nowNs,
                                 std::int64_t forNs);

/// Learns that work that made progress took `tookNs`.
void learnPace(WorkerSigns& worker, std::int64_t tookNs);
/// Learns that a rank that had been called hung made progress after `stoodNs`: it was slow. From
/// now on its work of that kind is given half as much again; a single long standstill does not hide
/// the next.
void learnStandstill(WorkerSigns& worker, std::int64_t stoodNs,
                     const StandstillLimits& limits = {});

/// Returns one sentence: "rank0 stands still after step 240: its process is stopped (SIGSTOP)".
/// `processState`: the letter of /proc/PID/stat; 0: not known. `workers`: includes this one.
std::string describe(const Standstill& still, const std::vector<WorkerSigns>& workers,
                     char processState);

}  // namespace millrace::agent

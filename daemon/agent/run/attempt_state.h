#pragma once
// The stages of a run between the start of an attempt and its end, and all moves between them, as
// one table (docs/architecture/attempt.md shows it as a picture). Used by ActiveRun.
//
// Threads: values; AttemptState has one owner (the controller's thread). Failure: none; a move that
// is not in the table is a programming error. Callers that may have either case ask may() first.
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace millrace::agent {

enum class Stage {
    kNew,            ///< nothing was asked of it yet
    kSurveyDue,      ///< its checkpoints must be surveyed, now or later
    kSurveying,      ///< they are being surveyed, outside the agent's thread
    kJobDue,         ///< its job.json must be written, now or later
    kJobWriting,     ///< it is being written, outside the agent's thread
    kPlacing,        ///< the store has the attempt; its listener and gang must start
    kUnknown,        ///< an earlier daemon's: not known whether its workers live
    kRunning,        ///< its workers run
    kLingering,      ///< its ranks are gone; the others have a moment to notice
    kCutting,        ///< the engine was asked to end what is left of it
    kDropping,       ///< part of a gang, which was told to end: another attempt follows
    kDraining,       ///< the gang is over; the rest in its sockets is being read
    kDropped,        ///< the same for part of a gang
    kReceiptDue,     ///< the run's end is decided; its receipt must be made
    kReceiptMaking,  ///< it is being made, outside the agent's thread
    kEndDue,         ///< the store did not take the end: it is retried
    kEnded,
};
inline constexpr int kNumStages = static_cast<int>(Stage::kEnded) + 1;

enum class Move {
    kLaunch,       ///< another attempt is wanted
    kAdopt,        ///< an earlier daemon started the attempt
    kAsked,        ///< another thread has the work that was due
    kNotNow,       ///< it failed for a reason that may pass, or there was no room
    kSurveyed,     ///< the checkpoint that the attempt resumes from is known
    kBegun,        ///< its job is on disk and the store has the attempt
    kPlaced,       ///< the engine has the gang
    kFound,        ///< the engine knows the gang and has reported its state
    kNeverPlaced,  ///< the engine has never had it
    kHalf,         ///< only a part of the gang exists, and it cannot be completed
    kRanksGone,    ///< no rank is alive, other workers are
    kCut,          ///< its time is over
    kGangOver,     ///< no worker of it is left
    kVerdict,      ///< no other attempt follows
    kStored,       ///< the store has the end
    kNotStored,    ///< the store did not take it
};
inline constexpr int kNumMoves = static_cast<int>(Move::kNotStored) + 1;

std::string_view textOf(Stage stage);  ///< "survey due", ...
std::string_view textOf(Move move);    ///< "not now", ...

struct Transition {
    Stage from;
    Move move;
    Stage to;
};
/// All of them.
std::span<const Transition> transitions();
/// Returns nullopt if the move is not possible from there.
std::optional<Stage> next(Stage from, Move move);

/// Returns whether its gang exists, as far as is known, and must be followed.
bool isGoing(Stage stage);
/// Returns whether its feed may be running, so that data workers are useful.
bool hasFeed(Stage stage);
/// Returns whether the run's end is decided.
bool isOver(Stage stage);

class AttemptState {
 public:
    Stage stage() const { return stage_; }
    bool may(Move move) const { return next(stage_, move).has_value(); }
    /// `nowNs`: steady.
    void move(Move move, std::int64_t nowNs);
    /// When it entered the current stage, steady.
    std::int64_t sinceNs() const { return sinceNs_; }

    /// Sets the earliest time of a retry. A move that changes the stage clears it.
    void setRetry(std::int64_t atNs) { retryNs_ = atNs; }
    bool isRetrying() const { return retryNs_ != 0; }
    bool isDue(std::int64_t nowNs) const { return nowNs >= retryNs_; }

 private:
    Stage stage_ = Stage::kNew;
    std::int64_t sinceNs_ = 0, retryNs_ = 0;
};

}  // namespace millrace::agent

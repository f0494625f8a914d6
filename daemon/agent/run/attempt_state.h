#pragma once
// Where a run stands between the start of an attempt and its end, and every step from there: one
// table (docs/architecture/attempt.md has it as a picture).
//
// Threads: values; AttemptState has one owner (the controller's thread). Failure: none; a move that
// the table does not have is a programmer's error, who asks may() first where both are possible.
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace millrace::agent {

enum class Stage {
    kNew,            ///< nothing was asked of it yet
    kSurveyDue,      ///< its checkpoints are to be looked at, now or later
    kSurveying,      ///< they are being looked at, beside the agent's thread
    kJobDue,         ///< its job.json is to be written, now or later
    kJobWriting,     ///< it is being written, beside the agent's thread
    kPlacing,        ///< the store has the attempt; its door and its gang are to be had
    kUnknown,        ///< an earlier daemon's: not known whether its workers live
    kRunning,        ///< its workers go
    kLingering,      ///< its ranks are gone; the others have a moment to notice
    kCutting,        ///< the engine was asked to end what is left of it
    kDropping,       ///< half a gang, that was asked to end: another attempt follows it
    kDraining,       ///< the gang is over; what its sockets still hold is taken in
    kDropped,        ///< the same of half a gang
    kReceiptDue,     ///< the verdict is the run's end; its receipt is to be made
    kReceiptMaking,  ///< it is being made, beside the agent's thread
    kEndDue,         ///< the store did not take the end: tried again
    kEnded,
};
inline constexpr int kNumStages = static_cast<int>(Stage::kEnded) + 1;

enum class Move {
    kLaunch,       ///< another attempt is wanted
    kAdopt,        ///< an earlier daemon started the attempt
    kAsked,        ///< a thread beside the agent's has what was due
    kNotNow,       ///< it did not go for something that passes, or there was no room
    kSurveyed,     ///< what the attempt goes on from is known
    kBegun,        ///< its job is on disk and the store has the attempt
    kPlaced,       ///< the engine has the gang
    kFound,        ///< the engine knows the gang and has told how it stands
    kNeverPlaced,  ///< the engine has never had it
    kHalf,         ///< a part of the gang is there, and it cannot become whole
    kRanksGone,    ///< no rank lives, others do
    kCut,          ///< the time that it was given is over
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
/// Nothing: not from there.
std::optional<Stage> next(Stage from, Move move);

/// Whether its gang is there, as far as is known, and is to be followed.
bool isGoing(Stage stage);
/// Whether workers of the attempt may be there.
bool hasWorkers(Stage stage);
/// Whether its feed may be going, so that data workers are of use.
bool hasFeed(Stage stage);
/// Whether the run's end is decided.
bool isOver(Stage stage);

class AttemptState {
 public:
    Stage stage() const { return stage_; }
    bool may(Move move) const { return next(stage_, move).has_value(); }
    /// `nowNs`: steady.
    void move(Move move, std::int64_t nowNs);
    /// Since when it stands there, steady.
    std::int64_t sinceNs() const { return sinceNs_; }

    /// What is tried again: not before that time. A move that changes the stage forgets it.
    void setRetry(std::int64_t atNs) { retryNs_ = atNs; }
    bool isRetrying() const { return retryNs_ != 0; }
    bool isDue(std::int64_t nowNs) const { return nowNs >= retryNs_; }

 private:
    Stage stage_ = Stage::kNew;
    std::int64_t sinceNs_ = 0, retryNs_ = 0;
};

}  // namespace millrace::agent

#include "daemon/agent/run/attempt_state.h"

#include "backend/core/status.h"

namespace millrace::agent {
namespace {

// The texts have the order of the enumerators.
constexpr std::string_view kStageTexts[] = {
    "new",     "survey due",  "surveying",      "job due", "job writing", "placing",
    "unknown", "running",     "lingering",      "cutting", "dropping",    "draining",
    "dropped", "receipt due", "receipt making", "end due", "ended"};
static_assert(std::size(kStageTexts) == kNumStages);
constexpr std::string_view kMoveTexts[] = {"launch",       "adopt",   "asked",      "not now",
                                           "surveyed",     "begun",   "placed",     "found",
                                           "never placed", "half",    "ranks gone", "cut",
                                           "gang over",    "verdict", "stored",     "not stored"};
static_assert(std::size(kMoveTexts) == kNumMoves);

constexpr Transition kTransitions[] = {
    {Stage::kNew, Move::kLaunch, Stage::kSurveyDue},
    {Stage::kNew, Move::kAdopt, Stage::kUnknown},
    {Stage::kSurveyDue, Move::kAsked, Stage::kSurveying},
    {Stage::kSurveyDue, Move::kSurveyed, Stage::kJobDue},   // a first attempt has no checkpoints
    {Stage::kSurveyDue, Move::kNotNow, Stage::kSurveyDue},  // the previous attempt is not over
    {Stage::kSurveyDue, Move::kVerdict, Stage::kReceiptDue},
    {Stage::kSurveying, Move::kNotNow, Stage::kSurveyDue},
    {Stage::kSurveying, Move::kSurveyed, Stage::kJobDue},
    {Stage::kSurveying, Move::kVerdict, Stage::kReceiptDue},
    {Stage::kJobDue, Move::kAsked, Stage::kJobWriting},
    {Stage::kJobDue, Move::kNotNow, Stage::kJobDue},
    {Stage::kJobDue, Move::kVerdict, Stage::kReceiptDue},
    {Stage::kJobWriting, Move::kNotNow, Stage::kJobDue},
    {Stage::kJobWriting, Move::kBegun, Stage::kPlacing},
    {Stage::kJobWriting, Move::kVerdict, Stage::kReceiptDue},
    {Stage::kPlacing, Move::kNotNow, Stage::kPlacing},
    {Stage::kPlacing, Move::kPlaced, Stage::kRunning},
    {Stage::kPlacing, Move::kCut, Stage::kCutting},  // a part of it was started
    {Stage::kPlacing, Move::kVerdict, Stage::kReceiptDue},
    {Stage::kUnknown, Move::kFound, Stage::kRunning},
    {Stage::kUnknown, Move::kNeverPlaced, Stage::kPlacing},
    {Stage::kUnknown, Move::kHalf, Stage::kDropping},
    {Stage::kUnknown, Move::kGangOver, Stage::kDraining},
    {Stage::kRunning, Move::kRanksGone, Stage::kLingering},
    {Stage::kRunning, Move::kCut, Stage::kCutting},
    {Stage::kRunning, Move::kGangOver, Stage::kDraining},
    {Stage::kLingering, Move::kCut, Stage::kCutting},
    {Stage::kLingering, Move::kGangOver, Stage::kDraining},
    {Stage::kCutting, Move::kGangOver, Stage::kDraining},
    {Stage::kDropping, Move::kGangOver, Stage::kDropped},
    {Stage::kDraining, Move::kLaunch, Stage::kSurveyDue},
    {Stage::kDraining, Move::kVerdict, Stage::kReceiptDue},
    {Stage::kDropped, Move::kLaunch, Stage::kSurveyDue},
    {Stage::kDropped, Move::kVerdict, Stage::kReceiptDue},
    {Stage::kReceiptDue, Move::kAsked, Stage::kReceiptMaking},
    {Stage::kReceiptMaking, Move::kNotNow, Stage::kReceiptDue},
    {Stage::kReceiptMaking, Move::kStored, Stage::kEnded},
    {Stage::kReceiptMaking, Move::kNotStored, Stage::kEndDue},
    {Stage::kEndDue, Move::kNotStored, Stage::kEndDue},
    {Stage::kEndDue, Move::kStored, Stage::kEnded},
};

}  // namespace

std::string_view textOf(Stage stage) {
    return kStageTexts[static_cast<int>(stage)];
}

std::string_view textOf(Move move) {
    return kMoveTexts[static_cast<int>(move)];
}

std::span<const Transition> transitions() {
    return kTransitions;
}

std::optional<Stage> next(Stage from, Move move) {
    for (const Transition& one : kTransitions) {
        if (one.from == from && one.move == move) {
            return one.to;
        }
    }
    return std::nullopt;
}

bool isGoing(Stage stage) {
    return stage >= Stage::kRunning && stage <= Stage::kDropping;
}

bool hasFeed(Stage stage) {
    return stage == Stage::kUnknown || stage == Stage::kRunning || stage == Stage::kLingering;
}

bool isOver(Stage stage) {
    return stage >= Stage::kReceiptDue;
}

void AttemptState::move(Move move, std::int64_t nowNs) {
    const std::optional<Stage> to = next(stage_, move);
    INVARIANT(to.has_value(), "an attempt's move that its table does not have");
    if (*to != stage_) {
        sinceNs_ = nowNs;
        retryNs_ = 0;
    }
    stage_ = *to;
}

}  // namespace millrace::agent

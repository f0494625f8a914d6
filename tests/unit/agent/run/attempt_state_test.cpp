// The whole table of an attempt's states: its moves, forbidden moves, and the page that documents
// it.
#include "daemon/agent/run/attempt_state.h"

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/core/status.h"
#include "daemon/agent/run/preparation.h"

namespace millrace::agent {
namespace {

std::set<Stage> reachedFrom(Stage start) {
    std::set<Stage> seen{start};
    for (bool isGrowing = true; isGrowing;) {
        isGrowing = false;
        for (const Transition& one : transitions()) {
            isGrowing = (seen.contains(one.from) && seen.insert(one.to).second) || isGrowing;
        }
    }
    return seen;
}

std::set<Stage> sourcesOf(Move move) {
    std::set<Stage> from;
    for (const Transition& one : transitions()) {
        if (one.move == move) {
            from.insert(one.from);
        }
    }
    return from;
}

Stage stageAt(int i) {
    return static_cast<Stage>(i);
}

TEST(AttemptState, EachMoveLeadsToOneStageAndAnswersAsTheTable) {
    std::map<std::pair<Stage, Move>, Stage> table;
    for (const Transition& one : transitions()) {
        EXPECT_TRUE(table.emplace(std::pair(one.from, one.move), one.to).second)
            << textOf(one.from) << " twice: " << textOf(one.move);
    }
    for (int s = 0; s < kNumStages; ++s) {
        for (int m = 0; m < kNumMoves; ++m) {
            const auto found = table.find({stageAt(s), static_cast<Move>(m)});
            const auto expected =
                found == table.end() ? std::nullopt : std::optional(found->second);
            EXPECT_EQ(next(stageAt(s), static_cast<Move>(m)), expected);
        }
    }
}

TEST(AttemptState, EveryStageIsReachedAndLeadsToTheEnd) {
    EXPECT_EQ(reachedFrom(Stage::kNew).size(), static_cast<std::size_t>(kNumStages));
    EXPECT_EQ(reachedFrom(Stage::kEnded).size(), 1u) << "nothing follows the end";
    for (int s = 0; s < kNumStages; ++s) {
        EXPECT_TRUE(reachedFrom(stageAt(s)).contains(Stage::kEnded)) << textOf(stageAt(s));
    }
}

// While a worker may live, an ended attempt allows neither another attempt nor a verdict.
TEST(AttemptState, ALivingGangIsFollowedByNothingBeforeItIsOver) {
    const auto hasWorkers = [](Stage stage) {
        return stage >= Stage::kUnknown && stage <= Stage::kDropped;
    };
    for (const Transition& one : transitions()) {
        const bool isSettled = one.from == Stage::kDraining || one.from == Stage::kDropped;
        if (hasWorkers(one.from) && !hasWorkers(one.to)) {
            EXPECT_TRUE(isSettled || one.move == Move::kNeverPlaced) << textOf(one.from);
        }
        if (one.to == Stage::kDraining || one.to == Stage::kDropped) {
            EXPECT_EQ(one.move, Move::kGangOver) << textOf(one.from);
        }
    }
    EXPECT_EQ(sourcesOf(Move::kLaunch),
              (std::set<Stage>{Stage::kNew, Stage::kDraining, Stage::kDropped}));
}

TEST(AttemptState, WhatIsAskedForComesBackWhenItDidNotGo) {
    for (const Transition& one : transitions()) {
        if (one.move == Move::kAsked) {
            EXPECT_EQ(next(one.to, Move::kNotNow), one.from) << textOf(one.from);
        }
    }
    EXPECT_EQ(sourcesOf(Move::kAsked),
              (std::set<Stage>{Stage::kSurveyDue, Stage::kJobDue, Stage::kReceiptDue}));
}

TEST(AttemptState, AnEndIsDecidedOnce) {
    for (const Transition& one : transitions()) {
        if (isOver(one.from)) {
            EXPECT_TRUE(isOver(one.to)) << textOf(one.from);
        }
        if (!isOver(one.from) && isOver(one.to)) {
            EXPECT_EQ(one.move, Move::kVerdict) << textOf(one.from);
            EXPECT_EQ(one.to, Stage::kReceiptDue) << textOf(one.from);
        }
    }
}

TEST(AttemptState, ARetryIsForgottenWithItsStage) {
    AttemptState state;
    state.move(Move::kAdopt, 100);
    EXPECT_EQ(state.sinceNs(), 100);
    EXPECT_TRUE(state.isDue(0)) << "nothing to wait for";
    state.setRetry(500);
    EXPECT_FALSE(state.isDue(499));
    EXPECT_TRUE(state.isDue(500));
    EXPECT_FALSE(state.may(Move::kLaunch));
    state.move(Move::kNeverPlaced, 600);
    EXPECT_EQ(state.stage(), Stage::kPlacing);
    EXPECT_FALSE(state.isRetrying());
    state.setRetry(900);
    state.move(Move::kNotNow, 700);
    EXPECT_TRUE(state.isRetrying()) << "the same stage";
    EXPECT_EQ(state.sinceNs(), 600);
}

TEST(AttemptStateDeathTest, AMoveThatTheTableDoesNotHaveIsAProgrammersError) {
    AttemptState state;
    EXPECT_DEATH(state.move(Move::kStored, 1), "table does not have");
}

// "| running | cut | cutting | why |": the rows of the page's table.
std::set<std::string> rowsOfThePage() {
    std::set<std::string> stages, rows;
    for (int s = 0; s < kNumStages; ++s) {
        stages.emplace(textOf(stageAt(s)));
    }
    std::ifstream page(std::string(MILLRACE_SOURCE_DIR) + "/docs/architecture/attempt.md");
    for (std::string line; std::getline(page, line);) {
        std::istringstream cells(line);
        std::string none, from, move, to;
        std::getline(cells, none, '|');
        std::getline(cells, from, '|');
        std::getline(cells, move, '|');
        std::getline(cells, to, '|');
        const bool isRow = from.size() > 2 && to.size() > 2 &&
                           stages.contains(from.substr(1, from.size() - 2)) &&
                           stages.contains(to.substr(1, to.size() - 2));
        if (isRow) {
            rows.insert(strCat(from, "|", move, "|", to));
        }
    }
    return rows;
}

TEST(AttemptState, ThePageHasTheTable) {
    std::set<std::string> rows;
    for (const Transition& one : transitions()) {
        rows.insert(
            strCat(" ", textOf(one.from), " | ", textOf(one.move), " | ", textOf(one.to), " "));
    }
    EXPECT_EQ(rowsOfThePage(), rows);
}

TEST(Preparation, PausesGrowBehindAttemptsThatTookNoStep) {
    EXPECT_EQ(pauseBehindIdle(1), 1'000'000'000);
    EXPECT_EQ(pauseBehindIdle(3), 4'000'000'000);
    EXPECT_EQ(pauseBehindIdle(1'000'000), 30'000'000'000);
}

}  // namespace
}  // namespace millrace::agent

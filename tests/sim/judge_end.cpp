// Judge, the laws that hold at rest: what the store has of each run is what its ranks did.
#include <algorithm>
#include <filesystem>

#include "backend/checkpoint/checkpoint_name.h"
#include "backend/job/attempt_paths.h"
#include "tests/sim/judge.h"

namespace millrace::sim {
namespace {

constexpr std::size_t kKept = 2;  // checkpoints, as the spec says

}  // namespace

void Judge::checkEnd(runs::RunStore& store, const std::string& headRoot) {
    for (const auto& [id, course] : courses_) {
        const runs::RunRecord run = *store.get(id);
        if (run.state != values::RunState::kFinished && !course.ends.contains(run.state)) {
            wrongOf(id, strCat("the run is ", values::nameOf(run.state), ": ", run.exitReason));
            continue;
        }
        checkAttempts(store, id);
        if (run.state == values::RunState::kFinished) {
            checkCheckpoints(store, id, job::RunPaths(headRoot + "/runs", id).checkpoints());
            checkMetrics(store, id);
            checkRecord(store, run);
        }
    }
}

void Judge::checkMetrics(runs::RunStore& store, const std::string& id) {
    const Course& course = courses_.at(id);
    const auto losses = store.metrics(id, "loss", {.maxPoints = 0});
    INVARIANT(losses.ok(), "the store is read");
    std::int64_t step = 0;
    for (const auto& point : losses->points) {
        for (++step; point.step != step && course.untold.contains(step); ++step) {
        }
        if (point.step != step || point.value != lossOf(point.step)) {
            return wrongOf(
                id, strCat("the points of loss: step ", point.step, " in the place of ", step));
        }
    }
    if (step != course.terms.steps) {
        wrongOf(id, strCat("the points of loss end at step ", step, " of ", course.terms.steps));
    }
}

void Judge::checkRecord(runs::RunStore& store, const runs::RunRecord& run) {
    const Course& course = courses_.at(run.id);
    const values::Progress& progress = run.progress;
    const std::int64_t steps = course.terms.steps;
    if (progress.step != steps || progress.stepsTotal != steps ||
        run.rowsTrained != steps * kRowsPerStep) {
        wrongOf(run.id, strCat("the store has it at step ", progress.step, " of ",
                               progress.stepsTotal, " with ", run.rowsTrained, " rows"));
    }
    const values::RunFigure* loss = run.newest("loss");
    if (loss == nullptr || loss->value != lossOf(steps)) {
        wrongOf(run.id, "its newest loss is not that of its last step");
    }
    if (run.attempt < course.attempt || run.restarts >= run.attempt || run.endedMs == 0) {
        wrongOf(run.id, strCat("the store has ", run.attempt, " attempts, ", run.restarts,
                               " of them restarts, and there were ", course.attempt));
    }
    const auto receipt = store.document(run.id, values::LargeDocument::kReceipt);
    const std::int64_t rows =
        receipt.ok() && !receipt->empty() ? jsonInt(*parseJson(*receipt, ""), "rows_trained") : 0;
    if (isDiskTrusted_ && rows != steps * kRowsPerStep) {
        wrongOf(run.id, strCat("its receipt tells of ", rows, " rows"));
    }
    const auto quarantined = store.quarantined(run.id);
    if (!quarantined.ok() || !quarantined->empty()) {
        wrongOf(run.id, "lines of it are in quarantine");
    }
}

void Judge::checkAttempts(runs::RunStore& store, const std::string& id) {
    const Course& course = courses_.at(id);
    const auto attempts = store.attempts(id);
    INVARIANT(attempts.ok(), "the store is read");
    for (const runs::AttemptRecord& one : *attempts) {
        const auto resumed = course.resumedFrom.find(one.attempt);
        const bool hasStepped = resumed != course.resumedFrom.end();
        if (one.numRanks != course.terms.ranks ||
            (hasStepped && resumed->second != one.resumeStep)) {
            wrongOf(id, strCat("the store has attempt ", one.attempt, " with ", one.numRanks,
                               " ranks from step ", one.resumeStep));
        }
    }
}

void Judge::checkCheckpoints(runs::RunStore& store, const std::string& id,
                             const std::string& root) {
    const Course& course = courses_.at(id);
    const auto records = store.checkpoints(id, true);
    INVARIANT(records.ok(), "the store is read");
    std::set<std::string> kept, there;
    std::size_t numKept = 0;
    bool isTidied = false;  // its last attempt has written one, behind which older ones go
    for (const runs::CheckpointRecord& one : *records) {
        const auto saved = course.saved.find(one.name);
        if (saved == course.saved.end() || saved->second.step != one.step ||
            saved->second.hash != one.hash || saved->second.bytes != one.bytes) {
            wrongOf(id, strCat("the store has a checkpoint ", one.name, " that no rank wrote so"));
        }
        if (!one.isDeleted) {
            kept.insert(one.name);
            numKept += one.isWaiting ? 0 : 1;
            isTidied = isTidied || one.attempt == course.attempt;
        }
    }
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(root, error)) {
        const std::string name = entry.path().filename();
        if (checkpoint::CheckpointName::parse(name).has_value()) {
            there.insert(name);
        }
    }
    if (isTidied && isDiskTrusted_ && numKept > kKept) {
        wrongOf(id, strCat("the store has ", numKept, " checkpoints that count"));
    }
    if (isTidied && isDiskTrusted_ && kept != there) {
        wrongOf(id, strCat("the store has ", kept.size(), " checkpoints, and there are ",
                           there.size()));
    }
    if (isDiskTrusted_ && !course.saved.empty() && kept.empty()) {
        wrongOf(id, "the store has none of its checkpoints");
    }
}

}  // namespace millrace::sim

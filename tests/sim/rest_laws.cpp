#include "tests/sim/rest_laws.h"

#include <algorithm>
#include <filesystem>

#include "backend/checkpoint/checkpoint_name.h"
#include "backend/job/attempt_paths.h"
#include "backend/rank/rank_line.h"

namespace millrace::sim {
namespace {

constexpr std::size_t kKept = 2;  // checkpoints that the spec keeps

}  // namespace

void RestLaws::check(const std::string& headRoot) {
    for (const auto& [id, course] : seen_.courses) {
        if (course.isRemoved) {
            const bool isThere = std::filesystem::exists(strCat(headRoot, "/runs/", id));
            if (course.isPurged && seen_.isDiskTrusted && isThere) {
                seen_.wrongOf(id, "it was deleted for good, and its files are there");
            }
            continue;
        }
        const runs::RunRecord run = *store_.get(id);
        if (run.state != values::RunState::kFinished && !course.ends.contains(run.state)) {
            seen_.wrongOf(id,
                          strCat("the run is ", values::nameOf(run.state), ": ", run.exitReason));
            continue;
        }
        checkAttempts(id);
        if (run.state == values::RunState::kFinished) {
            checkCheckpoints(id, job::RunPaths(headRoot + "/runs", id).checkpoints());
            checkMetrics(id);
            checkRecord(run);
        }
    }
}

void RestLaws::checkMetrics(const std::string& id) {
    const Course& course = seen_.courses.at(id);
    const auto losses = store_.metrics(id, "loss", {.maxPoints = 0});
    INVARIANT(losses.ok(), "the store is read");
    const auto mayLack = [&](std::int64_t step) {
        return course.untold.contains(step) || seen_.refused.contains(step);
    };
    std::int64_t step = 0;
    for (const auto& point : losses->points) {
        for (++step; point.step != step && mayLack(step); ++step) {
        }
        if (point.step != step || point.value != lossOf(point.step)) {
            return seen_.wrongOf(
                id, strCat("the points of loss: step ", point.step, " instead of ", step));
        }
    }
    while (step < course.terms.steps && seen_.refused.contains(step + 1)) {
        ++step;
    }
    if (step != course.terms.steps) {
        seen_.wrongOf(id,
                      strCat("the points of loss end at step ", step, " of ", course.terms.steps));
    }
}

void RestLaws::checkRecord(const runs::RunRecord& run) {
    const Course& course = seen_.courses.at(run.id);
    const values::Progress& progress = run.progress;
    const std::int64_t steps = course.terms.steps;
    if (progress.step != steps || progress.stepsTotal != steps ||
        run.rowsTrained != steps * kRowsPerStep) {
        seen_.wrongOf(run.id, strCat("the store has it at step ", progress.step, " of ",
                                     progress.stepsTotal, " with ", run.rowsTrained, " rows"));
    }
    const values::RunFigure* loss = run.newest("loss");
    if (!seen_.refused.contains(steps) && (loss == nullptr || loss->value != lossOf(steps))) {
        seen_.wrongOf(run.id, "its newest loss is not that of its last step");
    }
    if (run.attempt < course.attempt || run.restarts >= run.attempt || run.endedMs == 0) {
        seen_.wrongOf(run.id, strCat("the store has ", run.attempt, " attempts, ", run.restarts,
                                     " of them restarts, and there were ", course.attempt));
    }
    const auto receipt = store_.document(run.id, values::LargeDocument::kReceipt);
    const std::int64_t rows =
        receipt.ok() && !receipt->empty() ? jsonInt(*parseJson(*receipt, ""), "rows_trained") : 0;
    if (seen_.isDiskTrusted && rows != steps * kRowsPerStep) {
        seen_.wrongOf(run.id, strCat("its receipt tells of ", rows, " rows"));
    }
}

void RestLaws::checkAttempts(const std::string& id) {
    const Course& course = seen_.courses.at(id);
    const auto attempts = store_.attempts(id);
    INVARIANT(attempts.ok(), "the store is read");
    for (const runs::AttemptRecord& one : *attempts) {
        const auto resumed = course.resumedFrom.find(one.attempt);
        const bool hasStepped = resumed != course.resumedFrom.end();
        if (one.numRanks != course.terms.ranks ||
            (hasStepped && resumed->second != one.resumeStep)) {
            seen_.wrongOf(id, strCat("the store has attempt ", one.attempt, " with ", one.numRanks,
                                     " ranks from step ", one.resumeStep));
        }
    }
}

void RestLaws::checkCheckpoints(const std::string& id, const std::string& root) {
    const Course& course = seen_.courses.at(id);
    const auto records = store_.checkpoints(id, true);
    INVARIANT(records.ok(), "the store is read");
    std::set<std::string> kept, there;
    std::size_t numKept = 0;
    bool isTidied = false;  // a checkpoint of the last attempt has led to removal of older ones
    for (const runs::CheckpointRecord& one : *records) {
        const auto saved = course.saved.find(one.name);
        if (saved == course.saved.end() || saved->second.step != one.step ||
            saved->second.hash != one.hash || saved->second.bytes != one.bytes) {
            seen_.wrongOf(
                id, strCat("the store has a checkpoint ", one.name, " that no rank wrote so"));
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
    if (isTidied && seen_.isDiskTrusted && numKept > kKept + course.numLate) {
        seen_.wrongOf(id, strCat("the store has ", numKept, " checkpoints that count"));
    }
    if (isTidied && seen_.isDiskTrusted && kept != there) {
        seen_.wrongOf(id, strCat("the store has ", kept.size(), " checkpoints, and there are ",
                                 there.size()));
    }
    const bool wasApart = std::any_of(seen_.apartNs.begin(), seen_.apartNs.end(),
                                      [](std::int64_t ns) { return ns > 0; });
    std::int64_t newest = 0, newestSaved = 0;
    for (const runs::CheckpointRecord& one : *records) {
        newest = std::max(newest, one.step);
    }
    for (const auto& [name, one] : course.saved) {
        newestSaved = std::max(newestSaved, one.step);
    }
    if (seen_.isDiskTrusted && !wasApart && newest < newestSaved) {
        seen_.wrongOf(id, strCat("its newest checkpoint is of step ", newest,
                                 ", and there was one of ", newestSaved));
    }
    if (seen_.isDiskTrusted && !course.saved.empty() && kept.empty()) {
        seen_.wrongOf(id, "the store has none of its checkpoints");
    }
}

}  // namespace millrace::sim

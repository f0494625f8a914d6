#pragma once
// Runs for the tests of session, tui and cli: a finished run with its details.
#include <string>

#include "backend/values/run_detail.h"

namespace millrace::client {

inline values::RunSummary aRun(const std::string& id, const std::string& variation = "",
                               values::RunState state = values::RunState::kFinished) {
    values::RunSummary run;
    run.id = id;
    run.uid = "0190" + id.substr(2) + std::string(28 - (id.size() - 2), 'f');
    run.name = "movielens-dlrm";
    run.variation = variation;
    run.owner = "ada";
    run.state = state;
    run.attempt = 1;
    run.createdMs = 1'700'000'000'000;
    run.startedMs = run.createdMs + 1'000;
    run.endedMs = isEnded(state) ? run.startedMs + 12'500 : 0;
    run.progress = {390,
                    630,
                    1,
                    3,
                    99'840,
                    values::Phase::kTraining,
                    values::PhaseTimes{990, 10},
                    std::nullopt,
                    std::nullopt,
                    run.createdMs + 9'000};
    run.latestMetrics = {{"eval.auc", 0.7934, 390, 0, 1},
                         {"eval.normalized_entropy", 0.8312, 390, 0, 1},
                         {"loss", 0.5123, 390, 0, 1},
                         {"samples_per_second", 42'100, 390, 0, 1}};
    run.bestMetrics = {{"eval.auc", 0.7951, 300}, {"eval.normalized_entropy", 0.8298, 300}};
    run.meanRate = 50'000;
    run.rowsRead = 100'836;
    run.rowsKept = 80'561;
    run.rowsTrained = 241'683;
    run.evalOrderHash = "aaaabbbbccccdddd";
    run.model = "dlrm";
    run.dataset = "ratings.csv";
    return run;
}

inline values::RunDetail aDetail(const values::RunSummary& run) {
    values::RunDetail detail;
    detail.summary = run;
    detail.specFileName = "movielens.yaml";
    detail.resolvedSpec = R"({"name":"movielens-dlrm"})";
    detail.params = {{"batch.seed", "7"}, {"model.type", "dlrm"}};
    detail.metricNames = {"eval.auc", "loss"};
    values::Receipt receipt;
    receipt.files = {{"ratings.csv", "ff00", 2'483'723, 100'836}};
    receipt.steps = {{"filter", 80'600, 80'561, {{"false", 30}, {"null", 9}}},
                     {"negatives", 80'561, 80'561}};
    receipt.vocabularies = {{"genres", 161'122, 2'014, 16'000, 800}, {"userId", 80'561, 0}};
    receipt.labels = {{"liked", 1'200, 3}};
    receipt.dataWorkers = {98,
                           5'400,
                           2'000'000'000,
                           300'000'000,
                           0,
                           0,
                           1'250,
                           {"label", "label", "genres"},
                           {"none", "none", "zstd:-5"}};
    receipt.costs = {{"feed", 61.5, 300'000'000}, {"ranks", 7'200, 1'200'000'000}};
    receipt.orderHash = "0123456789abcdef";
    receipt.rowsScanned = 100'836;
    receipt.rowsKept = 80'561;
    receipt.rowsTrained = 241'683;
    detail.receipt = receipt;
    detail.checkpoints = {
        {300, run.createdMs, "/state/step-300.safetensors", "beef", 5'000'000, 1}};
    return detail;
}

}  // namespace millrace::client

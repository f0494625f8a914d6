#pragma once
// Runs with variations in a fake daemon, for tests, pictures and benchmarks of the page Runs.
//
// Threads: the test's own. The same numbers each time, apart from the times, which are taken from
// `nowMs`.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/fake_daemon_client.h"

namespace millrace::client {

inline const char* sceneSpec() {
    return R"yaml(# Will this user like this film?
name: movielens-dlrm
project: examples
dataset: {path: ratings.csv, where: "hash01(userId, movieId) < 0.8"}
recipe:
  - filter: rating is not null and userId <> 0
  - {name: drop-power-users, enabled: false, anti_join: {table: power_users.csv, on: userId}}
  - join: {table: movies.csv, on: movieId, take: {genres: "split(genres, '|')"}}
  - {name: negatives, sample: {where: "rating < 4.0", keep: 1.0, weight: inverse, by: [userId]}}
labels: {liked: "rating >= 4.0"}
batch: {rows: 512, micro_rows: 256, epochs: 3, seed: 7}
model: {type: dlrm, embedding_dim: 16, bottom: [32, 16], top: [64, 1]}
train: {optimizer: adamw, learning_rate: 0.003}
variations:
  - {name: keep-30, set: {recipe.negatives.keep: 0.3}}
  - {name: keep-10, set: {recipe.negatives.keep: 0.1}}
  - {name: no-power-users, set: {recipe.drop-power-users.enabled: true}}
  - {name: wide, set: {model.embedding_dim: 32, train.learning_rate: 0.001}}
)yaml";
}

struct SceneVariation {
    const char* name;
    double loss, auc;
};
inline const std::vector<SceneVariation>& sceneVariations() {
    static const std::vector<SceneVariation> kAll = {{"", 0.5123, 0.7934},
                                                     {"keep-30", 0.5241, 0.7921},
                                                     {"keep-10", 0.5502, 0.7866},
                                                     {"no-power-users", 0.5098, 0.7952},
                                                     {"wide", 0.5014, 0.7978}};
    return kAll;
}

/// A loss that falls from 0.69 to `last`; it depends only on the seed.
inline double sceneLoss(double last, std::int64_t step, std::int64_t steps, unsigned seed) {
    const double x = static_cast<double>(step) / static_cast<double>(steps);
    const double noise = std::sin(static_cast<double>(step) * 12.9898 + seed * 78.233) * 43758.5453;
    return last + (0.69 - last) * std::exp(-6 * x) + 0.02 * (noise - std::floor(noise) - 0.5);
}

inline values::RunSummary sceneRunOf(const std::string& id, const std::string& base,
                                     const SceneVariation& variation, std::int64_t createdMs) {
    values::RunSummary run;
    run.id = id;
    run.uid = "0190" + id;
    run.name = "movielens-dlrm";
    run.variation = variation.name;
    run.variationOf = base;
    run.group = base.empty() ? id : base;
    run.owner = "ada";
    run.project = "examples";
    run.tags = {{"team", "ranking"}};
    run.state = values::RunState::kFinished;
    run.attempt = 1;
    run.createdMs = createdMs;
    run.startedMs = createdMs + 900;
    run.endedMs = run.startedMs + 12'500 + static_cast<std::int64_t>(variation.auc * 3'000);
    run.progress = {
        630, 630, 2,          3, 241'683, values::Phase::kTraining, values::PhaseTimes{990, 10},
        {},  {},  run.endedMs};
    run.latestMetrics = {
        {"eval.auc", variation.auc, 630, run.endedMs, 2},
        {"eval.normalized_entropy", 1.62 - variation.auc, 630, run.endedMs, 2},
        {"input_stall_percent", 1.4, 630, run.endedMs, 2},
        {"loss", variation.loss, 630, run.endedMs, 2},
        {"samples_per_second", 42'100 - 900 * variation.loss, 630, run.endedMs, 2}};
    run.meanRate = 42'100 - 900 * variation.loss;
    run.rowsRead = 302'508;
    run.rowsKept = 241'683;
    run.rowsTrained = 241'683;
    run.evalOrderHash = "aaaabbbbccccddddaaaabbbbccccdddd";
    run.orderHash = "0123456789abcdef0123456789abcdef";
    run.specHash = "5f" + id;
    run.model = "dlrm";
    run.dataset = "ratings.csv";
    run.host = "gpu-01";
    return run;
}

inline void addSceneEnvironment(values::RunDetail& detail) {
    const values::RunSummary& run = detail.summary;
    detail.packages = {{"millrace", "0.1.0"}, {"torch", "2.11.0"}, {"arrow", "26.0.1"}};
    detail.git = {"8b1f0c2d9e4a7b6c5d3e2f1a0b9c8d7e6f5a4b3c", "main",
                  "https://github.com/example/ranking.git", run.variation == "wide"};
    detail.hardware = R"({"cpu":"AMD EPYC 9654","cores":96,"memory_bytes":824633720832,)"
                      R"("gpus":["NVIDIA H200"],"os":"Debian GNU/Linux 12","kernel":"6.1.0"})";
    detail.directory = "/var/lib/millrace/runs/" + run.id;
    detail.workers = {{"feed", "ended", 4102, 0, 1}, {"rank0", "ended", 4103, 0, 1}};
    detail.events = {{run.createdMs, "queued"},
                     {run.startedMs, "attempt 1: feed and rank0 started"},
                     {run.endedMs, "rank0 said done"}};
}

inline values::RunDetail sceneDetail(const values::RunSummary& run) {
    values::RunDetail detail;
    detail.summary = run;
    detail.specText = sceneSpec();
    detail.specFileName = "movielens.yaml";
    detail.resolvedSpec = R"({"base_dir":"/srv/ada/movielens","project":"examples",)"
                          R"("tags":{"team":"ranking"}})";
    detail.params = {{"batch.rows", "512"},           {"batch.seed", "7"},
                     {"model.embedding_dim", "16"},   {"model.type", "dlrm"},
                     {"recipe.negatives.keep", "1"},  {"recipe.drop-power-users.enabled", "false"},
                     {"train.learning_rate", "0.003"}};
    double kept = 1;
    if (run.variation == "keep-30" || run.variation == "keep-10") {
        kept = run.variation == "keep-30" ? 0.3 : 0.1;
        detail.params["recipe.negatives.keep"] = run.variation == "keep-30" ? "0.3" : "0.1";
    } else if (run.variation == "wide") {
        detail.params["model.embedding_dim"] = "32";
        detail.params["train.learning_rate"] = "0.001";
    } else if (run.variation == "no-power-users") {
        detail.params["recipe.drop-power-users.enabled"] = "true";
    }
    values::Receipt receipt;
    receipt.files = {{"ratings.csv", "ff00ff00ff00ff00ff00ff00ff00ff00", 2'483'723, 100'836}};
    receipt.sideTables = {{"movies.csv", "aa11aa11aa11aa11aa11aa11aa11aa11", 494'431, 9'742}};
    const auto rows = static_cast<std::int64_t>(80'561 * (0.52 + 0.48 * kept));
    receipt.steps = {{"dataset.where", 100'836, 80'600},
                     {"filter", 80'600, 80'561, {{"false", 30}, {"null", 9}}},
                     {"join movies.csv", 80'561, 80'561},
                     {"negatives", 80'561, rows}};
    receipt.vocabularies = {{"genres", 161'122, 2'014}};
    receipt.orderHash = run.orderHash;
    receipt.evalOrderHash = run.evalOrderHash;
    receipt.planHash = "beefbeefbeefbeefbeefbeefbeefbeef";
    receipt.rowsScanned = 100'836;
    receipt.rowsKept = rows;
    receipt.rowsTrained = 3 * rows;
    detail.receipt = receipt;
    for (const std::int64_t step : {400, 500, 600, 630}) {
        detail.checkpoints.push_back(
            {step, run.startedMs + step * 20,
             detail.directory + "/step-" + std::to_string(step) + ".safetensors", "beef", 5'242'880,
             1});
    }
    for (const values::RunFigure& point : run.latestMetrics) {
        detail.metricNames.push_back(point.name);
    }
    detail.summary.params = detail.params;
    addSceneEnvironment(detail);
    return detail;
}

/// Groups of a base and its four variations. The first `numStories` groups differ: one run trains,
/// one is queued, one failed, one was cancelled, one was evaluated on other rows.
inline std::vector<values::RunDetail> sceneRuns(int count, std::int64_t nowMs, int numStories = 1) {
    std::vector<values::RunDetail> runs;
    const auto& variations = sceneVariations();
    const int size = static_cast<int>(variations.size());
    for (int i = 0; i < count; ++i) {
        const int group = i / size;
        const auto idOf = [](int n) { return "r-" + std::to_string(100'000 + n).substr(1); };
        const std::string base = i % size == 0 ? "" : idOf(group * size);
        SceneVariation variation = variations[static_cast<std::size_t>(i % size)];
        const double shift = 0.0007 * (group % 37);
        variation.loss += shift;
        variation.auc -= shift / 2;
        values::RunSummary run =
            sceneRunOf(idOf(i), base, variation, nowMs - 600'000 - std::int64_t{400'000} * group);
        if (group < numStories && i % size == 1) {
            run.state = values::RunState::kRunning;
            run.endedMs = 0;
            run.progress.step = 390;
        } else if (group < numStories && i % size == 2) {
            run.evalOrderHash = "eeeeffffeeeeffffeeeeffffeeeeffff";
            run.note =
                "Only **one in ten** negatives:\n\n- evaluated on another split by mistake\n";
        } else if (group < numStories && i % size == 3) {
            run.state = values::RunState::kFailed;
            run.exitReason =
                "rank0 ended by SIGKILL: the machine ran out of memory (limit 1024 MB)";
        }
        runs.push_back(sceneDetail(run));
    }
    return runs;
}

/// Like the daemon's answer: at most maxPoints points, minimum and maximum of each range.
inline values::MetricSeries sceneSeries(const std::string& name, double last, unsigned seed,
                                        std::int64_t steps, int maxPoints) {
    values::MetricSeries series;
    series.key = name;
    series.numPoints = steps;
    const std::int64_t most = maxPoints > 0 ? maxPoints : 2'000;
    const std::int64_t stride = std::max<std::int64_t>(1, steps / most);
    series.isDecimated = stride > 1;
    for (std::int64_t step = 1; step <= steps; step += stride) {
        values::MetricPoint& point = series.points.emplace_back();
        point.step = step;
        point.value = sceneLoss(last, step, steps, seed);
        point.timeMs = 1'700'000'000'000 + step * 20;
        point.rows = step * 384;
    }
    return series;
}

inline values::MetricHistory sceneAnswer(const values::MetricRangeRequest& request,
                                         const std::vector<values::RunDetail>& runs) {
    values::MetricHistory answer;
    for (const values::RunDetail& run : runs) {
        if (run.summary.id != request.run) {
            continue;
        }
        for (const values::RunFigure& point : run.summary.latestMetrics) {
            const bool isWanted =
                request.names.empty() || std::find(request.names.begin(), request.names.end(),
                                                   point.name) != request.names.end();
            if (isWanted) {
                const bool isEval = point.name.rfind("eval.", 0) == 0;
                const std::int64_t steps = run.summary.progress.step;
                answer.series.push_back(sceneSeries(
                    point.name, point.value, static_cast<unsigned>(run.summary.id.back()),
                    isEval ? steps / 100 : steps, request.maxPoints));
                if (isEval) {
                    for (values::MetricPoint& stored : answer.series.back().points) {
                        stored.step *= 100;
                    }
                }
            }
        }
    }
    return answer;
}

}  // namespace millrace::client

// fill_store PATH RUNS: writes a run store with RUNS finished runs, with 60 params and 12 metrics
// each, for the benchmarks of lists.
#include <cstdio>
#include <cstdlib>

#include "backend/core/clock.h"
#include "backend/runs/run_store.h"

namespace millrace {
namespace {

runs::RunRecord makeRun(int i) {
    runs::RunRecord run;
    run.name = strCat("bench-", i);
    run.owner = "bench";
    run.project = "bench";
    run.variation = i % 4 == 0 ? "" : strCat("keep-", i % 4 * 10);
    run.specText = std::string(2000, '#');
    run.resolvedSpec = R"({"name":"bench"})";
    run.specHash = run.streamHash = run.planHash = std::string(32, '0');
    run.submitKey = strCat("bench-", i);
    for (int p = 0; p < 60; ++p) {
        run.params[strCat("group", p % 6, ".key", p)] = strCat(i * p % 97);
    }
    return run;
}

Status addOne(runs::RunStore& store, int i) {
    ASSIGN_OR_RETURN(const runs::RunStore::Created created, store.create(makeRun(i)));
    const std::string& id = created.run.id;
    RETURN_IF_ERROR(store.beginAttempt(id, 1, 0));
    RETURN_IF_ERROR(store.setState(id, {values::RunState::kRunning, "", 1}));
    runs::LineBatch batch;
    batch.runId = id;
    batch.worker = "rank0";
    batch.lastSeq = 1;
    runs::ReportedLine line{1, 100, 0, 102400, 1'700'000'000'000 + i, {}};
    for (int m = 0; m < 12; ++m) {
        line.values.emplace_back(m == 0   ? "loss"
                                 : m == 1 ? "eval.auc"
                                          : strCat("metric", m),
                                 1.0 / (1 + i + m));
    }
    batch.metrics.push_back(line);
    RETURN_IF_ERROR(store.commitLines(batch).status());
    return store.setState(id, {values::RunState::kFinished, "", 1});
}

int fill(const char* path, int count) {
    const SystemClock clock;
    auto store = runs::RunStore::open(path, clock);
    if (!store.ok()) {
        std::fprintf(stderr, "fill_store: %s\n", store.status().ToString().c_str());
        return 1;
    }
    for (int i = 0; i < count; ++i) {
        if (const Status status = addOne(**store, i); !status.ok()) {
            std::fprintf(stderr, "fill_store: %s\n", status.ToString().c_str());
            return 1;
        }
    }
    return 0;
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: fill_store PATH RUNS\n");
        return 2;
    }
    return millrace::fill(argv[1], std::atoi(argv[2]));
}

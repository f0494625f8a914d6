// store_bench DIR [METRICS POINTS RUNS]: measures what the run store costs the daemon, without RPC.
//
// Writes one run of METRICS x POINTS, reads it as the console does, and lists RUNS runs. Checks the
// result of every measured call, and exits with 1 if something is missing.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include <sys/stat.h>
#include <time.h>

#include "backend/core/clock.h"
#include "backend/runs/run_store.h"

namespace millrace {
namespace {

constexpr int kLinesInBatch = 100;

struct Sizes {
    int metrics = 100, points = 100'000, runs = 10'000;
};

double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

void require(bool isTrue, const char* what) {
    if (!isTrue) {
        std::fprintf(stderr, "store_bench: %s\n", what);
        std::exit(1);
    }
}

template <class T>
T must(Result<T> result) {
    require(result.ok(), result.ok() ? "" : result.status().ToString().c_str());
    return std::move(*result);
}

void row(const char* what, double value, const char* unit) {
    std::printf("%-52s %10.2f %s\n", what, value, unit);
    std::fflush(stdout);
}

double cpuSeconds() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The medians of `times` calls: elapsed time, and processor time.
void timed(const char* what, int times, const std::function<void()>& call) {
    std::vector<double> elapsed, busy;
    for (int i = 0; i < times + 1; ++i) {
        const double start = seconds(), cpu = cpuSeconds();
        call();
        if (i > 0) {
            elapsed.push_back((seconds() - start) * 1e3);
            busy.push_back((cpuSeconds() - cpu) * 1e3);
        }
    }
    std::sort(elapsed.begin(), elapsed.end());
    std::sort(busy.begin(), busy.end());
    std::printf("%-52s %10.2f ms  (%.2f ms of a processor)\n", what, elapsed[elapsed.size() / 2],
                busy[busy.size() / 2]);
    std::fflush(stdout);
}

double fileMegabytes(const std::string& path) {
    struct stat facts{};
    return ::stat(path.c_str(), &facts) == 0 ? static_cast<double>(facts.st_size) / 1e6 : 0;
}

std::string nameOf(int metric) {
    return metric == 0 ? "loss" : strCat("group", metric % 7, ".metric", metric);
}

// Curves that fall and then become flat, with noise and some spikes. No two are equal.
double valueOf(int metric, int step, std::uint32_t& noise) {
    noise = noise * 1664525U + 1013904223U;
    const double base = 0.2 + std::exp(-step * 1e-5 * (1 + metric % 5));
    const double spike = noise % 20'011 == 0 ? 10 : 0;
    return static_cast<float>(base + 0.01 * (noise >> 8) / double(1 << 24) + spike);
}

std::string writeRun(runs::RunStore& store, const Sizes& sizes) {
    runs::RunRecord run;
    run.name = "long";
    run.specText = "name: long\n";
    run.resolvedSpec = R"({"name":"long"})";
    const std::string id = must(store.create(run)).run.id;
    require(store.beginAttempt(id, 1, 0).ok(), "attempt");
    std::vector<std::string> names;
    for (int m = 0; m < sizes.metrics; ++m) {
        names.push_back(nameOf(m));
    }
    std::uint32_t noise = 7;
    for (int first = 1; first <= sizes.points; first += kLinesInBatch) {
        runs::LineBatch batch{id, 1, "rank0", std::min(first + kLinesInBatch - 1, sizes.points)};
        batch.rank = 0;
        for (int step = first; step <= batch.lastSeq; ++step) {
            runs::ReportedLine line{step,
                                    step,
                                    step / 10'000,
                                    step * 1024LL,
                                    1'700'000'000'000 + step * 83LL + noise % 7,
                                    {}};
            for (int m = 0; m < sizes.metrics; ++m) {
                line.values.emplace_back(names[m], valueOf(m, step, noise));
            }
            batch.metrics.push_back(std::move(line));
        }
        must(store.commitLines(batch));
    }
    return id;
}

void readRun(runs::RunStore& store, const std::string& id, const Sizes& sizes) {
    const auto expect = [&](const values::MetricSeries& series, std::size_t most) {
        require(series.numPoints == sizes.points && series.points.size() <= most &&
                    series.points.back().step == sizes.points,
                "a series is not whole");
    };
    timed("one metric at 1,000 points", 15,
          [&] { expect(must(store.metrics(id, "loss", {0, INT64_MAX, 1000})), 1000); });
    timed("all metrics at 1,000 points each", 5, [&] {
        std::vector<runs::MetricRequest> requests;
        std::vector<std::string> names = must(store.metricKeys(id));
        for (std::string& name : names) {
            requests.push_back({std::move(name), {0, INT64_MAX, 1000}});
        }
        for (const values::MetricSeries& series : must(store.metrics(id, requests))) {
            expect(series, 1000);
        }
    });
    const int middle = sizes.points / 2;
    timed("a range of 2,000 steps of one metric, raw", 15, [&] {
        require(must(store.metrics(id, "loss", {middle, middle + 1999, 0})).points.size() == 2000,
                "a range is not whole");
    });
    timed("one metric, every point", 5,
          [&] { expect(must(store.metrics(id, "loss", {0, INT64_MAX, 0})), 100'000'000); });
    timed("names of the run's metrics", 15, [&] {
        require(must(store.metricKeys(id)).size() == static_cast<std::size_t>(sizes.metrics),
                "names");
    });
}

void writeRuns(runs::RunStore& store, int count) {
    for (int i = 0; i < count; ++i) {
        runs::RunRecord run;
        run.name = strCat("bench-", i);
        run.variation = i % 4 == 0 ? "" : strCat("keep-", i % 4 * 10);
        run.specText = std::string(2000, '#');
        run.resolvedSpec = R"({"name":"bench"})";
        run.specHash = run.streamHash = run.planHash = std::string(32, '0');
        for (int p = 0; p < 60; ++p) {
            run.params[strCat("group", p % 6, ".key", p)] = strCat(i * p % 97);
        }
        const std::string id = must(store.create(run)).run.id;
        require(store.beginAttempt(id, 1, 0).ok(), "attempt");
        runs::LineBatch batch{id, 1, "rank0", 1};
        batch.rank = 0;
        runs::ReportedLine line{1, 100, 0, 102'400, 1'700'000'000'000 + i, {}};
        for (int m = 0; m < 12; ++m) {
            line.values.emplace_back(nameOf(m), 1.0 / (1 + i + m));
        }
        batch.metrics.push_back(line);
        must(store.commitLines(batch));
        require(store.setState(id, {values::RunState::kFinished, "", 1}).ok(), "state");
    }
}

std::size_t listAll(runs::RunStore& store, runs::RunQuery query) {
    std::size_t count = 0;
    do {
        const values::RunPage page = must(store.list(query));
        count += page.runs.size();
        query.pageToken = page.nextPageToken;
    } while (!query.pageToken.empty());
    return count;
}

void listRuns(runs::RunStore& store, const Sizes& sizes) {
    const auto count = static_cast<std::size_t>(sizes.runs);
    runs::RunQuery query;
    query.pageSize = 500;
    timed("a page of 500 runs", 15,
          [&] { require(must(store.list(query)).runs.size() == 500, "page"); });
    query.pageSize = 1000;
    timed("all runs, pages of 1,000", 5,
          [&] { require(listAll(store, query) >= count, "all runs"); });
    query.withParams = true;
    timed("all runs with params, pages of 1,000", 3,
          [&] { require(listAll(store, query) >= count, "all runs"); });
    query.withParams = false;
    query.pageSize = 100;
    query.filter = "metrics.loss < 0.001";
    timed("filter on a metric, first 100", 15,
          [&] { require(must(store.list(query)).total > 0, "metric filter"); });
    query.filter = "params.\"group1.key7\" = '42'";
    timed("filter on a param, first 100", 15,
          [&] { require(must(store.list(query)).total > 0, "param filter"); });
    query.filter = "";
    query.orderBy = {"metrics.loss ASC"};
    timed("order by a metric, first 100", 15,
          [&] { require(must(store.list(query)).runs.size() == 100, "order"); });
    query.orderBy.clear();
    query.changedSince = must(store.changeCursor()) - 10;
    timed("changes since a cursor", 15,
          [&] { require(must(store.list(query)).total > 0, "changes"); });
}

int bench(const std::string& directory, const Sizes& sizes) {
    const SystemClock clock;
    const std::string path = directory + "/metrics.sqlite", listPath = directory + "/list.sqlite";
    const bool isThere = fileMegabytes(path) > 0;
    std::string id;
    const double start = seconds();
    {
        auto store = must(runs::RunStore::open(path, clock));
        id = isThere ? must(store->findId("long")) : writeRun(*store, sizes);
    }
    const double points = double(sizes.metrics) * sizes.points;
    if (!isThere) {
        row("ingest", points / (seconds() - start) / 1e6, "million points/s");
    }
    row("store size", fileMegabytes(path) * 1e6 / points, "bytes/point");
    auto store = must(runs::RunStore::open(path, clock));
    readRun(*store, id, sizes);
    store = must(runs::RunStore::open(listPath, clock));
    if (must(store->list({})).total == 0) {
        writeRuns(*store, sizes.runs);
    }
    listRuns(*store, sizes);
    return 0;
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: store_bench DIR [METRICS POINTS RUNS]\n");
        return 2;
    }
    millrace::Sizes sizes;
    int* const members[] = {&sizes.metrics, &sizes.points, &sizes.runs};
    for (int i = 2; i < argc && i < 5; ++i) {
        *members[i - 2] = std::atoi(argv[i]);
    }
    return millrace::bench(argv[1], sizes);
}

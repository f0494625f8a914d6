// rank_bench DIR [RANKS STEPS]: measures what many ranks cost the run store, and how fast it
// reads a range of them.
//
// Writes STEPS steps of one metric of RANKS ranks (512 x 100,000) as the summaries that the store
// makes of them, and writes a part of them line by line through the fold. Reads ranges and compares
// each with the written values. Exits with 1 if a value is wrong or a range takes 20 ms or more.
#include <random>

#include <sys/stat.h>

#include "backend/core/clock.h"
#include "backend/runs/run_store.h"
#include "tests/bench/console/bench_clock.h"

namespace millrace::bench {
namespace {

constexpr const char* kMetric = "input_stall_percent";
constexpr int kStepsInBatch = 200, kFoldedSteps = 400;
constexpr double kMostMs = 20;

// A sawtooth with noise, and rarely a value that is much larger.
double valueOf(std::mt19937& random, std::int64_t step) {
    const double noise = static_cast<double>(random() % 10'000) * 1e-3;
    return static_cast<double>(step % 977) * 0.01 + noise + (random() % 100'003 == 0 ? 80 : 0);
}

struct Truth {
    values::SeriesEnds ends;
    bool hasAny = false;
    void add(double value, std::int64_t step, int rank) {
        if (!hasAny || value < ends.least.value) {
            ends.least = {value, step, rank};
        }
        if (!hasAny || value > ends.greatest.value) {
            ends.greatest = {value, step, rank};
        }
        hasAny = true;
    }
};

std::string newRun(runs::RunStore& store, int ranks) {
    runs::RunRecord run;
    run.name = "many";
    run.specText = "name: many\n";
    run.resolvedSpec = R"({"name":"many"})";
    const std::string id = must(store.create(run)).run.id;
    require(store.beginAttempt(id, 1, 0, false, ranks).ok(), "attempt");
    return id;
}

double megabytes(const std::string& path) {
    struct stat facts{};
    return ::stat(path.c_str(), &facts) == 0 ? static_cast<double>(facts.st_size) / 1e6 : 0;
}

// Line by line: the commit of every rank, the wait for the other ranks, and the fold.
void foldLines(runs::RunStore& store, int ranks) {
    const std::string id = newRun(store, ranks);
    std::mt19937 random(7);
    const double start = seconds(), cpu = cpuSeconds(CLOCK_PROCESS_CPUTIME_ID);
    for (int first = 1; first <= kFoldedSteps; first += kStepsInBatch) {
        for (int rank = 0; rank < ranks; ++rank) {
            runs::LineBatch batch{id, 1, strCat("rank", rank), first + kStepsInBatch - 1};
            batch.rank = rank;
            for (std::int64_t step = first; step <= batch.lastSeq; ++step) {
                batch.metrics.push_back(
                    {step, step, 0, step, step * 100, {{kMetric, valueOf(random, step)}}});
            }
            (void)must(store.commitLines(batch));
        }
    }
    const double values = static_cast<double>(ranks) * kFoldedSteps;
    row("lines of ranks, committed and folded", values / (seconds() - start) / 1e6, "million/s");
    row("the same, a value", (cpuSeconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) / values * 1e6,
        "us of a processor");
    const auto series = must(store.metrics(id, kMetric, {0, INT64_MAX, 0}));
    require(series.points.size() == kFoldedSteps, "a step was not folded");
    require(series.points.back().ranks && series.points.back().ranks->numRanks == ranks,
            "a rank is missing in a step");
}

struct Written {
    std::string id;
    Truth whole, middle;
};

Written writeSummaries(runs::RunStore& store, int ranks, std::int64_t steps) {
    Written out{newRun(store, ranks), {}, {}};
    std::mt19937 random(5);
    std::vector<values::RankValue> told(static_cast<std::size_t>(ranks));
    for (std::int64_t first = 1; first <= steps; first += kStepsInBatch) {
        runs::LineBatch batch{out.id, 1, "daemon"};
        for (std::int64_t step = first; step < std::min(first + kStepsInBatch, steps + 1); ++step) {
            for (int rank = 0; rank < ranks; ++rank) {
                const double value = valueOf(random, step);
                told[static_cast<std::size_t>(rank)] = {rank, value};
                out.whole.add(value, step, rank);
                if (step > steps / 4 && step <= steps * 3 / 4) {
                    out.middle.add(value, step, rank);
                }
            }
            runs::ReportedLine line;
            line.step = step;
            line.rows = step * 1024;
            line.timeMs = 1'700'000'000'000 + step * 83;
            line.summaries = {{kMetric, values::summarize(told)}};
            batch.own.push_back(std::move(line));
        }
        (void)must(store.commitLines(batch));
    }
    return out;
}

void readRange(runs::RunStore& store, const Written& run, const char* what,
               const runs::MetricRange& range, const Truth& truth) {
    const double ms = timedMs(what, 15, [&] {
        const auto series = must(store.metrics(run.id, kMetric, range));
        const auto ends = values::endsOf(series.points);
        require(ends && ends->least == truth.ends.least && ends->greatest == truth.ends.greatest,
                "a range has other ends than its ranks");
        require(series.points.size() <= static_cast<std::size_t>(range.maxPoints),
                "a range has more points than asked for");
    });
    require(ms < kMostMs, "a range took 20 ms or more");
}

int benchMain(const std::string& directory, int ranks, std::int64_t steps) {
    const SystemClock clock;
    auto store = must(runs::RunStore::open(directory + "/ranks.db", clock));
    foldLines(*store, ranks);
    const std::string path = directory + "/summaries.db";
    store = must(runs::RunStore::open(path, clock));
    const Written run = writeSummaries(*store, ranks, steps);
    require(store->setState(run.id, {values::RunState::kFinished, "", 0}).ok(), "state");
    store.reset();  // closing the last connection writes the log into the file
    row("store of one metric", megabytes(path), "MB");
    row("a step of all ranks", megabytes(path) * 1e6 / static_cast<double>(steps), "bytes");
    row("each rank's own values would be, raw",
        static_cast<double>(ranks) * static_cast<double>(steps) * 8 / 1e6, "MB");
    store = must(runs::RunStore::open(path, clock));
    readRange(*store, run, "all steps at 1,000 points", {0, INT64_MAX, 1000}, run.whole);
    readRange(*store, run, "all steps at 4,000 points", {0, INT64_MAX, 4000}, run.whole);
    readRange(*store, run, "the half in the middle at 1,000 points",
              {steps / 4 + 1, steps * 3 / 4, 1000}, run.middle);
    return 0;
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: rank_bench DIR [RANKS STEPS]\n");
        return 2;
    }
    const int ranks = argc > 2 ? std::atoi(argv[2]) : 512;
    const std::int64_t steps = argc > 3 ? std::atoll(argv[3]) : 100'000;
    return millrace::bench::benchMain(argv[1], ranks, steps);
}

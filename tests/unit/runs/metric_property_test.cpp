#include <csignal>
#include <limits>
#include <random>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/runs/run_figures.h"
#include "tests/unit/runs/fixture.h"
#include "tests/unit/runs/metric_oracle.h"

namespace millrace::runs {
namespace {

/// A run with random events: reports, late reports, resumes, ends, reopened stores.
class MetricPropertyTest : public RunStoreTest, public ::testing::WithParamInterface<int> {
 protected:
    MetricPropertyTest() : random(static_cast<unsigned>(GetParam())), id(create("base")) {
        EXPECT_TRUE(store->beginAttempt(id, 1, 0).ok());
    }

    std::int64_t below(std::int64_t limit) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
    }

    double anyValue() {
        constexpr double kInf = std::numeric_limits<double>::infinity();
        switch (below(400)) {
            case 0:
                return std::nan("");
            case 1:
                return kInf;
            case 2:
                return -kInf;
            case 3:
                return 1e300;
            default:
                return static_cast<double>(below(1'000'000)) * 1e-3;
        }
    }

    void report(int ofAttempt, const std::string& worker, int numLines, std::int64_t& at) {
        std::int64_t& seq = seqs[{ofAttempt, worker}];
        LineBatch batch{id, ofAttempt, worker, seq + numLines};
        batch.rank = worker == "feed" ? values::kNoRank : 0;
        for (int i = 0; i < numLines; ++i) {
            // Sometimes a repeated step, a jump, or a step long past.
            const std::int64_t kind = below(300);
            at += kind == 0 ? below(50) : kind < 20 ? 0 : 1;
            const std::int64_t line = kind == 1 ? below(at + 1) : at;
            ReportedLine metrics{++seq, line, line / 100, line * 256, clock.wallMs() + below(40),
                                 {}};
            metrics.values.emplace_back("loss", anyValue());
            if (seq % 50 == 0) {
                metrics.values.emplace_back("eval.auc", anyValue());
            }
            if (worker == "rank1") {
                metrics.values.emplace_back("other", anyValue());
            }
            oracle.add(ofAttempt, metrics);
            batch.metrics.push_back(std::move(metrics));
            clock.advanceMs(30);
        }
        const auto commit = store->commitLines(batch);
        ASSERT_TRUE(commit.ok()) << commit.status();
    }

    void resume() {
        const std::int64_t from = below(step + 1);
        ++attempt;
        ASSERT_TRUE(store->beginAttempt(id, attempt, from).ok());
        ASSERT_TRUE(work(id, attempt).ok());
        oracle.begin(attempt, from);
        step = from;
    }

    void compare() {
        for (const std::string& key : oracle.keys()) {
            const auto all = oracle.series(key);
            expectWhole(*store->metrics(id, key, {INT64_MIN, INT64_MAX, 0}), all);
            const RunRecord run = *store->get(id);
            ASSERT_EQ(run.newest(key) != nullptr, !all.empty()) << key;
            const auto best = values::isBestKept(key) ? bestOf({key, all}) : std::nullopt;
            const values::RunFigure* stored = run.best(key);
            ASSERT_EQ(stored != nullptr, best.has_value()) << key;
            if (best) {
                EXPECT_EQ(stored->step, best->step) << key;
                EXPECT_EQ(stored->value, best->value) << key;
            }
            const std::int64_t from = below(step + 2), to = from + below(step + 2);
            const auto part = oracle.series(key, from, to);
            expectWhole(*store->metrics(id, key, {from, to, 0}), part);
            for (const int most : {4, 50, 333, 1000}) {
                for (const auto& [range, points] :
                     {std::pair(MetricRange{INT64_MIN, INT64_MAX, most}, all),
                      std::pair(MetricRange{from, to, most}, part)}) {
                    const values::MetricSeries got = *store->metrics(id, key, range);
                    if (points.size() <= static_cast<std::size_t>(most)) {
                        expectWhole(got, points);
                    } else {
                        expectThin(got, points, most);
                    }
                }
            }
            ASSERT_FALSE(HasFatalFailure()) << "metric " << key;
        }
    }

    std::mt19937_64 random;
    std::string id;
    MetricOracle oracle;
    std::map<std::pair<int, std::string>, std::int64_t> seqs;
    int attempt = 1;
    std::int64_t step = 0;
};

TEST_P(MetricPropertyTest, WhateverHappensASeriesIsWhatAPlainVectorWouldHold) {
    for (int round = 0; round < 40; ++round) {
        const std::int64_t what = below(20);
        if (what < 13) {
            report(attempt, "rank0", static_cast<int>(1 + below(700)), step);
        } else if (what < 15) {
            report(attempt, "rank1", static_cast<int>(1 + below(40)), step);
        } else if (what < 17) {
            std::int64_t late = below(step + 1);
            report(static_cast<int>(1 + below(attempt)), "rank0", 5, late);
        } else if (what == 17) {
            resume();
        } else if (what == 18) {
            ASSERT_TRUE(store->setState(id, {values::RunState::kFinished, "", 0}).ok());
        } else {
            reopen();
        }
        if (round % 8 == 7) {
            compare();
        }
        ASSERT_FALSE(HasFatalFailure()) << "seed " << GetParam() << ", round " << round;
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, MetricPropertyTest, ::testing::Range(1, 7));

class MetricCrashTest : public RunStoreTest {
 protected:
    static constexpr int kLinesInBatch = 90;

    static LineBatch batchAt(const std::string& id, std::int64_t number) {
        LineBatch batch{id, 1, "rank0", (number + 1) * kLinesInBatch};
        batch.rank = 0;
        for (int i = 0; i < kLinesInBatch; ++i) {
            const std::int64_t step = number * kLinesInBatch + i + 1;
            const double value = std::sin(static_cast<double>(step));
            batch.metrics.push_back(
                {step, step, 0, step * 8, step * 3, {{"loss", value}, {"b", 1}}});
        }
        return batch;
    }

    // A separate process that stores batch after batch and reports each; it never ends by itself.
    [[noreturn]] void writeForEver(const std::string& id, int out) {
        auto own = RunStore::open(path(), clock);
        for (std::int64_t number = 0; own.ok(); ++number) {
            if (!(*own)->commitLines(batchAt(id, number)).ok() ||
                ::write(out, &number, sizeof(number)) != sizeof(number)) {
                break;
            }
        }
        ::_exit(1);
    }
};

TEST_F(MetricCrashTest, AProcessKilledWhileItWritesLeavesAllThatItAcknowledged) {
    const std::string id = create("base");
    ASSERT_TRUE(store->beginAttempt(id, 1, 0).ok());
    store.reset();
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        writeForEver(id, ends[1]);
    }
    ::close(ends[1]);
    std::int64_t told = -1;
    while (told < 60 && ::read(ends[0], &told, sizeof(told)) == sizeof(told)) {
    }
    ::kill(child, SIGKILL);
    while (::read(ends[0], &told, sizeof(told)) == sizeof(told)) {
    }
    ::close(ends[0]);
    int state = 0;
    ::waitpid(child, &state, 0);
    ASSERT_TRUE(WIFSIGNALED(state)) << "the writer ended by itself";
    ASSERT_GE(told, 60) << "enough for several seals";
    reopen();
    const std::int64_t acked = *store->ackedSeq(id, 1, "rank0");
    EXPECT_GE(acked, (told + 1) * kLinesInBatch);
    EXPECT_EQ(acked % kLinesInBatch, 0) << "whole batches only";
    MetricOracle oracle;
    for (std::int64_t number = 0; number < acked / kLinesInBatch; ++number) {
        for (const ReportedLine& line : batchAt(id, number).metrics) {
            oracle.add(1, line);
        }
    }
    for (const char* key : {"loss", "b"}) {
        expectWhole(*store->metrics(id, key, {0, INT64_MAX, 0}), oracle.series(key));
    }
}

TEST_F(MetricCrashTest, AFullDiskRefusesABatchAsAWholeAndTheNextTryStoresIt) {
    const std::string id = create("base");
    ASSERT_TRUE(store->beginAttempt(id, 1, 0).ok());
    MetricOracle oracle;
    std::int64_t number = 0;
    auto* const before = ::signal(SIGXFSZ, SIG_IGN);
    rlimit old{};
    ::getrlimit(RLIMIT_FSIZE, &old);
    const rlimit tight{384 << 10, old.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &tight);
    Result<LineCommit> commit = store->commitLines(batchAt(id, number));
    for (; commit.ok() && number < 500; commit = store->commitLines(batchAt(id, number))) {
        for (const ReportedLine& line : batchAt(id, number).metrics) {
            oracle.add(1, line);
        }
        ++number;
    }
    ::setrlimit(RLIMIT_FSIZE, &old);
    ::signal(SIGXFSZ, before);
    ASSERT_EQ(commit.status().code(), absl::StatusCode::kResourceExhausted) << commit.status();
    expectWhole(*store->metrics(id, "loss", {0, INT64_MAX, 0}), oracle.series("loss"));
    ASSERT_TRUE(store->commitLines(batchAt(id, number)).ok()) << "there is room again";
    for (const ReportedLine& line : batchAt(id, number).metrics) {
        oracle.add(1, line);
    }
    reopen();
    expectWhole(*store->metrics(id, "loss", {0, INT64_MAX, 0}), oracle.series("loss"));
}

}  // namespace
}  // namespace millrace::runs

// resources.memory_limit_mb: what is too little is refused with the least that is enough, that much
// is enough, and a consumer that stops reading makes nobody hold more.
//
// MILLRACE_STALL_SECONDS: how long the consumer stays away (the soak test: ten minutes).
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <regex>

#include "backend/filesystem/files.h"
#include "tests/integration/loader/feed_program.h"

namespace millrace {
namespace {

// A sanitizer keeps shadow memory beside each byte, and memory that was freed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHasOwnMemory = false;
#else
constexpr bool kHasOwnMemory = true;
#endif

// "... MB are too little; 312 are enough: ..."
std::int64_t leastOf(const std::string& sentence) {
    const std::string before = "MB are too little; ";
    const std::size_t at = sentence.find(before);
    return at == std::string::npos ? -1 : std::atoll(sentence.c_str() + at + before.size());
}

// "VmHWM:   123456 kB" of /proc/PID/status, in MB.
double statusMb(pid_t pid, const std::string& key) {
    const auto text = readFile(strCat("/proc/", pid, "/status"));
    const std::size_t at = text.ok() ? text->find(key + ":") : std::string::npos;
    return at == std::string::npos
               ? -1
               : std::atof(text->c_str() + at + key.size() + 1) * 1024 / 1'000'000;
}

class MemoryTest : public FeedProgram {
 protected:
    static constexpr int kRows = 20'000, kFiles = 4;

    // No list repeats, so that all memory that the plan counts is used.
    void SetUp() override {
        for (int f = 0; f < kFiles; ++f) {
            std::ofstream out(directory_ / strCat("part-", f, ".csv"));
            out << "user,value,label,tags\n";
            for (int r = 0; r < kRows; ++r) {
                out << r % 37 << ',' << 3 * r + f << ',' << r % 2 << ',';
                for (int t = 0; t < 40; ++t) {
                    out << (t == 0 ? "" : "|") << (r * 7919 + t * 104'729 + f) % 1'000'003;
                }
                out << '\n';
            }
        }
        std::ofstream table(directory_ / "table.csv");
        table << "user,score\n";
        for (int r = 0; r < 30'000; ++r) {
            table << r << ',' << r % 7 << '\n';
        }
    }

    // The peak in MB; 0 under a sanitizer, where it says nothing.
    double peakMb() const { return kHasOwnMemory ? statusMb(feed_->pid(), "VmHWM") : 0; }

    static std::string memorySpec(std::int64_t limitMb, const std::string& more = "") {
        return strCat(
            "name: memory\ndataset: {path: \"part-*.csv\", csv_split_rows: 5000, where: \"value % "
            "10 <> 7\"}\nrecipe:\n"
            "  - derive: {half: value / 2.0, list: \"split(tags, '|')\"}\n",
            more,
            "labels: {label: label}\n"
            "features: {dense: [half], ids: [user], lists: [list], carry: [value, tags]}\n"
            "embeddings: {user: {rows: 64}, list: {rows: 64}}\n"
            "model: {type: mlp, hidden: [4]}\n"
            "batch: {rows: 1024, micro_rows: 512, seed: 7, segment_splits: 4, epochs: 2}\n"
            "eval: {dataset: {where: \"value % 10 = 7\"}}\n"
            "resources: {memory_limit_mb: ",
            limitMb, ", loader_threads: 2}\n");
    }
    static std::string join() {
        return "  - join: {table: table.csv, on: user, take: {score: score}}\n";
    }

    /// Runs a stream that is refused for its limit; returns the limit that the error names as
    /// enough.
    std::int64_t refused(const std::vector<std::string>& arguments, std::int64_t limitMb) {
        const SubprocessOutput output = stream(arguments, limitMb);
        EXPECT_EQ(output.exitCode, 4) << output.out << output.err;
        EXPECT_NE(output.err.find("resources.memory_limit_mb"), std::string::npos) << output.err;
        return leastOf(output.err);
    }
    SubprocessOutput stream(std::vector<std::string> arguments, std::int64_t limitMb) {
        std::vector<std::string> all = {"stream", "spec.yaml", "--json", "--set",
                                        strCat("resources.memory_limit_mb=", limitMb)};
        all.insert(all.end(), arguments.begin(), arguments.end());
        return run(all);
    }
};

TEST_F(MemoryTest, TooLittleIsRefusedWithTheLeastAndTheLeastIsEnough) {
    const std::string table = directory_ / "out";
    const std::vector<std::vector<std::string>> ways = {
        {"--sink", "hash"},
        {"--sink", "null", "--threads", "4"},
        {"--data", "eval"},
        {"--through-ring"},
        {"--sink", "parquet", "--output", table, "--sort", "value"}};
    for (const std::string& step : {std::string(), join()}) {
        write("spec.yaml", memorySpec(4096, step));
        std::int64_t plain = 0;
        for (const auto& way : ways) {
            SCOPED_TRACE(strCat(step, way.back()));
            const std::int64_t least = refused(way, 64);
            ASSERT_GT(least, 100);
            ASSERT_LT(least, 600) << "this data has no more";
            EXPECT_EQ(refused(way, least - 1), least);
            const SubprocessOutput enough = stream(way, least);
            ASSERT_EQ(enough.exitCode, 0) << enough.err;
            const auto report = parseJson(enough.out, "report");
            ASSERT_TRUE(report.ok());
            EXPECT_EQ((*report)["complete"], true);
            if (kHasOwnMemory) {
                EXPECT_LT((*report)["peak_rss_mb"].get<double>(),
                          static_cast<double>(least) * (way[0] == "--through-ring" ? 2 : 1))
                    << "of the reader's process too, through a ring";
            }
            plain = plain == 0 ? least : plain;
            std::filesystem::remove_all(table);
        }
        EXPECT_GT(plain, 0);
    }
}

TEST_F(MemoryTest, TheLeastIsAtMostTwiceThePeakOfSmallData) {
    std::ofstream small(directory_ / "small.csv");
    small << "user,value,label,tags\n";
    for (int r = 0; r < 1000; ++r) {
        small << r % 37 << ',' << r << ',' << r % 2 << ",1|2\n";
    }
    small.close();
    const std::string table = directory_ / "out";
    write("spec.yaml", memorySpec(4096));
    for (const char* path : {"part-*.csv", "small.csv"}) {
        for (const auto& way : std::vector<std::vector<std::string>>{
                 {"--sink", "hash"}, {"--sink", "parquet", "--output", table}}) {
            SCOPED_TRACE(strCat(path, " ", way[1]));
            std::vector<std::string> all = {"--set", strCat("dataset.path=", path), "--threads",
                                            "4"};
            all.insert(all.end(), way.begin(), way.end());
            const std::int64_t least = refused(all, 64);
            // The peak depends on how many threads hold a segment at the same time.
            double peak = 0;
            for (int tries = 0; tries < 5 && 2 * peak < static_cast<double>(least); ++tries) {
                std::filesystem::remove_all(table);
                const SubprocessOutput enough = stream(all, least);
                ASSERT_EQ(enough.exitCode, 0) << enough.err;
                peak =
                    std::max(peak, (*parseJson(enough.out, "report"))["peak_rss_mb"].get<double>());
            }
            if (kHasOwnMemory) {
                EXPECT_LE(peak, static_cast<double>(least));
                EXPECT_GE(2 * peak, static_cast<double>(least));
            }
            std::filesystem::remove_all(table);
        }
    }
}

TEST_F(MemoryTest, ALargerSegmentNeedsMore) {
    write("spec.yaml", memorySpec(4096));
    const std::int64_t four = refused({}, 64);
    EXPECT_GT(refused({"--set", "batch.segment_splits=8"}, 64), four + 5);
    EXPECT_LT(refused({"--set", "batch.segment_splits=1"}, 64), four - 5);
}

TEST_F(MemoryTest, ASideTableCounts) {
    write("spec.yaml", memorySpec(4096));
    const std::int64_t without = refused({}, 64);
    {
        std::ofstream table(directory_ / "table.csv");
        table << "user,score\n";
        for (int r = 0; r < 1'000'000; ++r) {
            table << r << ',' << r % 7 << '\n';
        }
    }
    write("spec.yaml", memorySpec(4096, join()));
    const std::int64_t with = refused({}, 64);
    EXPECT_GT(with, without + 20) << "a million keys are 17 MB of buckets, and the taken column";
    EXPECT_EQ(refused({}, with - 1), with);
    EXPECT_EQ(stream({}, with).exitCode, 0);
}

TEST_F(MemoryTest, TheFeedTellsDaemonAndRankTheLeast) {
    startDaemonSide();
    startFeed(memorySpec(4096), 64);
    millrace_feed* train = connect("train");
    ASSERT_NE(train, nullptr);
    std::uint64_t rows = 0, next = 0;
    EXPECT_EQ(read(train, 1, rows, next), MILLRACE_FEED_FAILED);
    EXPECT_GT(leastOf(millrace_feed_error(train)), 100) << millrace_feed_error(train);
    millrace_feed_close(train);
    EXPECT_EQ(*feed_->wait(), 4);
    MutexLock lock(mutex_);
    EXPECT_GT(leastOf(error_), 100) << error_;
}

// Frames of over 2 MB, so that the rings of training want more than they must have.
TEST_F(MemoryTest, TrainingLeavesTheEvaluationItsRings) {
    const std::string text = strCat(memorySpec(4096), "train: {ranks: 2}\n");
    const std::string wide = std::regex_replace(text, std::regex("rows: 1024, micro_rows: 512"),
                                                "rows: 8192, micro_rows: 4096");
    std::int64_t least = 0;
    for (const std::int64_t more : {-1, 0, 20, 40, 60}) {
        SCOPED_TRACE(more);
        startDaemonSide();
        startFeed(wide, more < 0 ? 64 : least + more);
        std::vector<millrace_feed*> readers;
        for (const int rank : {0, 1}) {
            readers.push_back(connect("train", nullptr, rank, 2));
            ASSERT_NE(readers.back(), nullptr);
        }
        std::uint64_t rows = 0, next = 0;
        const int first = read(readers[0], 1, rows, next);
        if (more < 0) {
            least = leastOf(millrace_feed_error(readers[0]));
            ASSERT_GT(least, 100) << millrace_feed_error(readers[0]);
        } else {
            ASSERT_EQ(first, MILLRACE_FEED_BATCH) << millrace_feed_error(readers[0]);
            ASSERT_EQ(read(readers[1], 2, rows, next), MILLRACE_FEED_BATCH)
                << millrace_feed_error(readers[1]);
            for (int evaluation = 0; evaluation < 2; ++evaluation) {
                std::vector<millrace_feed*> evals;
                for (const int rank : {0, 1}) {
                    evals.push_back(connect("eval", nullptr, rank, 2));
                    ASSERT_NE(evals.back(), nullptr);
                }
                for (millrace_feed* eval : evals) {
                    EXPECT_EQ(read(eval, 100, rows, next), MILLRACE_FEED_END_OF_STREAM)
                        << millrace_feed_error(eval);
                }
                for (millrace_feed* eval : evals) {
                    millrace_feed_close(eval);
                }
            }
        }
        for (millrace_feed* reader : readers) {
            millrace_feed_close(reader);
        }
        feed_->signal(SIGTERM);
        static_cast<void>(feed_->wait());
        server_.reset();
    }
}

TEST_F(MemoryTest, AStalledConsumerKeepsTheFeedBelowItsLimit) {
    std::int64_t least = 0;
    {
        startDaemonSide();
        startFeed(memorySpec(4096), 64);
        millrace_feed* train = connect("train");
        ASSERT_NE(train, nullptr);
        std::uint64_t rows = 0, next = 0;
        read(train, 1, rows, next);
        least = leastOf(millrace_feed_error(train));
        millrace_feed_close(train);
        feed_->wait().value();
        server_.reset();
    }
    ASSERT_GT(least, 100);
    startDaemonSide();
    startFeed(memorySpec(least));
    millrace_feed* train = connect("train");
    ASSERT_NE(train, nullptr);
    std::uint64_t rows = 0, next = 0;
    ASSERT_EQ(read(train, 3, rows, next), MILLRACE_FEED_BATCH) << millrace_feed_error(train);

    // The feed can go no further when a whole report has no read row.
    const char* wanted = std::getenv("MILLRACE_STALL_SECONDS");
    const auto end = std::chrono::steady_clock::now() +
                     std::chrono::seconds(wanted == nullptr ? 0 : std::atoi(wanted));
    bool isStill = false;
    while (!isStill || std::chrono::steady_clock::now() < end) {
        MutexLock lock(mutex_);
        const std::int64_t before = numMetrics_;
        while (numMetrics_ == before) {
            ASSERT_TRUE(changed_.waitFor(mutex_, std::chrono::seconds(30))) << "no reports come";
        }
        isStill = metrics_["loader.rows_read_per_second"] == 0;
        ASSERT_LT(peakMb(), static_cast<double>(least));
    }
    EXPECT_GT(statusMb(feed_->pid(), "VmHWM"), 50) << "is measured";
    EXPECT_EQ(read(train, 100'000, rows, next), MILLRACE_FEED_END_OF_STREAM)
        << millrace_feed_error(train);
    EXPECT_EQ(rows, 2U * 9 * kRows * kFiles / 10) << "nothing was lost meanwhile";
    EXPECT_LT(peakMb(), static_cast<double>(least));
    millrace_feed_close(train);
    EXPECT_EQ(feed_->wait().value(), 0);
}

}  // namespace
}  // namespace millrace

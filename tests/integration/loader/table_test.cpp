// `millrace-loader stream` with sinks that write tables, one order for any threads and cursors, and
// --explain.
#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <signal.h>

#include <gmock/gmock.h>

#include "backend/core/exit_codes.h"
#include "backend/filesystem/files.h"
#include "tests/integration/loader/loader_program.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class TableTest : public LoaderProgram {
 protected:
    // Lines of a table's CSV files, without the headers.
    std::vector<std::string> lines(const std::string& table) const {
        std::vector<std::string> all;
        std::set<std::string> files;
        for (const auto& entry : fs::directory_iterator(directory_ / table)) {
            if (entry.path().extension() == ".csv") {
                files.insert(entry.path().string());
            }
        }
        for (const std::string& file : files) {
            std::ifstream in(file);
            std::string line;
            std::getline(in, line);
            while (std::getline(in, line)) {
                all.push_back(line);
            }
        }
        return all;
    }
    std::vector<std::string> sortedLines(const std::string& table) const {
        std::vector<std::string> all = lines(table);
        std::sort(all.begin(), all.end());
        return all;
    }
    Json table(const std::string& output, std::vector<std::string> more) const {
        more.insert(more.end(), {"--output", directory_ / output});
        return report(more);
    }
    std::size_t hiddenEntries() const {
        std::size_t hidden = 0;
        for (const auto& entry : fs::directory_iterator(directory_.path())) {
            hidden += entry.path().filename().string().front() == '.' ? 1 : 0;
        }
        return hidden;
    }
    static unsigned __int128 number(const Json& hex) {
        unsigned __int128 value = 0;
        for (const char c : hex.get<std::string>()) {
            value = value * 16 + static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
        }
        return value;
    }
};

TEST_F(TableTest, OneOrderAndOneMultisetForAnyThreadsAlsoInLaterEpochs) {
    const Json one = report({"--threads", "1", "--epochs", "3"});
    EXPECT_EQ(one["rows_delivered"], 3 * 5400);
    for (const char* threads : {"2", "4"}) {
        const Json other = report({"--threads", threads, "--epochs", "3"});
        EXPECT_EQ(other["order_hash"], one["order_hash"]) << threads;
        EXPECT_EQ(other["checksum"], one["checksum"]) << threads;
    }
    EXPECT_NE(report({"--epochs", "1"})["order_hash"], one["order_hash"]);
}

// The cuts are in the middle of a segment, of an epoch, and in the second epoch.
TEST_F(TableTest, TwoPartsAroundACursorAreTheWhole) {
    const Json whole = report({"--epochs", "3"});
    table("whole", {"--epochs", "3", "--sink", "csv"});
    for (const char* batches : {"1", "7", "150", "500"}) {
        for (const char* threads : {"1", "2", "4"}) {
            const Json first =
                report({"--epochs", "3", "--threads", threads, "--micro-batches", batches});
            EXPECT_EQ(first["complete"], false);
            EXPECT_EQ(first["micro_batches"].dump(), batches);
            const Json rest = report(
                {"--epochs", "3", "--threads", threads, "--from", dumpJson(first["cursor"])});
            EXPECT_EQ(rest["complete"], true);
            EXPECT_TRUE(number(first["order_hash"]) + number(rest["order_hash"]) ==
                        number(whole["order_hash"]))
                << batches << " micro-batches, " << threads << " threads";
        }
        const std::string from =
            dumpJson(report({"--epochs", "3", "--micro-batches", batches})["cursor"]);
        table(strCat("a", batches), {"--epochs", "3", "--sink", "csv", "--micro-batches", batches});
        table(strCat("b", batches), {"--epochs", "3", "--sink", "csv", "--from", from});
        std::vector<std::string> parts = lines(strCat("a", batches));
        const std::vector<std::string> rest = lines(strCat("b", batches));
        parts.insert(parts.end(), rest.begin(), rest.end());
        EXPECT_EQ(parts, lines("whole")) << batches;
    }
}

TEST_F(TableTest, EveryFormatHoldsTheSameRowsWhateverTheThreads) {
    const Json parquet = table("p", {"--sink", "parquet", "--threads", "4"});
    EXPECT_EQ(parquet["table"]["rows"], 5400);
    EXPECT_EQ(parquet["order_hash"], report({"--epochs", "1"})["order_hash"]);
    EXPECT_EQ(parquet["table"]["files"], 1);
    table("a", {"--sink", "arrow", "--threads", "2", "--row-group-rows", "1000"});
    table("c", {"--sink", "csv", "--threads", "1"});
    EXPECT_EQ(lines("c").size(), 5400U);
    std::ifstream in(directory_ / "c/part-00000.csv");
    std::string header;
    std::getline(in, header);
    EXPECT_EQ(header,
              "\"half\",\"user\",\"list\",\"label\",\"label.weight\",\"label.mask\",\"value\"");
    for (const char* name : {"p", "a"}) {
        const Json answer = inspect({{"op", "dataset"},
                                     {"path", name},
                                     {"base_dir", directory_.path()},
                                     {"format", std::string(name) == "p" ? "parquet" : "arrow"}});
        EXPECT_EQ(answer["rows"], 5400) << dumpJson(answer);
    }
    const auto facts = parseJson(*readFile(directory_ / "p/_table.json"), "table");
    ASSERT_TRUE(facts.ok());
    EXPECT_EQ((*facts)["order_hash"], parquet["order_hash"]);
    EXPECT_EQ((*facts)["resolved_spec"]["name"], "small");
}

TEST_F(TableTest, SortsByColumnsAndKeepsTheChosenOnes) {
    table("s", {"--sink", "csv", "--sort", "user,value", "--columns", "user,value"});
    std::vector<std::pair<int, int>> rows;
    for (const std::string& line : lines("s")) {
        std::istringstream in(line);
        int user = 0, value = 0;
        char comma = 0;
        in >> user >> comma >> value;
        rows.emplace_back(user, value);
    }
    EXPECT_EQ(rows.size(), 5400U);
    EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
    const SubprocessOutput unknown = run(
        {"stream", "spec.yaml", "--sink", "csv", "--output", directory_ / "u", "--sort", "usr"});
    EXPECT_EQ(unknown.exitCode, 4);
    EXPECT_THAT(unknown.err, HasSubstr("did you mean 'user'"));
    EXPECT_FALSE(fs::exists(directory_ / "u"));
}

TEST_F(TableTest, RowsAreTheDatasetsOwnColumnsOfTheKeptRows) {
    const Json all = table("r", {"--rows", "--sink", "csv", "--threads", "4"});
    EXPECT_EQ(all["rows_kept"], 5400);
    std::vector<std::string> expected;
    for (int f = 0; f < 3; ++f) {
        for (int r = 0; r < 2000; ++r) {
            if ((3 * r + f) % 10 != 7) {
                expected.push_back(
                    strCat(r % 37, ",", 3 * r + f, ",", r % 2, ",\"a|b", r % 5, "\""));
            }
        }
    }
    EXPECT_EQ(lines("r"), expected) << "file order";
    const Json half = table("h", {"--rows", "--sink", "csv", "--variation", "half"});
    EXPECT_EQ(half["rows_kept"], report({"--epochs", "1", "--variation", "half"})["rows_kept"]);
    EXPECT_EQ(run({"stream", "spec.yaml", "--rows", "--sink", "csv", "--output", directory_ / "x",
                   "--epochs", "2"})
                  .exitCode,
              2);
}

TEST_F(TableTest, AnExistingTableStaysUnlessForced) {
    table("t", {"--sink", "csv"});
    const std::vector<std::string> words = {"stream",   "spec.yaml",      "--sink", "csv",
                                            "--output", directory_ / "t", "--set",  "batch.seed=8"};
    const std::vector<std::string> before = lines("t");
    const SubprocessOutput refused = run(words);
    EXPECT_EQ(refused.exitCode, 4);
    EXPECT_THAT(refused.err, HasSubstr("--force"));
    EXPECT_EQ(lines("t"), before);
    std::vector<std::string> forced = words;
    forced.push_back("--force");
    EXPECT_EQ(run(forced).exitCode, 0);
    EXPECT_NE(lines("t"), before);
    EXPECT_EQ(hiddenEntries(), 0U);
}

TEST_F(TableTest, AFileThatMayNotGrowLeavesNothingHalfWritten) {
    SubprocessOptions options;
    options.argv = {"/bin/sh",          "-c",     "ulimit -f 64; exec \"$0\" \"$@\"",
                    loaderProgram(),    "stream", "spec.yaml",
                    "--sink",           "csv",    "--output",
                    directory_ / "full"};
    options.workingDirectory = directory_.path();
    options.environment = {"XDG_CACHE_HOME=" + directory_.path() + "/cache"};
    options.timeout = std::chrono::seconds(60);
    const auto output = Subprocess::run(options);
    ASSERT_TRUE(output.ok()) << output.status();
    EXPECT_EQ(output->exitCode, kExitResources) << output->err;
    EXPECT_THAT(output->err, HasSubstr("nothing of the table was kept"));
    EXPECT_FALSE(fs::exists(directory_ / "full"));
    EXPECT_EQ(hiddenEntries(), 0U);
}

TEST_F(TableTest, CtrlCLeavesNothingHalfWritten) {
    SubprocessOptions options;
    options.argv = {loaderProgram(), "stream",   "spec.yaml",         "--sink", "csv", "--epochs",
                    "100000",        "--output", directory_ / "never"};
    options.workingDirectory = directory_.path();
    options.environment = {"XDG_CACHE_HOME=" + directory_.path() + "/cache"};
    const UniqueFd null(::open("/dev/null", O_WRONLY));
    options.stdoutFd = null.get();
    auto child = Subprocess::start(options);
    ASSERT_TRUE(child.ok()) << child.status();
    // Its hidden directory has a file once the program has begun to write.
    for (bool isWriting = false; !isWriting;) {
        int code = 0;
        ASSERT_FALSE(*child->poll(code)) << "ended with " << code;
        std::error_code error;
        for (const auto& entry : fs::directory_iterator(directory_.path(), error)) {
            isWriting |= entry.path().filename().string().starts_with(".never") &&
                         fs::exists(entry.path() / "part-00000.csv");
        }
        std::this_thread::yield();
    }
    child->signal(SIGINT);
    EXPECT_EQ(*child->wait(), 3);
    EXPECT_FALSE(fs::exists(directory_ / "never"));
    EXPECT_EQ(hiddenEntries(), 0U);
}

TEST_F(TableTest, OptionsThatDoNotGoTogetherAreUsageErrors) {
    EXPECT_EQ(run({"stream", "spec.yaml", "--sink", "csv"}).exitCode, 2);
    EXPECT_EQ(run({"stream", "spec.yaml", "--sort", "user"}).exitCode, 2);
    EXPECT_EQ(run({"stream", "spec.yaml", "--rows"}).exitCode, 2);
    EXPECT_EQ(run({"stream", "spec.yaml", "--sink", "csv", "--output", directory_ / "o",
                   "--through-ring"})
                  .exitCode,
              2);
    EXPECT_FALSE(fs::exists(directory_ / "o"));
}

TEST_F(TableTest, ExplainSaysWhereTheTimeWent) {
    const Json json = report({"--explain", "--threads", "2"});
    const Json& why = json["explain"];
    double steps = 0;
    for (const Json& step : why["steps"]) {
        steps += step["busy_seconds"].get<double>();
    }
    EXPECT_GT(steps, 0);
    double busy = 0;
    for (const auto& [name, stage] : json["stages"].items()) {
        busy += name == "blocked" ? 0 : stage["busy_seconds"].get<double>();
    }
    EXPECT_NEAR(why["busy_seconds"].get<double>(), busy, 1e-9);
    EXPECT_LE(busy, why["thread_seconds"].get<double>() * 1.05);
    std::set<std::string> names;
    double collate = 0;
    for (const Json& column : why["columns"]) {
        names.insert(column["name"].get<std::string>());
        collate += column["collate_seconds"].get<double>();
    }
    EXPECT_TRUE(names.contains("(all columns)")) << "CSV is parsed whole";
    EXPECT_TRUE(names.contains("user") && names.contains("list"));
    EXPECT_NEAR(collate, json["stages"]["collate"]["busy_seconds"].get<double>(), 1e-6);
    const SubprocessOutput text = run({"stream", "spec.yaml", "--explain"});
    EXPECT_THAT(text.out, HasSubstr("where the time goes"));
    EXPECT_THAT(text.out, HasSubstr("what one change would buy"));
    EXPECT_TRUE(report()["explain"].is_null());
}

}  // namespace
}  // namespace millrace

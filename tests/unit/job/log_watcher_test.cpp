// Only the followers of a run are told that its logs have grown.
#include "backend/job/log_watcher.h"

#include <atomic>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/poll.h"
#include "tests/support/temp_dir.h"

namespace millrace::job {
namespace {

class LogWatcherTest : public ::testing::Test {
 protected:
    static constexpr const char* kRun = "r-abc23";
    static constexpr const char* kOther = "r-def45";

    LogWatcherTest() {
        std::filesystem::create_directories(of(kRun).directory());
        std::filesystem::create_directories(of(kOther).directory());
    }
    RunPaths of(const std::string& run) const { return {root, run}; }
    void write(const std::string& run, int attempt, const std::string& file = "out.log") const {
        const std::string folder = of(run).attempt(attempt).worker("rank0");
        std::filesystem::create_directories(folder);
        std::ofstream(folder + "/" + file, std::ios::app) << "a line\n";
    }
    /// The calls from now on.
    static bool isToldAgain(const std::atomic<int>& told) {
        return test::eventually([&told, before = told.load()] { return told > before; });
    }

    const tests::TempDir directory;
    const std::string root = directory / "runs";
    std::atomic<int> told{0}, toldOther{0};
    LogWatcher watcher;
};

TEST_F(LogWatcherTest, AGrowingLogIsTold) {
    write(kRun, 1);
    const auto following = watcher.subscribe(of(kRun), [this](LogNews) { ++told; });
    for (int line = 0; line < 3; ++line) {
        const int before = told;
        write(kRun, 1);
        EXPECT_TRUE(test::eventually([&] { return told > before; })) << line;
    }
}

TEST_F(LogWatcherTest, AttemptsAndWorkersThatComeLaterAreWatchedToo) {
    const auto following = watcher.subscribe(of(kRun), [this](LogNews) { ++told; });
    for (int attempt = 1; attempt <= 2; ++attempt) {
        write(kRun, attempt);
        const std::size_t folders = 1 + 2 * static_cast<std::size_t>(attempt);
        ASSERT_TRUE(test::eventually([&] { return watcher.numFolders() == folders; }));
        const int before = told;
        write(kRun, attempt);
        EXPECT_TRUE(test::eventually([&] { return told > before; })) << attempt;
    }
}

TEST_F(LogWatcherTest, ThatWorkersMayHaveComeIsToldApartFromLines) {
    write(kRun, 1);
    std::atomic<int> lines{0}, workers{0};
    const auto following = watcher.subscribe(
        of(kRun), [&](LogNews what) { ++(what == LogNews::kWorkers ? workers : lines); });
    write(kRun, 1);
    ASSERT_TRUE(test::eventually([&] { return lines > 0; }));
    EXPECT_EQ(workers, 0);
    write(kRun, 2);
    EXPECT_TRUE(test::eventually([&] { return workers > 0; }));
}

TEST_F(LogWatcherTest, OtherRunsAndOtherFilesAreNoNews) {
    write(kRun, 1);
    write(kOther, 1);
    const auto following = watcher.subscribe(of(kRun), [this](LogNews) { ++told; });
    const auto other = watcher.subscribe(of(kOther), [this](LogNews) { ++toldOther; });
    write(kRun, 1, "spool");
    write(kOther, 1);
    // The system reports events in the order in which they happened.
    ASSERT_TRUE(test::eventually([&] { return toldOther > 0; }));
    EXPECT_EQ(told, 0);
}

TEST_F(LogWatcherTest, NothingIsWatchedThatNobodyFollows) {
    write(kRun, 1);
    auto first = watcher.subscribe(of(kRun), [this](LogNews) { ++told; });
    auto second = watcher.subscribe(of(kRun), [this](LogNews) { ++toldOther; });
    EXPECT_EQ(watcher.numFolders(), 3U);
    first.reset();
    write(kRun, 1);
    ASSERT_TRUE(test::eventually([&] { return toldOther > 0; }));
    EXPECT_EQ(told, 0) << "it has gone";
    second.reset();
    EXPECT_EQ(watcher.numFolders(), 0U);
}

TEST_F(LogWatcherTest, ARunThatCannotBeWatchedWholeIsToldAsIfItGrew) {
    write(kRun, 1);
    LogWatcher narrow(2);
    const auto following = narrow.subscribe(of(kRun), [this](LogNews) { ++told; });
    EXPECT_EQ(narrow.numFolders(), 2U);
    EXPECT_TRUE(isToldAgain(told));
    EXPECT_TRUE(isToldAgain(told));
}

}  // namespace
}  // namespace millrace::job

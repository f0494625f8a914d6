// Lines of a worker in memory and in their file: the order holds for any order of acknowledgements,
// and the file takes no more of the disk than its lines.
#include "backend/feed/link/line_spool.h"

#include <filesystem>
#include <random>

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace millrace::ring {
namespace {

TEST(LineSpool, KeepsOrderThroughItsFileWhateverIsAcknowledgedWhen) {
    const tests::TempDir folder;
    const std::string path = folder / "lines";
    std::mt19937_64 random(6);
    std::string why;
    {
        LineSpool spool(path, 500);
        std::uint64_t pushed = 0, sent = 0, acked = 0;
        bool wasInFile = false;
        const auto line = [](std::uint64_t seq) { return "line " + std::to_string(seq); };
        while (acked < 5000) {
            if (pushed < 5000 && random() % 2 == 0) {
                ++pushed;
                ASSERT_TRUE(spool.push({1, pushed, line(pushed)}, why)) << why;
            }
            wasInFile |= spool.numInFile() > 0;
            ASSERT_EQ(spool.size(), pushed - acked);
            if (const LineSpool::Line* next = spool.nextUnsent(); next && random() % 3 != 0) {
                ASSERT_EQ(next->seq, ++sent);
                ASSERT_EQ(next->text, line(sent));
                spool.markSent();
            }
            if (random() % 40 == 0 || pushed == 5000) {
                acked += random() % (sent - acked + 1);
                ASSERT_TRUE(spool.acknowledge(1, acked, why)) << why;
            }
            if (random() % 50 == 0) {
                spool.rewind();
                sent = acked;
                std::vector<std::string> all;
                ASSERT_TRUE(spool.all(all, why)) << why;
                ASSERT_EQ(all.size(), pushed - acked);
                if (!all.empty()) {
                    EXPECT_EQ(all.back(), line(pushed));
                    EXPECT_EQ(all.front(), line(acked + 1));
                }
            }
        }
        EXPECT_TRUE(spool.isEmpty());
        EXPECT_TRUE(wasInFile);
    }
    EXPECT_FALSE(std::filesystem::exists(path)) << "removed at the end";
}

TEST(LineSpool, AFileThatCannotBeMadeIsAnErrorThatNamesIt) {
    LineSpool spool("/nonexistent-folder/x", 10);
    std::string why;
    EXPECT_TRUE(spool.push({1, 1, "123456789"}, why));
    EXPECT_FALSE(spool.push({1, 2, "123456789"}, why));
    EXPECT_EQ(why, "/nonexistent-folder/x: No such file or directory");
    EXPECT_EQ(spool.size(), 1U);
}

TEST(LineSpool, WithoutAFileMemoryIsTheLimit) {
    LineSpool spool("", 10);
    std::string why;
    EXPECT_TRUE(spool.push({1, 1, "123456789"}, why));
    EXPECT_FALSE(spool.push({1, 2, "123456789"}, why));
    EXPECT_NE(why.find("Start the daemon"), std::string::npos) << why;
    ASSERT_TRUE(spool.acknowledge(1, 1, why));
    EXPECT_TRUE(spool.push({1, 2, "123456789"}, why));
}

TEST(LineSpool, ABacklogThatNeverEmptiesCountsOnlyWhatItHolds) {
    const tests::TempDir folder;
    const std::string path = folder / "lines", text(100, 'x');
    LineSpool spool(path, 1'000, 40'000);
    std::string why;
    std::uint64_t pushed = 0, acked = 0;
    for (; pushed < 100; ++pushed) {
        ASSERT_TRUE(spool.push({1, pushed + 1, text}, why)) << why;
    }
    for (; pushed < 5'000; ++pushed) {
        ASSERT_TRUE(spool.push({1, pushed + 1, text}, why)) << pushed << ": " << why;
        ASSERT_TRUE(spool.acknowledge(1, ++acked, why)) << why;
    }
    EXPECT_EQ(spool.size(), 100U);
    std::vector<std::string> all;
    ASSERT_TRUE(spool.all(all, why)) << why;
    EXPECT_EQ(all.size(), 100U);
    struct stat info{};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_LT(info.st_blocks * 512, 60'000) << "the front was given back to the file system";
    while (!spool.isEmpty()) {
        const std::size_t before = spool.size();
        ASSERT_TRUE(spool.acknowledge(1, pushed, why)) << why;
        ASSERT_LT(spool.size(), before);
    }
    EXPECT_EQ(std::filesystem::file_size(path), 0U);
}

}  // namespace
}  // namespace millrace::ring

// The guardians' files as one stream, and a worker's last lines.
#include "backend/job/log_files.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "backend/job/attempt_paths.h"
#include "tests/support/temp_dir.h"

namespace millrace::job {
namespace {

class FileLogsTest : public ::testing::Test {
 protected:
    static constexpr const char* kRun = "r-abc23";

    static std::string line(const std::string& text) {
        return "2026-03-01T12:34:56.789Z " + text + "\n";
    }
    void write(const std::string& name, const std::string& text, int attempt = 1) const {
        const std::string folder = RunPaths(root, kRun).attempt(attempt).worker(key.worker);
        std::filesystem::create_directories(folder);
        std::ofstream(folder + "/" + name, std::ios::binary) << text;
    }
    std::string all(std::size_t piece) const {
        std::string text;
        for (std::uint64_t offset = 0;;) {
            const auto block = logs.read(key, offset, piece);
            EXPECT_TRUE(block.ok()) << block.status();
            if (!block.ok() || (block->bytes.empty() && block->start == offset)) {
                return text;
            }
            text += block->bytes;
            offset = block->end();
        }
    }

    const tests::TempDir directory;
    const std::string root = directory / "runs";
    const FileLogs logs{root};
    const LogKey key{kRun, 1, "rank0"};
};

TEST_F(FileLogsTest, NoLogYetIsNoBytes) {
    const auto block = logs.read(key, 0, 100);
    ASSERT_TRUE(block.ok());
    EXPECT_TRUE(block->bytes.empty());
    EXPECT_TRUE(logs.readBack(key, kLogEnd, 100)->bytes.empty());
    EXPECT_EQ(logs.end(key), 0u);
    EXPECT_TRUE(logs.attempts(kRun).empty());
}

TEST_F(FileLogsTest, OnlyWholeLinesAreHandedOut) {
    write("out.log", line("o one") + line("o two") + "2026-03");
    for (const std::size_t piece : {1U, 40U, 1000U}) {
        EXPECT_EQ(all(piece), line("o one") + line("o two")) << piece;
    }
    EXPECT_EQ(logs.read(key, 0, 40)->bytes, line("o one"));
    EXPECT_EQ(logs.read(key, 0, 1)->bytes, line("o one")) << "at least one";
}

TEST_F(FileLogsTest, ARotatedLogIsOneStreamInBothDirections) {
    const std::string older = line("o one") + line("o two");
    const std::string newer =
        line("m log-offset " + std::to_string(older.size())) + line("o three");
    write("out.log.1", older);
    write("out.log", newer);
    EXPECT_EQ(all(1000), older + newer);
    EXPECT_EQ(all(1), older + newer);
    EXPECT_EQ(logs.read(key, older.size(), 1000)->bytes, newer);
    EXPECT_EQ(logs.end(key), older.size() + newer.size());
    const auto back = logs.readBack(key, kLogEnd, 1000);
    EXPECT_EQ(back->bytes, newer);
    EXPECT_EQ(logs.readBack(key, back->start, 1000)->bytes, older);
}

TEST_F(FileLogsTest, WhatTheRotationDroppedIsSkippedAndCounted) {
    const std::string older = line("m log-offset 5000") + line("o late");
    write("out.log.1", older);
    write("out.log", line("m log-offset " + std::to_string(5000 + older.size())));
    const auto block = logs.read(key, 100, 1000);
    ASSERT_TRUE(block.ok());
    EXPECT_EQ(block->bytes, older);
    EXPECT_EQ(block->start, 5000u);
}

TEST_F(FileLogsTest, WorkersAndAttemptsAreThoseThatHaveALog) {
    write("out.log", "", 12);
    write("out.log", "", 2);
    write("exit.json", "{}");
    EXPECT_EQ(logs.attempts(kRun), (std::vector<int>{1, 2, 12}));
    EXPECT_EQ(logs.workers(kRun, 2), std::vector<std::string>{"rank0"});
    EXPECT_TRUE(logs.workers(kRun, 1).empty());
}

TEST_F(FileLogsTest, LastWordsAreTheWorkersOwnThoughTheGuardianSaysMuchAfterThem) {
    std::string text = line("o first") + line("e the end");
    text += line("e 2026-03-01T12:34:56.789Z debug feed: reader stream=eval rank=0");
    for (int i = 0; i < 10'000; ++i) {
        text += line("m 3 lines could not be written and are lost");
    }
    write("out.log", text);
    EXPECT_EQ(lastWordsOf(logs, key), "the end");
    EXPECT_EQ(lastWordsOf(logs, {kRun, 7, "rank0"}), "");
}

}  // namespace
}  // namespace millrace::job

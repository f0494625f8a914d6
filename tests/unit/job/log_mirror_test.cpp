// The log of a worker on another node: the lines that the node sends become the same stream.
#include "backend/job/log_mirror.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "backend/job/attempt_paths.h"
#include "backend/job/log_files.h"
#include "tests/support/temp_dir.h"

namespace millrace::job {
namespace {

class LogMirrorTest : public ::testing::Test {
 protected:
    static std::string line(const std::string& text) {
        return "2026-03-01T12:34:56.789Z " + text + "\n";
    }
    static std::string folderIn(const std::string& root) {
        return RunPaths(root, "r-abc23").attempt(1).worker("data0");
    }
    /// Rotates as a guardian does.
    void rotate(const std::string& more) const {
        const std::uint64_t offset = there.end(key);
        std::filesystem::rename(folderIn(node) + "/out.log", folderIn(node) + "/out.log.1");
        write(line("m log-offset " + std::to_string(offset)) + more);
    }
    void write(const std::string& text) const {
        std::filesystem::create_directories(folderIn(node));
        std::ofstream(folderIn(node) + "/out.log", std::ios::binary | std::ios::app) << text;
    }
    /// All new lines, in pieces.
    void send(std::size_t piece) const {
        for (std::uint64_t from = here.end(key);;) {
            const LogBlock block = *there.read(key, from, piece);
            if (block.bytes.empty() && block.start == from) {
                return;
            }
            const Status kept = appendLog(head, key, block);
            ASSERT_TRUE(kept.ok()) << kept;
            from = block.end();
        }
    }
    static std::string fileIn(const std::string& root, const std::string& name) {
        std::ifstream in(folderIn(root) + "/" + name, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }

    const tests::TempDir directory;
    const std::string node = directory / "node", head = directory / "head";
    const FileLogs there{node}, here{head};
    const LogKey key{"r-abc23", 1, "data0"};
};

TEST_F(LogMirrorTest, BothFilesAreTheNodesAlsoAfterRotations) {
    write(line("o one") + line("o two"));
    send(1);
    write(line("o three"));
    rotate(line("o four"));
    send(40);
    rotate(line("o five"));
    send(1000);
    for (const char* name : {"out.log", "out.log.1"}) {
        EXPECT_EQ(fileIn(head, name), fileIn(node, name)) << name;
    }
    EXPECT_EQ(here.end(key), there.end(key));
}

TEST_F(LogMirrorTest, WhatARotationTookBeforeItWasSentIsAGap) {
    write(line("o one"));
    send(1000);
    write(line("o lost"));
    rotate(line("o lost too"));
    rotate(line("o five"));
    send(1000);
    EXPECT_EQ(fileIn(head, "out.log"), fileIn(node, "out.log"));
    EXPECT_EQ(here.end(key), there.end(key));
}

TEST_F(LogMirrorTest, LinesThatAreThereAreLeftOutAndAHoleIsRefused) {
    const LogBlock block{line("o one") + line("o two"), 0};
    ASSERT_TRUE(appendLog(head, key, block).ok());
    ASSERT_TRUE(appendLog(head, key, block).ok());
    ASSERT_TRUE(appendLog(head, key, {line("o two") + line("o three"), line("o one").size()}).ok());
    EXPECT_EQ(fileIn(head, "out.log"), block.bytes + line("o three"));
    EXPECT_TRUE(absl::IsDataLoss(appendLog(head, key, {line("o nine"), 10'000})));
    EXPECT_EQ(fileIn(head, "out.log"), block.bytes + line("o three"));
}

}  // namespace
}  // namespace millrace::job

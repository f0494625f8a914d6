#include "backend/engines/worker_log.h"

#include "tests/unit/exec/marked_processes.h"

namespace millrace::engines {
namespace {

class WorkerLogReaderTest : public test::MarkedProcessTest {
 protected:
    static std::string line(const std::string& text) {
        return "2026-03-01T12:34:56.789Z " + text + "\n";
    }
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(file(name), std::ios::binary) << text;
    }
    std::string all(std::size_t piece) const {
        std::string text;
        for (std::uint64_t offset = 0;;) {
            const auto chunk = readWorkerLog(file(""), offset, piece);
            EXPECT_TRUE(chunk.ok()) << chunk.status();
            if (!chunk.ok() || chunk->nextOffset == offset) {
                return text;
            }
            text += chunk->bytes;
            offset = chunk->nextOffset;
        }
    }
};

TEST_F(WorkerLogReaderTest, NoLogYetIsEmptyAndNotAnEnd) {
    const auto chunk = readWorkerLog(file(""), 0, 100);
    ASSERT_TRUE(chunk.ok());
    EXPECT_TRUE(chunk->bytes.empty());
    EXPECT_FALSE(chunk->isEnd);
    write("exit.json", "{\"code\":0}");
    EXPECT_TRUE(readWorkerLog(file(""), 0, 100)->isEnd);
}

TEST_F(WorkerLogReaderTest, OnlyWholeLinesAreHandedOut) {
    write("out.log", line("o one") + line("o two") + "2026-03");
    for (const std::size_t piece : {1U, 40U, 1000U}) {
        EXPECT_EQ(all(piece), line("o one") + line("o two")) << piece;
    }
    EXPECT_EQ(readWorkerLog(file(""), 0, 40)->bytes, line("o one"));
    EXPECT_EQ(readWorkerLog(file(""), 0, 1)->bytes, line("o one")) << "at least one";
}

TEST_F(WorkerLogReaderTest, ARotatedLogIsOneStream) {
    const std::string older = line("o one") + line("o two");
    const std::string newer =
        line("m log-offset " + std::to_string(older.size())) + line("o three");
    write("out.log.1", older);
    write("out.log", newer);
    EXPECT_EQ(all(1000), older + newer);
    EXPECT_EQ(all(1), older + newer);
    EXPECT_EQ(readWorkerLog(file(""), older.size(), 1000)->bytes, newer);
}

TEST_F(WorkerLogReaderTest, WhatTheRotationDroppedIsSkippedAndCounted) {
    const std::string older = line("m log-offset 5000") + line("o late");
    write("out.log.1", older);
    write("out.log", line("m log-offset " + std::to_string(5000 + older.size())));
    const auto chunk = readWorkerLog(file(""), 100, 1000);
    ASSERT_TRUE(chunk.ok());
    EXPECT_EQ(chunk->bytes, older);
    EXPECT_EQ(chunk->nextOffset, 5000 + older.size());
}

}  // namespace
}  // namespace millrace::engines

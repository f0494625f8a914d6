#include <fstream>

#include <fcntl.h>

#include <gmock/gmock.h>

#include "backend/checkpoint/checkpoint_file.h"
#include "backend/core/unique_fd.h"
#include "tests/support/checkpoint_file.h"
#include "tests/unit/checkpoint/scratch.h"

namespace millrace::checkpoint {
namespace {

using ::testing::HasSubstr;

Result<CheckpointFacts> verifyAt(const std::string& path, const ReadWatch& watch = {}) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_TRUE(fd.isOpen()) << path;
    return verify(fd.get(), path, watch);
}

void put(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

TEST(CheckpointFile, IsVerifiedWithItsFacts) {
    const Scratch scratch;
    const auto written = tests::writeCheckpointFile(scratch / "x", {40, 3, "r-abcde", "stream"});
    const auto facts = verifyAt(scratch / "x");
    ASSERT_TRUE(facts.ok()) << facts.status();
    EXPECT_EQ(facts->step, 40);
    EXPECT_EQ(facts->attempt, 3);
    EXPECT_EQ(facts->epoch, 1);
    EXPECT_EQ(facts->run, "r-abcde");
    EXPECT_EQ(facts->streamHash, "stream");
    EXPECT_EQ(facts->state, "{}");
    EXPECT_EQ(facts->bytes, written.bytes);
    EXPECT_EQ(facts->hash, written.hash);
    EXPECT_EQ(facts->bytes, static_cast<std::int64_t>(std::filesystem::file_size(scratch / "x")));
}

TEST(CheckpointFile, WithManyLinesThatWereNotAcknowledgedIsReadBack) {
    const Scratch scratch;
    const Json meta = {{"step", 40}, {"unacked", {std::string(std::size_t{300} << 20, 'x')}}};
    auto writer = CheckpointWriter::open(scratch / "x", meta, 0);
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_TRUE(writer->commit().ok());
    const auto facts = verifyAt(scratch / "x");
    ASSERT_TRUE(facts.ok()) << facts.status();
    EXPECT_EQ(facts->step, 40);
}

TEST(CheckpointFile, CutAnywhereIsDamaged) {
    const Scratch scratch;
    tests::writeCheckpointFile(scratch / "x", {1, 1, "r", "s", 640});
    const std::string bytes = *readFile(scratch / "x");
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        put(scratch / "x", bytes.substr(0, size));
        ASSERT_TRUE(absl::IsDataLoss(verifyAt(scratch / "x").status())) << size;
    }
}

TEST(CheckpointFile, WithAnyBitChangedIsNotTaken) {
    const Scratch scratch;
    tests::writeCheckpointFile(scratch / "x", {1, 1, "r", "s", 640});
    const std::string bytes = *readFile(scratch / "x");
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        std::string changed = bytes;
        changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 8)));
        put(scratch / "x", changed);
        ASSERT_FALSE(verifyAt(scratch / "x").ok()) << at;
    }
}

TEST(CheckpointFile, OfAnotherVersionIsNoDamage) {
    const Scratch scratch;
    tests::writeCheckpointFile(scratch / "x", {1, 1, "r", "s"});
    std::string bytes = *readFile(scratch / "x");
    bytes[8] = 9;
    put(scratch / "x", bytes);
    const Status status = verifyAt(scratch / "x").status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status));
    EXPECT_THAT(std::string(messageOf(status)), HasSubstr("format version 9"));
}

TEST(CheckpointFile, ALongReadTellsItsProgressAndCanBeEnded) {
    const Scratch scratch;
    tests::writeCheckpointFile(scratch / "x", {1, 1, "r", "s", std::size_t{5} << 20});
    std::uint64_t read = 0;
    int pieces = 0;
    ReadWatch watch{[&] { return pieces == 3; },
                    [&](std::uint64_t bytes) {
                        read += bytes;
                        ++pieces;
                    }};
    EXPECT_TRUE(absl::IsCancelled(verifyAt(scratch / "x", watch).status()));
    EXPECT_EQ(read, std::uint64_t{3} << 20);
    watch.isCancelled = nullptr;
    EXPECT_TRUE(verifyAt(scratch / "x", watch).ok());
}

TEST(CheckpointFile, IsNotThereBeforeItIsWhole) {
    const Scratch scratch;
    {
        auto writer = CheckpointWriter::open(scratch / "x", Json::object(), 64);
        ASSERT_TRUE(writer.ok());
        ASSERT_TRUE(writer->write("abc", 3).ok());
        EXPECT_FALSE(std::filesystem::exists(scratch / "x"));
    }
    EXPECT_TRUE(std::filesystem::is_empty(scratch.path())) << "nothing is left aside";
}

}  // namespace
}  // namespace millrace::checkpoint

// A checkpoint that arrives from another machine, and faults of the transfer.
#include "backend/checkpoint/partial_file.h"

#include <gmock/gmock.h>

#include "backend/checkpoint/checkpoint_file.h"
#include "backend/core/hash.h"
#include "backend/filesystem/files.h"
#include "tests/support/checkpoint_file.h"
#include "tests/support/temp_dir.h"

namespace millrace::checkpoint {
namespace {

using ::testing::HasSubstr;

class PartialFileTest : public ::testing::Test {
 protected:
    PartialFileTest() {
        tests::writeCheckpointFile(scratch / "source", {20, 1, "r", "s"});
        content = readFile(scratch / "source").value();
    }
    Result<PartialFile> open() const { return PartialFile::open(path, content.size()); }
    Status append(PartialFile& file, std::size_t bytes) const {
        const std::string chunk = content.substr(file.offset(), bytes);
        return file.append(file.offset(), chunk, hashHex(chunk));
    }

    Status finish(PartialFile& file) const {
        return file.finish([&](int fd) { return verify(fd, path).status(); });
    }

    tests::TempDir scratch;
    const std::string path = scratch / "step-00000020.a1.safetensors";
    std::string content;
};

TEST_F(PartialFileTest, ATransferThatBrokeIsResumedBehindWhatIsHere) {
    {
        PartialFile file = open().value();
        EXPECT_EQ(file.offset(), 0U);
        ASSERT_TRUE(append(file, 1'000).ok());
        EXPECT_TRUE(absl::IsUnavailable(open().status())) << "two would write into one file";
    }
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_EQ(PartialFile::bytesOf(path), 1'000U);
    PartialFile file = open().value();
    EXPECT_EQ(file.offset(), 1'000U);
    ASSERT_TRUE(append(file, content.size()).ok());
    EXPECT_TRUE(file.isAllHere());
    const Status whole = finish(file);
    ASSERT_TRUE(whole.ok()) << whole;
    EXPECT_EQ(readFile(path).value(), content);
    EXPECT_EQ(PartialFile::bytesOf(path), 0U);
}

TEST_F(PartialFileTest, ADamagedChunkIsNotTaken) {
    PartialFile file = open().value();
    ASSERT_TRUE(append(file, 1'000).ok());
    std::string chunk = content.substr(1'000, 500);
    const std::string hash = hashHex(chunk);
    chunk[7] ^= 1;
    const Status status = file.append(1'000, chunk, hash);
    EXPECT_TRUE(absl::IsDataLoss(status));
    EXPECT_THAT(std::string(messageOf(status)), HasSubstr("the chunk at offset 1000 was damaged"));
    EXPECT_EQ(file.offset(), 1'000U);
    EXPECT_TRUE(absl::IsOutOfRange(file.append(900, chunk, hashHex(chunk))));
    ASSERT_TRUE(append(file, content.size()).ok());
    EXPECT_TRUE(finish(file).ok());
}

TEST_F(PartialFileTest, OfAFileThatIsNotWholeNothingIsKept) {
    {
        PartialFile file = open().value();
        ASSERT_TRUE(append(file, content.size() - 1).ok());
        const std::string last(1, static_cast<char>(content.back() ^ 1));
        ASSERT_TRUE(file.append(content.size() - 1, last, hashHex(last)).ok());
        EXPECT_TRUE(absl::IsDataLoss(finish(file)));
    }
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_EQ(open()->offset(), 0U);
}

TEST_F(PartialFileTest, AFullDiskIsNamedAndLosesNothing) {
    {
        PartialFile file = open().value();
        ASSERT_TRUE(append(file, 1'000).ok());
    }
    const auto tooLarge = PartialFile::open(path, std::uint64_t{1} << 60);
    EXPECT_TRUE(absl::IsResourceExhausted(tooLarge.status()));
    EXPECT_THAT(std::string(messageOf(tooLarge.status())),
                HasSubstr(scratch.path() + ": the disk is full"));
    EXPECT_EQ(open()->offset(), 1'000U);
}

TEST_F(PartialFileTest, BytesOfALargerFileOfThatNameAreNotResumed) {
    {
        PartialFile file = open().value();
        ASSERT_TRUE(append(file, 1'000).ok());
    }
    EXPECT_EQ(PartialFile::open(path, 900)->offset(), 0U);
}

}  // namespace
}  // namespace millrace::checkpoint

#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "backend/checkpoint/checkpoint_directory.h"
#include "tests/support/checkpoint_file.h"
#include "tests/support/temp_dir.h"

namespace millrace::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CheckpointDirectoryTest : public ::testing::Test {
 protected:
    void write(const CheckpointName& name) {
        tests::writeCheckpointFile(scratch / name.text(), {name.step, name.attempt, "r", "s"});
    }
    bool isThere(const std::string& name) const { return std::filesystem::exists(scratch / name); }

    tests::TempDir scratch;
    CheckpointDirectory directory = *CheckpointDirectory::open(scratch.path());
};

TEST_F(CheckpointDirectoryTest, ListsTheNewestFirstAndNothingElse) {
    write({20, 1});
    write({100, 1});
    write({20, 2});
    std::ofstream(scratch / "notes.txt") << "mine";
    std::ofstream(scratch / "step-00000300.a1.safetensors.void") << "aside";
    EXPECT_THAT(*directory.list(),
                ElementsAre(CheckpointName{100, 1}, CheckpointName{20, 2}, CheckpointName{20, 1}));
}

TEST_F(CheckpointDirectoryTest, ThatIsNotThereIsToldFromOneThatCannotBeRead) {
    EXPECT_TRUE(absl::IsNotFound(CheckpointDirectory::open(scratch / "none").status()));
    std::ofstream(scratch / "file") << "x";
    const Status status = CheckpointDirectory::open(scratch / "file").status();
    EXPECT_FALSE(status.ok());
    EXPECT_FALSE(absl::IsNotFound(status)) << status;
}

TEST_F(CheckpointDirectoryTest, AFilesContentMustFitItsName) {
    write({20, 1});
    EXPECT_TRUE(directory.verify({20, 1}, {}).ok());
    std::filesystem::rename(scratch / "step-00000020.a1.safetensors",
                            scratch / "step-00000030.a1.safetensors");
    const Status status = directory.verify({30, 1}, {}).status();
    EXPECT_TRUE(absl::IsDataLoss(status));
    EXPECT_THAT(std::string(messageOf(status)), HasSubstr("step 20"));
    EXPECT_TRUE(absl::IsNotFound(directory.verify({20, 1}, {}).status()));
}

TEST_F(CheckpointDirectoryTest, ALinkIsNotFollowedAndAPipeIsNotWaitedFor) {
    tests::writeCheckpointFile(scratch / "elsewhere", {20, 1, "r", "s"});
    ASSERT_EQ(::symlink("elsewhere", (scratch / "step-00000020.a1.safetensors").c_str()), 0);
    EXPECT_FALSE(directory.verify({20, 1}, {}).ok());
    ASSERT_TRUE(directory.remove({20, 1}).ok());
    EXPECT_TRUE(isThere("elsewhere")) << "the link is removed, not what it leads to";
    ASSERT_EQ(::mkfifo((scratch / "step-00000020.a1.safetensors").c_str(), 0600), 0);
    EXPECT_TRUE(absl::IsDataLoss(directory.verify({20, 1}, {}).status()));
}

TEST_F(CheckpointDirectoryTest, ForgetsNoFileThatIsSetAside) {
    write({20, 1});
    EXPECT_EQ(*directory.setAside({20, 1}, "void"), "step-00000020.a1.safetensors.void");
    write({20, 1});
    EXPECT_EQ(*directory.setAside({20, 1}, "void"), "step-00000020.a1.safetensors.void-2");
    EXPECT_TRUE(isThere("step-00000020.a1.safetensors.void"));
    EXPECT_THAT(*directory.list(), IsEmpty());
    EXPECT_TRUE(absl::IsNotFound(directory.setAside({20, 1}, "void").status()));
}

TEST_F(CheckpointDirectoryTest, StaysWhereItWasOpened) {
    write({20, 1});
    std::filesystem::rename(scratch.path(), scratch.path() + "-moved");
    std::filesystem::create_directory(scratch.path());
    write({20, 1});
    EXPECT_TRUE(directory.remove({20, 1}).ok());
    EXPECT_TRUE(isThere("step-00000020.a1.safetensors")) << "another directory of the same name";
    EXPECT_TRUE(std::filesystem::is_empty(scratch.path() + "-moved"));
    std::filesystem::remove_all(scratch.path() + "-moved");
}

TEST_F(CheckpointDirectoryTest, RemovesWhatKilledWritersLeft) {
    write({20, 1});
    std::ofstream(scratch / "step-00000030.a1.safetensors.tmp-4711") << "half";
    std::ofstream(scratch / "notes.tmp-4711") << "mine";
    ASSERT_TRUE(directory.removeLeftovers().ok());
    EXPECT_FALSE(isThere("step-00000030.a1.safetensors.tmp-4711"));
    EXPECT_TRUE(isThere("notes.tmp-4711"));
    EXPECT_TRUE(isThere("step-00000020.a1.safetensors"));
}

}  // namespace
}  // namespace millrace::checkpoint

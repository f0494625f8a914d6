// Local files as Arrow reads them: the second read of a small file reads all of it.
#include "backend/files/inline_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "tests/support/temp_dir.h"

namespace millrace::files {
namespace {

class LocalFileTest : public ::testing::TestWithParam<int> {
 protected:
    void SetUp() override {
        for (int i = 0; i < GetParam(); ++i) {
            text_.push_back(static_cast<char>('a' + i % 23));
        }
        ASSERT_TRUE(writeFileAtomic(path_, text_).ok());
        UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
        file_ = *localFile(std::move(fd), path_, arrow::default_memory_pool());
    }

    std::string read(std::int64_t position, std::int64_t bytes) {
        return (*file_->ReadAt(position, bytes))->ToString();
    }

    tests::TempDir directory_;
    const std::string path_ = directory_ / "file";
    std::string text_;
    std::shared_ptr<InlineFile> file_;
};

TEST_P(LocalFileTest, IsReadWhereItIsAskedFor) {
    const std::int64_t size = GetParam();
    EXPECT_EQ(*file_->GetSize(), size);
    EXPECT_EQ(read(0, size), text_);
    EXPECT_EQ(read(7, 100), text_.substr(7, 100));
    EXPECT_EQ(read(size - 5, 100), text_.substr(text_.size() - 5));
    EXPECT_EQ(read(size, 1), "");
    EXPECT_EQ(read(size + 9, 4), "");
    EXPECT_EQ(read(3, 0), "");
    EXPECT_FALSE(file_->ReadAt(-1, 4).ok());
    EXPECT_FALSE(file_->ReadAt(size - 1, 2, false).ok());
}

TEST_P(LocalFileTest, ThatWasCutIsShort) {
    ASSERT_EQ(::truncate(path_.c_str(), 20), 0);
    for (int again = 0; again < 2; ++again) {
        EXPECT_EQ(read(10, 100), text_.substr(10, 10));
        EXPECT_EQ(read(30, 100), "");
    }
    EXPECT_FALSE(file_->ReadAt(10, 15, false).ok());
}

INSTANTIATE_TEST_SUITE_P(Sizes, LocalFileTest, ::testing::Values(40, 64 << 10, (64 << 10) + 1));

TEST(LocalFile, OfNoBytesHasNone) {
    const tests::TempDir directory;
    ASSERT_TRUE(writeFileAtomic(directory / "none", "").ok());
    UniqueFd fd(::open((directory / "none").c_str(), O_RDONLY | O_CLOEXEC));
    const auto file = *localFile(std::move(fd), "none", arrow::default_memory_pool());
    EXPECT_EQ((*file->ReadAt(0, 10))->size(), 0);
    EXPECT_EQ((*file->ReadAt(5, 10))->size(), 0);
}

}  // namespace
}  // namespace millrace::files

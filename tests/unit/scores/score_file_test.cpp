#include "backend/scores/score_file.h"

#include <filesystem>

#include <fcntl.h>

#include <gmock/gmock.h>

#include "backend/core/row_hash.h"
#include "backend/core/unique_fd.h"
#include "backend/filesystem/files.h"
#include "tests/support/temp_dir.h"

namespace millrace::scores {
namespace {

using ::testing::HasSubstr;

Scores someScores(std::uint64_t rows) {
    Scores out{400, rows, std::string(31, 'a') + "b", {}, {{"liked", {}, {}}, {"seen", {}, {}}}};
    for (std::uint64_t row = 0; row < rows; ++row) {
        out.keys.push_back(rowKey(0, row));
        for (HeadScores& head : out.heads) {
            head.scores.push_back(static_cast<float>(row) / 1000);
            head.labels.push_back(static_cast<float>(row % 2));
        }
    }
    return out;
}

TEST(ScoreFile, IsReadAsItWasWritten) {
    const tests::TempDir directory;
    Scores scores = someScores(500);
    scores.settle();
    ASSERT_TRUE(writeScores(directory.path(), scores).ok());
    const Result<std::string> path = findScores(directory.path());
    ASSERT_TRUE(path.ok()) << path.status();
    EXPECT_THAT(*path, ::testing::EndsWith("/scores-400.a1.zst"));
    const Result<Scores> read = readScores(*path);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, scores);
    EXPECT_FALSE(read->isSample());
}

TEST(ScoreFile, OfNoRowsIsReadAsItWasWritten) {
    const tests::TempDir directory;
    const Scores scores = someScores(0);
    ASSERT_TRUE(writeScores(directory.path(), scores).ok());
    const Result<std::string> path = findScores(directory.path());
    ASSERT_TRUE(path.ok()) << path.status();
    const Result<Scores> read = readScores(*path);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, scores);
}

TEST(ScoreFile, RowsKeepTheirScoresWhenTheyAreSorted) {
    Scores scores = someScores(300);
    scores.settle();
    EXPECT_TRUE(std::is_sorted(scores.keys.begin(), scores.keys.end()));
    for (std::uint64_t row = 0; row < 300; ++row) {
        const auto at = std::find(scores.keys.begin(), scores.keys.end(), rowKey(0, row));
        ASSERT_NE(at, scores.keys.end());
        EXPECT_EQ(scores.heads[1].scores[static_cast<std::size_t>(at - scores.keys.begin())],
                  static_cast<float>(row) / 1000);
    }
}

TEST(ScoreFile, OfTooManyRowsTheLowestKeysStay) {
    Scores all = someScores(300), some = someScores(300);
    all.settle();
    some.settle(100);
    EXPECT_TRUE(some.isSample());
    EXPECT_EQ(some.keys, std::vector(all.keys.begin(), all.keys.begin() + 100));
    EXPECT_EQ(some.heads[0].scores,
              std::vector(all.heads[0].scores.begin(), all.heads[0].scores.begin() + 100));
}

TEST(ScoreFile, TheNewestStepStandsAlone) {
    const tests::TempDir directory;
    Scores scores = someScores(10);
    scores.settle();
    ASSERT_TRUE(writeFileAtomic(directory / "scores-none.zst", "").ok());
    for (const std::int64_t step : {900, 1000, 100}) {
        scores.step = step;
        ASSERT_TRUE(writeScores(directory.path(), scores).ok());
        EXPECT_EQ(readScores(*findScores(directory.path()))->step, step);
    }
    EXPECT_TRUE(std::filesystem::exists(directory / "scores-none.zst"));
    EXPECT_TRUE(absl::IsNotFound(findScores(directory / "nowhere").status()));
}

TEST(ScoreFile, WhatIsOffTheCourseGoes) {
    const tests::TempDir directory;
    Scores scores = someScores(10);
    scores.settle();
    scores.step = 500;
    ASSERT_TRUE(writeScores(directory.path(), scores).ok());
    const auto drop = [&] {
        dropScores(directory.path(), [](std::int64_t attempt, std::int64_t step) {
            return attempt == 2 || step <= 50;
        });
    };
    drop();
    EXPECT_TRUE(absl::IsNotFound(findScores(directory.path()).status()));
    scores.attempt = 2;
    ASSERT_TRUE(writeScores(directory.path(), scores).ok());
    drop();
    EXPECT_THAT(*findScores(directory.path()), ::testing::EndsWith("/scores-500.a2.zst"));
}

Status verified(const std::string& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return verifyScores(fd.get(), path);
}

TEST(ScoreFile, OneFromAnotherMachineIsVerifiedInPieces) {
    const tests::TempDir directory;
    Scores scores = someScores(200'000);  // 5 MB, more than a piece
    scores.settle();
    ASSERT_TRUE(writeScores(directory.path(), scores).ok());
    const std::string path = *findScores(directory.path());
    const std::string whole = *readFile(path);
    EXPECT_TRUE(verified(path).ok()) << verified(path);
    const std::string other = directory / "scores-7.a1.zst";
    ASSERT_TRUE(writeFileAtomic(other, whole).ok());
    EXPECT_TRUE(absl::IsDataLoss(verified(other))) << "it is of another step";
    for (const std::size_t at : {std::size_t{0}, whole.size() / 2, whole.size() - 1}) {
        std::string bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
        ASSERT_TRUE(writeFileAtomic(path, bytes).ok());
        EXPECT_TRUE(absl::IsDataLoss(verified(path))) << at;
        ASSERT_TRUE(writeFileAtomic(path, whole.substr(0, at)).ok());
        EXPECT_TRUE(absl::IsDataLoss(verified(path))) << at;
    }
}

TEST(ScoreFile, WhatIsDamagedIsSaid) {
    const tests::TempDir directory;
    Scores scores = someScores(200);
    scores.settle();
    ASSERT_TRUE(writeScores(directory.path(), scores).ok());
    const std::string path = *findScores(directory.path());
    const std::string whole = *readFile(path);
    for (std::size_t at = 0; at < whole.size(); at += 37) {
        std::string bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
        ASSERT_TRUE(writeFileAtomic(path, bytes).ok());
        const Result<Scores> read = readScores(path);
        EXPECT_TRUE(!read.ok() || *read == scores) << at;
        ASSERT_TRUE(writeFileAtomic(path, whole.substr(0, at)).ok());
        EXPECT_FALSE(readScores(path).ok()) << at;
    }
}

}  // namespace
}  // namespace millrace::scores

#include "backend/filesystem/file_cache.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace millrace {
namespace {

using ::testing::UnorderedElementsAre;
namespace fs = std::filesystem;

class FileCacheTest : public ::testing::Test {
 protected:
    /// A file of 100 bytes that was last used `age` ago.
    void add(const std::string& name, std::chrono::seconds age) const {
        std::ofstream(dir_ / name) << std::string(100, 'x');
        fs::last_write_time(dir_ / name, fs::file_time_type::clock::now() - age);
    }
    std::vector<std::string> left(const FileCacheBound& bound) const {
        boundFileCache(dir_.path(), bound);
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(dir_.path())) {
            names.push_back(entry.path().filename());
        }
        return names;
    }
    const tests::TempDir dir_;
};

TEST_F(FileCacheTest, TheLeastRecentlyUsedGoFirst) {
    add("old", std::chrono::hours(3));
    add("older", std::chrono::hours(4));
    add("new", std::chrono::hours(1));
    EXPECT_EQ(left({300, 100}).size(), 3U) << "it is small enough";
    markUsed(dir_ / "older");
    EXPECT_THAT(left({299, 200}), UnorderedElementsAre("older", "new"));
}

TEST_F(FileCacheTest, AFileThatWasUsedInTheLastMinuteStays) {
    add("a", std::chrono::seconds(50));
    add("b", std::chrono::seconds(70));
    add("c", std::chrono::seconds(0));
    EXPECT_THAT(left({0, 0}), UnorderedElementsAre("a", "c"));
}

TEST_F(FileCacheTest, ADirectoryThatIsNotThereIsLeftAlone) {
    boundFileCache(dir_ / "nowhere", {0, 0});
    markUsed(dir_ / "nowhere/file");
    EXPECT_FALSE(fs::exists(dir_ / "nowhere"));
}

}  // namespace
}  // namespace millrace

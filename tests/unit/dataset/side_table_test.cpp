// Side tables: what is read of their files, and how often.
#include "backend/dataset/side_table.h"

#include <cstdint>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace millrace::dataset {
namespace {

/// What this thread has read of files so far; -1 where the system does not tell.
std::int64_t bytesRead() {
    std::ifstream counters("/proc/thread-self/io");
    std::string name;
    std::int64_t bytes = -1;
    return counters >> name >> bytes && name == "rchar:" ? bytes : -1;
}

TEST(Dataset, ASideTableThatRestedIsReadOnceForItsHash) {
    const std::string path = MILLRACE_SOURCE_DIR "/docs/reference/spec.md";  // older than this test
    const std::int64_t start = bytesRead();
    if (start < 0) {
        GTEST_SKIP() << "the system does not count what is read";
    }
    const auto first = sideFileOf(path);
    const std::int64_t between = bytesRead();
    const auto second = sideFileOf(path);
    const std::int64_t end = bytesRead();
    ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
    EXPECT_EQ(first->hash, second->hash);
    EXPECT_GE(between - start, first->bytes);
    EXPECT_LT(end - between, first->bytes / 2);
}

}  // namespace
}  // namespace millrace::dataset

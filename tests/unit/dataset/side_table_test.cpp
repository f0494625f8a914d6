// Side tables: which parts of their files are read, and how often.
#include "backend/dataset/side_table.h"

#include <cstdint>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "backend/core/hash.h"
#include "backend/text/text.h"
#include "tests/support/temp_dir.h"

namespace millrace::dataset {
namespace {

/// Bytes that this thread has read from files; -1 if the system does not report them.
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

// A separate thread reads it, block by block.
TEST(Dataset, ALargeSideFileHasTheHashOfItsBytes) {
    const tests::TempDir dir;
    for (const std::size_t bytes : {std::size_t{5} << 20, (std::size_t{6} << 20) + 12'345}) {
        std::string content(bytes, '\0');
        for (std::size_t i = 0; i < bytes; ++i) {
            content[i] = static_cast<char>(i * 2654435761U >> 13);
        }
        const std::string path = dir / strCat(bytes, ".bin");
        std::ofstream(path, std::ios::binary) << content;
        const auto file = sideFileOf(path);
        ASSERT_TRUE(file.ok()) << file.status();
        EXPECT_EQ(file->hash, hashHex(content));
    }
}

}  // namespace
}  // namespace millrace::dataset

#include "backend/stream/steps.h"

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

TEST(Dealing, RefusesRanksThatDoNotDivideAndNamesThoseThatDo) {
    const Result<Dealing> wrong = Dealing::make(1536, 256, 4);
    ASSERT_FALSE(wrong.ok());
    EXPECT_NE(messageOf(wrong.status()).find("admissible: 1, 2, 3, 6"), std::string::npos);
    EXPECT_FALSE(Dealing::make(1000, 256, 1).ok());
    EXPECT_FALSE(Dealing::make(1024, 0, 1).ok());
    EXPECT_FALSE(Dealing::make(1024, 256, 0).ok());
}

}  // namespace
}  // namespace millrace::stream

#include "backend/stream/steps.h"

#include <set>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

TEST(Dealing, GivesEveryMicroBatchToOneRankOnceAndInItsStep) {
    for (const std::int64_t world : {1, 2, 4}) {
        const Dealing dealing = *Dealing::make(1024, 256, world);
        for (std::int64_t total = 0; total < 14; ++total) {
            std::set<std::int64_t> seen;
            for (std::int64_t step = 0; step < stepsOf(total, dealing); ++step) {
                for (std::int64_t rank = 0; rank < world; ++rank) {
                    const StepShare share = shareOf(total, dealing, step, rank);
                    for (std::int64_t i = 0; i < share.count; ++i) {
                        const std::int64_t number = share.first + i * world;
                        EXPECT_EQ(dealing.stepOf(number), step);
                        EXPECT_EQ(dealing.rankOf(number), rank);
                        EXPECT_TRUE(seen.insert(number).second);
                    }
                }
            }
            EXPECT_EQ(static_cast<std::int64_t>(seen.size()), total);
        }
    }
}

TEST(Dealing, ARankMayGetNoneInTheLastStep) {
    const Dealing dealing = *Dealing::make(1024, 256, 4);
    EXPECT_EQ(stepsOf(5, dealing), 2);
    EXPECT_EQ(shareOf(5, dealing, 1, 0).count, 1);
    EXPECT_EQ(shareOf(5, dealing, 1, 1).count, 0);
    EXPECT_EQ(stepsOf(0, dealing), 0);
}

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

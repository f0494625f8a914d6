#include "backend/job/attempt_paths.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace millrace::job {
namespace {

TEST(AttemptPaths, ARankIsToldByItsName) {
    EXPECT_EQ(rankOf(rankName(3)), 3);
    EXPECT_EQ(rankOf(rankName(511)), 511);
    EXPECT_EQ(rankOf(kFeed), std::nullopt);
    EXPECT_EQ(rankOf("rank"), std::nullopt);
    EXPECT_EQ(rankOf("rank-1"), std::nullopt);
    EXPECT_EQ(rankOf("rank1x"), std::nullopt);
    EXPECT_EQ(rankOf("rank99999999999"), std::nullopt) << "no rank 0 either";
}

TEST(AttemptPaths, DaemonAndWorkersNameTheSameFiles) {
    const AttemptPaths daemons = RunPaths("/runs", "r-abc23").attempt(2);
    EXPECT_EQ(daemons.directory(), "/runs/r-abc23/a2");
    EXPECT_EQ(daemons.jobFile(), "/runs/r-abc23/a2/job.json");
    const AttemptPaths workers = AttemptPaths::ofJob(daemons.jobFile());
    EXPECT_EQ(workers.directory(), daemons.directory());
    EXPECT_EQ(workers.worker(rankName(3)), "/runs/r-abc23/a2/rank3");
    EXPECT_EQ(workers.worker(kFeed), "/runs/r-abc23/a2/feed");
    EXPECT_EQ(AttemptPaths::ofJob("job.json").worker(kFeed), "feed");
}

TEST(AttemptPaths, AttemptsAreFoldersWithANumber) {
    const tests::TempDir root;
    const RunPaths run(root / "", "r-abc23");
    EXPECT_TRUE(run.attempts().empty());
    for (const char* name : {"a10", "a2", "a", "b1", "a1x", "a-1", "a99999999999", "checkpoints"}) {
        std::filesystem::create_directories(run.directory() + "/" + name);
    }
    EXPECT_EQ(run.attempts(), (std::vector<int>{2, 10}));
}

}  // namespace
}  // namespace millrace::job

#include <gtest/gtest.h>

#include "backend/checkpoint/checkpoint_name.h"

namespace millrace::checkpoint {
namespace {

TEST(CheckpointName, TellsStepAndAttempt) {
    EXPECT_EQ((CheckpointName{400, 2}.text()), "step-00000400.a2.safetensors");
    EXPECT_EQ(CheckpointName::parse("step-00000400.a2.safetensors"), (CheckpointName{400, 2}));
    EXPECT_EQ(CheckpointName::parse("step-1234567890.a17.safetensors"),
              (CheckpointName{1234567890, 17}));
}

TEST(CheckpointName, IsNothingElse) {
    for (const char* name : {"",
                             ".",
                             "..",
                             "step-",
                             "step-.a1.safetensors",
                             "step-400.a1.safetensors",
                             "step-0000x400.a1.safetensors",
                             "notes.txt",
                             "step-00000400.a.safetensors",
                             "step-00000400.a-1.safetensors",
                             "step-00000400.a02.safetensors",
                             "step--0000400.a1.safetensors",
                             "step-00000400.a2.ckpt",
                             "step-00000400.a2.safetensors.tmp-12",
                             "step-00000400.a2.safetensors.void",
                             "step-00000400.a2.safetensor",
                             "step-00000400.a2",
                             "step-00000400.safetensors",
                             "../step-00000400.a2.safetensors",
                             "step-99999999999999999999.a1.safetensors",
                             "step-00000400.a2.safetensors/"}) {
        EXPECT_FALSE(CheckpointName::parse(name)) << name;
    }
}

TEST(CheckpointName, ComesInOrderOfStepsThenAttempts) {
    EXPECT_LT((CheckpointName{400, 3}), (CheckpointName{500, 1}));
    EXPECT_LT((CheckpointName{400, 1}), (CheckpointName{400, 2}));
}

TEST(CheckpointName, KnowsWhatAKilledWriterLeaves) {
    EXPECT_TRUE(isLeftover("step-00000400.a2.safetensors.tmp-4711"));
    EXPECT_FALSE(isLeftover("step-00000400.a2.safetensors"));
    EXPECT_FALSE(isLeftover("notes.tmp-4711"));
}

}  // namespace
}  // namespace millrace::checkpoint

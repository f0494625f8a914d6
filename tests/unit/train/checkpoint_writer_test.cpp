// Checkpoints that are written while training goes on.
#include "backend/train/loop/checkpoint_writer.h"

#include <cstring>
#include <numeric>

#include <gmock/gmock.h>

#include "tests/unit/train/trainer_fixture.h"

namespace millrace::train {
namespace {

using test::TrainerFixture;

CheckpointOrder orderOf(const std::string& directory, std::int64_t step) {
    CheckpointOrder order;
    order.directory = directory;
    order.name = {step, 1};
    order.meta = Json::object();
    return order;
}

std::vector<float> valuesOf(const std::string& path) {
    const auto file = Checkpoint::open(path);
    EXPECT_TRUE(file.ok()) << file.status();
    const TensorRef* tensor = file->find("w");
    std::vector<float> out(static_cast<std::size_t>(tensor->numElements()));
    std::memcpy(out.data(), tensor->data, out.size() * sizeof(float));
    return out;
}

TEST(CheckpointWriter, WritesWhatWasThereWhenItBegan) {
    test::Scratch scratch;
    std::vector<float> values(100'000), other(3, 7.0F);
    std::iota(values.begin(), values.end(), 0.0F);
    const std::vector<float> before = values;
    CheckpointWriter writer;
    EXPECT_FALSE(writer.wait().has_value());
    writer.begin(orderOf(scratch.path(), 1),
                 {{"w", DType::kFloat32, {100'000}, values.data(), true},
                  {"v", DType::kFloat32, {3}, other.data()}});
    std::fill(values.begin(), values.end(), -1.0F);
    const auto outcome = writer.wait();
    ASSERT_TRUE(outcome && outcome->file.ok());
    EXPECT_EQ(outcome->order.name.step, 1);
    EXPECT_EQ(valuesOf(scratch / outcome->file->name), before);
    EXPECT_FALSE(writer.takeEnded().has_value()) << "told once";
    writer.begin(orderOf(scratch.path(), 2),
                 {{"w", DType::kFloat32, {100'000}, values.data(), true}});
    const auto second = writer.wait();
    ASSERT_TRUE(second && second->file.ok());
    EXPECT_EQ(valuesOf(scratch / second->file->name), values);
}

TEST(CheckpointWriter, AFailureIsToldAndTheNextOneIsWritten) {
    test::Scratch scratch;
    float value = 1;
    const std::vector<TensorRef> tensors{{"w", DType::kFloat32, {1}, &value, true}};
    CheckpointWriter writer;
    writer.begin(orderOf("/proc/self/no-such-place", 1), tensors);
    const auto failed = writer.wait();
    ASSERT_TRUE(failed);
    EXPECT_FALSE(failed->file.ok());
    writer.begin(orderOf(scratch.path(), 2), tensors);
    EXPECT_TRUE(writer.wait()->file.ok());
}

TEST(CheckpointWriter, ItsEndWaitsForTheFile) {
    test::Scratch scratch;
    std::vector<float> values(1'000'000, 2.0F);
    {
        CheckpointWriter writer;
        writer.begin(orderOf(scratch.path(), 3),
                     {{"w", DType::kFloat32, {1'000'000}, values.data(), true}});
    }
    EXPECT_EQ(valuesOf(scratch / checkpoint::CheckpointName{3, 1}.text()), values);
}

TEST(CheckpointWriter, ARunHasTheSameCheckpointsEitherWay) {
    TrainerFixture waits, copies;
    for (TrainerFixture* f : {&waits, &copies}) {
        f->options.checkpoints.everySteps = 1;
        f->options.checkpoints.isCopied = f == &copies;
        ASSERT_TRUE((*f->make())->run().ok());
    }
    ASSERT_EQ(copies.reporter.checkpoints.size(), waits.reporter.checkpoints.size());
    for (std::size_t i = 0; i < waits.reporter.checkpoints.size(); ++i) {
        const rank::Checkpoint &a = waits.reporter.checkpoints[i],
                               &b = copies.reporter.checkpoints[i];
        EXPECT_EQ(a.step, b.step);
        EXPECT_EQ(a.state, b.state);
        const auto one = Checkpoint::open(waits.pathOf(a)),
                   two = Checkpoint::open(copies.pathOf(b));
        ASSERT_TRUE(one.ok() && two.ok());
        for (std::size_t t = 0; t < one->tensors().size(); ++t) {
            const TensorRef &x = one->tensors()[t], &y = two->tensors()[t];
            ASSERT_EQ(x.numBytes(), y.numBytes());
            EXPECT_EQ(std::memcmp(x.data, y.data, static_cast<std::size_t>(x.numBytes())), 0);
        }
    }
}

TEST(CheckpointWriter, OneThatFailsOnTheWayIsTroubleUntilOneIsWritten) {
    TrainerFixture f;
    f.options.checkpoints.everySteps = 2;
    f.options.checkpoints.isCopied = true;
    f.options.checkpoints.directory = "/proc/self/no-such-place";
    EXPECT_FALSE((*f.make())->run().ok()) << "the last one is needed";
    EXPECT_TRUE(f.reporter.checkpoints.empty());
    ASSERT_FALSE(f.reporter.troubles.empty());
    EXPECT_THAT(f.reporter.troubles[0].second,
                ::testing::HasSubstr("the checkpoint of step 2 was not written"));
}

}  // namespace
}  // namespace millrace::train

#include "backend/train/optimizer.h"

#include <cmath>

#include <gmock/gmock.h>

#include "backend/spec/training/optimisation.h"
#include "backend/train/embedding.h"
#include "backend/train/input_scaler.h"

namespace millrace::train {
namespace {

OptimizerOptions optimizer(OptimizerKind kind) {
    OptimizerOptions o;
    o.kind = kind;
    o.learningRate = 0.1;
    return o;
}

/// Runs `steps` updates of one weight with the gradients and returns it.
float runUpdates(const OptimizerOptions& o, float start, const std::vector<float>& gradients,
                 double weight = 1) {
    float value = start, first = 0, second = 0;
    std::int64_t updates = 0;
    for (const float g : gradients) {
        WeightUpdate(o, ++updates, weight)
            .apply(1, &g, &value, numMoments(o) > 0 ? &first : nullptr,
                   numMoments(o) > 1 ? &second : nullptr);
    }
    return value;
}

TEST(Optimizer, KeepsTheStateThatEstimatesOfMemoryCount) {
    for (const char* name : {"sgd", "adagrad", "rowwise_adagrad", "adamw"}) {
        for (const double momentum : {0.0, 0.9}) {
            spec::TrainSpec train;
            train.groups.embeddings.optimizer = name;
            train.momentum = momentum;
            OptimizerOptions options = optimizer(*parseOptimizer(name));
            options.momentum = momentum;
            EXPECT_EQ(numMoments(options) * momentWidth(options, 8),
                      spec::stateFloats(spec::tableGroup(train), 8))
                << name << momentum;
        }
    }
}

TEST(Sgd, SubtractsRateTimesGradient) {
    EXPECT_FLOAT_EQ(runUpdates(optimizer(OptimizerKind::kSgd), 1, {0.5F, -0.2F}),
                    1 - 0.05F + 0.02F);
}

TEST(Sgd, KeepsVelocityAsPyTorchDoes) {
    OptimizerOptions o = optimizer(OptimizerKind::kSgd);
    o.momentum = 0.9;
    const double v1 = 0.5, v2 = 0.9 * v1 - 0.2, v3 = 0.9 * v2 + 0.1;
    EXPECT_NEAR(runUpdates(o, 1, {0.5F, -0.2F, 0.1F}), 1 - 0.1 * (v1 + v2 + v3), 1e-6);
}

TEST(Sgd, AddsWeightDecayToTheGradient) {
    OptimizerOptions o = optimizer(OptimizerKind::kSgd);
    o.weightDecay = 0.5;
    EXPECT_NEAR(runUpdates(o, 2, {0.5F}), 2 - 0.1 * (0.5 + 1), 1e-6);
}

TEST(Adagrad, DividesByTheRootOfTheSummedSquares) {
    const double w1 = 1 - 0.1 * 0.5 / std::sqrt(0.25);
    const double w2 = w1 + 0.1 * 0.2 / std::sqrt(0.25 + 0.04);
    EXPECT_NEAR(runUpdates(optimizer(OptimizerKind::kAdagrad), 1, {0.5F, -0.2F}), w2, 1e-6);
}

TEST(RowwiseAdagrad, DividesByTheRootOfTheSummedMeanSquares) {
    OptimizerOptions o = optimizer(OptimizerKind::kRowwiseAdagrad);
    std::vector<float> row{1, 2, 3};
    float sum = 0;
    const std::vector<float> first{0.5F, -0.2F, 0.1F}, second{1, 0, 2};
    WeightUpdate(o, 1, 1).apply(3, first.data(), row.data(), &sum, nullptr);
    WeightUpdate(o, 2, 1).apply(3, second.data(), row.data(), &sum, nullptr);
    const double one = (0.25 + 0.04 + 0.01) / 3, two = one + 5.0 / 3;
    EXPECT_NEAR(sum, two, 1e-6);
    EXPECT_NEAR(row[1], 2 + 0.1 * 0.2 / std::sqrt(one), 1e-6);
    EXPECT_NEAR(row[2], 3 - 0.1 * 0.1 / std::sqrt(one) - 0.1 * 2 / std::sqrt(two), 1e-6);
}

TEST(AdamW, FollowsTheReferenceFormula) {
    OptimizerOptions o = optimizer(OptimizerKind::kAdamW);
    o.weightDecay = 0.01;
    double w = 1, m = 0, v = 0;
    const std::vector<float> gradients{0.5F, -0.2F, 0.3F, 0.3F};
    for (std::size_t t = 1; t <= gradients.size(); ++t) {
        const double g = gradients[t - 1], n = static_cast<double>(t);
        w -= 0.1 * 0.01 * w;
        m = 0.9 * m + 0.1 * g;
        v = 0.999 * v + 0.001 * g * g;
        w -= 0.1 * (m / (1 - std::pow(0.9, n))) / (std::sqrt(v / (1 - std::pow(0.999, n))) + 1e-8);
    }
    EXPECT_NEAR(runUpdates(o, 1, gradients), w, 1e-5);
}

TEST(Optimizer, DividesSummedGradientsByTheWeightOnce) {
    for (const OptimizerKind kind :
         {OptimizerKind::kSgd, OptimizerKind::kAdagrad, OptimizerKind::kAdamW}) {
        EXPECT_EQ(runUpdates(optimizer(kind), 1, {2.0F, -4.0F}, 4),
                  runUpdates(optimizer(kind), 1, {0.5F, -1.0F}, 1));
    }
}

TEST(Optimizer, RefusesAnUnknownNameWithTheKnownOnes) {
    const auto result = parseOptimizer("adam");
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(std::string(messageOf(result.status())), ::testing::HasSubstr("adamw"));
}

TEST(Embedding, StartsWithinItsBoundAsAFunctionOfSeedAndName) {
    const OptimizerOptions o = optimizer(OptimizerKind::kSgd);
    const EmbeddingTable a("users", 100, 8, o, 7), b("users", 100, 8, o, 7),
        c("users", 100, 8, o, 8), d("items", 100, 8, o, 7);
    bool differsBySeed = false, differsByName = false, isNegative = false;
    for (int i = 0; i < 800; ++i) {
        EXPECT_EQ(a.row(0)[i], b.row(0)[i]);
        EXPECT_LE(std::abs(a.row(0)[i]), 0.1F);
        differsBySeed = differsBySeed || a.row(0)[i] != c.row(0)[i];
        differsByName = differsByName || a.row(0)[i] != d.row(0)[i];
        isNegative = isNegative || a.row(0)[i] < 0;
    }
    EXPECT_TRUE(differsBySeed && differsByName && isNegative);
}

TEST(Embedding, PoolsAListAsItsMeanAndAnEmptyOneAsZero) {
    const EmbeddingTable table("t", 10, 2, optimizer(OptimizerKind::kSgd), 1);
    const std::vector<std::int64_t> values{3, 5, 5}, offsets{0, 3, 3};
    std::vector<float> out(4, 9);
    ASSERT_TRUE(table.pool("f", {values.data(), offsets.data()}, 2, out.data(), 2).ok());
    EXPECT_NEAR(out[0], (table.row(3)[0] + 2 * table.row(5)[0]) / 3, 1e-6);
    EXPECT_EQ(out[2], 0);
    EXPECT_EQ(out[3], 0);
}

TEST(Embedding, PoolsWeightedListsByTheirWeights) {
    const EmbeddingTable table("t", 10, 1, optimizer(OptimizerKind::kSgd), 1);
    const std::vector<std::int64_t> values{3, 5, 1, 2}, offsets{0, 2, 4};
    const std::vector<float> weights{1, 3, 1, -1};
    std::vector<float> out(2, 9);
    const IdColumn column{values.data(), offsets.data(), nullptr, weights.data()};
    ASSERT_TRUE(table.pool("f", column, 2, out.data(), 1).ok());
    EXPECT_NEAR(out[0], (table.row(3)[0] + 3 * table.row(5)[0]) / 4, 1e-6);
    EXPECT_EQ(out[1], 0);  // the weights cancel out
}

TEST(Embedding, ExpandsDeduplicatedListsByTheInverse) {
    const EmbeddingTable table("t", 10, 1, optimizer(OptimizerKind::kSgd), 1);
    const std::vector<std::int64_t> values{3, 5}, offsets{0, 1, 2};
    const std::vector<std::uint32_t> inverse{1, 0, 1};
    std::vector<float> out(3);
    ASSERT_TRUE(
        table.pool("f", {values.data(), offsets.data(), inverse.data()}, 3, out.data(), 1).ok());
    EXPECT_EQ(out[0], table.row(5)[0]);
    EXPECT_EQ(out[1], table.row(3)[0]);
    EXPECT_EQ(out[2], out[0]);
}

TEST(Embedding, RefusesAnIdOutsideItsTable) {
    const EmbeddingTable table("t", 10, 1, optimizer(OptimizerKind::kSgd), 1);
    float out = 0;
    for (const std::int64_t id : {std::int64_t{10}, std::int64_t{-1}}) {
        const Status status = table.pool("film", {&id}, 1, &out, 1);
        EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
        EXPECT_THAT(std::string(messageOf(status)), ::testing::HasSubstr("film"));
    }
}

TEST(Embedding, UpdatesTouchedRowsOnly) {
    for (const OptimizerKind kind :
         {OptimizerKind::kSgd, OptimizerKind::kAdagrad, OptimizerKind::kAdamW}) {
        EmbeddingTable table("t", 10, 1, optimizer(kind), 1);
        const float before4 = table.row(4)[0], before3 = table.row(3)[0];
        const std::vector<std::int64_t> values{3, 3};
        const std::vector<float> gradients{1, 2};
        table.addGradients({values.data()}, 2, gradients.data(), 1);
        EXPECT_EQ(table.numTouched(), 1);
        EXPECT_EQ(*table.gradient(3), 3);
        table.apply(optimizer(kind), 1, 3);
        EXPECT_EQ(table.row(4)[0], before4);
        EXPECT_NEAR(table.row(3)[0], before3 - 0.1F, 1e-4);
        EXPECT_EQ(table.numTouched(), 0);
        EXPECT_EQ(table.gradient(3), nullptr);
    }
}

TEST(EmbeddingTable, AddsWhatAnotherRankGivesAndRefusesWhatIsNotWhole) {
    const OptimizerOptions optimizer;
    EmbeddingTable first("t", 10, 2, optimizer, 1), second("t", 10, 2, optimizer, 1);
    const std::vector<std::int64_t> ids{3, 5, 3, 7};
    const std::vector<float> gradients{1, 2, 4, 8, 16, 32, 64, 128};
    const auto column = [&](std::size_t from) {
        IdColumn out;
        out.values = ids.data() + from;
        return out;
    };
    first.addGradients(column(0), 2, gradients.data(), 2);
    second.addGradients(column(2), 2, gradients.data() + 4, 2);
    std::string bytes;
    second.appendGradients(bytes);
    std::string_view rest = bytes;
    ASSERT_TRUE(first.addFrom(rest).ok());
    EXPECT_TRUE(rest.empty());
    EXPECT_EQ(first.numTouched(), 3);
    EXPECT_THAT(std::vector<float>(first.gradient(3), first.gradient(3) + 2),
                ::testing::ElementsAre(17, 34));
    EXPECT_THAT(std::vector<float>(first.gradient(7), first.gradient(7) + 2),
                ::testing::ElementsAre(64, 128));
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
        std::string_view part = std::string_view(bytes).substr(0, cut);
        EXPECT_FALSE(EmbeddingTable("t", 10, 2, optimizer, 1).addFrom(part).ok()) << cut;
    }
    std::string_view whole = bytes;
    EXPECT_FALSE(EmbeddingTable("t", 7, 2, optimizer, 1).addFrom(whole).ok()) << "row 7 of 7";
}

TEST(InputScaler, BringsLargeInputsToOneScaleAndCutsOutliers) {
    InputScaler scaler(1);
    const std::vector<float> values{1e9F, 1e9F + 2000, 1e9F + 4000, NAN};
    BatchView batch;
    batch.rows = 4;
    batch.dense = {{values.data(), 1}};
    const std::unique_ptr<Group> alone = makeLoneGroup();
    ASSERT_TRUE(scaler.start(&batch, *alone).ok());
    scaler.observe(batch);
    std::vector<float> out;
    scaler.scale(batch, out);
    EXPECT_NEAR(out[1], 0, 0.05);
    EXPECT_NEAR(out[2], 1.22, 0.05);
    EXPECT_EQ(out[3], 0);
    const float far = 1e12F;
    batch.rows = 1;
    batch.dense = {{&far, 1}};
    scaler.scale(batch, out);
    EXPECT_EQ(out[0], 5);
}

TEST(InputScaler, HasTheSameStatisticsHoweverAStepIsCut) {
    std::vector<float> values;
    for (int i = 0; i < 64; ++i) {
        values.push_back(static_cast<float>(i * i));
    }
    const auto observe = [&](InputScaler& scaler, std::size_t from, std::size_t to) {
        BatchView batch;
        batch.rows = static_cast<std::int64_t>(to - from);
        batch.dense = {{values.data() + from, 1}};
        scaler.observe(batch);
    };
    InputScaler whole(1), cut(1);
    observe(whole, 0, 64);
    observe(cut, 0, 10);
    observe(cut, 10, 64);
    std::vector<TensorRef> a, b;
    const std::unique_ptr<Group> alone = makeLoneGroup();
    ASSERT_TRUE(whole.endStep(*alone).ok());
    ASSERT_TRUE(cut.endStep(*alone).ok());
    whole.appendTensors(a);
    cut.appendTensors(b);
    for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_EQ(*static_cast<double*>(a[i].data), *static_cast<double*>(b[i].data));
    }
}

TEST(InputScaler, LeavesAConstantInputAtZero) {
    InputScaler scaler(1);
    const std::vector<float> values{42, 42};
    BatchView batch;
    batch.rows = 2;
    batch.dense = {{values.data(), 1}};
    scaler.observe(batch);
    const std::unique_ptr<Group> alone = makeLoneGroup();
    ASSERT_TRUE(scaler.endStep(*alone).ok());
    std::vector<float> out;
    scaler.scale(batch, out);
    EXPECT_EQ(out[0], 0);
}

}  // namespace
}  // namespace millrace::train

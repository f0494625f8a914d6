// The learner on tensors: its loops on a CPU against the calls that a GPU gets.
#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>

#include "backend/train/torch_learner.h"
#include "tests/unit/train/fakes.h"

namespace millrace::train {
namespace {

using test::Columns;
using test::rowsOf;
using test::smallModel;
using ::testing::HasSubstr;

std::unique_ptr<Learner> tensorLearnerOf(LearnerOptions options,
                                         const std::string& precision = "fp32",
                                         bool asOnGpu = true) {
    options.precision = precision;
    options.device = "cpu";
    Result<std::unique_ptr<Learner>> made = makeTensorLearner(options, test::alone(), asOnGpu);
    EXPECT_TRUE(made.ok()) << made.status();
    return std::move(*made);
}

std::unique_ptr<Learner> loopsOf(const LearnerOptions& options,
                                 const std::string& precision = "fp32") {
    return tensorLearnerOf(options, precision, false);
}

/// Loss of each of `steps` steps of three micro-batches.
std::vector<double> train(Learner& learner, int steps, std::size_t heads = 1) {
    std::vector<double> out;
    for (int step = 0; step < steps; ++step) {
        LossSums sums;
        for (const int part : {0, 1, 2}) {
            const auto from = static_cast<std::uint64_t>(96 * step + 32 * part);
            const Columns columns = rowsOf(5, from, from + 32);
            EXPECT_TRUE(learner.accumulate(columns.view(heads), sums).ok());
        }
        EXPECT_TRUE(learner.collect(sums).ok());
        EXPECT_TRUE(learner.apply(sums.totalWeight(), nullptr).ok());
        out.push_back(sums.mean());
    }
    return out;
}

struct Case {
    std::string model, optimizer;
    double momentum = 0, decay = 0;
    std::string tables = {};  ///< their own optimizer
    double clipNorm = 0, dropout = 0;
    ScheduleOptions schedule = {};
};

LearnerOptions optionsOf(const Case& c, std::size_t heads = 1) {
    LearnerOptions options = smallModel(c.model, heads);
    options.optimizer.kind = *parseOptimizer(c.optimizer);
    options.optimizer.learningRate = c.optimizer == "sgd" ? 0.05 : 0.01;
    options.optimizer.momentum = c.momentum;
    options.optimizer.weightDecay = c.decay;
    if (!c.tables.empty()) {
        options.tableOptimizer.emplace().kind = *parseOptimizer(c.tables);
        options.tableOptimizer->learningRate = 0.02;
        options.tableOptimizer->weightDecay = 0.001;
    }
    options.clipNorm = c.clipNorm;
    options.dropout = c.dropout;
    options.schedule = c.schedule;
    return options;
}

class Tensors : public ::testing::TestWithParam<Case> {};

TEST_P(Tensors, TrainLikeTheLoops) {
    const LearnerOptions options = optionsOf(GetParam());
    const auto loops = loopsOf(options), tensors = tensorLearnerOf(options),
               precise = tensorLearnerOf(options, "fp64");
    const std::vector<double> a = train(*loops, 50), b = train(*tensors, 50),
                              c = train(*precise, 50);
    for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_NEAR(a[i], b[i], 1e-5 * std::abs(a[i])) << "step " << i;
        EXPECT_NEAR(a[i], c[i], 2e-5 * std::abs(a[i])) << "step " << i;
    }
    EXPECT_LT(a.back(), a.front());
}

INSTANTIATE_TEST_SUITE_P(
    Models, Tensors,
    ::testing::Values(
        Case{"dlrm", "sgd"}, Case{"dlrm", "sgd", 0.9, 0.01}, Case{"dlrm", "adagrad", 0, 0.001},
        Case{"dlrm", "adamw", 0, 0.01}, Case{"mlp", "adamw"},
        Case{"dlrm", "adamw", 0, 0.01, "rowwise_adagrad"},
        Case{"mlp", "sgd", 0, 0, "adagrad", 0.05}, Case{"dlrm", "adagrad", 0, 0, "", 0.1, 0.3},
        Case{"dcn_v2", "sgd", 0, 0, "", 0, 0.2, {ScheduleOptions::Kind::kCosine, 5, 40, 0.1}},
        Case{"mlp", "adagrad"}, Case{"dcn_v2", "adamw"}, Case{"dcn_v2", "sgd"},
        Case{"logistic", "sgd"}),
    [](const auto& info) {
        return info.param.model + "_" + info.param.optimizer +
               (info.param.momentum != 0 ? "_momentum" : "") +
               (info.param.tables.empty() ? "" : "_" + info.param.tables) +
               (info.param.clipNorm != 0 ? "_clipped" : "") +
               (info.param.dropout != 0 ? "_dropout" : "");
    });

TEST(TensorLearner, SeveralHeadsTrainLikeTheLoops) {
    const LearnerOptions options = optionsOf({"dlrm", "adamw"}, 2);
    const auto loops = loopsOf(options), tensors = tensorLearnerOf(options);
    const std::vector<double> a = train(*loops, 20, 2), b = train(*tensors, 20, 2);
    for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_NEAR(a[i], b[i], 1e-5 * std::abs(a[i])) << "step " << i;
    }
}

TEST(TensorLearner, TakesWeightedAndSharedListsLikeTheLoops) {
    const LearnerOptions options = optionsOf({"mlp", "adamw"});
    const auto loops = loopsOf(options), tensors = tensorLearnerOf(options);
    const std::vector<std::int64_t> values{1, 2, 2, 5, 0, 6, 3}, offsets{0, 3, 3, 5, 7};
    const std::vector<float> weights{0.5F, 1.5F, -1, 2,
                                     1,    1,    -1};  // those of the last list cancel out
    std::vector<std::uint32_t> inverse;
    const Columns columns = rowsOf(5, 0, 40);
    for (std::uint32_t r = 0; r < 40; ++r) {
        inverse.push_back(r * 7 % 4);
    }
    BatchView batch = columns.view();
    batch.ids[2] = {values.data(), offsets.data(), inverse.data(), weights.data(), 4};
    for (int step = 0; step < 5; ++step) {
        LossSums a, b;
        ASSERT_TRUE(loops->accumulate(batch, a).ok() && tensors->accumulate(batch, b).ok() &&
                    tensors->collect(b).ok());
        ASSERT_TRUE(loops->collect(a).ok());
        EXPECT_NEAR(a.mean(), b.mean(), 1e-5) << step;
        ASSERT_TRUE(loops->apply(a.totalWeight(), nullptr).ok() &&
                    tensors->apply(b.totalWeight(), nullptr).ok());
    }
    std::vector<double> p, q;
    ASSERT_TRUE(loops->predict(batch, p).ok() && tensors->predict(batch, q).ok());
    for (std::size_t i = 0; i < p.size(); ++i) {
        EXPECT_NEAR(p[i], q[i], 1e-5);
    }
}

/// The bytes of a row of a table and of its moments.
std::string rowOf(Learner& learner, const std::string& table, std::int64_t row) {
    std::string out;
    for (const TensorRef& t : learner.tensors()) {
        if (t.name.find("embedding." + table + ".weight") != std::string::npos) {
            const std::int64_t bytes = t.numBytes() / t.shape[0];
            out.append(static_cast<const char*>(t.data) + row * bytes,
                       static_cast<std::size_t>(bytes));
        }
    }
    return out;
}

TEST(TensorLearner, UnknownValuesAndLogisticRegressionStartAtZero) {
    for (const std::string model : {"mlp", "logistic"}) {
        const auto learner = loopsOf(smallModel(model));
        for (const TensorRef& t : learner->tensors()) {
            const bool isTable = t.name.starts_with("embedding.");
            const bool isLayer = model == "logistic" && !t.name.starts_with("input.");
            if (!t.isWeight || (!isTable && !isLayer)) {
                continue;
            }
            const auto* values = static_cast<const float*>(t.data);
            const auto width = static_cast<std::size_t>(t.shape.back());
            const auto size = static_cast<std::size_t>(t.numElements());
            const auto isZero = [](float value) { return value == 0; };
            EXPECT_TRUE(std::all_of(values, values + width, isZero)) << model << " " << t.name;
            EXPECT_EQ(std::all_of(values, values + size, isZero), model == "logistic")
                << model << " " << t.name;
        }
    }
}

TEST(TensorLearner, ARowOfAListWhoseWeightsCancelOutRests) {
    const std::vector<std::int64_t> values{1, 2, 4, 5, 1, 6}, offsets{0, 2, 4, 6};
    const std::vector<float> fine{1, 1, 1, 1, 1, 1}, cancelling{1, 1, 1, -1, 1, -1};
    const Columns columns = rowsOf(5, 0, 3);
    for (const char* precision : {"fp32", "fp64"}) {
        for (const bool asOnGpu : {false, true}) {
            const auto learner = tensorLearnerOf(optionsOf({"mlp", "adamw"}), precision, asOnGpu);
            const auto step = [&](const std::vector<float>& weights) {
                BatchView batch = columns.view();
                batch.ids[2] = {values.data(), offsets.data(), nullptr, weights.data()};
                LossSums sums;
                ASSERT_TRUE(learner->accumulate(batch, sums).ok() &&
                            learner->apply(5, nullptr).ok());
            };
            step(fine);
            const std::string four = rowOf(*learner, "tags", 4), six = rowOf(*learner, "tags", 6),
                              one = rowOf(*learner, "tags", 1);
            step(cancelling);
            EXPECT_EQ(rowOf(*learner, "tags", 4), four) << precision << asOnGpu;
            EXPECT_EQ(rowOf(*learner, "tags", 6), six) << precision << asOnGpu;
            EXPECT_NE(rowOf(*learner, "tags", 1), one) << "it is in another list, too";
        }
    }
}

TEST(TensorLearner, TakesListsThatAreAllEmpty) {
    const std::vector<std::int64_t> offsets(41, 0);
    const Columns columns = rowsOf(5, 0, 40);
    for (const bool asOnGpu : {false, true}) {
        const auto learner = tensorLearnerOf(optionsOf({"dlrm", "adamw"}), "fp32", asOnGpu);
        BatchView batch = columns.view();
        batch.ids[2] = {columns.tags.data(), offsets.data()};
        LossSums sums;
        ASSERT_TRUE(learner->accumulate(batch, sums).ok() && learner->collect(sums).ok());
        EXPECT_TRUE(std::isfinite(sums.mean()));
        ASSERT_TRUE(learner->apply(sums.totalWeight(), nullptr).ok());
    }
}

TEST(TensorLearner, TablesOfSeveralWidthsTrainLikeTheLoops) {
    LearnerOptions options = optionsOf({"mlp", "adamw"});
    options.tables[1].dim = 7;
    const auto loops = loopsOf(options), tensors = tensorLearnerOf(options);
    const std::vector<double> a = train(*loops, 20), b = train(*tensors, 20);
    for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_NEAR(a[i], b[i], 1e-5 * std::abs(a[i])) << "step " << i;
    }
}

TEST(TensorLearner, AFrameThatGoesWholeIsTheSameBatch) {
    const auto own = tensorLearnerOf(smallModel("dlrm")),
               whole = tensorLearnerOf(smallModel("dlrm"));
    const Columns columns = rowsOf(5, 0, 64);
    BatchView batch = columns.view();
    // All columns in one block, 64 bytes aligned as in a frame.
    std::vector<std::byte> block(1 << 16);
    std::size_t at = 64 - reinterpret_cast<std::uintptr_t>(block.data()) % 64;
    const auto moved = [&]<class T>(const T*& from, std::size_t count) {
        std::memcpy(&block[at], from, count * sizeof(T));
        from = reinterpret_cast<const T*>(&block[at]);
        at += (count * sizeof(T) + 63) / 64 * 64;
    };
    BatchView frame = batch;
    moved(frame.dense[0].values, 128);
    moved(frame.ids[0].values, 64);
    moved(frame.ids[1].values, 64);
    moved(frame.ids[2].values, columns.tags.size());
    moved(frame.ids[2].offsets, 65);
    moved(frame.heads[0].labels, 64);
    moved(frame.heads[0].weights, 64);
    moved(frame.heads[0].masks, 64);
    frame.frame = block.data();
    frame.frameBytes = block.size();
    LossSums a, b;
    ASSERT_TRUE(own->accumulate(batch, a).ok() && own->collect(a).ok());
    ASSERT_TRUE(whole->accumulate(frame, b).ok() && whole->collect(b).ok());
    EXPECT_EQ(a.mean(), b.mean());
    ASSERT_TRUE(own->apply(a.totalWeight(), nullptr).ok() &&
                whole->apply(b.totalWeight(), nullptr).ok());
    EXPECT_EQ(test::bytesOf(*own), test::bytesOf(*whole));
}

TEST(TensorLearner, AnIdOutsideItsTableIsNamed) {
    const auto learner = tensorLearnerOf(smallModel("dlrm"));
    Columns columns = rowsOf(5, 0, 8);
    columns.items[3] = 4000;
    LossSums sums;
    const Status status = learner->accumulate(columns.view(), sums);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("feature item: id 4000 in row 3"));
}

TEST(TensorLearner, ResumesFromItsStateBitForBitAndFromTheLoops) {
    for (const char* precision : {"fp32", "fp64"}) {
        const LearnerOptions options = optionsOf({"dlrm", "adamw"});
        const auto first = tensorLearnerOf(options, precision);
        train(*first, 10);
        test::Scratch scratch;
        const auto file =
            writeCheckpoint(scratch.path(), {10, 1}, Json::object(), first->tensors());
        ASSERT_TRUE(file.ok()) << file.status();
        const auto checkpoint = Checkpoint::open(scratch / file->name);
        ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
        const auto second = tensorLearnerOf(options, precision);
        ASSERT_TRUE(second->restore(*checkpoint).ok());
        EXPECT_EQ(train(*first, 5), train(*second, 5));
        EXPECT_EQ(test::bytesOf(*first), test::bytesOf(*second));
        if (std::string(precision) == "fp32") {
            const auto loops = loopsOf(options);
            EXPECT_TRUE(loops->restore(*checkpoint).ok());
        }
    }
}

TEST(TensorLearner, TwoRunsAreEqualBitForBit) {
    const auto a = tensorLearnerOf(optionsOf({"dlrm", "adamw"})),
               b = tensorLearnerOf(optionsOf({"dlrm", "adamw"}));
    EXPECT_EQ(train(*a, 10), train(*b, 10));
    EXPECT_EQ(test::bytesOf(*a), test::bytesOf(*b));
}

TEST(TensorLearner, LearnsInBfloat16) {
    const auto learner = tensorLearnerOf(optionsOf({"dlrm", "adamw"}), "bf16");
    const std::vector<double> losses = train(*learner, 60);
    EXPECT_TRUE(std::isfinite(losses.back()));
    EXPECT_LT(losses.back(), 0.95 * losses.front());
}

TEST(Device, IsToldWhereItIsNotThere) {
    EXPECT_EQ(*resolveDevice("cpu"), "cpu");
    EXPECT_THAT(std::string(resolveDevice("tpu").status().message()),
                HasSubstr("known: auto, cpu, cuda"));
    const Result<std::string> found = resolveDevice("auto");
    ASSERT_TRUE(found.ok());
    if (*found == "cpu") {
        EXPECT_THAT(std::string(resolveDevice("cuda").status().message()),
                    HasSubstr("train.device: cuda: "));
    }
}

}  // namespace
}  // namespace millrace::train

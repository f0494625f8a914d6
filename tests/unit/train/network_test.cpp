// Models that need LibTorch.
#include <cmath>
#include <set>

#include <gmock/gmock.h>

#include "backend/train/metrics.h"
#include "tests/unit/train/fakes.h"

namespace millrace::train {
namespace {

using test::Columns;
using test::learnerOf;
using test::rowsOf;
using test::smallModel;
using ::testing::HasSubstr;

double lossOf(Learner& learner, const BatchView& batch) {
    std::vector<double> p;
    EXPECT_TRUE(learner.predict(batch, p).ok());
    LossSums sums;
    addLoss(batch, p, sums);
    return sums.totalLoss();
}

TensorRef tensorOf(Learner& learner, const std::string& name) {
    for (const TensorRef& t : learner.tensors()) {
        if (t.name == name) {
            return t;
        }
    }
    ADD_FAILURE() << "no tensor " << name;
    return {};
}

/// d loss / d value by central differences.
double slope(Learner& learner, const BatchView& batch, double* value) {
    constexpr double kStep = 1e-4;
    const double before = *value;
    *value = before + kStep;
    const double up = lossOf(learner, batch);
    *value = before - kStep;
    const double down = lossOf(learner, batch);
    *value = before;
    return (up - down) / (2 * kStep);
}

/// SGD at rate 1 moves each weight by its gradient.
void expectGradients(LearnerOptions o) {
    o.precision = "fp64";
    o.optimizer.kind = OptimizerKind::kSgd;
    o.optimizer.learningRate = 1;
    const auto moved = learnerOf(o), still = learnerOf(o);
    const Columns columns = rowsOf(3, 0, 24);
    const BatchView batch = columns.view(o.heads.size());
    LossSums sums, same;
    ASSERT_TRUE(moved->accumulate(batch, sums).ok() && still->accumulate(batch, same).ok());
    ASSERT_TRUE(moved->apply(sums.totalWeight(), nullptr).ok());
    int checked = 0;
    for (const TensorRef& t : still->tensors()) {
        if (!t.isWeight || t.name.rfind("input.", 0) == 0) {
            continue;
        }
        auto* const values = static_cast<double*>(t.data);
        const auto* const after = static_cast<const double*>(tensorOf(*moved, t.name).data);
        for (std::int64_t i = 0; i < t.numElements(); ++i) {
            const double gradient = (values[i] - after[i]) * sums.totalWeight();
            EXPECT_NEAR(gradient, slope(*still, batch, values + i), 1e-5)
                << o.model << " " << t.name << "[" << i << "]";
            checked += gradient != 0 ? 1 : 0;
        }
    }
    EXPECT_GT(checked, 50);
}

TEST(Dcn, HasTheGradientsOfFiniteDifferences) {
    LearnerOptions o = smallModel("dcn_v2");
    expectGradients(o);
    o.crossRank = 3;
    expectGradients(o);
}
TEST(Logistic, HasTheGradientsOfFiniteDifferencesForTwoHeads) {
    expectGradients(smallModel("logistic", 2));
}
TEST(Mlp, HasTheGradientsOfFiniteDifferencesForTablesOfSeveralWidths) {
    LearnerOptions o = smallModel("mlp");
    o.tables[1].dim = 3;
    expectGradients(o);
}
TEST(Dlrm, HasTheGradientsOfFiniteDifferences) {
    expectGradients(smallModel("dlrm"));
}
TEST(Dlrm, HasTheGradientsOfFiniteDifferencesForTwoHeads) {
    expectGradients(smallModel("dlrm", 2));
}
TEST(Mlp, HasTheGradientsOfFiniteDifferences) {
    expectGradients(smallModel("mlp"));
}

/// Predictions after a first step of all rows and a second one cut at the given places.
std::vector<double> afterTwoSteps(const std::string& model,
                                  const std::vector<std::uint64_t>& cuts) {
    const auto learner = learnerOf(smallModel(model));
    for (const bool isCut : {false, true}) {
        LossSums sums;
        std::uint64_t from = 0;
        for (const std::uint64_t to : isCut ? cuts : std::vector<std::uint64_t>{64}) {
            const Columns columns = rowsOf(3, from, to);
            EXPECT_TRUE(learner->accumulate(columns.view(), sums).ok());
            from = to;
        }
        EXPECT_TRUE(learner->apply(sums.totalWeight(), nullptr).ok());
    }
    std::vector<double> out;
    const Columns columns = rowsOf(4, 0, 50);
    EXPECT_TRUE(learner->predict(columns.view(), out).ok());
    return out;
}

TEST(Loss, DoesNotDependOnHowAStepIsCutIntoMicroBatches) {
    for (const char* model : {"dlrm", "mlp"}) {
        const auto whole = afterTwoSteps(model, {64}), cut = afterTwoSteps(model, {5, 6, 40, 64});
        for (std::size_t i = 0; i < whole.size(); ++i) {
            EXPECT_NEAR(whole[i], cut[i], 2e-6) << model;
        }
    }
}

TEST(Loss, OfScaledWeightsGivesTheSameUpdate) {
    const auto a = learnerOf(smallModel("dlrm")), b = learnerOf(smallModel("dlrm"));
    Columns columns = rowsOf(3, 0, 32);
    LossSums first, second;
    ASSERT_TRUE(a->accumulate(columns.view(), first).ok());
    for (float& w : columns.weights) {
        w *= 4;
    }
    ASSERT_TRUE(b->accumulate(columns.view(), second).ok());
    ASSERT_TRUE(a->collect(first).ok() && b->collect(second).ok());
    EXPECT_NEAR(first.mean(), second.mean(), 1e-9);
    ASSERT_TRUE(a->apply(first.totalWeight(), nullptr).ok() &&
                b->apply(second.totalWeight(), nullptr).ok());
    EXPECT_EQ(test::bytesOf(*a), test::bytesOf(*b));
}

TEST(Loss, IgnoresMaskedRows) {
    const auto a = learnerOf(smallModel("dlrm")), b = learnerOf(smallModel("dlrm"));
    Columns columns = rowsOf(3, 0, 32);
    LossSums first, second;
    ASSERT_TRUE(a->accumulate(columns.view(), first).ok());
    for (std::size_t r = 0; r < columns.masks.size(); ++r) {
        if (!columns.masks[r]) {
            columns.labels[r] = 1 - columns.labels[r];
            columns.weights[r] = 1000;
        }
    }
    ASSERT_TRUE(b->accumulate(columns.view(), second).ok());
    ASSERT_TRUE(a->collect(first).ok() && b->collect(second).ok());
    EXPECT_EQ(first.totalLoss(), second.totalLoss());
    ASSERT_TRUE(a->apply(first.totalWeight(), nullptr).ok() &&
                b->apply(second.totalWeight(), nullptr).ok());
    EXPECT_EQ(test::bytesOf(*a), test::bytesOf(*b));
}

TEST(Loss, OfAStepWithoutWeightChangesNoWeight) {
    const auto learner = learnerOf(smallModel("dlrm"));
    Columns columns = rowsOf(3, 0, 32);
    LossSums sums;
    ASSERT_TRUE(learner->accumulate(columns.view(), sums).ok());
    ASSERT_TRUE(learner->apply(sums.totalWeight(), nullptr).ok());
    const std::vector<float> weights = columns.weights;
    columns.weights.assign(32, 0);
    const TensorRef before = tensorOf(*learner, "embedding.user.weight");
    const std::string bytes(static_cast<char*>(before.data), before.numBytes());
    LossSums none;
    ASSERT_TRUE(learner->accumulate(columns.view(), none).ok());
    EXPECT_EQ(none.totalWeight(), 0);
    ASSERT_TRUE(learner->apply(0, nullptr).ok());
    const TensorRef after = tensorOf(*learner, "embedding.user.weight");
    EXPECT_EQ(bytes, std::string(static_cast<char*>(after.data), after.numBytes()));
    EXPECT_EQ(*static_cast<std::int64_t*>(tensorOf(*learner, "optimizer.updates").data), 1);
}

TEST(Learner, LearnsWhatTheRowsHold) {
    for (const char* model : {"dlrm", "mlp"}) {
        for (const char* optimizer : {"adamw", "adagrad", "sgd"}) {
            LearnerOptions o = smallModel(model);
            o.optimizer.kind = *parseOptimizer(optimizer);
            o.optimizer.learningRate = std::string(optimizer) == "sgd" ? 0.3 : 0.03;
            o.optimizer.momentum = 0.9;
            const auto learner = learnerOf(o);
            for (std::uint64_t step = 0; step < 400; ++step) {
                const Columns columns = rowsOf(1, step * 64, step * 64 + 64);
                LossSums sums;
                ASSERT_TRUE(learner->accumulate(columns.view(), sums).ok());
                ASSERT_TRUE(learner->apply(sums.totalWeight(), nullptr).ok());
            }
            const Columns test = rowsOf(2, 0, 1000);
            std::vector<double> p;
            ASSERT_TRUE(learner->predict(test.view(), p).ok());
            EvalAccumulator head;
            head.add(1000, p.data(), 1, {test.labels.data()});
            EXPECT_GT(head.figures().auc, 0.8) << model << " " << optimizer;
        }
    }
}

TEST(Learner, PredictsTheSameInBatchesOfAnySize) {
    const auto learner = learnerOf(smallModel("dlrm"));
    const Columns all = rowsOf(5, 0, 33);
    std::vector<double> whole, part;
    ASSERT_TRUE(learner->predict(all.view(), whole).ok());
    for (std::uint64_t r = 0; r < 33; ++r) {
        const Columns one = rowsOf(5, r, r + 1);
        ASSERT_TRUE(learner->predict(one.view(), part).ok());
        EXPECT_NEAR(part.at(0), whole[r], 1e-6);
    }
}

TEST(Learner, SharesATableBetweenFeatures) {
    LearnerOptions o = smallModel("dlrm");
    o.features[1].table = 0;
    o.tables[0].rows = 30;
    o.tables.erase(o.tables.begin() + 1);
    o.features[2].table = 1;
    const auto learner = learnerOf(o);
    const Columns columns = rowsOf(3, 0, 16);
    LossSums sums;
    ASSERT_TRUE(learner->accumulate(columns.view(), sums).ok());
    std::set<std::int64_t> ids(columns.users.begin(), columns.users.end());
    ids.insert(columns.items.begin(), columns.items.end());
    std::set<std::int64_t> tags(columns.tags.begin(), columns.tags.end());
    UpdateFigures figures;
    ASSERT_TRUE(learner->apply(sums.totalWeight(), &figures).ok());
    EXPECT_EQ(figures.rowsTouched, static_cast<std::int64_t>(ids.size() + tags.size()));
}

TEST(Learner, TrainsWithoutDenseInputAndWithoutEmbeddings) {
    LearnerOptions noDense = smallModel("dlrm"), noIds = smallModel("dlrm");
    noDense.denseWidth = 0;
    noIds.features.clear();
    noIds.tables.clear();
    const Columns columns = rowsOf(3, 0, 16);
    BatchView batch = columns.view();
    LossSums sums;
    batch.ids.clear();
    const auto withoutIds = learnerOf(noIds), withoutDense = learnerOf(noDense);
    ASSERT_TRUE(withoutIds->accumulate(batch, sums).ok() && withoutIds->collect(sums).ok());
    batch = columns.view();
    batch.dense.clear();
    ASSERT_TRUE(withoutDense->accumulate(batch, sums).ok() && withoutDense->collect(sums).ok());
    EXPECT_GT(sums.mean(), 0);
}

/// A logistic model of one dense value, whose logit is that value as it was scaled.
std::unique_ptr<Learner> scalesOnly() {
    LearnerOptions o = smallModel("logistic");
    o.denseWidth = 1;
    o.features.clear();
    o.tables.clear();
    o.precision = "fp64";
    auto learner = learnerOf(o);
    *static_cast<double*>(tensorOf(*learner, "linear.0.weight").data) = 1;
    *static_cast<double*>(tensorOf(*learner, "linear.0.bias").data) = 0;
    return learner;
}

Status observe(Learner& learner, const std::vector<float>& values) {
    const std::vector<float> labels(values.size()), weights(values.size());
    BatchView batch;
    batch.rows = static_cast<std::int64_t>(values.size());
    batch.dense = {{values.data(), 1}};
    batch.heads = {{labels.data(), weights.data()}};
    LossSums sums;
    return learner.accumulate(batch, sums);
}

double scaled(Learner& learner, float value) {
    const float label = 0;
    BatchView batch;
    batch.rows = 1;
    batch.dense = {{&value, 1}};
    batch.heads = {{&label}};
    std::vector<double> p;
    EXPECT_TRUE(learner.predict(batch, p).ok());
    return std::log(p.at(0) / (1 - p.at(0)));
}

TEST(InputScaler, BringsLargeInputsToOneScaleAndCutsOutliers) {
    const auto learner = scalesOnly();
    ASSERT_TRUE(observe(*learner, {1e9F, 1e9F + 2000, 1e9F + 4000, NAN, INFINITY}).ok());
    EXPECT_NEAR(scaled(*learner, 1e9F + 2000), 0, 0.05);
    EXPECT_NEAR(scaled(*learner, 1e9F + 4000), 1.22, 0.05);
    EXPECT_NEAR(scaled(*learner, NAN), 0, 1e-9);
    EXPECT_NEAR(scaled(*learner, INFINITY), 0, 1e-9);
    EXPECT_NEAR(scaled(*learner, 1e12F), 5, 1e-9);
    EXPECT_NEAR(scaled(*learner, -1e12F), -5, 1e-9);
}

TEST(InputScaler, HasTheSameStatisticsHoweverAStepIsCut) {
    std::vector<float> values;
    for (int i = 0; i < 64; ++i) {
        values.push_back(static_cast<float>(i * i));
    }
    const auto whole = scalesOnly(), cut = scalesOnly();
    ASSERT_TRUE(observe(*whole, values).ok() && whole->apply(0, nullptr).ok());
    ASSERT_TRUE(observe(*cut, {values.begin(), values.begin() + 10}).ok() &&
                observe(*cut, {values.begin() + 10, values.end()}).ok() &&
                cut->apply(0, nullptr).ok());
    for (const char* name : {"input.count", "input.mean", "input.squares"}) {
        EXPECT_EQ(*static_cast<double*>(tensorOf(*whole, name).data),
                  *static_cast<double*>(tensorOf(*cut, name).data))
            << name;
    }
}

TEST(InputScaler, LeavesAConstantInputAtZero) {
    const auto learner = scalesOnly();
    ASSERT_TRUE(observe(*learner, {42, 42}).ok() && learner->apply(0, nullptr).ok());
    EXPECT_NEAR(scaled(*learner, 42), 0, 1e-9);
}

TEST(Learner, NamesTheKeyOfAWrongModel) {
    const auto why = [](const LearnerOptions& o) {
        return std::string(messageOf(makeLearner(o, test::alone()).status()));
    };
    LearnerOptions o = smallModel("dlrm");
    o.bottom = {8, 5};
    EXPECT_THAT(why(o), HasSubstr("model.bottom"));
    o = smallModel("dlrm");
    o.top = {8};
    EXPECT_THAT(why(o), HasSubstr("model.top"));
    o = smallModel("dlrm");
    o.tables[1].dim = 3;
    EXPECT_THAT(why(o), HasSubstr("embeddings.item.dim"));
    o = smallModel("mlp");
    o.hidden = {0};
    EXPECT_THAT(why(o), HasSubstr("model.hidden"));
    o = smallModel("mlp");
    o.heads.clear();
    EXPECT_THAT(why(o), HasSubstr("labels"));
    o = smallModel("mlp");
    o.optimizer.learningRate = 0;
    EXPECT_THAT(why(o), HasSubstr("train.learning_rate"));
}

}  // namespace
}  // namespace millrace::train

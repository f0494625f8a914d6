// What a step calls of LibTorch: how often, and nothing whose result a GPU's scheduling could
// change outside OrderedSums.
#include <set>

#include <gmock/gmock.h>

#include "backend/train/torch_learner.h"
#include "tests/support/aten_calls.h"
#include "tests/unit/train/fakes.h"

namespace millrace::train {
namespace {

using millrace::test::AtenCalls;
using test::Columns;

std::map<std::string, std::int64_t> callsOf(const LearnerOptions& options, bool asOnGpu,
                                            const BatchView& batch, std::int64_t& total) {
    auto learner = std::move(*makeTensorLearner(options, test::alone(), asOnGpu));
    const auto step = [&] {
        LossSums sums;
        EXPECT_TRUE(learner->accumulate(batch, sums).ok());
        EXPECT_TRUE(learner->apply(sums.totalWeight(), nullptr).ok());
        EXPECT_TRUE(learner->collect(sums).ok());
    };
    step();
    const AtenCalls calls;
    step();
    total = AtenCalls::total();
    return AtenCalls::byName();
}

/// Like the MovieLens example: two ids, a list of three, four layers.
LearnerOptions modelOf(int ids, int lists) {
    LearnerOptions o = test::smallModel("dlrm");
    o.bottom = {32, 4};
    o.top = {64, 1};
    o.features.clear();
    o.tables.clear();
    for (int f = 0; f < ids + lists; ++f) {
        o.features.push_back({strCat("f", f), f});
        o.tables.push_back({strCat("f", f), 100, 4});
    }
    o.optimizer.kind = OptimizerKind::kAdagrad;
    return o;
}

TEST(Calls, OfAStepAreFewHoweverManyTablesThereAre) {
    const Columns columns = test::rowsOf(5, 0, 32);
    std::vector<std::int64_t> threes{0};
    std::vector<std::int64_t> values;
    for (std::int64_t r = 0; r < 32; ++r) {
        values.insert(values.end(), {r % 7, r % 5, r % 3});
        threes.push_back(3 * r + 3);
    }
    struct Bound {
        int ids, lists;
        bool asOnGpu;
        std::int64_t most;
    };
    // The learner before had 656 and 2,293.
    for (const Bound& bound : {Bound{2, 1, false, 160}, Bound{50, 10, false, 180},
                               Bound{2, 1, true, 390}, Bound{50, 10, true, 520}}) {
        BatchView batch = columns.view();
        batch.ids.assign(static_cast<std::size_t>(bound.ids), {columns.users.data()});
        for (int f = 0; f < bound.lists; ++f) {
            batch.ids.push_back({values.data(), threes.data()});
        }
        std::int64_t total = 0;
        const auto byName = callsOf(modelOf(bound.ids, bound.lists), bound.asOnGpu, batch, total);
        EXPECT_LE(total, bound.most)
            << bound.ids + bound.lists << " tables: " << ::testing::PrintToString(byName);
        EXPECT_GT(total, 50) << "the counter counts";
    }
}

// Everything that a spec can switch on, as a GPU gets it.
TEST(Calls, OfAStepHaveOneResultInEveryOrderOfTheirAdditions) {
    // Operators that add or write in the order of a GPU's threads, or refuse under deterministic
    // algorithms. OrderedSums alone may call index_copy_ (of rows that are distinct).
    const std::set<std::string> banned{"aten::_embedding_bag_backward",
                                       "aten::_embedding_bag_dense_backward",
                                       "aten::_embedding_bag_per_sample_weights_backward",
                                       "aten::_embedding_bag_sparse_backward",
                                       "aten::_index_put_impl_",
                                       "aten::bincount",
                                       "aten::embedding_backward",
                                       "aten::embedding_dense_backward",
                                       "aten::histc",
                                       "aten::index_add",
                                       "aten::index_add_",
                                       "aten::index_put",
                                       "aten::index_put_",
                                       "aten::index_reduce",
                                       "aten::index_reduce_",
                                       "aten::index_select_backward",
                                       "aten::kthvalue",
                                       "aten::masked_scatter_",
                                       "aten::median",
                                       "aten::put_",
                                       "aten::scatter",
                                       "aten::scatter_",
                                       "aten::scatter_add",
                                       "aten::scatter_add_",
                                       "aten::scatter_reduce",
                                       "aten::scatter_reduce_",
                                       "aten::segment_reduce",
                                       "aten::take_put_",
                                       "aten::cumprod",
                                       "aten::nll_loss2d_forward"};
    const Columns columns = test::rowsOf(5, 0, 40);
    const std::vector<std::int64_t> values{1, 2, 2, 5, 0, 6, 3}, offsets{0, 3, 3, 5, 7};
    const std::vector<float> weights{0.5F, 1.5F, -1, 2, 1, 1, -1};
    std::vector<std::uint32_t> inverse;
    for (std::uint32_t r = 0; r < 40; ++r) {
        inverse.push_back(r * 7 % 4);
    }
    for (const char* model : {"dlrm", "dcn_v2", "mlp", "logistic"}) {
        // Not fp64: a CPU's embedding bag of doubles is made of index_add_, a GPU's is not.
        for (const char* precision : {"fp32", "bf16"}) {
            LearnerOptions o = test::smallModel(model);
            o.precision = precision;
            o.crossRank = 3;
            o.optimizer.kind = OptimizerKind::kAdamW;
            o.optimizer.weightDecay = 0.01;
            o.tableOptimizer.emplace().kind = OptimizerKind::kRowwiseAdagrad;
            o.schedule = {ScheduleOptions::Kind::kCosine, 2, 10, 0.1};
            o.clipNorm = 0.01;
            o.dropout = 0.25;
            BatchView batch = columns.view();
            batch.ids[2] = {values.data(), offsets.data(), inverse.data(), weights.data(), 4};
            std::int64_t total = 0;
            for (const auto& [name, number] : callsOf(o, true, batch, total)) {
                EXPECT_FALSE(banned.contains(name)) << name << " is called " << number
                                                    << " times by " << model << " in " << precision;
            }
            EXPECT_GT(total, 100);
        }
    }
}

}  // namespace
}  // namespace millrace::train

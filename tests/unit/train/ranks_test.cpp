// Several ranks of the trainer, each a thread: the same steps, losses and weights for any number of
// them.
#include <thread>

#include <gmock/gmock.h>

#include "tests/unit/train/thread_groups.h"
#include "tests/unit/train/trainer_fixture.h"

namespace millrace::train {
namespace {

using test::TrainerFixture;
using ::testing::HasSubstr;

struct Ranks {
    std::vector<std::unique_ptr<TrainerFixture>> fixtures;
    std::vector<Result<Trainer::Outcome>> outcomes;
    std::vector<std::string> weights;
    const test::RecordingReporter& first() const { return fixtures[0]->reporter; }
};

struct Arithmetic {
    const char* precision;
    double tolerance;  ///< relative, of a loss
};
constexpr Arithmetic kDouble{"fp64", 1e-9}, kFloat{"fp32", 1e-5};

Ranks run(const Arithmetic& arithmetic, int size,
          const std::function<void(TrainerFixture&, int rank)>& prepare,
          const std::string& resume = "") {
    Ranks out;
    const auto groups = makeThreadGroups(size);
    for (int rank = 0; rank < size; ++rank) {
        out.fixtures.push_back(std::make_unique<TrainerFixture>("dlrm"));
        TrainerFixture& f = *out.fixtures.back();
        f.options.learner.precision = arithmetic.precision;
        f.options.hasEval = true;
        f.train.rank = f.eval.rank = rank;
        f.train.worldSize = f.eval.worldSize = size;
        f.reporter.page = out.fixtures[0]->reporter.page;
        prepare(f, rank);
        out.outcomes.emplace_back(Trainer::Outcome::kStopped);
        out.weights.emplace_back();
    }
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < size; ++rank) {
        threads.emplace_back([&, rank] {
            const auto r = static_cast<std::size_t>(rank);
            std::optional<Checkpoint> file;
            if (!resume.empty()) {
                file.emplace(std::move(*Checkpoint::open(resume)));
            }
            auto trainer = out.fixtures[r]->make(file ? &*file : nullptr, nullptr, *groups[r]);
            ASSERT_TRUE(trainer.ok()) << trainer.status();
            out.outcomes[r] = (*trainer)->run();
            out.weights[r] = test::bytesOf((*trainer)->learner());
        });
    }
    threads.clear();
    return out;
}

void asIs(TrainerFixture& /*fixture*/, int /*rank*/) {}

class RanksIn : public ::testing::TestWithParam<Arithmetic> {
 protected:
    const Arithmetic in_ = GetParam();
};
INSTANTIATE_TEST_SUITE_P(Both, RanksIn, ::testing::Values(kDouble, kFloat),
                         [](const auto& info) { return std::string(info.param.precision); });

TEST_P(RanksIn, TrainAsOneDoes) {
    const Ranks one = run(in_, 1, asIs);
    for (const int size : {2, 4}) {
        const Ranks several = run(in_, size, asIs);
        const auto losses = several.first().losses(), want = one.first().losses();
        ASSERT_EQ(losses.size(), want.size());
        for (std::size_t i = 0; i < want.size(); ++i) {
            EXPECT_NEAR(losses[i], want[i], in_.tolerance * want[i])
                << "step " << i << " of " << size << " ranks";
        }
        for (std::size_t r = 0; r < several.outcomes.size(); ++r) {
            ASSERT_TRUE(several.outcomes[r].ok()) << several.outcomes[r].status();
            EXPECT_EQ(several.weights[r], several.weights[0]) << "rank " << r;
            EXPECT_TRUE(several.fixtures[r]->reporter.isDone);
            EXPECT_EQ(several.fixtures[r]->reporter.done.step, one.first().done.step);
            EXPECT_EQ(several.fixtures[r]->reporter.metrics.empty(), r > 0)
                << "figures are rank 0's";
            EXPECT_EQ(several.fixtures[r]->reporter.checkpoints.empty(), r > 0);
        }
        EXPECT_EQ(several.first().done.rows, one.first().done.rows);
        EXPECT_EQ(several.first().done.params.at("eval_order_hash"),
                  one.first().done.params.at("eval_order_hash"));
        for (const char* figure : {"eval.auc", "eval.log_loss", "eval.calibration"}) {
            EXPECT_NEAR(several.first().done.metrics.at(figure),
                        one.first().done.metrics.at(figure), in_.tolerance)
                << figure;
        }
    }
}

TEST_P(RanksIn, ClipAndDropOutAsOneDoes) {
    const auto prepare = [](TrainerFixture& f, int /*rank*/) {
        LearnerOptions& o = f.options.learner;
        o.tableOptimizer.emplace().kind = OptimizerKind::kRowwiseAdagrad;
        o.tableOptimizer->learningRate = 0.05;
        o.clipNorm = 0.02;
        o.dropout = 0.25;
        o.schedule = {ScheduleOptions::Kind::kLinear, 2, 8, 0.1};
    };
    const Ranks one = run(in_, 1, prepare);
    const auto want = one.first().losses();
    EXPECT_NE(want, run(in_, 1, asIs).first().losses());
    for (const int size : {2, 4}) {
        const Ranks several = run(in_, size, prepare);
        const auto losses = several.first().losses();
        ASSERT_EQ(losses.size(), want.size());
        for (std::size_t i = 0; i < want.size(); ++i) {
            EXPECT_NEAR(losses[i], want[i], in_.tolerance * want[i]) << "step " << i;
        }
        EXPECT_EQ(several.weights[size - 1], several.weights[0]);
    }
}

TEST_P(RanksIn, TwoRunsAreEqualBitForBit) {
    EXPECT_EQ(run(in_, 2, asIs).weights[0], run(in_, 2, asIs).weights[0]);
}

TEST(Ranks, AStopThatOneHearsEndsAllBehindTheSameStep) {
    for (const int who : {0, 1, 2}) {
        // A rank above 0 sends no metrics: it hears of it in the midst of its share.
        const Ranks ranks = run(kDouble, 3 + 1, [who](TrainerFixture& f, int rank) {
            if (rank == who && rank == 0) {
                f.reporter.stopAt = 3;
            } else if (rank == who) {
                f.train.onNext = [&f, left = 7]() mutable {
                    if (--left == 0) {
                        f.reporter.page->stop();
                    }
                };
            }
        });
        std::set<std::int64_t> steps;
        for (std::size_t r = 0; r < ranks.outcomes.size(); ++r) {
            ASSERT_TRUE(ranks.outcomes[r].ok()) << ranks.outcomes[r].status();
            EXPECT_EQ(*ranks.outcomes[r], Trainer::Outcome::kStopped) << "rank " << r;
            EXPECT_EQ(ranks.weights[r], ranks.weights[0]);
        }
        ASSERT_EQ(ranks.first().checkpoints.size(), 1U);
    }
}

TEST(Ranks, AStopThatOneHearsInAnEvaluationEndsAllAtItsStep) {
    for (const int who : {0, 1}) {
        const Ranks ranks = run(kDouble, 2, [who](TrainerFixture& f, int rank) {
            f.options.evalEverySteps = 2;
            f.eval.stopAfter = rank == who ? 1 : -1;
        });
        for (const auto& outcome : ranks.outcomes) {
            ASSERT_TRUE(outcome.ok()) << outcome.status();
            EXPECT_EQ(*outcome, Trainer::Outcome::kStopped);
        }
        ASSERT_EQ(ranks.first().checkpoints.size(), 1U);
        EXPECT_EQ(ranks.first().checkpoints[0].step, 2);
        const std::string file = ranks.fixtures[0]->pathOf(ranks.first().checkpoints[0]);
        const Ranks rest =
            run(kDouble, 2, [](TrainerFixture& f, int) { f.options.evalEverySteps = 2; }, file);
        EXPECT_THAT(rest.first().evaluatedSteps(), ::testing::ElementsAre(2, 4, 6, 8, 10));
    }
}

TEST_P(RanksIn, GoOnAtAnotherNumberOfThem) {
    const Ranks whole = run(in_, 1, asIs);
    const Ranks begun =
        run(in_, 2, [](TrainerFixture& f, int rank) { f.reporter.stopAt = rank == 0 ? 4 : 0; });
    ASSERT_EQ(begun.first().checkpoints.size(), 1U);
    const std::string file = begun.fixtures[0]->pathOf(begun.first().checkpoints[0]);
    for (const int size : {1, 4}) {
        const Ranks rest = run(in_, size, asIs, file);
        const auto want = whole.first().losses(), losses = rest.first().losses();
        ASSERT_EQ(losses.size() + static_cast<std::size_t>(begun.first().checkpoints[0].step),
                  want.size());
        for (std::size_t i = 0; i < losses.size(); ++i) {
            EXPECT_NEAR(losses[i], want[want.size() - losses.size() + i], in_.tolerance)
                << "of " << size << " ranks";
        }
    }
}

TEST(Ranks, AnErrorOfOneEndsIt) {
    // target_mean cannot be shared out.
    TrainerFixture f("target_mean");
    const auto two = makeThreadGroups(2);
    EXPECT_THAT(std::string(messageOf(f.make(nullptr, nullptr, *two[0]).status())),
                HasSubstr("target_mean sums up"));
}

}  // namespace
}  // namespace millrace::train

#pragma once
// Learner for models with layers on the CPU, in float32: embedding tables, scaled dense input, a
// DenseNetwork, weighted BCE, an optimizer. All but the layers is plain loops, which are faster on
// a CPU than LibTorch's calls (docs/decisions/0036-learner.md); other devices and precisions use
// TensorLearner. Threads: one owner.
#include <memory>
#include <string>
#include <vector>

#include "backend/train/dense_network.h"
#include "backend/train/embedding.h"
#include "backend/train/input_scaler.h"
#include "backend/train/learner.h"
#include "backend/train/ranks/group.h"

namespace millrace::train {

class NetworkLearner final : public Learner {
 public:
    /// `options` must have passed checkNetwork. `group` outlives the learner.
    static Result<std::unique_ptr<Learner>> make(const LearnerOptions& options, Group& group);

    Status accumulate(const BatchView& batch, LossSums& sums) override;
    Status apply(double weight, UpdateFigures* figures) override;
    std::vector<std::int64_t> rowsNotFinite() override { return notFinite_; }
    Status predict(const BatchView& batch, std::vector<double>& probabilities) override;
    std::vector<TensorRef> tensors() override;
    Status restore(const Checkpoint& checkpoint) override;
    Result<std::vector<std::string>> begin(const InitFrom& from) override;
    std::int64_t epochsMax() const override { return INT64_MAX; }
    LearnerTimes times() const override { return times_; }
    std::vector<TableUse> tableUse() const override;

    /// Unnormalised gradients of the running step, for tests against finite differences.
    const std::vector<NetworkParameter>& parameters() { return network_->parameters(); }
    const EmbeddingTable& table(std::size_t index) const { return tables_[index]; }

 private:
    NetworkLearner(const LearnerOptions& options, std::unique_ptr<DenseNetwork> network,
                   Group& group);
    void initialise();
    void clearGradients();
    /// The divisor of the step's gradients: its weight, more if they are clipped.
    double divisorOf(double weight, UpdateFigures* figures);
    Status forward(const BatchView& batch, bool keepsGraph);
    Status forwardToLoss(const BatchView& batch, LossSums& sums);
    /// Merges the statistics and, for an update, the gradients of all ranks.
    Status communicate(bool isUpdate);
    Status sumLayersOverRanks();
    Status sumTablesOverRanks();
    void update(double weight, UpdateFigures* figures);

    LearnerOptions options_;
    Group& group_;
    std::unique_ptr<DenseNetwork> network_;
    std::vector<EmbeddingTable> tables_;
    InputScaler scaler_;
    std::vector<std::int64_t> offsets_;  // of each feature in a row of vectors_
    std::int64_t vectorsWidth_ = 0;
    std::int64_t updates_ = 0;
    LearnerTimes times_;
    std::int64_t stepRows_ = 0;                       ///< rows of the running step, so far
    std::vector<std::int64_t> notFinite_;             ///< of the running or the last step
    std::vector<std::vector<float>> first_, second_;  // moments, as parameters()
    std::vector<float> dense_, vectors_, vectorGradients_, logits_, logitGradients_;
    std::vector<float> layers_;  ///< all layers' gradients, in one block
};

}  // namespace millrace::train

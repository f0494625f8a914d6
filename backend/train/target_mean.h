#pragma once
// target_mean: a baseline that learns only label means per key value.
//
// Over the stream it sums label * weight and weight per head, in total and per value of each key.
// Prediction = global + sum over keys k of (mean_k - global), kept in [1e-6, 1 - 1e-6]. Here mean_k
// = (sum_k + smoothing * global) / (weight_k + smoothing). A value never seen (or an empty list)
// counts as global, and a list key is the average over its ids. The loss of a step is that of
// predictions made before the step was seen (with a global of 0.5 at first), so it is comparable to
// a network's. It trains for one epoch: a second would only double the sums.
// Threads: one owner.
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/train/learner.h"

namespace millrace::train {

class TargetMean final : public Learner {
 public:
    static Result<std::unique_ptr<Learner>> make(const LearnerOptions& options);

    Status accumulate(const BatchView& batch, LossSums& sums) override;
    Status apply(double weight, UpdateFigures* figures) override;
    Status predict(const BatchView& batch, std::vector<double>& probabilities) override;
    std::vector<TensorRef> tensors() override;
    Status restore(const Checkpoint& checkpoint) override;
    Result<std::vector<std::string>> begin(const InitFrom& from) override {
        RETURN_IF_ERROR(restore(*from.checkpoint));
        return std::vector<std::string>();
    }
    std::int64_t epochsMax() const override { return 1; }

 private:
    struct Mean {
        double sum = 0, weight = 0;
    };
    struct Sums {
        std::vector<Mean> total;                                                // per head
        std::vector<std::unordered_map<std::int64_t, std::vector<Mean>>> keys;  // per key, value
        void clear();
        void merge(const Sums& other);
    };
    struct KeyTensors {  // the sums of one key, values ascending
        std::vector<std::int64_t> ids;
        std::vector<double> sums, weights;  // [ids, heads]
    };

    TargetMean(const LearnerOptions& options, std::vector<std::size_t> features);
    void observe(const BatchView& batch, std::size_t head, std::int64_t row, Sums& sums) const;
    double keyShift(const BatchView& batch, std::size_t key, std::int64_t row, std::size_t head,
                    double global) const;
    Status checkShape(const BatchView& batch) const;

    LearnerOptions options_;
    std::vector<std::size_t> features_;  // of each key: its index in BatchView::ids
    Sums sums_, step_;
    std::vector<double> totals_;  // tensors(): sum and weight per head
    std::vector<KeyTensors> exported_;
};

}  // namespace millrace::train

#pragma once
// Embedding tables on a device, with the gradients of one step: only touched rows are read or
// written.
//
// Tables of one width lie in one tensor, so that all their features are looked up, summed and
// updated by one call each. A feature's vector is the mean of its ids' vectors (weighted lists: the
// weighted mean, as far as the weights do not cancel out); lists that rows share are pooled once.
// Looking up is an embedding bag of ids over rows, and the sum of gradients one of rows over the
// touched ids, in the order of the batch: no additions in any order. Threads: one owner. What
// LibTorch throws passes through.
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "backend/train/learner.h"
#include "backend/train/ranks/group.h"
#include "backend/train/torch/batch_tensors.h"
#include "backend/train/torch/device.h"

namespace millrace::train {

class TensorTables {
 public:
    /// `options`: type and device of the weights, which are 0 until they are filled.
    TensorTables(const LearnerOptions& learner, const at::TensorOptions& options);

    /// Where a batch's ids lie in the tables, made before the batch is computed.
    struct Places {
        struct Group {
            at::Tensor rows;    ///< of the weights, one a value
            at::Tensor starts;  ///< of each bag, in `rows`; undefined: a bag is one value
            at::Tensor shares;  ///< of each value in its bag; undefined: 1
            std::vector<std::int64_t> items;  ///< bags, by feature of the group
            at::Tensor touched;               ///< the rows without doubles, ascending
            at::Tensor touchedStarts;         ///< of each touched row, in `bags`
            at::Tensor bags,
                bagShares;  ///< by touched row: the bags that it is in, and its share there
        };
        std::vector<Group> groups;
        std::vector<at::Tensor> inverses;  ///< by feature; undefined: item i is row i's
        at::Tensor isWrong;  ///< bool: an id lies outside its table (it counts as row 0 here)
        std::int64_t rows = 0;
    };
    /// `wantsGradients`: also what sumGradients() needs.
    Places placesOf(const BatchTensors& batch, bool wantsGradients) const;
    /// The computing stream uses what the lane made.
    static void lend(const Places& places, const CopyLane& lane);

    /// [rows, vectors' width], in the order of the features.
    at::Tensor pool(const Places& places) const;
    /// Adds those of pool()'s result to the step's.
    void sumGradients(const Places& places, const at::Tensor& gradients);
    /// The step's gradients become those of all ranks, added in their order.
    Status sumOverRanks(Group& group);
    /// Sum of their squares, float64; behind sumOverRanks().
    at::Tensor squaredGradients() const;
    /// Updates the rows that any rank touched with gradient / divisor, and forgets the gradients;
    /// behind sumOverRanks().
    void apply(const OptimizerOptions& optimizer, std::int64_t updates, const at::Tensor& divisor);
    void clear();
    /// Rows of the step's gradients; behind sumOverRanks().
    std::int64_t numTouched() const;
    std::vector<TableUse> use() const;

    /// Of one table: weight and moments (undefined where there are none), views that may be written
    /// into.
    struct Table {
        std::string name;
        at::Tensor weight, first, second;
    };
    std::vector<Table> tables() const;
    std::int64_t width() const { return width_; }

 private:
    struct Gradients {
        at::Tensor touched, sums;
    };
    struct Group {
        std::int64_t dim = 0;
        std::vector<std::size_t> features;
        std::vector<at::Scalar> starts,
            lasts;  ///< by feature: first row of its table here, last one there
        at::Tensor allStarts, allLasts;  ///< the same, [features, 1]
        at::Tensor weight, first, second;
        at::Tensor isUsed;  ///< bool [rows]: an update has touched it
        std::vector<Gradients> step;
    };
    struct Place {
        std::size_t group = 0;
        std::int64_t start = 0;
    };
    Places::Group placesOf(const Group& group, const BatchTensors& batch, bool wantsGradients,
                           at::Tensor& isWrong) const;
    static Places::Group placesOfIds(const Group& group, const BatchTensors& batch,
                                     at::Tensor& isWrong);
    static Gradients together(const std::vector<Gradients>& parts);
    static Result<std::vector<Gradients>> ofAllRanks(const Group& tables, const Gradients& mine,
                                                     millrace::train::Group& group);
    static void findTouched(Places::Group& places, const at::Tensor& bagOfValue);

    std::vector<TableOptions> options_;
    std::vector<Place> tables_;  ///< by table
    std::vector<Group> groups_;
    std::vector<std::int64_t> offsets_;  ///< by feature: its first column in the vectors
    std::vector<std::int64_t> dims_;     ///< by feature
    std::int64_t width_ = 0;
};

}  // namespace millrace::train

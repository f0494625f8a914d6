#pragma once
// Embedding tables on a device, with the gradients of one step: only touched rows are read or
// written.
//
// One tensor holds all tables of one width, so that each call looks up, sums or updates all their
// features. A feature's vector is the mean of its ids' vectors. A weighted list gives the weighted
// mean, unless its weights cancel out. A list that several rows share is pooled once. The lookup is
// an embedding bag of ids over rows. The gradients are summed per touched id in the order of the
// batch, so no addition depends on scheduling. Threads: one owner. What LibTorch throws passes
// through.
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

    /// The rows of a batch's ids in the tables, found before the batch is computed.
    struct Places {
        struct Group {
            at::Tensor rows;    ///< rows of the weights, one per value
            at::Tensor starts;  ///< start of each bag in `rows`; undefined: a bag is one value
            at::Tensor shares;  ///< share of each value in its bag; undefined: 1
            std::vector<std::int64_t> items;  ///< bags, by feature of the group
            at::Tensor touched;               ///< the touched rows, distinct, ascending
            at::Tensor touchedStarts;         ///< start of each touched row in `bags`
            at::Tensor bags,
                bagShares;  ///< by touched row: the bags that contain it, and its share in each
        };
        std::vector<Group> groups;
        std::vector<at::Tensor> inverses;  ///< by feature; undefined: item i is row i's
        at::Tensor isWrong;  ///< bool: an id is outside its table (it is clamped here)
        std::int64_t rows = 0;
    };
    /// `wantsGradients`: finds what sumGradients() needs as well.
    Places placesOf(const BatchTensors& batch, bool wantsGradients) const;
    /// Marks tensors that the lane made as used by the computing stream.
    static void lend(const Places& places, const CopyLane& lane);

    /// [rows, vectors' width], in the order of the features.
    at::Tensor pool(const Places& places) const;
    /// Adds the gradients of pool()'s result to the step's.
    void sumGradients(const Places& places, const at::Tensor& gradients);
    /// Sums the step's gradients over all ranks, in rank order.
    Status sumOverRanks(Group& group);
    /// Sum of the gradients' squares, float64; call it after sumOverRanks().
    at::Tensor squaredGradients() const;
    /// Updates the rows that any rank touched with gradient / divisor and clears the gradients;
    /// call it after sumOverRanks().
    void apply(const OptimizerOptions& optimizer, std::int64_t updates, const at::Tensor& divisor);
    void clear();
    /// Number of rows with gradients in this step; call it after sumOverRanks().
    std::int64_t numTouched() const;
    std::vector<TableUse> use() const;

    /// Weight and moments of one table (undefined if it has none), as writable views.
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
            lasts;  ///< by feature: first and last row of its table in this group
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

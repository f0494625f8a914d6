#pragma once
// Embedding tables on a device, with the gradients of one step: only touched rows are read or
// written.
//
// One tensor holds all tables of one width, so that each call looks up, sums or updates all their
// features. A feature's vector is the mean of its ids' vectors. A weighted list gives the weighted
// mean; if its weights cancel out it gives the zero vector, and its rows are not updated for it. A
// lookup is an embedding bag of ids over rows, and so is a sum of gradients: of the bags that name
// a row, in the order of the batch. Threads: one owner. What LibTorch throws passes through.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "backend/train/learner.h"
#include "backend/train/ranks/group.h"
#include "backend/train/torch/bags.h"
#include "backend/train/torch/device.h"
#include "backend/train/torch/ordered_sums.h"

namespace millrace::train {

class TensorTables {
 public:
    /// `options`: type and device of the weights, which are 0 until they are filled. `isOnHost`:
    /// loops over ids and touched rows.
    TensorTables(const LearnerOptions& learner, const at::TensorOptions& options, bool isOnHost);

    /// The bags of a batch, found before the batch is computed, by group of tables.
    struct Places {
        struct Group {
            Bags bags;
            OrderedSums::Groups byRow;   ///< the ids whose rows are updated
            OrderedSums::Groups byBag;   ///< the cells, if bags are shared
            at::Tensor places, weights;  ///< by member of byRow: its gradient's row, its weight
            at::Tensor scale;            ///< bags.scale, by gradient's row
        };
        std::vector<Group> groups;
        bool isWrong = false;  ///< an id is outside its table
    };
    /// `wantsGradients`: finds what sumGradients() needs as well. `tensors`: the batch; its ids are
    /// needed only if not on the host.
    Places placesOf(const BatchView& batch, const BatchTensors& tensors, bool wantsGradients);
    /// Marks tensors that the lane made as used by the computing stream.
    static void lend(const Places& places, const CopyLane& lane);

    /// [rows, vectors' width], in the order of the features; [rows, 0] without features.
    at::Tensor pool(const Places& places, std::int64_t rows) const;
    /// Adds the gradients of pool()'s result to the step's.
    void sumGradients(const Places& places, const at::Tensor& gradients);
    /// Sums the step's gradients over all ranks, in rank order.
    Status sumOverRanks(Group& group);
    /// Sum of the gradients' squares, float64; call it after sumOverRanks().
    at::Tensor squaredGradients() const;
    /// Divides the gradients by one number; call it after sumOverRanks().
    void divide(const at::Tensor& divisor);
    /// Updates the rows that any rank touched with gradient / divisor and clears the gradients;
    /// call it after sumOverRanks().
    void apply(const OptimizerOptions& optimizer, std::int64_t updates, double divisor);
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
        std::vector<BagFeature> features;
        at::Tensor limits;  ///< as bagsOfTensors() wants them
        at::Tensor weight, first, second;
        at::Tensor isUsed;  ///< bool [rows]: an update has touched it
        OrderedSums sums;
        std::vector<Gradients> step;

        std::int64_t rows() const { return weight.size(0); }
        std::int64_t width() const { return dim * static_cast<std::int64_t>(features.size()); }
    };
    struct Place {
        std::size_t group = 0;
        std::int64_t start = 0;
    };
    void orderColumns(std::size_t numFeatures, const at::Device& device);
    static void findTouched(Group& tables, Places::Group& places);
    /// One list of distinct rows; those that several parts touched are added in the parts' order.
    static void join(Group& tables);
    std::string packed() const;
    Status unpack(std::string_view from);

    std::vector<TableOptions> options_;
    std::vector<Place> tables_;  ///< by table
    std::vector<Group> groups_;
    at::Tensor order_, back_;  ///< columns of the groups' vectors side by side, in the order of the
                               ///< features, and back; undefined: they are in that order
    std::int64_t width_ = 0;
    bool isOnHost_;
};

}  // namespace millrace::train

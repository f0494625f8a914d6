#pragma once
// Learner: a model with its loss and optimizer, behind plain values; the trainer drives it.
//
// A step is accumulate() once per micro-batch, then apply() with the step's total weight: gradients
// are summed unnormalised and divided once (SEMANTICS 3). tensors() holds all state that a resume
// needs. Threads: one owner. Failure: an id outside its table is kInvalidArgument and the message
// names feature and row; what LibTorch throws is returned as kInternal.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/train/batch.h"
#include "backend/train/init_from.h"
#include "backend/train/loss.h"
#include "backend/train/optimizer.h"
#include "backend/train/ranks/group.h"
#include "backend/train/schedule.h"

namespace millrace::train {

/// One id or list feature and the table that its ids index.
struct FeatureOptions {
    std::string name;
    int table = -1;  ///< index into LearnerOptions::tables; -1: a key of target_mean only
};

struct TableOptions {
    std::string name;
    std::int64_t rows = 0;
    std::int64_t dim = 0;
};

struct LearnerOptions {
    std::string model = "dlrm";  ///< dlrm, dcn_v2, mlp, logistic or target_mean
    std::int64_t embeddingDim = 16;
    std::vector<std::int64_t>
        bottom;                     ///< dlrm: sizes over the dense input; the last = embeddingDim
    std::vector<std::int64_t> top;  ///< dlrm: sizes over the interactions; the last is 1
    std::int64_t crossLayers = 0;   ///< dcn_v2
    std::int64_t crossRank = 0;     ///< dcn_v2: rank of the cross layers' matrices; 0: full
    std::vector<std::int64_t> hidden;  ///< mlp, dcn_v2 (the deep part)
    std::vector<std::string> keys;     ///< target_mean: names of features
    double smoothing = 0;              ///< target_mean: weight of the prior, in rows
    std::int64_t denseWidth = 0;       ///< floats per row of all dense columns and vectors
    std::vector<FeatureOptions> features;
    std::vector<TableOptions> tables;
    std::vector<std::string> heads;
    OptimizerOptions optimizer;  ///< of the layers, and of the tables unless tableOptimizer is set
    std::optional<OptimizerOptions> tableOptimizer;
    ScheduleOptions schedule;  ///< of all learning rates
    double clipNorm = 0;       ///< limit of the norm of all gradients together; 0: none
    double dropout = 0;        ///< dropped share of the hidden layers' outputs
    std::uint64_t seed = 0;
    int threads = 1;
    std::string device = "cpu";      ///< auto, cpu or cuda; target_mean: cpu
    std::string precision = "fp32";  ///< fp32; bf16: fp32 weights, layers in bfloat16; fp64
    bool isDeterministic = true;     ///< the same bits in every run, on one kind of device
    bool usesTf32 = false;  ///< cuda, fp32: matrix products in TF32, which has shorter fractions

    const OptimizerOptions& ofTables() const {
        return tableOptimizer ? *tableOptimizer : optimizer;
    }
};

/// Figures of one update.
struct UpdateFigures {
    double gradientNorm = 0;  ///< over all parameters, of the step's mean loss, before clipping
    double learningRate = 0, tableLearningRate = 0;
    std::int64_t rowsTouched = 0;  ///< of all tables
};

/// Where a learner's time went since it was made, ns. On a GPU this is the time of the calls, which
/// return before their work is done.
struct LearnerTimes {
    std::int64_t forward = 0;        ///< batch to the device, look-up, layers, loss
    std::int64_t backward = 0;       ///< gradients of layers and tables
    std::int64_t communication = 0;  ///< between ranks
    std::int64_t optimizer = 0;
};

/// Use of one table since the learner was made.
struct TableUse {
    std::string name;
    std::int64_t rowsUsed = 0;  ///< rows that an update has touched
    std::int64_t rows = 0;
};

class Learner {
 public:
    virtual ~Learner() = default;
    /// Forward and backward pass of one micro-batch. Adds its rows and weights to `sums`, and its
    /// loss, which a device may add only in collect(). The batch may be reused afterwards.
    virtual Status accumulate(const BatchView& batch, LossSums& sums) = 0;
    /// Adds to `sums` the losses since the last call that are still missing: waits for the device.
    /// Call it at a step's end.
    virtual Status collect(LossSums& sums) {
        (void)sums;
        return okStatus();
    }
    /// Rows of the last step whose loss was not finite, by position among its batches' rows, in
    /// order. Call it after collect(). The weights may already have diverged before these rows.
    virtual std::vector<std::int64_t> rowsNotFinite() { return {}; }
    /// Ends the step. `weight`: sum(w) over all its rows and heads; 0: no update is made.
    /// `figures`, if not null, receives the figures of the update and is unchanged without one;
    /// null is faster.
    virtual Status apply(double weight, UpdateFigures* figures) = 0;
    /// Probabilities [rows, heads].
    virtual Status predict(const BatchView& batch, std::vector<double>& probabilities) = 0;
    /// Weights and optimizer state, sorted by name. Valid until the next call of this object.
    virtual std::vector<TensorRef> tensors() = 0;
    /// Restores the state of a checkpoint: names, types and shapes must be equal.
    virtual Status restore(const Checkpoint& checkpoint) = 0;
    /// Starts from another run's weights, by the rules of copyMatching().
    virtual Result<std::vector<std::string>> begin(const InitFrom& from) = 0;
    virtual LearnerTimes times() const { return {}; }
    virtual std::vector<TableUse> tableUse() const { return {}; }
    /// Peak memory use on the device, bytes; 0 for a CPU.
    virtual std::int64_t deviceBytes() const { return 0; }
    /// Number of epochs that improve it: 1 for target_mean, which needs the stream once.
    virtual std::int64_t epochsMax() const = 0;
};

/// Validates the options (each message names the key). `group`: the ranks that train one model,
/// each with a learner of the same options. apply() is a collective call in it. It outlives the
/// learner.
Result<std::unique_ptr<Learner>> makeLearner(const LearnerOptions& options, Group& group);

}  // namespace millrace::train

#pragma once
// What learns: a model with its loss and optimizer, behind plain values.
//
// A step is accumulate() once per micro-batch, then apply() with the step's total weight: gradients
// are summed unnormalised and divided once (SEMANTICS 3). All state that a resume needs is in
// tensors(). Threads: one owner. Failure: an id outside its table is kInvalidArgument naming the
// feature and row; what LibTorch throws arrives as kInternal.
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
    std::int64_t crossRank = 0;     ///< dcn_v2: of the cross layers' matrices; 0: full
    std::vector<std::int64_t> hidden;  ///< mlp, dcn_v2 (the deep part)
    std::vector<std::string> keys;     ///< target_mean: names of features
    double smoothing = 0;              ///< target_mean: rows of prior
    std::int64_t denseWidth = 0;       ///< floats per row of all dense columns and vectors
    std::vector<FeatureOptions> features;
    std::vector<TableOptions> tables;
    std::vector<std::string> heads;
    OptimizerOptions optimizer;  ///< of the layers, and of the tables unless they have their own
    std::optional<OptimizerOptions> tableOptimizer;
    ScheduleOptions schedule;  ///< of all learning rates
    double clipNorm = 0;       ///< of the gradients of all parameters together; 0: any
    double dropout = 0;        ///< share of the hidden layers' outputs
    std::uint64_t seed = 0;
    int threads = 1;
    std::string device = "cpu";      ///< auto, cpu or cuda; target_mean: cpu
    std::string precision = "fp32";  ///< fp32; bf16: fp32 weights, layers in bfloat16; fp64
    bool isDeterministic = true;     ///< the same bits in each run, on one kind of device
    bool usesTf32 = false;  ///< cuda, fp32: products of matrices with TF32's shorter fractions

    const OptimizerOptions& ofTables() const {
        return tableOptimizer ? *tableOptimizer : optimizer;
    }
};

/// What an update was made with.
struct UpdateFigures {
    double gradientNorm = 0;  ///< over all parameters, of the step's mean loss, before clipping
    double learningRate = 0, tableLearningRate = 0;
    std::int64_t rowsTouched = 0;  ///< of all tables
};

/// Where a learner's time went since its start, ns. On a GPU it is that of the calls, which run
/// ahead of what they ask for.
struct LearnerTimes {
    std::int64_t forward = 0;        ///< batch to the device, look-up, layers, loss
    std::int64_t backward = 0;       ///< gradients of layers and tables
    std::int64_t communication = 0;  ///< between ranks
    std::int64_t optimizer = 0;
};

/// Of one table, since the learner was made.
struct TableUse {
    std::string name;
    std::int64_t rowsUsed = 0;  ///< that an update has touched
    std::int64_t rows = 0;
};

class Learner {
 public:
    virtual ~Learner() = default;
    /// Forward and backward of one micro-batch; adds its rows and weights to `sums`, and its loss,
    /// which a device may tell with collect() only. The batch is free afterwards.
    virtual Status accumulate(const BatchView& batch, LossSums& sums) = 0;
    /// Adds what the losses since the last call lack in `sums`: waits for the device. To be called
    /// at a step's end.
    virtual Status collect(LossSums& sums) {
        (void)sums;
        return okStatus();
    }
    /// Rows of the last step whose loss was not finite, by their places among its batches', in
    /// order; behind collect(). Their weights may have run away before.
    virtual std::vector<std::int64_t> rowsNotFinite() { return {}; }
    /// Ends the step. `weight`: sum(w) over all its rows and heads; 0: no update is made. `figures`
    /// (null: nobody asks, which is quicker) are those of the update, and stay where there is none.
    virtual Status apply(double weight, UpdateFigures* figures) = 0;
    /// Probabilities [rows, heads].
    virtual Status predict(const BatchView& batch, std::vector<double>& probabilities) = 0;
    /// Weights and optimizer state, sorted by name. Valid until the next call of this object.
    virtual std::vector<TensorRef> tensors() = 0;
    /// Takes the state of a checkpoint: names, types and shapes must be equal.
    virtual Status restore(const Checkpoint& checkpoint) = 0;
    /// Starts with what another run has learnt, as copyMatching().
    virtual Result<std::vector<std::string>> begin(const InitFrom& from) = 0;
    virtual LearnerTimes times() const { return {}; }
    virtual std::vector<TableUse> tableUse() const { return {}; }
    /// The most of a device's memory that was used; 0 of a CPU.
    virtual std::int64_t deviceBytes() const { return 0; }
    /// Epochs that teach it anything: 1 for target_mean, which sums up the stream once.
    virtual std::int64_t epochsMax() const = 0;
};

/// Validates the options (each message names the key). `group`: the ranks that train one model,
/// each with a learner of the same options, of which apply() is a call that all make; outlives it.
Result<std::unique_ptr<Learner>> makeLearner(const LearnerOptions& options, Group& group);

}  // namespace millrace::train

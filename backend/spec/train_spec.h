#pragma once
// `batch`, `train` and `resources`: how a model is trained, and its resources. Threads: values.
#include <cstdint>
#include <optional>
#include <string>

namespace millrace::spec {

struct BatchSpec {
    std::int64_t rows = 1024;
    std::int64_t microRows = 128;
    std::int64_t epochs = 1;
    std::uint64_t seed = 0;
    std::string shuffle;             ///< "rows", "requests", "none"; "" until binding sets it
    std::string order = "permuted";  ///< "as_is", "by"
    std::string orderBy;             ///< column if order is "by" (JSON {"by": column})
    std::int64_t segmentSplits = 0;  ///< 0: the plan chooses, and inspect writes the number here
};

/// Settings of a group of parameters; absent members are taken from `train`.
struct TrainGroup {
    std::string optimizer;  ///< as in TrainSpec, for tables also "rowwise_adagrad"; "": absent
    std::optional<double> learningRate, weightDecay, momentum;
    bool operator==(const TrainGroup&) const = default;
};

struct TrainGroups {
    TrainGroup dense, embeddings;
    bool operator==(const TrainGroups&) const = default;
};

/// How learning rates change over the updates: docs/reference/models.md has the formulas.
struct ScheduleSpec {
    std::string type = "constant";  ///< "linear", "cosine", "step"
    std::int64_t warmupSteps = 0;
    std::int64_t steps = 0;       ///< linear, cosine: step at which `final` is reached
    double final = 0;             ///< final share of the first rate
    std::int64_t everySteps = 0;  ///< step
    double factor = 0.1;          ///< step
    bool operator==(const ScheduleSpec&) const = default;
};

/// Ends the run when evaluations no longer improve.
struct EarlyStopSpec {
    std::int64_t patience = 0;  ///< evaluations without an improvement; 0: never stops
    std::string metric = "eval.normalized_entropy";
    double minDelta = 0;
    std::string mode = "auto";  ///< "min", "max"; auto: by the metric's name
    bool operator==(const EarlyStopSpec&) const = default;
};

struct TrainSpec {
    std::string optimizer = "adamw";  ///< "sgd", "adagrad"
    double learningRate = 0.001;
    double weightDecay = 0, momentum = 0;
    TrainGroups groups;
    ScheduleSpec schedule;
    double clipNorm = 0;  ///< 0: gradients are not clipped
    double dropout = 0;
    EarlyStopSpec earlyStop;
    std::string precision = "fp32";  ///< "bf16", "fp64"
    std::string device = "auto";     ///< "cpu", "cuda"; auto: cuda if a rank has GPUs
    bool deterministic = true;
    bool tf32 = false;
    std::int64_t ranks = 1;
    std::int64_t nodes = 1;  ///< number of nodes with ranks
    std::int64_t threads = 1;
    std::int64_t maxSteps = 0;              ///< stop after this step; 0: no limit
    std::int64_t checkpointEverySteps = 0;  ///< 0: only at the end
    std::int64_t checkpointKeep = 3;
    bool checkpointCopy = true;  ///< built-in trainer: checkpoints are written while training
                                 ///< continues
    std::int64_t maxRestarts = 3, noProgressMinutes = 30;  ///< minutes: until a stuck rank of
                                                           ///< `command` is reported
    std::int64_t exitMinutes = 30;  ///< until an ending rank of `command` is killed
    std::string initFrom;           ///< run id or name; "" random weights
    bool initOptimizer = false;     ///< with initFrom: also copies the optimizer's state
    bool initBest = false;          ///< with initFrom: uses the checkpoint of its best evaluation
};

struct ResourcesSpec {
    std::int64_t memoryLimitMb = 4096;
    std::int64_t loaderThreads = 0;  ///< 0: one per core that this process may use
    std::int64_t dataWorkersMin = 0, dataWorkersMax = 0;
    std::int64_t gpusPerRank = 0;
};

}  // namespace millrace::spec

#pragma once
// `batch`, `train` and `resources`: how a model is trained, and with what. Threads: values.
#include <cstdint>
#include <optional>
#include <string>

namespace millrace::spec {

struct BatchSpec {
    std::int64_t rows = 1024;
    std::int64_t microRows = 128;
    std::int64_t epochs = 1;
    std::uint64_t seed = 0;
    std::string shuffle;  ///< "rows", "requests", "none"; "" until it is bound: not given
    std::string order = "permuted";  ///< "as_is", "by"
    std::string orderBy;             ///< column when order is "by" (JSON {"by": column})
    std::int64_t segmentSplits = 0;  ///< 0: the plan chooses, and inspect writes the number here
};

/// What a group of parameters has of its own; absent: as `train` says.
struct TrainGroup {
    std::string optimizer;  ///< as TrainSpec's, of tables also "rowwise_adagrad"; "": absent
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
    std::int64_t steps = 0;       ///< linear, cosine: until `final` is reached
    double final = 0;             ///< share of the first rate
    std::int64_t everySteps = 0;  ///< step
    double factor = 0.1;          ///< step
    bool operator==(const ScheduleSpec&) const = default;
};

/// The run ends when evaluations get no better.
struct EarlyStopSpec {
    std::int64_t patience = 0;  ///< evaluations that may be no better; 0: never
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
    std::string device = "auto";     ///< "cpu", "cuda"; auto: cuda where a rank has GPUs
    bool deterministic = true;
    bool tf32 = false;
    std::int64_t ranks = 1;
    std::int64_t nodes = 1;  ///< that the ranks are spread over
    std::int64_t threads = 1;
    std::int64_t maxSteps = 0;              ///< stop after this step; 0: no limit
    std::int64_t checkpointEverySteps = 0;  ///< 0: only at the end
    std::int64_t checkpointKeep = 3;
    bool checkpointCopy = true;  ///< of the built-in trainer: written while training goes on
    std::int64_t maxRestarts = 3, noProgressMinutes = 30;  ///< until a rank of `command` is named
    std::int64_t exitMinutes = 30;  ///< until a rank of `command` that is at its end is ended
    std::string initFrom;           ///< run id or name; "" random weights
    bool initOptimizer = false;     ///< with initFrom: the state of its optimizer too
    bool initBest = false;          ///< with initFrom: the checkpoint of its best evaluation
};

struct ResourcesSpec {
    std::int64_t memoryLimitMb = 4096;
    std::int64_t loaderThreads = 0;  ///< 0: one for each core this process may use
    std::int64_t dataWorkersMin = 0, dataWorkersMax = 0;
    std::int64_t gpusPerRank = 0;
};

}  // namespace millrace::spec

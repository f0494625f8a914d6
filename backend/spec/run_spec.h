#pragma once
// RunSpec: a resolved run as a plain value, and its canonical JSON.
//
// Made by SpecReader from YAML, completed by bindSchema, stored and handed on as JSON. Expressions
// are text (SQL scalar syntax, expression.h). Paths are as written, relative ones to `baseDir`.
// Threads: a value. Failure: fromJson names the key.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/core/json.h"
#include "backend/core/status.h"
#include "backend/spec/embedding_spec.h"
#include "backend/spec/model_kinds.h"
#include "backend/spec/step.h"
#include "backend/spec/table_ref.h"

namespace millrace::spec {

class SourceMap;  ///< where each key stood in the YAML text; spec_reader.h

struct DatasetSpec {
    std::vector<std::string> path;  ///< files or globs, in order
    std::string format;             ///< "parquet", "csv" or "arrow"
    std::string where;              ///< "" keeps every row
    std::int64_t csvSplitRows = 65536;
    std::string missingColumns = "error";  ///< or "null"
    CsvOptions csv;
};

struct LabelSpec {
    std::string expr;    ///< bool or a number in [0, 1]
    std::string weight;  ///< "" is 1
    std::string where;   ///< "" is every row; others are masked for this head
};

struct DenseFeature {
    std::string column;
    double fill = 0;  ///< in place of null
};

struct WeightedFeature {
    std::string name, ids, weights;  ///< two list columns of equal lengths
};

struct SequenceFeature {
    std::vector<std::string> columns;  ///< aligned lists, oldest action first
    std::string time;                  ///< list column of the actions' times; needed by `before`
    std::string before;                ///< time column of the row: only earlier actions; "" all
    std::int64_t last = 0;             ///< newest actions kept; 0: all
};

struct FeaturesSpec {
    std::vector<DenseFeature> dense;
    std::vector<std::string> vectors, ids, lists, carry;
    std::vector<WeightedFeature> weighted;
    std::map<std::string, SequenceFeature> sequences;
    std::string request, user;          ///< columns; "" none, `user` then not in the JSON
    std::string dedup = "best_effort";  ///< "required", "off"
};

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
    std::int64_t threads = 1;
    std::int64_t maxSteps = 0;              ///< stop after this step; 0: no limit
    std::int64_t checkpointEverySteps = 0;  ///< 0: only at the end
    std::int64_t checkpointKeep = 3;
    bool checkpointCopy = true;  ///< of the built-in trainer: written while training goes on
    std::int64_t maxRestarts = 3, noProgressMinutes = 30;  ///< until a rank of `command` is named
    std::string initFrom;                                  ///< run id or name; "" random weights
};

struct EvalSpec {
    DatasetSpec dataset;          ///< the base's
    std::int64_t everySteps = 0;  ///< 0: only at the end
    std::vector<std::string> metrics;
    std::map<std::string, LabelSpec> labels;  ///< the base's
    std::vector<Step> labelRecipe;            ///< the base's steps that `labels` need
    std::vector<Step> recipe;                 ///< the run's steps without those that drop or weigh
};

struct ResourcesSpec {
    std::int64_t memoryLimitMb = 4096;
    std::int64_t loaderThreads = 0;  ///< 0: one for each core this process may use
    std::int64_t dataWorkersMin = 0, dataWorkersMax = 0;
    std::int64_t gpusPerRank = 0;
};

struct RunSpec {
    std::string name, notes, owner, project;
    std::map<std::string, std::string> tags;
    DatasetSpec dataset;
    std::vector<Step> recipe;
    std::map<std::string, LabelSpec> labels;
    FeaturesSpec features;
    std::map<std::string, EmbeddingSpec> embeddings;
    BatchSpec batch;
    ModelSpec model;
    TrainSpec train;
    std::vector<std::string> command;  ///< the user's own ranks, in place of `model`
    std::optional<EvalSpec> eval;
    ResourcesSpec resources;
    std::string variation;  ///< "" for the base
    std::string baseDir;    ///< absolute; what relative paths are relative to

    /// Positions in the YAML text; null when read from JSON. Not part of the JSON.
    std::shared_ptr<const SourceMap> source;

    /// Canonical: every key of the reference, defaults filled in, keys sorted (dumpJson prints it).
    Json toJson() const;
    static Result<RunSpec> fromJson(const Json& json);

    /// batch.rows / batch.microRows: micro-batches of one step.
    std::int64_t microBatchesPerStep() const { return batch.rows / batch.microRows; }
    /// Names of the heads in the order of frames and model outputs.
    std::vector<std::string> heads() const;
};

/// True when the last enabled step that makes `column` is a hash or bucketize: its values are ids
/// already and are not hashed again.
bool isMadeId(const std::vector<Step>& recipe, std::string_view column);
/// The number of ids such a step can make (hash: buckets; bucketize: boundaries + 2); 0 otherwise.
std::int64_t madeIdCount(const std::vector<Step>& recipe, std::string_view column);

/// SEMANTICS 1. 32 hex digits (XXH3-128 of the canonical JSON of the keys that count).
std::string specHash(const RunSpec& spec);
std::string streamHash(const RunSpec& spec);

/// Every key of a resolved spec (toJson's form) as path -> text, for the params of a run.
std::map<std::string, std::string> flattenParams(const Json& spec);

}  // namespace millrace::spec

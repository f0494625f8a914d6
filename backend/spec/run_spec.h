#pragma once
// RunSpec: a resolved run as a plain value, and its canonical JSON.
//
// SpecReader makes it from YAML and bindSchema completes it; it is stored and passed on as JSON.
// Expressions are text (SQL scalar syntax, expression.h). Paths are as written; relative paths are
// relative to `baseDir`.
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
#include "backend/spec/train_spec.h"

namespace millrace::spec {

class SourceMap;  ///< position of each key in the YAML text; spec_reader.h

struct DatasetSpec {
    std::vector<std::string> path;  ///< files or globs, in order
    std::string format;             ///< "parquet", "csv" or "arrow"
    std::string where;              ///< "" keeps every row
    std::int64_t csvSplitRows = 65536;
    std::string missingColumns = "error";      ///< or "null"
    std::map<std::string, std::string> types;  ///< column -> type name; overrides the files' types
    CsvOptions csv;
};

struct LabelSpec {
    std::string expr;    ///< bool or a number in [0, 1]
    std::string weight;  ///< "" is 1
    std::string where;   ///< "" is every row; other rows are masked for this head
};

struct DenseFeature {
    std::string column;
    double fill = 0;  ///< instead of null
};

struct WeightedFeature {
    std::string name, ids, weights;  ///< two list columns of equal lengths
};

struct SequenceFeature {
    std::vector<std::string> columns;  ///< aligned lists, oldest action first
    std::string time;                  ///< list column with the actions' times; required by
                                       ///< `before`
    std::string before;                ///< time column of the row: keeps only earlier actions; ""
                                       ///< all
    std::int64_t last = 0;             ///< number of newest actions to keep; 0: all
};

struct FeaturesSpec {
    std::vector<DenseFeature> dense;
    std::vector<std::string> vectors, ids, lists, carry;
    std::map<std::string, std::int64_t> vectorSizes;  ///< of `vectors` whose type has no size
    std::vector<WeightedFeature> weighted;
    std::map<std::string, SequenceFeature> sequences;
    std::string request, user;          ///< columns; "" none, `user` is not in the JSON then
    std::string dedup = "best_effort";  ///< "required", "off"
};

struct EvalSpec {
    DatasetSpec dataset;          ///< the base's
    std::int64_t everySteps = 0;  ///< 0: only at the end
    std::vector<std::string> metrics;
    std::map<std::string, LabelSpec> labels;  ///< the base's
    std::vector<Step> labelRecipe;            ///< the base's steps that `labels` need
    std::vector<Step> recipe;                 ///< the run's steps except those that drop or weigh
};

struct RunSpec {
    std::string name, notes, owner, project;
    std::map<std::string, std::string> tags;
    Json params = Json::object();  ///< the user's own: `params` as written, a date as its text
    DatasetSpec dataset;           ///< without files the run has no stream (hasDataset())
    std::vector<Step> recipe;
    std::map<std::string, LabelSpec> labels;
    FeaturesSpec features;
    std::map<std::string, EmbeddingSpec> embeddings;
    BatchSpec batch;
    ModelSpec model;
    TrainSpec train;
    std::vector<std::string> command;  ///< the user's own ranks, instead of `model`
    std::optional<EvalSpec> eval;
    ResourcesSpec resources;
    std::string variation;  ///< "" for the base
    std::string baseDir;    ///< absolute; the base of relative paths

    /// Positions in the YAML text; null when read from JSON. Not part of the JSON.
    std::shared_ptr<const SourceMap> source;

    /// Canonical: every key of the reference, with defaults, keys sorted (dumpJson prints it).
    Json toJson() const;
    static Result<RunSpec> fromJson(const Json& json);

    /// False: `command` runs without a stream, and therefore without a feed; the JSON omits the
    /// keys of streams then.
    bool hasDataset() const { return !dataset.path.empty() || command.empty(); }

    /// batch.rows / batch.microRows: micro-batches of one step.
    std::int64_t microBatchesPerStep() const { return batch.rows / batch.microRows; }
    /// Names of the heads, in the order of frames and model outputs.
    std::vector<std::string> heads() const;
};

/// True if the last enabled step that makes `column` is a hash or bucketize: its values are ids
/// already and are not hashed again.
bool isMadeId(const std::vector<Step>& recipe, std::string_view column);
/// The number of ids that such a step can make (hash: buckets; bucketize: boundaries + 2); else 0.
std::int64_t madeIdCount(const std::vector<Step>& recipe, std::string_view column);

/// 32 hex digits (XXH3-128 of the canonical JSON of the keys that count).
std::string specHash(const RunSpec& spec);
std::string streamHash(const RunSpec& spec);  ///< "" for a spec without a dataset

/// Every key of a resolved spec (toJson's form) as path -> text, for the params of a run.
std::map<std::string, std::string> flattenParams(const Json& spec);

}  // namespace millrace::spec

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

#include "backend/core/status.h"
#include "backend/spec/batch_spec.h"
#include "backend/spec/embedding_spec.h"
#include "backend/spec/features_spec.h"
#include "backend/spec/model_kinds.h"
#include "backend/spec/step.h"
#include "backend/spec/table_ref.h"
#include "backend/spec/train_spec.h"
#include "backend/text/json.h"

namespace millrace::spec {

class SourceMap;  ///< position of each key in the YAML text; spec_reader.h

struct DatasetSpec {
    std::vector<std::string> path;
    std::string format;
    std::string where;
    std::int64_t csvSplitRows = 65536;
    std::string missingColumns = "error";
    std::map<std::string, std::string> types;
    CsvOptions csv;

    static constexpr Choices kFormats = {"parquet", "csv", "arrow"};

    static void listKeys(auto& a) {
        using S = DatasetSpec;
        a("path", &S::path,
          "files or globs, relative to the spec's directory; a list is read in its order",
          {.isRequired = true});
        a("format", &S::format, "default: by the ending of the first path", {.choices = kFormats});
        a("where", &S::where, "rows that are read at all, before the recipe",
          {.type = KeyType::kExpr});
        a("csv_split_rows", &S::csvSplitRows, "rows of a CSV split",
          {.min = 1, .max = kMostRows, .unit = "rows"});
        a("missing_columns", &S::missingColumns,
          "a file without a column that others have: the spec may not use it, or it is null there",
          {.choices = {"error", "null"}});
        a("types", &S::types,
          "types of columns by name (int64, double, string, ...) where files differ or have "
          "another one: numbers and texts as numbers, integers as texts; a value that would change "
          "is an error",
          {.isSparse = true});
        a("csv", &S::csv, "how CSV files are written");
    }
};

struct EvalSpec {
    DatasetSpec dataset;  ///< the base's, with the files and rows of eval.dataset
    std::int64_t everySteps = 0;
    std::vector<std::string> metrics = {"auc", "log_loss", "normalized_entropy", "calibration"};
    std::map<std::string, LabelSpec> labels;  ///< the base's
    std::vector<Step> labelRecipe;            ///< the base's steps that `labels` need
    std::vector<Step> recipe;                 ///< the run's steps except those that drop or weigh

    static void listKeys(auto& a) {
        using S = EvalSpec;
        a.json("dataset", &S::dataset);
        a.yaml("dataset", KeyType::kSection, "which rows; what is absent is the base's `dataset`");
        a.yaml("dataset.path", KeyType::kTextList, "other files than the base's");
        a.yaml("dataset.format", KeyType::kChoice, "default: by the ending of the first path",
               {.choices = DatasetSpec::kFormats});
        a.yaml("dataset.where", KeyType::kExpr, "rows evaluated; default all, not `dataset.where`");
        a("every_steps", &S::everySteps, "0: only at the end",
          {.min = 0, .max = kMostRows, .unit = "steps"});
        a("metrics", &S::metrics, "what is reported",
          {.choices = {"auc", "log_loss", "normalized_entropy", "calibration"}});
        a.json("labels", &S::labels);
        a.json("label_recipe", &S::labelRecipe);
        a("recipe", &S::recipe,
          "steps instead of the run's own, none of which drops or weighs rows (eval.dataset.where "
          "chooses rows); default: the run's own without those that do");
    }
};

struct RunSpec {
    std::string name, notes, owner, project;
    std::map<std::string, std::string> tags;
    Json params = Json::object();  ///< `params` as written, a date as its text
    DatasetSpec dataset;           ///< without files the run has no stream (hasDataset())
    std::vector<Step> recipe;
    std::map<std::string, LabelSpec> labels;
    FeaturesSpec features;
    std::map<std::string, EmbeddingSpec> embeddings;
    BatchSpec batch;
    ModelSpec model;
    TrainSpec train;
    std::vector<std::string> command;
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

    static void listKeys(auto& a);
};

void RunSpec::listKeys(auto& a) {
    using S = RunSpec;
    a("name", &S::name, "name of the run; default: the file's name without its ending");
    a("notes", &S::notes, "free text, stored with the run");
    a("owner", &S::owner, "whose run it is; default: the user who submits it");
    a("project", &S::project, "what the run belongs to; runs are filtered by it");
    a("tags", &S::tags, "names and values, stored with the run");
    a("params", &S::params, "your own parameters: `${name}`, and what a script reads",
      {.isSparse = true});
    a("dataset", &S::dataset, "which rows are read; a `command` may have none",
      {.isOptional = true});
    a("recipe", &S::recipe, "the last-mile steps, in the order in which they run",
      {.isOfStream = true});
    a.yaml("label", KeyType::kExpr, "short for `labels` with one head called `label`",
           {.isOfStream = true});
    a("labels", &S::labels,
      "one head each: `name: expression`, or the keys below; with `command` there may be none",
      {.isOfStream = true, .shortKey = "expr"});
    a("features", &S::features, "which columns the model sees", {.isOfStream = true});
    a("embeddings", &S::embeddings,
      "embedding tables by name: the feature's, or any with `features`; a pattern like \"s*\" "
      "gives each matching id or list feature a table of its own",
      {.isOfStream = true});
    a("batch", &S::batch, "how rows become batches", {.isOfStream = true});
    a("model", &S::model, "the built-in model");
    a("train", &S::train, "how it is trained");
    a("command", &S::command,
      "the user's own ranks, instead of `model` and `train.optimizer`: program and arguments. A "
      "program without `/` is looked for in the submitter's PATH, another one from the spec's "
      "directory; a script that is not in the working directory, from there too");
    a("eval", &S::eval,
      "evaluation on the base's files, rows and labels, so that variations are compared on the "
      "same rows; absent: none",
      {.isOfStream = true});
    a("resources", &S::resources, "what the run may use; never changes its results");
    a.yaml("variations", KeyType::kVariations,
           "named changes: a list of `{name: x, set: {key.path: value}}`; below `recipe` a path "
           "names a step by its name, or by its kind where that occurs once");
    a.json("variation", &S::variation);
    a.json("base_dir", &S::baseDir);
}

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

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
        a("format", &S::format, "the files' format; default: by the ending of the first path",
          {.choices = kFormats});
        a("where", &S::where, "condition on the rows that are read, before the recipe",
          {.type = KeyType::kExpr});
        a("csv_split_rows", &S::csvSplitRows, "rows of a CSV split",
          {.min = 1, .max = kMostRows, .unit = "rows"});
        a("missing_columns", &S::missingColumns,
          "a column that some files lack; error: the spec may not use it; null: it is null in "
          "those files",
          {.choices = {"error", "null"}});
        a("types", &S::types,
          "types of columns by name (int64, double, string, ...), if files differ or have another "
          "type: numbers and texts can become numbers, integers can become texts; a value that "
          "would change is an error",
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
        a.yaml("dataset", KeyType::kSection,
               "the evaluation rows; keys that are absent are those of the base's `dataset`");
        a.yaml("dataset.path", KeyType::kTextList, "other files than the base's");
        a.yaml("dataset.format", KeyType::kChoice,
               "the files' format; default: by the ending of the first path",
               {.choices = DatasetSpec::kFormats});
        a.yaml(
            "dataset.where", KeyType::kExpr,
            "condition on the evaluation rows; default: all rows; `dataset.where` does not apply");
        a("every_steps", &S::everySteps, "interval in steps; 0: only at the end",
          {.min = 0, .max = kMostRows, .unit = "steps"});
        a("metrics", &S::metrics, "figures to report",
          {.choices = {"auc", "log_loss", "normalized_entropy", "calibration"}});
        a.json("labels", &S::labels);
        a.json("label_recipe", &S::labelRecipe);
        a("recipe", &S::recipe,
          "steps instead of the run's recipe; none may drop or weigh rows (eval.dataset.where "
          "chooses rows); default: the run's recipe without the steps that do");
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

    /// Returns whether each node with ranks, except the feed's, may have a data worker.
    bool mayHaveWorkersBesideRanks() const {
        return hasDataset() && train.nodes > 1 && resources.besideRanks != 0;
    }

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
    a("owner", &S::owner, "the run's owner; default: the user who submits it");
    a("project", &S::project,
      "project that the run belongs to; lists of runs can be filtered by it");
    a("tags", &S::tags, "names and values, stored with the run");
    a("params", &S::params, "your own parameters, for `${name}` and for scripts",
      {.isSparse = true});
    a("dataset", &S::dataset, "which rows are read; optional with `command`", {.isOptional = true});
    a("recipe", &S::recipe, "the last-mile steps, in the order in which they run",
      {.isOfStream = true});
    a.yaml("label", KeyType::kExpr, "short for `labels` with one head called `label`",
           {.isOfStream = true});
    a("labels", &S::labels,
      "one head each: `name: expression`, or the keys below; optional with `command`",
      {.isOfStream = true, .shortKey = "expr"});
    a("features", &S::features, "which columns the model sees", {.isOfStream = true});
    a("embeddings", &S::embeddings,
      "embedding tables by name: a feature's name, or any name with `features`; a pattern like "
      "\"s*\" gives each matching id or list feature a table of its own",
      {.isOfStream = true});
    a("batch", &S::batch, "how rows become batches", {.isOfStream = true});
    a("model", &S::model, "the built-in model");
    a("train", &S::train, "how the model is trained");
    a("command", &S::command,
      "your own program, which each rank runs instead of `model` and `train.optimizer`: program "
      "and arguments. A program without `/` is looked up in the submitter's PATH, one with `/` "
      "from "
      "the spec's directory. A script is looked up in the working directory, then in the spec's");
    a("eval", &S::eval,
      "evaluation on the base's files, rows and labels, so that variations are compared on the "
      "same rows; absent: no evaluation",
      {.isOfStream = true});
    a("resources", &S::resources, "what the run may use; never changes its results");
    a.yaml("variations", KeyType::kVariations,
           "named changes: a list of `{name: x, set: {key.path: value}}`; below `recipe` a path "
           "names a step by its name, or by its kind if that occurs once");
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

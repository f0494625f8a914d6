#include "backend/spec/key_table.h"

#include <deque>
#include <iterator>
#include <string>
#include <utility>

#include "backend/core/status.h"
#include "backend/spec/data_format.h"
#include "backend/spec/step_kinds.h"

namespace millrace::spec {
namespace {

using T = KeyType;
constexpr double kBig = 9.0e15;

std::vector<Key> generalKeys() {
    return {
        {"name", T::kText, "", "name of the run; default: the file's name without its ending"},
        {"notes", T::kText, "", "free text, stored with the run"},
        {"owner", T::kText, "", "whose run it is; default: the user who submits it"},
        {"project", T::kText, "", "what the run belongs to; runs are filtered by it"},
        {"tags", T::kTextMap, "", "names and values, stored with the run"},
        {"params", T::kParams, "", "your own parameters: `${name}`, and what a script reads"},
        {"dataset",
         T::kSection,
         "",
         "which rows are read; a `command` may have none",
         {.isOptional = true}},
        {"recipe", T::kRecipe, "", "the last-mile steps, in the order in which they run"},
        {"label", T::kExpr, "", "short for `labels` with one head called `label`"},
        {"labels",
         T::kSectionMap,
         "",
         "one head each: `name: expression`, or the keys below; with `command` there may be none",
         {.shortKey = "expr"}},
        {"features", T::kSection, "", "which columns the model sees"},
        {"embeddings", T::kSectionMap, "",
         "embedding tables by name: the feature's, or any with `features`; a pattern like \"s*\" "
         "gives each matching id or list feature a table of its own"},
        {"batch", T::kSection, "", "how rows become batches"},
        {"model", T::kSection, "", "the built-in model"},
        {"train", T::kSection, "", "how it is trained"},
        {"command", T::kTextList, "",
         "the user's own ranks, instead of `model` and `train.optimizer`: program and arguments. "
         "A program without `/` is looked for in the submitter's PATH, another one from the "
         "spec's directory; a script that is not in the working directory, from there too"},
        {"eval",
         T::kSection,
         "",
         "evaluation on the base's files, rows and labels, so that variations are compared on the "
         "same rows; absent: none",
         {.isOptional = true}},
        {"resources", T::kSection, "", "what the run may use; never changes its results"},
        {"variations", T::kVariations, "",
         "named changes: a list of `{name: x, set: {key.path: value}}`; below `recipe` a path "
         "names a step by its name, or by its kind where that occurs once"},
    };
}

std::vector<Key> datasetKeys() {
    return {
        {"dataset.path",
         T::kTextList,
         "",
         "files or globs, relative to the spec's directory; a list is read in its order",
         {.isRequired = true}},
        {"dataset.format",
         T::kChoice,
         "",
         "default: by the ending of the first path",
         {.choices = {"parquet", "csv", "arrow"}}},
        {"dataset.where", T::kExpr, "", "rows that are read at all, before the recipe"},
        {"dataset.csv_split_rows",
         T::kInt,
         "65536",
         "rows of a CSV split",
         {.min = 1, .max = kBig, .unit = "rows"}},
        {"dataset.missing_columns",
         T::kChoice,
         "error",
         "a file without a column that others have: the spec may not use it, or it is null there",
         {.choices = {"error", "null"}}},
        {"dataset.types", T::kTextMap, "",
         "types of columns by name (int64, double, string, ...) where files differ or have another "
         "one: numbers and texts as numbers, integers as texts; a value that would change is an "
         "error"},
        {"dataset.csv", T::kSection, "", "how CSV files are written"},
    };
}

std::vector<Key> stepKeys() {
    std::vector<Key> keys = {
        {"recipe.name", T::kText, "",
         "how variations address the step, and the salt of its draws; default: its kind"},
        {"recipe.enabled", T::kBool, "true", "false leaves the step out"},
    };
    for (Key& key : stepKindKeys()) {
        keys.push_back(std::move(key));
    }
    return keys;
}

std::vector<Key> featureKeys() {
    return {
        {"labels.*.expr",
         T::kExpr,
         "",
         "true or false, or a number from 0 to 1; a result that is null or NaN is masked and "
         "counted. A comparison takes NaN for the greatest number: `delay > 15` is true of it",
         {.isRequired = true}},
        {"labels.*.weight", T::kExpr, "", "the row's weight for this head in training; default 1"},
        {"labels.*.where", T::kExpr, "", "rows that count for this head; default all"},
        {"features.dense", T::kDense, "",
         "numbers and bools, as float: columns, patterns like \"d*\", or {column: x, fill: 0} "
         "with a value instead of null"},
        {"features.vectors", T::kVectors, "", "float lists of one size, or {column: x, size: 64}"},
        {"features.ids", T::kTextList, "", "one id a row, embedded; patterns allowed"},
        {"features.lists", T::kTextList, "", "lists of ids, embedded and summed; patterns allowed"},
        {"features.weighted", T::kSectionList, "", "lists of ids with weights"},
        {"features.weighted.name", T::kText, "", "the feature's name; default: the ids' column"},
        {"features.weighted.ids", T::kText, "", "list column of ids", {.isRequired = true}},
        {"features.weighted.weights",
         T::kText,
         "",
         "list column of weights, as long",
         {.isRequired = true}},
        {"features.sequences", T::kSectionMap, "",
         "aligned lists with one set of offsets, by name"},
        {"features.sequences.*.columns",
         T::kTextList,
         "",
         "the list columns, oldest element first: integers and strings are ids, floats and times "
         "are passed on",
         {.isRequired = true}},
        {"features.sequences.*.time", T::kText, "",
         "list column of the elements' times, as long; default: the one list of times among "
         "`columns`"},
        {"features.sequences.*.before", T::kText, "",
         "column of the row's time: only elements whose time is before it stay (needs `time`)"},
        {"features.sequences.*.last",
         T::kInt,
         "0",
         "the last elements kept, after `before`; 0: all",
         {.min = 0, .max = 1e9}},
        {"features.carry", T::kTextList, "", "columns passed through untouched; patterns allowed"},
        {"features.request", T::kText, "", "column that adjacent rows of one request share"},
        {"features.user", T::kText, "",
         "column that says whose row it is: `millrace stream` and the run's metrics then tell the "
         "share of the largest user in a micro-batch"},
        {"features.dedup",
         T::kChoice,
         "best_effort",
         "with `features.request`, lists are stored once a request and frames say which row has "
         "which: of all list columns (required: one that changes within a request is an error), of "
         "those that do not change in the first rows of the plan (best_effort), or of none (off)",
         {.choices = {"required", "best_effort", "off"}}},
    };
}

std::vector<Key> modelKeyRows() {
    return {
        {"model.type",
         T::kChoice,
         "dlrm",
         "logistic is the baseline with gradients, target_mean the one without",
         {.choices = {"dlrm", "dcn_v2", "mlp", "logistic", "target_mean"}}},
        {"model.embedding_dim", T::kInt, "16", "width of embeddings", {.min = 1, .max = 65536}},
        {"model.bottom",
         T::kIntList,
         "",
         "dlrm: layers over the dense features; the last is `embedding_dim`; default "
         "[64, embedding_dim]",
         {.min = 1, .max = 1e6}},
        {"model.top",
         T::kIntList,
         "",
         "dlrm: layers over the interactions; the last is 1 (an output a head); default [64, 1]",
         {.min = 1, .max = 1e6}},
        {"model.hidden",
         T::kIntList,
         "",
         "mlp, dcn_v2: layers before the output; default [64, 32]",
         {.min = 1, .max = 1e6}},
        {"model.cross_layers",
         T::kInt,
         "3",
         "dcn_v2: layers that multiply all inputs with each other",
         {.min = 1, .max = 64}},
        {"model.cross_rank",
         T::kInt,
         "0",
         "dcn_v2: of a cross layer's matrix, as a product of two; 0: full",
         {.min = 0, .max = 1e6}},
        {"model.keys", T::kTextList, "", "target_mean: id features whose means are taken"},
        {"model.smoothing",
         T::kReal,
         "5",
         "target_mean: rows that the overall mean counts for",
         {.min = 0, .max = 1e12, .unit = "rows"}},
    };
}

std::vector<Key> trainingKeys() {
    return {
        {"batch.rows",
         T::kInt,
         "1024",
         "rows of a step, over all ranks",
         {.min = 1, .max = 1e9, .unit = "rows"}},
        {"batch.micro_rows",
         T::kInt,
         "",
         "rows of a micro-batch, which must divide `rows`; default rows / 8",
         {.min = 1, .max = 1e9, .unit = "rows"}},
        {"batch.epochs", T::kInt, "1", "passes over the dataset", {.min = 1, .max = 1e6}},
        {"batch.seed", T::kSeed, "0", "of the order, the draws and the model's first weights"},
        {"batch.shuffle",
         T::kChoice,
         "",
         "within a segment: rows, whole requests (needs `features.request`, a column of the "
         "files), "
         "or none; default: requests where such a column is named, else rows",
         {.choices = {"rows", "requests", "none"}}},
        {"batch.order", T::kOrder, "permuted",
         "of the splits: permuted in each epoch, as_is, or {by: column}, which takes the values of "
         "a column in ascending order and permutes the splits of each"},
        {"batch.segment_splits",
         T::kInt,
         "0",
         "splits shuffled together; 0: at most 131,072 rows and 256 MB decoded, fixed by the plan",
         {.min = 0, .max = 1e6}},
        {"train.device",
         T::kChoice,
         "auto",
         "where the built-in trainer computes; auto: cuda where `resources.gpus_per_rank` gives a "
         "GPU, else cpu",
         {.choices = {"auto", "cpu", "cuda"}}},
        {"train.precision",
         T::kChoice,
         "fp32",
         "of the model's arithmetic; bf16: weights and sums in fp32, layers in bfloat16; fp64: to "
         "compare with",
         {.choices = {"fp32", "bf16", "fp64"}}},
        {"train.deterministic", T::kBool, "true",
         "on a GPU: the same bits in each run; false: kernels that add in any order may be taken"},
        {"train.tf32", T::kBool, "false",
         "on a GPU, fp32: matrix products with TF32's shorter fractions"},
        {"train.ranks",
         T::kInt,
         "1",
         "training processes; must divide batch.rows / micro_rows; of target_mean 1",
         {.min = 1, .max = 65536}},
        {"train.nodes",
         T::kInt,
         "1",
         "machines that train, the head's and others with an agent; must divide train.ranks",
         {.min = 1, .max = 4096}},
        {"train.threads",
         T::kInt,
         "1",
         "of a rank; part of what repeats bit for bit; a script's OMP_NUM_THREADS",
         {.min = 1, .max = 1024}},
        {"train.max_steps",
         T::kInt,
         "0",
         "stop after this step; 0: at the end of the epochs",
         {.min = 0, .max = kBig, .unit = "steps"}},
        {"train.checkpoint", T::kSection, "", "when state is saved"},
        {"train.checkpoint.every_steps",
         T::kInt,
         "0",
         "0: only at the end",
         {.min = 0, .max = kBig, .unit = "steps"}},
        {"train.checkpoint.keep",
         T::kInt,
         "3",
         "newest ones kept: older files go once the daemon has stored newer ones",
         {.min = 1, .max = 1e6}},
        {"train.checkpoint.copy", T::kBool, "true",
         "one on the way is written from a copy in memory while training goes on; false: steps "
         "wait, and the copy's memory is not needed"},
        {"train.max_restarts",
         T::kInt,
         "3",
         "after a rank died, from the last checkpoint; a lost node costs none, unless this is 0",
         {.min = 0, .max = 1e6}},
    };
}

/// The keys below `section`, which is a group of parameters.
std::vector<Key> groupKeys(std::string_view section, std::vector<std::string_view> optimizers) {
    static std::deque<std::string> paths;  // the table is built once and keeps its paths
    const auto at = [section](std::string_view name) -> std::string_view {
        return paths.emplace_back(strCat(section, ".", name));
    };
    return {
        {at("optimizer"),
         T::kChoice,
         "",
         "instead of train.optimizer",
         {.choices = std::move(optimizers)}},
        {at("learning_rate"),
         T::kReal,
         "",
         "instead of train.learning_rate",
         {.min = 0, .max = 1e6, .isOptional = true, .isMinExcluded = true}},
        {at("weight_decay"),
         T::kReal,
         "",
         "instead of train.weight_decay",
         {.min = 0, .max = 1e6, .isOptional = true}},
        {at("momentum"),
         T::kReal,
         "",
         "instead of train.momentum",
         {.min = 0, .max = 1, .isOptional = true}},
    };
}

std::vector<Key> scheduleKeys() {
    return {
        {"train.schedule", T::kSection, "", "how the learning rates change over the steps"},
        {"train.schedule.type",
         T::kChoice,
         "constant",
         "behind the warm-up; linear, cosine: down to `final`; step: times `factor` at intervals",
         {.choices = {"constant", "linear", "cosine", "step"}}},
        {"train.schedule.warmup_steps",
         T::kInt,
         "0",
         "the rates grow linearly over the first N steps",
         {.min = 0, .max = kBig, .unit = "steps"}},
        {"train.schedule.steps",
         T::kInt,
         "0",
         "linear, cosine: the step at which `final` is reached, and stays",
         {.min = 0, .max = kBig, .unit = "steps"}},
        {"train.schedule.final",
         T::kReal,
         "0",
         "linear, cosine: the last rates, as a share of the first ones",
         {.min = 0, .max = 1}},
        {"train.schedule.every_steps",
         T::kInt,
         "0",
         "step: the interval",
         {.min = 0, .max = kBig, .unit = "steps"}},
        {"train.schedule.factor",
         T::kReal,
         "0.1",
         "step: what the rates are multiplied with",
         {.min = 0, .max = 1, .isMinExcluded = true}},
    };
}

std::vector<Key> earlyStopKeys() {
    return {
        {"train.early_stop", T::kSection, "",
         "the run ends, and is finished, when evaluations get no better; its best checkpoint is "
         "kept as best.safetensors"},
        {"train.early_stop.patience",
         T::kInt,
         "0",
         "evaluations in a row that may be no better than the best one; 0: it never stops early",
         {.min = 0, .max = kBig, .unit = "evaluations"}},
        {"train.early_stop.metric", T::kText, "eval.normalized_entropy",
         "what is looked at: a figure of the evaluation, of a head as eval.HEAD.FIGURE"},
        {"train.early_stop.min_delta",
         T::kReal,
         "0",
         "smallest change that counts as an improvement",
         {.min = 0, .max = 1e12}},
        {"train.early_stop.mode",
         T::kChoice,
         "auto",
         "whether less or more of it is better; auto: by its name",
         {.choices = {"auto", "min", "max"}}},
    };
}

std::vector<Key> optimisationKeys() {
    std::vector<Key> keys = {
        {"train.optimizer",
         T::kChoice,
         "adamw",
         "how weights move",
         {.choices = {"sgd", "adagrad", "adamw"}}},
        {"train.learning_rate",
         T::kReal,
         "0.001",
         "size of a move",
         {.min = 0, .max = 1e6, .isMinExcluded = true}},
        {"train.weight_decay", T::kReal, "0", "pull towards zero", {.min = 0, .max = 1e6}},
        {"train.momentum", T::kReal, "0", "sgd only", {.min = 0, .max = 1}},
        {"train.clip_norm",
         T::kReal,
         "0",
         "gradients are made smaller where their norm over all parameters is above it; 0: never",
         {.min = 0, .max = 1e12}},
        {"train.dropout",
         T::kReal,
         "0",
         "dlrm, dcn_v2, mlp: share of the hidden layers' outputs that a training row goes without",
         {.min = 0, .max = 0.99}},
        {"train.groups", T::kSection, "",
         "what the layers (`dense`) or the embedding tables (`embeddings`) have of their own "
         "instead of `train`'s"},
        {"train.groups.dense", T::kSection, "", "all parameters but the embedding tables"},
    };
    const auto append = [&keys](std::vector<Key> more) {
        std::move(more.begin(), more.end(), std::back_inserter(keys));
    };
    append(groupKeys("train.groups.dense", {"sgd", "adagrad", "adamw"}));
    append({{"train.groups.embeddings", T::kSection, "",
             "the embedding tables; rowwise_adagrad keeps one number of state a row"}});
    append(groupKeys("train.groups.embeddings", {"sgd", "adagrad", "adamw", "rowwise_adagrad"}));
    append(scheduleKeys());
    append(earlyStopKeys());
    return keys;
}

std::vector<Key> initKeys() {
    return {
        {"train.init_from",
         T::kSection,
         "",
         "whose weights are the first ones: a run, or a map",
         {.shortKey = "run"}},
        {"train.init_from.run", T::kText, "", "id or name of the run"},
        {"train.init_from.optimizer", T::kBool, "false", "its optimizer's state is taken too"},
        {"train.init_from.best", T::kBool, "false", "its best checkpoint, not the newest"},
    };
}

std::vector<Key> scriptKeys() {
    return {
        {"train.no_progress_minutes",
         T::kInt,
         "30",
         "with `command`: a rank that takes no step for this long is named; nothing ends for it",
         {.min = 1, .max = 1e6, .unit = "minutes"}},
        {"train.exit_minutes",
         T::kInt,
         "30",
         "with `command`: a rank whose stream is at its end, and that has reported nothing for "
         "this long, is ended; the run is judged by what its ranks reported",
         {.min = 1, .max = 1e6, .unit = "minutes"}}};
}

std::vector<Key> evalAndResourceKeys() {
    return {
        {"eval.dataset", T::kSection, "", "which rows; what is absent is the base's `dataset`"},
        {"eval.dataset.path", T::kTextList, "", "other files than the base's"},
        {"eval.dataset.format",
         T::kChoice,
         "",
         "default: by the ending of the first path",
         {.choices = {"parquet", "csv", "arrow"}}},
        {"eval.dataset.where", T::kExpr, "", "rows evaluated; default all, not `dataset.where`"},
        {"eval.every_steps",
         T::kInt,
         "0",
         "0: only at the end",
         {.min = 0, .max = kBig, .unit = "steps"}},
        {"eval.metrics",
         T::kTextList,
         "[auc, log_loss, normalized_entropy, calibration]",
         "what is reported",
         {.choices = {"auc", "log_loss", "normalized_entropy", "calibration"}}},
        {"eval.recipe", T::kRecipe, "",
         "steps instead of the run's own, none of which drops or weighs rows (eval.dataset.where "
         "chooses rows); default: the run's own without those that do"},
        {"resources.memory_limit_mb",
         T::kInt,
         "4096",
         "of a loader process",
         {.min = 64, .max = 1e9, .unit = "MB"}},
        {"resources.loader_threads", T::kInt, "0", "0: one for each core", {.min = 0, .max = 1024}},
        {"resources.data_workers", T::kSection, "",
         "processes that compute segments for the feed, here or on other machines"},
        {"resources.data_workers.min",
         T::kInt,
         "0",
         "that a run starts, and starts again when they are lost",
         {.min = 0, .max = 65536}},
        {"resources.data_workers.max",
         T::kInt,
         "0",
         "with those that join by hand, as far as the advice on their number goes; 0: none may "
         "join",
         {.min = 0, .max = 65536}},
        {"resources.gpus_per_rank",
         T::kInt,
         "0",
         "GPUs of a rank: the run's alone, in CUDA_VISIBLE_DEVICES of all its ranks; of the "
         "built-in trainer at most 1",
         {.min = 0, .max = 64}},
    };
}

std::string_view nullsDoc() {
    static const std::string kDoc = [] {
        std::string words;
        for (const std::string_view word : kCsvNulls) {
            strAppend(&words, words.empty() ? "" : ", ", word);
        }
        return strCat(
            "values that are null in every column; default, in columns that are not text: ", words,
            ". An empty field is always null");
    }();
    return kDoc;
}

/// The keys below `section`, which says how CSV files are written.
std::vector<Key> csvKeys(std::string_view section) {
    static std::deque<std::string> paths;  // the table is built once and keeps its paths
    const auto at = [section](std::string_view name) -> std::string_view {
        return paths.emplace_back(strCat(section, ".", name));
    };
    return {
        {at("delimiter"), T::kText, "",
         "one character between the fields; default: a comma, of .tsv files a tab"},
        {at("header"), T::kBool, "true",
         "the first line holds the columns' names; else they are f0, f1, ..."},
        {at("types"), T::kTextMap, "",
         "types of columns by name (int64, double, string, ...); others are found by reading"},
        {at("quote"), T::kText, "'\"'",
         "the character around fields that hold delimiters, line ends or, twice, itself; \"\": "
         "none"},
        {at("comment"), T::kText, "", "a character; lines that begin with it are not rows"},
        {at("skip_rows"),
         T::kInt,
         "0",
         "lines of each file before its header",
         {.min = 0, .max = kBig, .unit = "lines"}},
        {at("decimal_comma"), T::kBool, "false", "numbers are written 1,5"},
        {at("null_values"), T::kTextList, "", nullsDoc()},
        {at("on_bad_row"),
         T::kChoice,
         "error",
         "a row with a value that is not of its column's type, or with too many or too few fields: "
         "an error, or left out and counted",
         {.choices = {"error", "drop"}}},
    };
}

std::vector<Key> makeTable() {
    std::vector<Key> table = generalKeys();
    for (const auto part :
         {&datasetKeys, &stepKeys, &featureKeys, &embeddingKeys, &modelKeyRows, &optimisationKeys,
          &trainingKeys, &initKeys, &scriptKeys, &evalAndResourceKeys}) {
        for (Key& key : part()) {
            const bool isCsv = key.type == T::kSection && key.name() == "csv";
            table.push_back(std::move(key));
            for (Key& below : isCsv ? csvKeys(table.back().path) : std::vector<Key>()) {
                table.push_back(std::move(below));
            }
        }
    }
    return table;
}

}  // namespace

std::span<const Key> keyTable() {
    static const std::vector<Key> kTable = makeTable();
    return kTable;
}

const Key* findKey(std::string_view path) {
    for (const Key& key : keyTable()) {
        if (key.path == path) {
            return &key;
        }
    }
    return nullptr;
}

std::vector<const Key*> keysBelow(std::string_view prefix) {
    std::vector<const Key*> below;
    for (const Key& key : keyTable()) {
        const std::size_t dot = key.path.rfind('.');
        const std::string_view parent =
            dot == std::string_view::npos ? std::string_view() : key.path.substr(0, dot);
        if (parent == prefix) {
            below.push_back(&key);
        }
    }
    return below;
}

}  // namespace millrace::spec

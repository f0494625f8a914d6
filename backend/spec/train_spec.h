#pragma once
// `train`: how a model is trained. Threads: values.
#include <cstdint>
#include <optional>
#include <string>

#include "backend/spec/key_table.h"

namespace millrace::spec {

/// Settings of a group of parameters; absent members are taken from `train`.
struct TrainGroup {
    std::string optimizer;  ///< "": absent
    std::optional<double> learningRate, weightDecay, momentum;
    bool operator==(const TrainGroup&) const = default;

    static void listKeys(auto& a, const Choices& optimizers = {"sgd", "adagrad", "adamw"}) {
        using S = TrainGroup;
        a("optimizer", &S::optimizer, "instead of train.optimizer",
          {.choices = optimizers, .isSparse = true});
        a("learning_rate", &S::learningRate, "instead of train.learning_rate",
          {.min = 0, .max = 1e6, .isMinExcluded = true, .isSparse = true});
        a("weight_decay", &S::weightDecay, "instead of train.weight_decay",
          {.min = 0, .max = 1e6, .isSparse = true});
        a("momentum", &S::momentum, "instead of train.momentum",
          {.min = 0, .max = 1, .isSparse = true});
    }
};

/// The group of the embedding tables, which has an optimizer more.
struct TableGroup : TrainGroup {
    static void listKeys(auto& a) {
        TrainGroup::listKeys(a, {"sgd", "adagrad", "adamw", "rowwise_adagrad"});
    }
};

struct TrainGroups {
    TrainGroup dense;
    TableGroup embeddings;
    bool operator==(const TrainGroups&) const = default;

    static void listKeys(auto& a) {
        using S = TrainGroups;
        a("dense", &S::dense, "all parameters but the embedding tables", {.isSparse = true});
        a("embeddings", &S::embeddings,
          "the embedding tables; rowwise_adagrad keeps one number of state for each row",
          {.isSparse = true});
    }
};

/// How learning rates change over the updates: docs/reference/models.md has the formulas.
struct ScheduleSpec {
    std::string type = "constant";
    std::int64_t warmupSteps = 0, steps = 0;
    double final = 0;
    std::int64_t everySteps = 0;
    double factor = 0.1;
    bool operator==(const ScheduleSpec&) const = default;

    static void listKeys(auto& a) {
        using S = ScheduleSpec;
        a("type", &S::type,
          "after the warm-up; linear, cosine: down to `final`; step: times `factor` at intervals",
          {.choices = {"constant", "linear", "cosine", "step"}});
        a("warmup_steps", &S::warmupSteps, "the rates grow linearly over the first N steps",
          {.min = 0, .max = kMostRows, .unit = "steps"});
        a("steps", &S::steps,
          "linear, cosine: the step at which the rates reach `final`; they then stay constant",
          {.min = 0, .max = kMostRows, .unit = "steps"});
        a("final", &S::final, "linear, cosine: the last rates, as a share of the first ones",
          {.min = 0, .max = 1});
        a("every_steps", &S::everySteps, "step: the interval",
          {.min = 0, .max = kMostRows, .unit = "steps"});
        a("factor", &S::factor, "step: number by which the rates are multiplied",
          {.min = 0, .max = 1, .isMinExcluded = true});
    }
};

/// Ends the run when evaluations no longer improve.
struct EarlyStopSpec {
    std::int64_t patience = 0;
    std::string metric = "eval.normalized_entropy";
    double minDelta = 0;
    std::string mode = "auto";
    bool operator==(const EarlyStopSpec&) const = default;

    static void listKeys(auto& a) {
        using S = EarlyStopSpec;
        a("patience", &S::patience,
          "ends the run after this number of consecutive evaluations without an improvement; 0: "
          "never",
          {.min = 0, .max = kMostRows, .unit = "evaluations"});
        a("metric", &S::metric,
          "the evaluation's figure that must improve; for a head: eval.HEAD.FIGURE");
        a("min_delta", &S::minDelta, "smallest change that counts as an improvement",
          {.min = 0, .max = 1e12});
        a("mode", &S::mode,
          "whether a lower or a higher value is better; auto: by the metric's name",
          {.choices = {"auto", "min", "max"}});
    }
};

struct TrainSpec {
    std::string optimizer = "adamw";
    double learningRate = 0.001, weightDecay = 0, momentum = 0, clipNorm = 0, dropout = 0;
    TrainGroups groups;
    ScheduleSpec schedule;
    EarlyStopSpec earlyStop;
    std::string device = "auto", precision = "fp32";
    bool deterministic = true, tf32 = false;
    std::int64_t ranks = 1, nodes = 1, threads = 1;
    std::int64_t maxSteps = 0, checkpointEverySteps = 0, checkpointKeep = 3, maxRestarts = 3;
    bool checkpointCopy = true;
    std::string initFrom;  ///< run id or name; "" random weights
    bool initOptimizer = false, initBest = false;
    std::int64_t noProgressMinutes = 30, exitMinutes = 30;

    static void listKeys(auto& a) {
        listLearning(a);
        listRunning(a);
    }

 private:
    static void listLearning(auto& a);
    static void listRunning(auto& a);
};

void TrainSpec::listLearning(auto& a) {
    using S = TrainSpec;
    a("optimizer", &S::optimizer, "the optimizer",
      {.choices = {"sgd", "adagrad", "adamw"}, .isTrainers = true});
    a("learning_rate", &S::learningRate, "the step size",
      {.min = 0, .max = 1e6, .isMinExcluded = true, .isTrainers = true});
    a("weight_decay", &S::weightDecay, "decay of the weights towards zero",
      {.min = 0, .max = 1e6, .isTrainers = true});
    a("momentum", &S::momentum, "sgd only", {.min = 0, .max = 1, .isTrainers = true});
    a("clip_norm", &S::clipNorm,
      "maximum norm of the gradients over all parameters; larger gradients are scaled down; 0: no "
      "maximum",
      {.min = 0, .max = 1e12, .isSparse = true, .isTrainers = true});
    a("dropout", &S::dropout,
      "dlrm, dcn_v2, mlp: share of the hidden layers' outputs that is dropped for a training row",
      {.min = 0, .max = 0.99, .isSparse = true, .isTrainers = true});
    a("groups", &S::groups,
      "separate values for the layers (`dense`) or the embedding tables (`embeddings`), instead of "
      "those of `train`",
      {.isSparse = true, .isTrainers = true});
    a("schedule", &S::schedule, "how the learning rates change over the steps",
      {.isSparse = true, .isTrainers = true});
    a("early_stop", &S::earlyStop,
      "ends the run as finished when evaluations stop improving; its best checkpoint is kept as "
      "best.safetensors",
      {.isSparse = true, .isTrainers = true});
}

void TrainSpec::listRunning(auto& a) {
    using S = TrainSpec;
    a("device", &S::device,
      "where the built-in trainer computes; auto: cuda if `resources.gpus_per_rank` gives a GPU, "
      "else cpu",
      {.choices = {"auto", "cpu", "cuda"}, .isSparse = true, .isTrainers = true});
    a("precision", &S::precision,
      "precision of the model's arithmetic; bf16: weights and sums in fp32, layers in bfloat16; "
      "fp64: for comparison",
      {.choices = {"fp32", "bf16", "fp64"}, .isTrainers = true});
    a("deterministic", &S::deterministic,
      "on a GPU: the same bits in each run; false: allows kernels that add in any order",
      {.isSparse = true, .isTrainers = true});
    a("tf32", &S::tf32, "on a GPU with fp32: matrix products in TF32, which has shorter fractions",
      {.isSparse = true, .isTrainers = true});
    a("ranks", &S::ranks,
      "number of training processes; must divide batch.rows / micro_rows; for target_mean: 1",
      {.min = 1, .max = 65536});
    a("nodes", &S::nodes,
      "number of nodes that train: the head's node and others with an agent; must divide "
      "train.ranks",
      {.min = 1, .max = 4096, .isSparse = true});
    a("threads", &S::threads,
      "threads of a rank; results are bit-identical only with the same number of threads. For a "
      "script: its OMP_NUM_THREADS",
      {.min = 1, .max = 1024});
    a("max_steps", &S::maxSteps, "stop after this step; 0: at the end of the epochs",
      {.min = 0, .max = kMostRows, .isOfStream = true, .unit = "steps"});
    a.yaml("checkpoint", KeyType::kSection, "when state is saved");
    a("checkpoint.every_steps", &S::checkpointEverySteps, "interval in steps; 0: only at the end",
      {.min = 0, .max = kMostRows, .isOfStream = true, .unit = "steps"});
    a("checkpoint.keep", &S::checkpointKeep,
      "number of newest checkpoints to keep; older files are deleted once the daemon has stored "
      "newer ones",
      {.min = 1, .max = 1e6});
    a("checkpoint.copy", &S::checkpointCopy,
      "true: a checkpoint before the end is written from a copy in memory while training "
      "continues; false: steps wait, and no memory is needed for a copy",
      {.isSparse = true, .isTrainers = true});
    a("max_restarts", &S::maxRestarts,
      "restarts from the last checkpoint after a rank died; a lost node counts only if "
      "this is 0",
      {.min = 0, .max = 1e6});
    a.yaml("init_from", KeyType::kSection,
           "run whose weights are the initial ones: its id or name, or a map", {.shortKey = "run"});
    a("init_from.run", &S::initFrom, "id or name of the run",
      {.isTrainers = true, .jsonName = "init_from"});
    a("init_from.optimizer", &S::initOptimizer, "also takes the run's optimizer state",
      {.isSparse = true, .jsonName = "init_optimizer"});
    a("init_from.best", &S::initBest, "takes the run's best checkpoint, not the newest",
      {.isSparse = true, .jsonName = "init_best"});
    a("no_progress_minutes", &S::noProgressMinutes,
      "with `command`: reports a rank that takes no step for this long; the run continues",
      {.min = 1, .max = 1e6, .isSparse = true, .isOfStream = true, .unit = "minutes"});
    a("exit_minutes", &S::exitMinutes,
      "with `command`: ends a rank whose stream has ended and that has reported nothing for this "
      "long; the run's result is what its ranks reported",
      {.min = 1, .max = 1e6, .isSparse = true, .isOfStream = true, .unit = "minutes"});
}

}  // namespace millrace::spec

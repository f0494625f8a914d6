#include "backend/spec/trainable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/spec/bind.h"
#include "backend/spec/training/optimisation.h"
#include "tests/unit/spec/movielens_spec.h"

namespace millrace::spec {
namespace {

using ::testing::HasSubstr;

struct TrainableSpec {
    RunSpec spec;
    expr::Schema columns;
    std::string refusals() const {
        std::string all;
        for (const SpecError& e : checkTrainable(spec, columns)) {
            all += strCat(all.empty() ? "" : "\n", e.line, ":", e.column, " ", e.message);
        }
        return all;
    }
};

TrainableSpec trainableOf(const std::string& text) {
    expr::Schema schema = ratingsSchema();
    const auto list = [](const char* name) { return *expr::parseType(name); };
    schema.fields.push_back({"item", list("int64[]")});
    schema.fields.push_back({"price", list("double[]")});
    schema.fields.push_back({"at", list("timestamp[]")});
    ResolvedSpec read = readSpec(text, {});
    EXPECT_TRUE(read.ok()) << toStatus(read.errors, "spec");
    const BindResult bound = bindSchema(*read.spec, schema, movieTables());
    EXPECT_TRUE(bound.ok()) << toStatus(bound.errors, "spec");
    return {std::move(*read.spec), bound.columns};
}

std::string specWith(const std::string& more, const std::string& features = "{dense: [rating]}") {
    return "dataset: {path: a.parquet}\nlabel: rating >= 4\nfeatures: " + features + "\n" + more;
}

TEST(Trainable, ASpecForOneMachineAndRankIsFine) {
    EXPECT_EQ(trainableOf(specWith("train: {ranks: 1, threads: 4}")).refusals(), "");
}

TEST(Trainable, WhatThisVersionDoesNotDoIsRefusedAtItsKey) {
    EXPECT_THAT(trainableOf(specWith("embeddings: {userId: {rows: 9}}\nmodel: {type: target_mean, "
                                     "keys: [userId]}\ntrain: {ranks: 4}",
                                     "{ids: [userId]}"))
                    .refusals(),
                HasSubstr("train.ranks is 4; model.type target_mean sums up the stream in one"));
    EXPECT_THAT(trainableOf(specWith("resources: {gpus_per_rank: 2}")).refusals(),
                HasSubstr("a rank of the built-in trainer computes on one GPU"));
    EXPECT_THAT(
        trainableOf(specWith("resources: {gpus_per_rank: 1}\ntrain: {device: cpu}")).refusals(),
        HasSubstr("a GPU that it does not use (train.device is cpu)"));
    EXPECT_THAT(trainableOf(specWith("train: {device: cuda}")).refusals(),
                HasSubstr("add resources.gpus_per_rank: 1"));
    EXPECT_THAT(trainableOf(specWith("train: {tf32: true}")).refusals(), HasSubstr("train.tf32"));
    EXPECT_THAT(trainableOf(specWith("train: {deterministic: false}")).refusals(),
                HasSubstr("train.deterministic: on a CPU"));
    EXPECT_THAT(trainableOf(specWith("train: {no_progress_minutes: 5}")).refusals(),
                HasSubstr("train.no_progress_minutes: is for a script of `command`"));
    EXPECT_THAT(trainableOf(specWith("train: {exit_minutes: 5}")).refusals(),
                HasSubstr("train.exit_minutes: is for a script of `command`"));
}

TEST(Trainable, AScriptHasSeveralRanksAndAModelOfItsOwn) {
    const std::string command = "command: [python3, train.py]\n";
    EXPECT_EQ(trainableOf(specWith(command + "train: {ranks: 2, no_progress_minutes: 5, "
                                             "exit_minutes: 5}"))
                  .refusals(),
              "");
    EXPECT_THAT(trainableOf(specWith(command + "train: {learning_rate: 0.5}")).refusals(),
                HasSubstr("train.learning_rate: is the script's own with `command`"));
    EXPECT_THAT(trainableOf(specWith(command + "train: {init_from: r-abcde}")).refusals(),
                HasSubstr("train.init_from: is the script's own"));
    EXPECT_THAT(trainableOf(specWith("command: [\"\", train.py]")).refusals(),
                HasSubstr("its first item is the program"));
}

TEST(Trainable, TheIdsOfSequencesArePooledAndTheirNumbersRefused) {
    const TrainableSpec ids = trainableOf(specWith("embeddings: {item: {rows: 10}}",
                                                   "{sequences: {seen: {columns: [item, at]}}, "
                                                   "dense: [rating]}"));
    EXPECT_EQ(ids.refusals(), "");
    ASSERT_EQ(pooledColumns(ids.spec).size(), 1U);
    EXPECT_EQ(pooledColumns(ids.spec)[0].frameColumn, "seen.item");
    EXPECT_EQ(pooledColumns(ids.spec)[0].feature, "item");
    EXPECT_THAT(
        trainableOf(specWith("embeddings: {item: {rows: 10}}",
                             "{sequences: {seen: {columns: [item, price]}}, dense: [rating]}"))
            .refusals(),
        HasSubstr("features.sequences.seen: column 'price' holds numbers"));
}

TEST(Trainable, DlrmNeedsTwoInputsToMultiply) {
    EXPECT_THAT(
        trainableOf(specWith("embeddings: {userId: {rows: 10}}", "{ids: [userId]}")).refusals(),
        HasSubstr("dlrm needs a dense feature or two embedded ones"));
}

TEST(Trainable, TablesCountWithTheOptimizersState) {
    const auto bytes = [](const std::string& train) {
        return tableBytes(trainableOf(specWith("embeddings: {userId: {rows: 1000}}\nmodel: "
                                               "{embedding_dim: 8}\ntrain: " +
                                                   train,
                                               "{dense: [rating], ids: [userId]}"))
                              .spec);
    };
    EXPECT_EQ(bytes("{optimizer: sgd}"), 1000 * (8 * 4 + 4));
    EXPECT_EQ(bytes("{optimizer: sgd, momentum: 0.9}"), 1000 * (2 * 8 * 4 + 4));
    EXPECT_EQ(bytes("{optimizer: adagrad}"), 1000 * (2 * 8 * 4 + 4));
    EXPECT_EQ(bytes("{optimizer: adamw}"), 1000 * (3 * 8 * 4 + 4));
    EXPECT_EQ(bytes("{groups: {embeddings: {optimizer: rowwise_adagrad}}}"),
              1000 * (8 * 4 + 4 + 4));
    EXPECT_EQ(bytes("{optimizer: adamw, precision: fp64}"), 1000 * (3 * 8 * 8 + 4));
    EXPECT_EQ(bytes("{optimizer: adamw, ranks: 2}"), 2 * 1000 * (3 * 8 * 4 + 4));
}

TEST(Trainable, ASchedulesKeysMustFitItsType) {
    const auto refusals = [](const std::string& schedule) {
        return trainableOf(specWith("train: {schedule: " + schedule + "}")).refusals();
    };
    EXPECT_EQ(refusals("{type: cosine, warmup_steps: 10, steps: 100, final: 0.1}"), "");
    EXPECT_EQ(refusals("{type: step, every_steps: 10, factor: 0.5}"), "");
    EXPECT_EQ(refusals("{warmup_steps: 10}"), "");
    EXPECT_THAT(refusals("{type: linear, warmup_steps: 10, steps: 10}"),
                HasSubstr("train.schedule.steps: type linear needs the step at which"));
    EXPECT_THAT(refusals("{type: step}"), HasSubstr("train.schedule.every_steps: type step needs"));
    EXPECT_THAT(refusals("{steps: 10}"),
                HasSubstr("train.schedule.steps: train.schedule.type constant does not read it"));
    EXPECT_THAT(refusals("{type: linear, steps: 10, factor: 0.5}"),
                HasSubstr("train.schedule.factor: train.schedule.type linear does not"));
}

TEST(Trainable, AnEarlyStopNeedsTheEvaluationsThatItLooksAt) {
    const auto refusals = [](const std::string& stop, const std::string& eval) {
        return trainableOf(specWith("train: {early_stop: " + stop + "}\n" + eval)).refusals();
    };
    const std::string eval = "eval: {dataset: {where: rating > 1}, every_steps: 10}";
    EXPECT_EQ(refusals("{patience: 2}", eval), "");
    EXPECT_EQ(refusals("{patience: 2, metric: eval.label.auc, min_delta: 0.001}", eval), "");
    EXPECT_THAT(refusals("{metric: eval.auc}", eval),
                HasSubstr("train.early_stop: needs patience"));
    EXPECT_THAT(refusals("{patience: 2}", ""), HasSubstr("eval with every_steps"));
    EXPECT_THAT(refusals("{patience: 2, metric: eval.acu}", eval),
                HasSubstr("did you mean 'eval.auc'"));
    EXPECT_THAT(refusals("{patience: 2, metric: eval.calibration}", eval),
                HasSubstr("train.early_stop.mode: whether less or more"));
}

TEST(Trainable, HowWeightsMoveIsToldInALine) {
    const auto told = [](const std::string& train) {
        return describeOptimisation(
            trainableOf(specWith("embeddings: {userId: {rows: 9}}\ntrain: " + train,
                                 "{dense: [rating], ids: [userId]}"))
                .spec);
    };
    EXPECT_EQ(told("{learning_rate: 0.003}"), "adamw, rate 0.003");
    EXPECT_EQ(told("{optimizer: sgd, momentum: 0.9, clip_norm: 2, dropout: 0.5, schedule: {type: "
                   "cosine, warmup_steps: 50, steps: 2000}}"),
              "sgd, rate 0.001, momentum 0.9; rates grow until step 50; cosine down to 0 at step "
              "2,000; clipped at norm 2; dropout 0.5");
    EXPECT_EQ(told("{groups: {embeddings: {optimizer: rowwise_adagrad, learning_rate: 0.02}}}"),
              "layers: adamw, rate 0.001; embeddings: rowwise_adagrad, rate 0.02");
    EXPECT_EQ(describeOptimisation(trainableOf(specWith("command: [python3, train.py]")).spec), "");
}

TEST(Trainable, TablesThatDoNotFitTheMachineAreRefusedWithTheLargest) {
    const TrainableSpec bound =
        trainableOf(specWith("embeddings: {userId: {rows: 1000000000000}, movieId: {rows: 10}}",
                             "{ids: [userId, movieId]}"));
    const Status status = checkTableMemory(bound.spec, std::int64_t{1} << 40);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(messageOf(status)),
                HasSubstr("embeddings.userId.rows: the tables need"));
    EXPECT_TRUE(checkTableMemory(bound.spec, std::int64_t{1} << 60).ok());
}

TEST(Trainable, KeysOfCsvFilesAreRefusedWhereNoFileIsOne) {
    for (const char* key :
         {"csv: {delimiter: \";\"}", "csv: {types: {rating: int64}}", "csv_split_rows: 10"}) {
        const ResolvedSpec read =
            readSpec(strCat("dataset: {path: a.parquet, ", key,
                            "}\nlabel: rating >= 4\nfeatures: {dense: [rating]}"),
                     {});
        ASSERT_FALSE(read.ok()) << key;
        EXPECT_THAT(read.errors[0].message, HasSubstr("is for CSV files; these are parquet"));
    }
}

}  // namespace
}  // namespace millrace::spec

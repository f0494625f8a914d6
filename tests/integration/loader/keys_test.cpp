// Every key of a spec has an effect, or a check refuses it. The test walks through the table of
// keys; a new key needs a case here.
#include <filesystem>
#include <map>

#include <gmock/gmock.h>

#include "backend/filesystem/files.h"
#include "backend/spec/key_table.h"
#include "tests/integration/loader/loader_program.h"

namespace millrace {
namespace {

using ::testing::IsEmpty;

constexpr const char* kSpec = R"yaml(name: keys
dataset: {path: "part-*.csv", csv_split_rows: 128, where: "value % 10 <> 7"}
recipe:
  - {name: first, filter: value >= 5}
  - {name: gone, anti_join: {table: blocked.csv, on: user}}
  - {name: there, semi_join: {table: users.csv, on: user}}
  - {name: joined, join: {table: users.csv, on: user, take: {age: age}}}
  - name: priced
    join: {table: prices.csv, on: user, as_of: {left: t, right: since}, take: {price: price}}
  - name: made
    derive:
      half: value / 2.0
      list: split(tags, '|')
      items: cast(split(seen, '|') as bigint[])
      strengths: cast(split(seen, '|') as double[])
      times: cast(split(seen_at, '|') as timestamp[])
      later: cast(split(seen_at, '|') as timestamp[])
      doubled: cast(split(tags2, '|') as double[])
      others: cast(split(tags2, '|') as bigint[])
  - {name: few, sample: {where: label = 0, keep: 0.9, weight: inverse, by: [value]}}
  - {name: heavy, weight: "case when user = 1 then 2 else 1 end"}
  - {name: hashed, hash: {column: tags, as: tag_id, buckets: 50}}
  - {name: banded, bucketize: {column: value, as: band, boundaries: [100, 500]}}
  - {name: cut, truncate: {column: items, as: recent, length: 1}}
labels: {label: {expr: label}}
features:
  dense: [half, age, price]
  ids: [user, tag_id, band]
  lists: [list, recent]
  weighted: [{name: strong, ids: items, weights: strengths}]
  sequences: {seen: {columns: [items, times], time: times, before: t, last: 5}}
  carry: [value]
embeddings:
  user: {rows: 64}
  list: {rows: 64}
  recent: {rows: 64}
  strong: {rows: 64}
  items: {rows: 64}
batch: {rows: 64, micro_rows: 16, seed: 7, shuffle: rows, segment_splits: 2}
model: {type: mlp, hidden: [4], embedding_dim: 4}
train: {optimizer: sgd}
eval: {dataset: {where: "value % 10 = 7"}}
resources: {loader_threads: 1, memory_limit_mb: 4096}
)yaml";

enum class Proof {
    kStream,   ///< the delivered rows differ
    kTable,    ///< the exported table differs, with labels and weights, which no checksum covers
    kSpec,     ///< the resolved spec differs, which trainer, daemon and store use
    kRefused,  ///< `check` reports why it refuses the key
};

struct KeyCase {
    Proof proof;
    std::vector<std::string> sets;
    std::string text;  ///< text of the refusal
    /// Changes of the base that the case needs first.
    std::vector<std::string> before = {};
    std::pair<std::string, std::string> edit = {};
};

using P = Proof;

using Cases = std::map<std::string, KeyCase>;  ///< by the key's path

/// Changes the base into a spec of a user's script.
const std::pair<std::string, std::string> kNoModel = {
    "model: {type: mlp, hidden: [4], embedding_dim: 4}\ntrain: {optimizer: sgd}", ""};
const std::vector<std::string> kScript = {"command=[python3, train.py]"};

Cases generalCases() {
    return {
        {"name", {P::kSpec, {"name=other"}, ""}},
        {"notes", {P::kSpec, {"notes=mine"}, ""}},
        {"owner", {P::kSpec, {"owner=ada"}, ""}},
        {"project", {P::kSpec, {"project=p"}, ""}},
        {"tags", {P::kSpec, {"tags={a: b}"}, ""}},
        {"params", {P::kSpec, {}, "", {}, {"name: keys", "name: keys\nparams: {lr: 1}"}}},
        {"label", {P::kSpec, {}, "", {}, {"labels: {label: {expr: label}}", "label: label = 1"}}},
        {"command", {P::kSpec, kScript, "", {}, kNoModel}},
        {"variations",
         {P::kRefused,
          {},
          "variation 'bad'",
          {},
          {"name: keys", "name: keys\nvariations: [{name: bad, set: {train.tf32: true}}]"}}},
        {"recipe", {P::kStream, {}, "", {}, {"  - {name: first, filter: value >= 5}\n", ""}}},
        {"dataset.path", {P::kStream, {"dataset.path=part-1.csv"}, ""}},
        {"dataset.format", {P::kRefused, {"dataset.format=parquet"}, "parquet"}},
        {"dataset.where", {P::kStream, {"dataset.where=value % 10 <> 3"}, ""}},
        {"dataset.csv_split_rows", {P::kStream, {"dataset.csv_split_rows=64"}, ""}},
        {"dataset.missing_columns", {P::kSpec, {"dataset.missing_columns=null"}, ""}},
        {"dataset.types",
         {P::kStream,
          {"dataset.types={value: double}", "features.carry=[]"},
          "",
          {"features.carry=[]"}}},
        {"dataset.csv.delimiter", {P::kRefused, {"dataset.csv.delimiter=;"}, "user"}},
        {"dataset.csv.header", {P::kRefused, {"dataset.csv.header=false"}, "user"}},
        {"dataset.csv.quote", {P::kRefused, {"dataset.csv.quote=t"}, "is opened here"}},
        {"dataset.csv.comment", {P::kStream, {"dataset.csv.comment=3"}, ""}},
        {"dataset.csv.skip_rows", {P::kRefused, {"dataset.csv.skip_rows=1"}, "unknown column"}},
        {"dataset.csv.decimal_comma",
         {P::kRefused, {"dataset.csv.decimal_comma=true"}, "the delimiter must be another"}},
        {"dataset.csv.null_values", {P::kStream, {"dataset.csv.null_values=['5']"}, ""}},
        {"dataset.csv.on_bad_row", {P::kSpec, {"dataset.csv.on_bad_row=drop"}, ""}},
        {"dataset.csv.types",
         {P::kStream,
          {"dataset.csv.types={value: double}", "features.carry=[]"},
          "",
          {"features.carry=[]"}}},
        {"labels.*.expr", {P::kStream, {"labels.label.expr=label = 0"}, ""}},
        {"labels.*.weight", {P::kTable, {"labels.label.weight=2.0"}, ""}},
        {"labels.*.where", {P::kStream, {"labels.label.where=user <> 5"}, ""}},
        {"resources.memory_limit_mb",
         {P::kRefused, {"resources.memory_limit_mb=64"}, "64 MB are too little"}},
        {"resources.loader_threads", {P::kSpec, {"resources.loader_threads=2"}, ""}},
        {"resources.data_workers.min",
         {P::kSpec,
          {"resources.data_workers={min: 1, max: 2}"},
          "",
          {"resources.data_workers={min: 2, max: 2}"}}},
        {"resources.data_workers.max", {P::kSpec, {"resources.data_workers={max: 1}"}, ""}},
        {"resources.data_workers.beside_ranks",
         {P::kSpec, {"resources.data_workers.beside_ranks=2"}, ""}},
        {"resources.gpus_per_rank",
         {P::kRefused, {"resources.gpus_per_rank=2"}, "computes on one GPU"}},
    };
}

Cases stepCases() {
    return {
        {"recipe.name", {P::kStream, {}, "", {}, {"{name: few, ", "{name: other, "}}},
        {"recipe.enabled", {P::kStream, {"recipe.few.enabled=false"}, ""}},
        {"recipe.filter", {P::kStream, {"recipe.first.filter=value >= 50"}, ""}},
        {"recipe.weight", {P::kTable, {"recipe.heavy.weight=2"}, ""}},
        {"recipe.derive", {P::kStream, {"recipe.made.derive.half=value / 4.0"}, ""}},
        {"recipe.select",
         {P::kRefused,
          {},
          "age",
          {},
          {"labels:", "  - {name: chosen, select: [value, label]}\nlabels:"}}},
        {"recipe.join.table", {P::kStream, {"recipe.joined.join.table=others.csv"}, ""}},
        {"recipe.join.on", {P::kStream, {"recipe.joined.join.on={value: user}"}, ""}},
        {"recipe.join.take", {P::kStream, {"recipe.joined.join.take={age: 2 * age}"}, ""}},
        {"recipe.join.as_of.left", {P::kStream, {"recipe.priced.join.as_of.left=t2"}, ""}},
        {"recipe.join.as_of.right", {P::kStream, {"recipe.priced.join.as_of.right=until"}, ""}},
        {"recipe.join.as_of.tolerance",
         {P::kStream, {"recipe.priced.join.as_of.tolerance=60"}, ""}},
        {"recipe.join.on_duplicate",
         {P::kRefused,
          {"recipe.joined.join.table=twice.csv", "recipe.joined.join.on_duplicate=error"},
          "occurs twice"}},
        {"recipe.join.missing",
         {P::kStream,
          {"recipe.joined.join.missing=drop", "recipe.joined.join.table=few.csv"},
          "",
          {"recipe.joined.join.table=few.csv"}}},
        {"recipe.semi_join.table", {P::kStream, {"recipe.there.semi_join.table=few.csv"}, ""}},
        {"recipe.semi_join.on", {P::kStream, {"recipe.there.semi_join.on={value: user}"}, ""}},
        {"recipe.anti_join.table", {P::kStream, {"recipe.gone.anti_join.table=few.csv"}, ""}},
        {"recipe.anti_join.on", {P::kStream, {"recipe.gone.anti_join.on={value: user}"}, ""}},
        {"recipe.sample.where", {P::kStream, {"recipe.few.sample.where=label = 1"}, ""}},
        {"recipe.sample.keep", {P::kStream, {"recipe.few.sample.keep=0.5"}, ""}},
        {"recipe.sample.weight", {P::kTable, {"recipe.few.sample.weight=none"}, ""}},
        {"recipe.sample.by", {P::kStream, {"recipe.few.sample.by=[value, user]"}, ""}},
        {"recipe.sample.redraw",
         {P::kStream, {"recipe.few.sample.redraw=each_epoch"}, "", {"batch.epochs=2"}}},
        {"recipe.hash.column", {P::kStream, {"recipe.hashed.hash.column=seen"}, ""}},
        {"recipe.hash.as", {P::kRefused, {"recipe.hashed.hash.as=other"}, "tag_id"}},
        {"recipe.hash.buckets", {P::kStream, {"recipe.hashed.hash.buckets=20"}, ""}},
        {"recipe.hash.seed", {P::kStream, {"recipe.hashed.hash.seed=3"}, ""}},
        {"recipe.bucketize.column", {P::kStream, {"recipe.banded.bucketize.column=user"}, ""}},
        {"recipe.bucketize.as", {P::kRefused, {"recipe.banded.bucketize.as=other"}, "band"}},
        {"recipe.bucketize.boundaries",
         {P::kStream, {"recipe.banded.bucketize.boundaries=[50, 70]"}, ""}},
        {"recipe.truncate.column", {P::kStream, {"recipe.cut.truncate.column=list"}, ""}},
        {"recipe.truncate.as", {P::kRefused, {"recipe.cut.truncate.as=other"}, "recent"}},
        {"recipe.truncate.length", {P::kStream, {"recipe.cut.truncate.length=2"}, ""}},
        {"recipe.truncate.from", {P::kStream, {"recipe.cut.truncate.from=last"}, ""}},
    };
}

Cases featureCases() {
    const std::string seen = "features.sequences.seen.";
    return {
        {"features.dense", {P::kStream, {"features.dense=[half]"}, ""}},
        {"features.vectors", {P::kRefused, {"features.vectors=[half]"}, "with a `size`"}},
        {"features.ids", {P::kStream, {"features.ids=[user, tag_id]"}, ""}},
        {"features.lists",
         {P::kStream,
          {"features.lists=[list, recent, others]", "embeddings.others={rows: 8}"},
          ""}},
        {"features.weighted.name",
         {P::kRefused, {}, "'x' has no number of ids", {}, {"{name: strong, ", "{name: x, "}}},
        {"features.weighted.ids", {P::kStream, {}, "", {}, {"ids: items, ", "ids: others, "}}},
        {"features.weighted.weights",
         {P::kTable, {}, "", {}, {"weights: strengths", "weights: doubled"}}},
        {"features.sequences.*.columns",
         {P::kStream, {seen + "columns=[items, times, later]"}, ""}},
        {"features.sequences.*.time", {P::kRefused, {seen + "time=none"}, "none"}},
        {"features.sequences.*.before", {P::kStream, {seen + "before=t2"}, ""}},
        {"features.sequences.*.last", {P::kStream, {seen + "last=1"}, ""}},
        {"features.carry", {P::kStream, {"features.carry=[value, user]"}, ""}},
        {"features.request", {P::kSpec, {"features.request=user"}, ""}},
        {"features.user", {P::kSpec, {"features.user=user"}, ""}},
        {"features.dedup", {P::kSpec, {"features.dedup=off"}, "", {"features.request=user"}}},
        {"embeddings.*.features",
         {P::kRefused, {"embeddings.user.features=[nobody]"}, "'user' has no number of ids"}},
        {"embeddings.*.rows", {P::kStream, {"embeddings.user.rows=16"}, ""}},
        {"embeddings.*.dim", {P::kSpec, {"embeddings.user.dim=2"}, ""}},
        {"embeddings.*.vocabulary.table",
         {P::kStream,
          {"embeddings.user.vocabulary.table=others.csv"},
          "",
          {},
          {"user: {rows: 64}", "user: {vocabulary: {table: users.csv, column: user}}"}}},
        {"embeddings.*.vocabulary.column",
         {P::kStream,
          {"embeddings.user.vocabulary.column=age"},
          "",
          {},
          {"user: {rows: 64}", "user: {vocabulary: {table: users.csv, column: user}}"}}},
        {"embeddings.*.vocabulary.on_duplicate",
         {P::kRefused,
          {"embeddings.user.vocabulary.on_duplicate=error"},
          "occurs twice",
          {"embeddings.user.vocabulary.on_duplicate=first"},
          {"user: {rows: 64}", "user: {vocabulary: {table: twice.csv, column: user}}"}}},
        {"embeddings.*.vocabulary.min_count",
         {P::kStream,
          {"embeddings.user.vocabulary={min_count: 1000000}"},
          "",
          {},
          {"user: {rows: 64}", "user: {vocabulary: auto}"}}},
        {"embeddings.*.vocabulary.max_rows",
         {P::kStream,
          {"embeddings.user.vocabulary={max_rows: 2}"},
          "",
          {},
          {"user: {rows: 64}", "user: {vocabulary: auto}"}}},
        {"batch.rows", {P::kSpec, {"batch.rows=32"}, ""}},
        {"batch.micro_rows", {P::kStream, {"batch.micro_rows=32"}, ""}},
        {"batch.epochs", {P::kStream, {"batch.epochs=2"}, ""}},
        {"batch.seed", {P::kStream, {"batch.seed=8"}, ""}},
        {"batch.shuffle", {P::kStream, {"batch.shuffle=none"}, ""}},
        {"batch.order", {P::kStream, {"batch.order=as_is"}, ""}},
        {"batch.segment_splits", {P::kStream, {"batch.segment_splits=1"}, ""}},
    };
}

Cases optimisationCases() {
    const std::vector<std::string> stop = {"eval.every_steps=2", "train.early_stop.patience=2"};
    return {
        {"train.clip_norm", {P::kSpec, {"train.clip_norm=1"}, ""}},
        {"train.dropout", {P::kSpec, {"train.dropout=0.1"}, ""}},
        {"train.groups.dense.optimizer", {P::kSpec, {"train.groups.dense.optimizer=adamw"}, ""}},
        {"train.groups.dense.learning_rate",
         {P::kSpec, {"train.groups.dense.learning_rate=0.5"}, ""}},
        {"train.groups.dense.weight_decay", {P::kSpec, {"train.groups.dense.weight_decay=0"}, ""}},
        {"train.groups.dense.momentum", {P::kSpec, {"train.groups.dense.momentum=0.9"}, ""}},
        {"train.groups.embeddings.optimizer",
         {P::kSpec, {"train.groups.embeddings.optimizer=rowwise_adagrad"}, ""}},
        {"train.groups.embeddings.learning_rate",
         {P::kSpec, {"train.groups.embeddings.learning_rate=0.5"}, ""}},
        {"train.groups.embeddings.weight_decay",
         {P::kSpec, {"train.groups.embeddings.weight_decay=0.1"}, ""}},
        {"train.groups.embeddings.momentum",
         {P::kSpec, {"train.groups.embeddings.momentum=0.9"}, ""}},
        {"train.early_stop.patience",
         {P::kRefused, {"train.early_stop.patience=2"}, "eval with every_steps"}},
        {"train.early_stop.metric", {P::kSpec, {"train.early_stop.metric=eval.auc"}, "", stop}},
        {"train.early_stop.min_delta", {P::kSpec, {"train.early_stop.min_delta=0.1"}, "", stop}},
        {"train.early_stop.mode", {P::kSpec, {"train.early_stop.mode=max"}, "", stop}},
        {"train.schedule.type",
         {P::kRefused, {"train.schedule.type=cosine"}, "train.schedule.steps: type cosine needs"}},
        {"train.schedule.warmup_steps", {P::kSpec, {"train.schedule.warmup_steps=10"}, ""}},
        {"train.schedule.steps", {P::kSpec, {"train.schedule={type: linear, steps: 100}"}, ""}},
        {"train.schedule.final",
         {P::kSpec,
          {"train.schedule.final=0.1"},
          "",
          {"train.schedule={type: cosine, steps: 100}"}}},
        {"train.schedule.every_steps",
         {P::kSpec, {"train.schedule={type: step, every_steps: 10}"}, ""}},
        {"train.schedule.factor",
         {P::kSpec,
          {"train.schedule.factor=0.5"},
          "",
          {"train.schedule={type: step, every_steps: 10}"}}},
    };
}

Cases trainingCases() {
    const std::vector<std::string> mean = {"model={type: target_mean, keys: [user]}"};
    const std::vector<std::string> dcn = {"model={type: dcn_v2, embedding_dim: 4}"};
    return {
        {"model.type", {P::kSpec, {"model.type=dlrm", "model.hidden=[]"}, ""}},
        {"model.embedding_dim", {P::kSpec, {"model.embedding_dim=8"}, ""}},
        {"model.bottom",
         {P::kSpec, {"model.bottom=[8, 4]"}, "", {"model={type: dlrm, embedding_dim: 4}"}}},
        {"model.top",
         {P::kSpec, {"model.top=[8, 1]"}, "", {"model={type: dlrm, embedding_dim: 4}"}}},
        {"model.hidden", {P::kSpec, {"model.hidden=[8]"}, ""}},
        {"model.cross_layers", {P::kSpec, {"model.cross_layers=2"}, "", dcn}},
        {"model.cross_rank", {P::kSpec, {"model.cross_rank=2"}, "", dcn}},
        {"model.keys", {P::kSpec, {"model.keys=[band]"}, "", mean}},
        {"model.smoothing", {P::kSpec, {"model.smoothing=9"}, "", mean}},
        {"train.optimizer", {P::kSpec, {"train.optimizer=adagrad"}, ""}},
        {"train.learning_rate", {P::kSpec, {"train.learning_rate=0.5"}, ""}},
        {"train.weight_decay", {P::kSpec, {"train.weight_decay=0.5"}, ""}},
        {"train.momentum", {P::kSpec, {"train.momentum=0.5"}, ""}},
        {"train.precision", {P::kSpec, {"train.precision=bf16"}, ""}},
        {"train.device", {P::kRefused, {"train.device=cuda"}, "resources.gpus_per_rank: 1"}},
        {"train.deterministic", {P::kRefused, {"train.deterministic=false"}, "leave the key out"}},
        {"train.tf32", {P::kRefused, {"train.tf32=true"}, "on a GPU"}},
        {"train.ranks", {P::kSpec, {"train.ranks=2"}, "", kScript, kNoModel}},
        {"train.nodes",
         {P::kSpec,
          {"train.nodes=2"},
          "",
          {"command=[python3, train.py]", "train.ranks=2"},
          kNoModel}},
        {"train.no_progress_minutes",
         {P::kSpec, {"train.no_progress_minutes=5"}, "", kScript, kNoModel}},
        {"train.exit_minutes", {P::kSpec, {"train.exit_minutes=5"}, "", kScript, kNoModel}},
        {"train.threads", {P::kSpec, {"train.threads=2"}, ""}},
        {"train.max_steps", {P::kSpec, {"train.max_steps=2"}, ""}},
        {"train.checkpoint.every_steps", {P::kSpec, {"train.checkpoint.every_steps=2"}, ""}},
        {"train.checkpoint.keep", {P::kSpec, {"train.checkpoint.keep=2"}, ""}},
        {"train.checkpoint.copy", {P::kSpec, {"train.checkpoint.copy=false"}, ""}},
        {"train.max_restarts", {P::kSpec, {"train.max_restarts=0"}, ""}},
        {"train.init_from", {P::kSpec, {"train.init_from=r-abcde"}, ""}},
        {"train.init_from.run", {P::kSpec, {"train.init_from.run=r-abcde"}, ""}},
        {"train.init_from.optimizer",
         {P::kSpec, {"train.init_from={run: r-abcde, optimizer: true}"}, ""}},
        {"train.init_from.best", {P::kSpec, {"train.init_from={run: r-abcde, best: true}"}, ""}},
        {"eval.dataset.path", {P::kSpec, {"eval.dataset.path=part-1.csv"}, ""}},
        {"eval.dataset.format",
         {P::kRefused, {"eval.dataset={path: part-0.csv, format: parquet}"}, "part-0.csv"}},
        {"eval.dataset.where",
         {P::kRefused, {"eval.dataset.where=value < 0"}, "there is nothing to evaluate"}},
        {"eval.every_steps", {P::kSpec, {"eval.every_steps=2"}, ""}},
        {"eval.metrics", {P::kSpec, {"eval.metrics=[auc]"}, ""}},
        {"eval.recipe", {P::kRefused, {"eval.recipe=[]"}, "in evaluation"}},
    };
}

// Adds the same keys for every kind of side table. `set`: path of the table's section for --set.
void addTableCases(const std::string& key, const std::string& set, const KeyCase& base,
                   Cases& all) {
    const auto add = [&](const char* name, Proof proof, const char* value, const char* text) {
        KeyCase one = base;
        one.proof = proof;
        one.text = text;
        one.sets = {strCat(set, ".csv.", name, "=", value)};
        all[strCat(key, ".csv.", name)] = one;
    };
    add("delimiter", P::kRefused, ";", "'user'");
    add("header", P::kRefused, "false", "'user'");
    add("types", P::kSpec, "{user: double}", "");
    add("quote", P::kRefused, "u", "is opened here");
    add("comment", P::kStream, "4", "");
    add("skip_rows", P::kRefused, "1", "'user'");
    add("decimal_comma", P::kRefused, "true", "the delimiter must be another");
    add("null_values", P::kStream, "['5']", "");
    add("on_bad_row", P::kSpec, "drop", "");
}

Cases tableCases() {
    const std::string few = ".table=few.csv";
    Cases all;
    addTableCases("recipe.join", "recipe.joined.join",
                  {P::kSpec, {}, "", {"recipe.joined.join" + few}}, all);
    addTableCases("recipe.semi_join", "recipe.there.semi_join", {P::kSpec, {}, ""}, all);
    addTableCases("recipe.anti_join", "recipe.gone.anti_join",
                  {P::kSpec, {}, "", {"recipe.gone.anti_join" + few}}, all);
    addTableCases("embeddings.*.vocabulary", "embeddings.user.vocabulary",
                  {P::kSpec,
                   {},
                   "",
                   {"embeddings.user.rows=null",
                    "embeddings.user.vocabulary={table: few.csv, column: user}"}},
                  all);
    return all;
}

Cases cases() {
    Cases all = generalCases();
    for (auto part :
         {stepCases(), tableCases(), featureCases(), trainingCases(), optimisationCases()}) {
        all.merge(part);
    }
    return all;
}

class KeyTable : public LoaderProgram {
 protected:
    void SetUp() override {
        for (int f = 0; f < 2; ++f) {
            std::ofstream out(directory_ / strCat("part-", f, ".csv"));
            out << "user,value,label,tags,seen,seen_at,t,t2,tags2\n";
            for (int r = 0; r < 500; ++r) {
                out << r % 37 << ',' << 2 * r + f << ',' << r % 2 << ",a|b" << r % 5 << ',' << r % 7
                    << '|' << r % 11 << ",2024-01-01 00:00:00|2024-01-03 00:00:00,"
                    << "2024-01-04 00:00:00,2024-01-02 00:00:00," << r % 3 << "|9\n";
            }
        }
        write("blocked.csv", "user\n3\n");
        write("few.csv", "user,age\n4,9\n5,9\n");
        std::string users = "user,age\n", others = users, prices = "user,since,until,price\n";
        for (int u = 0; u < 37; ++u) {
            strAppend(&users, u, ",", 20 + u, "\n");
            strAppend(&others, 36 - u, ",", 50 + u, "\n");
            strAppend(&prices, u, ",2024-01-01 00:00:00,2024-01-02 00:00:00,", u, "\n", u,
                      ",2024-01-03 12:00:00,2024-01-06 00:00:00,", 100 + u, "\n");
        }
        write("users.csv", users);
        write("others.csv", others);
        write("twice.csv", users + "1,70\n");
        write("prices.csv", prices);
    }

    static std::string textOf(const KeyCase& one, bool isChanged) {
        std::string text = kSpec;
        const auto at = one.edit.first.empty() ? std::string::npos : text.find(one.edit.first);
        // If a case has sets, its edit belongs to the base and is applied first.
        if (at != std::string::npos && (isChanged || !one.sets.empty())) {
            text.replace(at, one.edit.first.size(), one.edit.second);
        }
        EXPECT_TRUE(one.edit.first.empty() || at != std::string::npos) << one.edit.first;
        return text;
    }
    static std::vector<std::string> setsOf(const KeyCase& one, bool isChanged) {
        std::vector<std::string> sets = one.before;
        if (isChanged) {
            sets.insert(sets.end(), one.sets.begin(), one.sets.end());
        }
        return sets;
    }
    Json resolved(const KeyCase& one, bool isChanged) {
        Json request = resolveRequest(textOf(one, isChanged));
        request["op"] = "check";
        request["variations"] = "all";
        request["sets"] = setsOf(one, isChanged);
        Json& answer = answers_[dumpJson(request)];
        if (answer.is_null()) {
            answer = inspect(request);
        }
        return answer;
    }
    /// Streams the case; the result differs if other rows or values are delivered, or in another
    /// order.
    std::string streamed(const KeyCase& one, bool isChanged) {
        const std::string text = textOf(one, isChanged);
        std::vector<std::string> more;
        std::string name = text;
        for (const std::string& set : setsOf(one, isChanged)) {
            more.insert(more.end(), {"--set", set});
            name += set;
        }
        std::string& stream = streams_[name];
        if (!stream.empty()) {
            return stream;
        }
        write("spec.yaml", text);
        const Json json = report(more);
        return stream = strCat(dumpJson(json["rows_delivered"]), dumpJson(json["checksum"]),
                               dumpJson(json["order_hash"]), dumpJson(json["micro_batches"]));
    }
    /// The rows as a table, with labels and weights.
    std::string exported(const KeyCase& one, bool isChanged) {
        const std::string table = strCat(directory_.path(), "/table-", numTables_++);
        std::vector<std::string> all = {"stream", "spec.yaml", "--sink", "csv", "--output", table};
        for (const std::string& set : setsOf(one, isChanged)) {
            all.insert(all.end(), {"--set", set});
        }
        write("spec.yaml", textOf(one, isChanged));
        const SubprocessOutput output = run(all);
        EXPECT_EQ(output.exitCode, 0) << output.err;
        std::string rows;
        for (const auto& file : std::filesystem::directory_iterator(table)) {
            rows += file.path().extension() == ".csv" ? *readFile(file.path()) : "";
        }
        EXPECT_GT(rows.size(), 1000U);
        return rows;
    }
    /// Tries what the case claims of its key; returns "" if it holds, else what does not.
    std::string disproof(const KeyCase& one) {
        const Json changed = resolved(one, true);
        if (one.proof == P::kRefused) {
            const std::string errors = dumpJson(changed["errors"]);
            return changed["ok"] == false && errors.find(one.text) != std::string::npos
                       ? ""
                       : strCat("not refused with '", one.text, "': ", errors);
        }
        const Json base = resolved(one, false);
        if (base["ok"] != true || changed["ok"] != true) {
            return strCat("refused: ", dumpJson(base["errors"]), " ", dumpJson(changed["errors"]));
        }
        if (base["runs"][0]["resolved_spec"] == changed["runs"][0]["resolved_spec"]) {
            return "the resolved spec stays the same";
        }
        if (one.proof == P::kStream && streamed(one, false) == streamed(one, true)) {
            return "the same rows, values and order are streamed";
        }
        const bool isSameTable =
            one.proof == P::kTable && exported(one, false) == exported(one, true);
        return isSameTable ? "the same table is exported" : "";
    }
    /// The keys among `some` that lack the effect that their case names, with what was found.
    std::map<std::string, std::string> withoutEffect(const Cases& some) {
        std::map<std::string, std::string> found;
        for (const auto& [path, one] : some) {
            SCOPED_TRACE(path);
            if (const std::string why = disproof(one); !why.empty()) {
                found[path] = why;
            }
        }
        return found;
    }

 private:
    std::map<std::string, Json> answers_;         ///< by request, because many cases share a base
    std::map<std::string, std::string> streams_;  ///< by text and sets
    int numTables_ = 0;
};

TEST_F(KeyTable, EveryKeyHasACaseHereOrKeysBelowIt) {
    const auto known = cases();
    for (const spec::Key& key : spec::keyTable()) {
        const std::string path(key.path);
        const bool isWhole = key.type == spec::KeyType::kRecipe;
        const bool hasBelow =
            !spec::keysBelow(path).empty() || !spec::keysBelow(path + ".*").empty();
        EXPECT_TRUE(known.contains(path) || (hasBelow && !isWhole))
            << path << ": say in keys_test.cpp what it does, or what refuses it";
    }
    for (const auto& [path, one] : known) {
        EXPECT_NE(spec::findKey(path), nullptr) << path << " is not a key";
    }
}

TEST_F(KeyTable, EveryGeneralKeyHasAnEffectOrIsRefused) {
    EXPECT_THAT(withoutEffect(generalCases()), IsEmpty());
}

TEST_F(KeyTable, EveryKeyOfAStepHasAnEffectOrIsRefused) {
    EXPECT_THAT(withoutEffect(stepCases()), IsEmpty());
}

TEST_F(KeyTable, EveryKeyOfASideTablesCsvHasAnEffectOrIsRefused) {
    EXPECT_THAT(withoutEffect(tableCases()), IsEmpty());
}

TEST_F(KeyTable, EveryKeyOfFeaturesAndBatchesHasAnEffectOrIsRefused) {
    EXPECT_THAT(withoutEffect(featureCases()), IsEmpty());
}

TEST_F(KeyTable, EveryKeyOfTrainingHasAnEffectOrIsRefused) {
    EXPECT_THAT(withoutEffect(trainingCases()), IsEmpty());
    EXPECT_THAT(withoutEffect(optimisationCases()), IsEmpty());
}

TEST_F(KeyTable, RunsAreRefusedAsCheckRefusesThem) {
    for (const char* set : {"train.tf32=true", "resources.gpus_per_rank=2",
                            "resources.memory_limit_mb=64", "embeddings.user.rows=900000000000"}) {
        Json request = resolveRequest(kSpec);
        request["sets"] = {set};
        const Json run = inspect(request);
        request["op"] = "check";
        EXPECT_EQ(run["ok"], false) << set;
        EXPECT_EQ(run["errors"], inspect(request)["errors"]) << set;
    }
}

}  // namespace
}  // namespace millrace

#include <gmock/gmock.h>

#include "backend/spec/given_dataset.h"
#include "backend/spec/spec_reader.h"
#include "backend/spec/yaml/yaml_text.h"
#include "tests/unit/spec/movielens_spec.h"

namespace millrace::spec {
namespace {

/// "LINE:COLUMN message" of the only error.
std::string errorIn(const std::string& text) {
    const SpecErrors errors = readSpec(text).errors;
    EXPECT_EQ(errors.size(), 1U);
    return errors.empty() ? ""
                          : strCat(errors[0].line, ":", errors[0].column, " ", errors[0].message);
}

std::string withTrain(const std::string& train) {
    return "dataset: {path: a.parquet}\nlabel: y > 0\nfeatures: {dense: [x]}\n" + train + "\n";
}

RunSpec specOf(const std::string& text) {
    ResolvedSpec read = readSpec(text);
    EXPECT_TRUE(read.ok()) << toStatus(read.errors, "spec");
    return read.spec.value_or(RunSpec());
}

TEST(SpecForms, AKeyOfAnotherSectionOrLibraryIsNamedAsItIsHere) {
    const std::pair<const char*, const char*> cases[] = {
        {"train: {lr: 0.1}", "4:9 unknown key 'lr' in train; did you mean 'learning_rate'?"},
        {"train: {batch_size: 64}",
         "4:9 unknown key 'batch_size' in train; did you mean 'batch.rows'?"},
        {"train: {epochs: 2}", "4:9 unknown key 'epochs' in train; did you mean 'batch.epochs'?"},
        {"learning_rate: 0.1",
         "4:1 unknown key 'learning_rate'; did you mean 'train.learning_rate'?"}};
    for (const auto& [line, wanted] : cases) {
        EXPECT_EQ(errorIn(withTrain(line)), wanted);
    }
}

TEST(SpecForms, ATableOfASequenceIsNamedByItsColumn) {
    const auto embeddings = [](const std::string& section) {
        return "dataset: {path: a}\nlabel: y\nfeatures: {ids: [item], sequences: {hist: {columns: "
               "[items, at], time: at, before: t, last: 5}}}\nembeddings: {item: {rows: 9}, " +
               section + "}\n";
    };
    EXPECT_TRUE(readSpec(embeddings("items: {rows: 9}")).ok());
    EXPECT_EQ(errorIn(embeddings("x: {features: [hist.items], rows: 9}")),
              "4:34 embeddings.x: 'hist.items' is the column 'items' of a sequence; name it items "
              "here");
    EXPECT_EQ(errorIn(embeddings("hist.items: {rows: 9}")),
              "4:43 embeddings.hist.items: 'hist.items' is the column 'items' of a sequence; name "
              "it items here");
    EXPECT_EQ(errorIn(embeddings("hist: {rows: 9}")),
              "4:37 embeddings.hist: 'hist' is a sequence; name its columns, as in items, at");
}

TEST(SpecForms, VectorsMayGiveTheSizeOfPlainLists) {
    const std::string head = "dataset: {path: a}\nlabel: y\nfeatures: {vectors: ";
    const RunSpec spec = specOf(head + "[v, {column: w, size: 64}]}\n");
    EXPECT_EQ(spec.features.vectors, (std::vector<std::string>{"v", "w"}));
    EXPECT_EQ(spec.features.vectorSizes, (std::map<std::string, std::int64_t>{{"w", 64}}));
    EXPECT_EQ(RunSpec::fromJson(spec.toJson())->features.vectorSizes, spec.features.vectorSizes);
    EXPECT_FALSE(jsonMember(specOf(head + "v}\n").toJson(), "features").contains("vector_sizes"));
    EXPECT_EQ(errorIn(head + "[{column: w}]}\n"),
              "3:22 features.vectors[0] must be a column, or {column: x, size: 64}, not a map");
    EXPECT_EQ(errorIn(head + "[{column: w, size: 0}]}\n"),
              "3:40 features.vectors[0].size must be at least 1, not 0");
    EXPECT_EQ(
        errorIn(head + "[{column: \"w*\", size: 4}]}\n"),
        "3:21 features.vectors: 'w*' is a pattern; `size` belongs to one column, so name each");
}

TEST(SpecForms, AnotherRunIsNamedAloneOrWithWhatIsTaken) {
    const RunSpec plain = specOf(withTrain("train: {init_from: r-abcde}"));
    EXPECT_EQ(plain.train.initFrom, "r-abcde");
    EXPECT_FALSE(plain.train.initOptimizer || plain.train.initBest);
    EXPECT_EQ(jsonString(jsonMember(plain.toJson(), "train"), "init_from"), "r-abcde");
    const RunSpec more = specOf(withTrain("train: {init_from: {run: r-abcde, best: true}}"));
    EXPECT_EQ(more.train.initFrom, "r-abcde");
    EXPECT_TRUE(more.train.initBest && !more.train.initOptimizer);
    EXPECT_TRUE(RunSpec::fromJson(more.toJson())->train.initBest);
    EXPECT_EQ(errorIn(withTrain("train: {init_from: {best: true}}")),
              "4:20 train.init_from.run is missing: the run whose checkpoint is taken");
}

TEST(SpecForms, EvaluationRowsNeedNoLabelsAndNothingThatOnlyTheyNeed) {
    ResolvedSpec read = readSpec(
        "dataset: {path: a.csv, where: \"day < 7\"}\nlabels: {liked: good > 0}\n"
        "features: {dense: [\"x*\"]}\n"
        "recipe:\n  - derive: {good: rating - 3}\n  - filter: rating is not null\n"
        "  - derive: {half: x / 2}\n  - derive: {x2: half * 4}\n"
        "eval: {dataset: {path: new.csv}}\n");
    ASSERT_TRUE(read.ok()) << toStatus(read.errors, "spec");
    const RunSpec spec = evaluationRows(*read.spec);
    EXPECT_EQ(spec.dataset.path, std::vector<std::string>{"new.csv"});
    EXPECT_EQ(spec.dataset.where, "");
    ASSERT_EQ(spec.recipe.size(), 2U);
    EXPECT_EQ(spec.recipe[0].makes()[0].name, "half");
    EXPECT_EQ(spec.eval->recipe.size(), 2U);
    EXPECT_TRUE(spec.labels.empty() && spec.eval->labels.empty() && spec.eval->labelRecipe.empty());
    SpecOptions options;
    options.needsLabels = false;
    EXPECT_TRUE(readSpec("dataset: {path: a}\nfeatures: {dense: [x]}\n", options).ok());
}

TEST(SpecReader, CsvOptionsOfTheCommandLineAreKeysOfDatasetCsv) {
    const auto read = [](const std::vector<std::string>& csv, const char* path = "a.csv") {
        return datasetOf({path}, "", csv);
    };
    const auto given = read({"delimiter=;", "decimal_comma=true", "null_values=[x, '-']",
                             "types.price=double", "skip_rows=2", "header=false"});
    ASSERT_TRUE(given.ok()) << given.status();
    EXPECT_EQ(given->format, "csv");
    TableRef table(given->path);
    table.csv = given->csv;
    EXPECT_EQ(csvText(table),
              "{delimiter: \";\", header: false, types: {price: double}, skip_rows: 2, "
              "decimal_comma: true, null_values: [x, \"-\"]}");
    EXPECT_EQ(read({"null_values=?"})->csv.nullValues, std::vector<std::string>{"?"});
    EXPECT_EQ(read({"delimiter=|"})->csv.delimiter, "|");
    EXPECT_EQ(read({}, "a.tsv")->csv.delimiter, "\t");
    EXPECT_EQ(read({}, "a.data")->format, "parquet");
    const std::pair<const char*, const char*> wrong[] = {
        {"on_bad_row", "--csv 'on_bad_row': write KEY=VALUE"},
        {"decimal_coma=true", "decimal_comma"},
        {"on_bad_row=skip", "must be error or drop"},
        {"delimiter=ab", "must be one character"},
        {"decimal_comma=true", "the delimiter must be another"},
        {"null_values=[a", "--csv null_values: "}};
    for (const auto& [set, message] : wrong) {
        EXPECT_THAT(messageOf(read({set}).status()), testing::HasSubstr(message)) << set;
    }
    EXPECT_THAT(messageOf(read({"header=false"}, "a.parquet").status()),
                testing::HasSubstr("a.parquet is read as parquet, and --csv and --delimiter are "
                                   "for CSV files; --format csv reads it as CSV"));
}

TEST(SpecForms, WorkersBesideRanksAreAWordOrANumber) {
    const std::string nodes = "train: {ranks: 2, nodes: 2}\n";
    const auto with = [&](const std::string& value) {
        return withTrain(nodes + "resources: {data_workers: {beside_ranks: " + value + "}}");
    };
    const RunSpec usual = specOf(withTrain(nodes));
    EXPECT_EQ(usual.resources.besideRanks, std::nullopt);
    EXPECT_TRUE(usual.mayHaveWorkersBesideRanks());
    EXPECT_EQ(specHash(specOf(with("auto"))), specHash(usual));
    EXPECT_EQ(usual.toJson()["resources"]["data_workers"].count("beside_ranks"), 0U)
        << "specs from before the key keep their hashes";
    const RunSpec four = specOf(with("4"));
    EXPECT_EQ(four.resources.besideRanks, 4);
    EXPECT_EQ(four.toJson()["resources"]["data_workers"]["beside_ranks"], 4);
    EXPECT_EQ(RunSpec::fromJson(four.toJson())->resources.besideRanks, 4);
    EXPECT_EQ(streamHash(four), streamHash(usual));
    EXPECT_FALSE(specOf(with("0")).mayHaveWorkersBesideRanks());
    EXPECT_EQ(
        errorIn(with("many")),
        "5:42 resources.data_workers.beside_ranks must be auto or a whole number, not 'many'");
    EXPECT_EQ(errorIn(with("-1")),
              "5:42 resources.data_workers.beside_ranks must be auto, or at least 0 and at most "
              "1024, not -1");
}

TEST(SpecForms, WorkersBesideRanksOfOneNodeAreWarnedOf) {
    const auto warnings = [](const std::string& value, const std::string& nodes) {
        return readSpec(withTrain("train: {ranks: 2, nodes: " + nodes +
                                  "}\nresources: {data_workers: {beside_ranks: " + value + "}}"))
            .warnings;
    };
    EXPECT_THAT(warnings("2", "1"),
                testing::ElementsAre(testing::HasSubstr("beside_ranks has no effect")));
    EXPECT_THAT(warnings("2", "2"), testing::IsEmpty());
    EXPECT_THAT(warnings("0", "1"), testing::IsEmpty());
    EXPECT_THAT(warnings("auto", "1"), testing::IsEmpty());
    EXPECT_THAT(errorIn("command: [true]\nresources: {data_workers: {beside_ranks: 2}}\n"),
                testing::HasSubstr("is for the stream of a dataset, and the spec has none"));
}

TEST(SpecForms, ALabelThatIsAFeatureIsWarnedOf) {
    const auto warningsOf = [](const std::string& label, const std::string& dense = "delay") {
        return readSpec("dataset: {path: a.csv}\nlabels: {late: '" + label +
                        "'}\nfeatures: {dense: [\"" + dense + "\"]}\n")
            .warnings;
    };
    EXPECT_THAT(warningsOf("delay > 6"),
                testing::ElementsAre(testing::HasSubstr("'late' is computed from 'delay' alone")));
    EXPECT_THAT(warningsOf("arrived - delay > 6"), testing::IsEmpty());
    EXPECT_THAT(warningsOf("delay > 6", "de*"),
                testing::ElementsAre(testing::AllOf(testing::HasSubstr("from 'delay' alone"),
                                                    testing::HasSubstr("which 'de*' matches"))));
    EXPECT_THAT(warningsOf("delay > 6", "ar*"), testing::IsEmpty());
}

}  // namespace
}  // namespace millrace::spec

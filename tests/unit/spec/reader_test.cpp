#include <gmock/gmock.h>

#include "backend/spec/spec_reader.h"
#include "tests/unit/spec/movielens_spec.h"

namespace millrace::spec {
namespace {

constexpr const char* kSmall = R"(dataset: {path: a.parquet}
label: y > 0
features: {dense: [x]}
)";

/// "LINE:COLUMN message", one a line.
std::string errorsOf(const std::string& text) {
    std::string all;
    for (const SpecError& e : readSpec(text).errors) {
        all += strCat(all.empty() ? "" : "\n", e.line, ":", e.column, " ", e.message);
    }
    return all;
}

std::string withLine(const std::string& line) {
    return std::string(kSmall) + line + "\n";
}

TEST(SpecReader, ACsvDialectOfCharactersThatClashIsRefused) {
    const auto messageFor = [](const std::string& csv) {
        const auto read = readSpec("dataset: {path: a.csv, csv: {" + csv +
                                   "}}\nlabel: k = 1\nfeatures: {dense: [k]}\n");
        return read.errors.empty() ? std::string() : read.errors.front().message;
    };
    for (const char* csv : {"delimiter: \"\\t\"", "delimiter: '|', quote: ''",
                            "delimiter: ';', decimal_comma: true, null_values: ['-', none]"}) {
        EXPECT_EQ(messageFor(csv), "") << csv;
    }
    const std::pair<const char*, const char*> refused[] = {
        {"delimiter: \"\\n\"", "delimiter cannot be a line end"},
        {"delimiter: \"\\r\"", "delimiter cannot be a line end"},
        {"comment: \"\\n\"", "comment cannot be a line end"},
        {"delimiter: '\"'", "must be different characters"},
        {"comment: ','", "must be different characters"},
        {"comment: '\"'", "must be different characters"},
        {"delimiter: ab", "must be one character"},
        {"quote: é", "must be one character"},
        {"decimal_comma: true", "the delimiter must be another one"},
        {"on_bad_row: skip", "must be error or drop"}};
    for (const auto& [csv, why] : refused) {
        EXPECT_THAT(messageFor(csv), testing::HasSubstr(why)) << csv;
    }
}

TEST(SpecReader, TheDelimiterOfTsvIsATab) {
    const auto delimiterOf = [](const std::string& dataset) {
        const auto read = readDataset("dataset: " + dataset + "\n", {});
        return read ? read->csv.delimiter : "nothing";
    };
    EXPECT_EQ(delimiterOf("{path: a.tsv}"), "\t");
    EXPECT_EQ(delimiterOf("{path: a.tab}"), "\t");
    EXPECT_EQ(delimiterOf("{path: [a.tsv.gz, b.csv]}"), "\t");
    EXPECT_EQ(delimiterOf("{path: a.tsv, csv: {delimiter: '|'}}"), "|");
    EXPECT_EQ(delimiterOf("{path: a.csv}"), ",");
    EXPECT_EQ(delimiterOf("{path: a.parquet}"), ",");
    EXPECT_EQ(delimiterOf("{path: d.tsv, format: parquet}"), ",");
    const auto read = readSpec(
        "dataset: {path: a.csv}\nlabel: k = 1\nfeatures: {dense: [k]}\nmodel: {type: mlp}\n"
        "eval: {dataset: {path: b.tsv}}\n");
    ASSERT_TRUE(read.ok()) << toStatus(read.errors, "spec");
    EXPECT_EQ(read.spec->dataset.csv.delimiter, ",");
    EXPECT_EQ(read.spec->eval->dataset.csv.delimiter, "\t");
}

TEST(SpecReader, ASideTableMayBeSeveralFilesAndSaysHowTheyAreWritten) {
    const auto read = [](const std::string& join) {
        return readSpec("dataset: {path: a.csv}\nrecipe: [{join: {" + join +
                        ", on: k, take: [v]}}]\nlabel: k = 1\nfeatures: {dense: [v]}\n"
                        "model: {type: mlp}\n");
    };
    const auto tableOf = [](const ResolvedSpec& one) {
        return one.spec->recipe[0].lookup()->table;
    };
    const auto messageFor = [&](const std::string& join) {
        const auto one = read(join);
        return one.errors.empty() ? std::string() : one.errors.front().message;
    };
    const auto plain = read("table: t.csv");
    ASSERT_TRUE(plain.ok()) << toStatus(plain.errors, "spec");
    EXPECT_EQ(plain.spec->toJson()["recipe"][0]["table"], "t.csv");
    EXPECT_FALSE(plain.spec->toJson()["recipe"][0].contains("csv"));
    EXPECT_EQ(tableOf(read("table: t.tsv")).csv.delimiter, "\t");
    EXPECT_EQ(tableOf(read("table: t.tsv, csv: {comment: '#'}")).csv.delimiter, "\t");
    const auto several =
        read("table: [t.csv, 'u*.csv'], csv: {null_values: [x], types: {v: double}}");
    ASSERT_TRUE(several.ok()) << toStatus(several.errors, "spec");
    const TableRef& table = several.spec->recipe[0].lookup()->table;
    EXPECT_EQ(table.text(), "t.csv, u*.csv");
    EXPECT_EQ(table.csv.nullValues, std::vector<std::string>{"x"});
    const auto back = RunSpec::fromJson(several.spec->toJson());
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->recipe[0].lookup()->table.key(), table.key());
    EXPECT_NE(table.key(), TableRef(table.paths).key());
    EXPECT_NE(streamHash(*several.spec), streamHash(*plain.spec));
    EXPECT_THAT(messageFor("table: [t.csv, u.parquet]"),
                testing::HasSubstr("u.parquet is not of the format of t.csv"));
    EXPECT_THAT(messageFor("table: t.parquet, csv: {header: false}"),
                testing::HasSubstr("recipe.join.csv is for CSV files; t.parquet is parquet"));
    EXPECT_THAT(messageFor("table: t.csv, csv: {delimiter: ab}"),
                testing::HasSubstr("recipe.join.csv.delimiter must be one character"));
}

TEST(SpecReader, ATextInAnotherEncodingIsRefused) {
    std::string wide;
    for (const char c : std::string(kSmall)) {
        wide += c;
        wide += '\0';
    }
    EXPECT_EQ(errorsOf("\xff\xfe" + wide).substr(0, 13), "1:1 not UTF-8");
    EXPECT_EQ(errorsOf(wide).substr(0, 27), "1:1 holds zero bytes, as UT");
    EXPECT_EQ(errorsOf(withLine("notes: \xe4")).substr(0, 13), "4:8 not UTF-8");
    EXPECT_EQ(errorsOf(withLine("notes: \xc3\xa4")), "");
}

TEST(SpecReader, TheFormatComesFromTheEnding) {
    const std::pair<const char*, const char*> cases[] = {
        {"a.parquet", "parquet"}, {"a.pq", "parquet"},    {"a.arrow", "arrow"},
        {"a.arrows", "arrow"},    {"a.feather", "arrow"}, {"a.csv", "csv"},
        {"a.tsv", "csv"},         {"a.tab.gz", "csv"},    {"a.txt", "csv"},
        {"a.csv.gz", "csv"},      {"a.tsv.zst", "csv"},   {"some/dir", "parquet"},
    };
    for (const auto& [path, format] : cases) {
        const auto read = readDataset(std::string("dataset: {path: ") + path + "}\n", {});
        ASSERT_TRUE(read.has_value()) << path;
        EXPECT_EQ(read->format, format) << path;
    }
}

TEST(SpecReader, ReadsTheExampleOfTheDesign) {
    const ResolvedSpec read = readSpec(kMovieLens, {.fileName = "m.yaml", .baseDir = "/data"});
    ASSERT_TRUE(read.ok()) << toStatus(read.errors, "m.yaml");
    const RunSpec& spec = *read.spec;
    EXPECT_EQ(spec.name, "movielens-dlrm");
    EXPECT_EQ(spec.dataset.path, std::vector<std::string>{"ratings.csv"});
    EXPECT_EQ(spec.dataset.format, "csv");
    ASSERT_EQ(spec.recipe.size(), 5U);
    EXPECT_EQ(std::get<FilterStep>(spec.recipe[0].body).expr, "rating is not null and userId <> 0");
    EXPECT_EQ(spec.recipe[1].name, "spam");
    EXPECT_FALSE(spec.recipe[1].enabled);
    EXPECT_EQ(std::get<AntiJoinStep>(spec.recipe[1].body).on[0].right, "userId");
    EXPECT_EQ(std::get<JoinStep>(spec.recipe[2].body).take[1].expr,
              R"(try_cast(regexp_extract(title, '\((\d{4})\)', 1) as int))");
    EXPECT_EQ(std::get<DeriveStep>(spec.recipe[3].body).columns[1].name, "is_new");
    EXPECT_TRUE(std::get<SampleStep>(spec.recipe[4].body).isInverseWeighted);
    EXPECT_EQ(std::get<SampleStep>(spec.recipe[4].body).by,
              (std::vector<std::string>{"userId", "movieId"}));
    EXPECT_EQ(spec.labels.at("liked").expr, "rating >= 4.0");
    EXPECT_EQ(spec.embeddings.at("genres").rows, 1024);
    EXPECT_EQ(spec.embeddings.at("genres").dim, 16);
    EXPECT_EQ(spec.batch.microRows, 256);
    EXPECT_EQ(spec.batch.seed, 7U);
    EXPECT_EQ(spec.train.checkpointEverySteps, 100);
    EXPECT_EQ(spec.resources.dataWorkersMax, 8);
    EXPECT_EQ(spec.baseDir, "/data");
}

TEST(SpecReader, FillsInDefaults) {
    const ResolvedSpec read = readSpec(kSmall, {.fileName = "dir/tiny.yaml"});
    ASSERT_TRUE(read.ok()) << toStatus(read.errors, "");
    EXPECT_EQ(read.spec->name, "tiny");
    EXPECT_EQ(read.spec->dataset.format, "parquet");
    EXPECT_EQ(read.spec->dataset.csvSplitRows, 65536);
    EXPECT_EQ(read.spec->batch.rows, 1024);
    EXPECT_EQ(read.spec->batch.microRows, 128);
    EXPECT_EQ(read.spec->model.as<DlrmModel>()->bottom, (std::vector<std::int64_t>{64, 16}));
    EXPECT_EQ(read.spec->model.as<DlrmModel>()->top, (std::vector<std::int64_t>{64, 1}));
    EXPECT_FALSE(read.spec->eval.has_value());
}

TEST(SpecReader, TheDefaultsOfTheTableAreThoseOfTheStruct) {
    Json read = readSpec(kSmall).spec->toJson();
    Json plain = RunSpec{}.toJson();
    for (const char* section : {"batch", "train", "resources"}) {
        EXPECT_EQ(read[section], plain[section]) << section;
    }
    EXPECT_EQ(read["dataset"]["csv"], plain["dataset"]["csv"]);
    EXPECT_EQ(read["features"]["dedup"], plain["features"]["dedup"]);
    EXPECT_EQ(read["model"]["smoothing"], plain["model"]["smoothing"]);
}

TEST(SpecReader, UnknownKeysAreNamedWithPlaceAndNearestName) {
    EXPECT_EQ(errorsOf(withLine("bach: {rows: 8}")),
              "4:1 unknown key 'bach'; did you mean 'batch'?");
    EXPECT_EQ(errorsOf(withLine("batch: {rows: 8, mirco_rows: 1}")),
              "4:18 unknown key 'mirco_rows' in batch; did you mean 'micro_rows'?");
    EXPECT_EQ(errorsOf(withLine("train: {checkpoint: {when: 3}}")),
              "4:22 unknown key 'when' in train.checkpoint; known: every_steps, keep, copy");
}

TEST(SpecReader, WrongTypesAreNamedWithPlace) {
    EXPECT_EQ(errorsOf(withLine("batch: {rows: many}")),
              "4:15 batch.rows must be a whole number, not 'many'");
    EXPECT_EQ(errorsOf(withLine("batch: {rows: 8.5}")),
              "4:15 batch.rows must be a whole number, not '8.5'");
    EXPECT_EQ(errorsOf(withLine("batch: {rows: '8'}")),
              "4:15 batch.rows must be a whole number, not '8'");
    EXPECT_EQ(errorsOf(withLine("train: {learning_rate: [1]}")),
              "4:24 train.learning_rate must be a number, not a list");
    EXPECT_EQ(errorsOf(withLine("train: fast")).substr(0, 41),
              "4:8 train must be a map (keys: optimizer,");
    EXPECT_EQ(errorsOf(withLine("model: {top: [64, x]}")),
              "4:19 model.top[1] must be a whole number, not 'x'");
    EXPECT_EQ(errorsOf(withLine("recipe: {filter: x > 1}")),
              "4:9 recipe must be a list of steps, each beginning with '-', not a map");
}

TEST(SpecReader, WordsMustBeKnown) {
    EXPECT_EQ(errorsOf(withLine("train: {optimizer: adam}")),
              "4:20 train.optimizer must be sgd or adagrad or adamw, not 'adam'; did you mean "
              "'adamw'?");
    EXPECT_EQ(errorsOf(withLine("eval: {metrics: [auc, accuracy]}")).substr(0, 36),
              "4:23 eval.metrics[1] must be auc or ");
}

TEST(SpecReader, NumbersMustBeInRange) {
    EXPECT_EQ(errorsOf(withLine("batch: {epochs: 0}")),
              "4:17 batch.epochs must be at least 1, not 0");
    EXPECT_EQ(errorsOf(withLine("recipe: [{sample: {keep: 0}}]")),
              "4:26 recipe[0].sample.keep must be above 0 and at most 1, not 0");
    EXPECT_EQ(errorsOf(withLine("recipe: [{sample: {keep: 1.5}}]")),
              "4:26 recipe[0].sample.keep must be above 0 and at most 1, not 1.5");
    EXPECT_EQ(errorsOf(withLine("batch: {seed: -1}")),
              "4:15 batch.seed must be a whole number from 0 to 2^64 - 1, not '-1'");
}

TEST(SpecReader, RequiredKeysAreAskedFor) {
    EXPECT_EQ(
        errorsOf("label: y\nfeatures: {dense: [x]}\n"),
        "1:1 dataset is missing: name the files, as in `dataset: {path: log/*.parquet}`; only "
        "a spec with `command` may have none");
    EXPECT_EQ(
        errorsOf(withLine("recipe:\n  - join: {table: a.csv, on: x}")),
        "5:11 recipe[0].join.take is missing: the columns to add: a list of the table's columns, "
        "or `name: expression` over them");
    EXPECT_NE(errorsOf("dataset: {path: a}\nfeatures: {dense: [x]}\n").find("labels is missing"),
              std::string::npos);
    EXPECT_NE(errorsOf("dataset: {path: a}\nlabel: y\n").find("features is empty"),
              std::string::npos);
    EXPECT_EQ(errorsOf(""), "0:0 the spec is empty; it needs dataset and labels, or a command");
}

TEST(SpecReader, DuplicateKeysAreRefused) {
    EXPECT_EQ(errorsOf("name: a\nname: b\n"), "2:1 the key 'name' appears twice");
    EXPECT_EQ(errorsOf(withLine("batch: {rows: 8, rows: 16}")),
              "4:18 the key 'rows' appears twice");
}

TEST(SpecReader, CollectsSeveralErrorsUpToTwenty) {
    const ResolvedSpec read =
        readSpec(withLine("batch: {rows: x, epochs: y, foo: 1}\ntrain: {ranks: z}"));
    EXPECT_EQ(read.errors.size(), 4U);
    std::string many = kSmall;
    for (int i = 0; i < 100; ++i) {
        many += strCat("unknown_", i, ": 1\n");
    }
    EXPECT_EQ(readSpec(many).errors.size(), 20U);
}

TEST(SpecReader, SyntaxErrorsOfYamlHaveTheirPlace) {
    const SpecErrors errors = readSpec("name: a\nbatch: {rows: 8\ntrain: [").errors;
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors[0].code, "syntax");
    EXPECT_GE(errors[0].line, 2);
    EXPECT_EQ(readSpec("- a\n- b\n").errors[0].message, "a spec must be a map of keys, not a list");
    EXPECT_NE(errorsOf("name: a\n---\nname: b\n").find("one YAML document"), std::string::npos);
}

TEST(SpecReader, ErrorsInsideExpressionsHaveTheirPlaceInTheFile) {
    EXPECT_EQ(errorsOf(withLine("recipe:\n  - filter: x > > 1")),
              "5:17 recipe[0].filter: expected a value, not '>'");
    EXPECT_EQ(errorsOf(withLine("recipe:\n  - filter: 'a = ''x'' )'")),
              "5:24 recipe[0].filter: unexpected ')'");
    EXPECT_EQ(errorsOf(withLine("recipe:\n  - filter: \"a \\x3d '\\\\' )\"")),
              "5:26 recipe[0].filter: unexpected ')'");
    EXPECT_EQ(errorsOf(withLine("recipe:\n  - filter: |\n      x > 1\n      and and y")),
              "7:11 recipe[0].filter: expected a value, not 'and' (put a column of this name in "
              "double quotes)");
    EXPECT_EQ(errorsOf(withLine("recipe:\n  - filter: x > 1\n      and and y")),
              "6:11 recipe[0].filter: expected a value, not 'and' (put a column of this name in "
              "double quotes)");
}

TEST(SpecReader, ASpecOfTenMegabytesIsRefusedInOneSentence) {
    const std::string text(10'000'000, '#');
    const SpecErrors errors = readSpec(text).errors;
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors[0].message,
              "the spec has 10.0 MB; at most 1 MB is read (is this the right file?)");
    EXPECT_EQ(errors[0].code, "limit");
}

TEST(SpecReader, DeepAndMultiplyingYamlIsRefused) {
    EXPECT_NE(errorsOf("name: " + std::string(200, '[')).find("levels deep"), std::string::npos);
    EXPECT_FALSE(readSpec("name: " + std::string(100'000, '[')).ok());
    std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 10; ++i) {
        bomb += strCat("a", i, ": &a", i, " [");
        for (int k = 0; k < 10; ++k) {
            bomb += strCat(k > 0 ? ", " : "", "*a", i - 1);
        }
        bomb += "]\n";
    }
    EXPECT_NE(errorsOf(bomb).find("at most 100,000 values"), std::string::npos);
}

TEST(SpecReader, AliasesMayBeUsed) {
    const ResolvedSpec read = readSpec(withLine("tags: {a: &x hello, b: *x}"));
    ASSERT_TRUE(read.ok()) << toStatus(read.errors, "");
    EXPECT_EQ(read.spec->tags.at("b"), "hello");
}

TEST(SpecReader, LabelsHaveAShortAndAFullForm) {
    const RunSpec spec = *readSpec(
                              "dataset: {path: a}\nfeatures: {dense: [x]}\n"
                              "labels: {b: y > 0, a: {expr: y > 1, weight: w, where: x > 2}}\n")
                              .spec;
    EXPECT_EQ(spec.heads(), (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(spec.labels.at("b").expr, "y > 0");
    EXPECT_EQ(spec.labels.at("a").weight, "w");
    EXPECT_EQ(readSpec(kSmall).spec->heads(), std::vector<std::string>{"label"});
    EXPECT_NE(errorsOf(withLine("labels: {a: y}")).find("give label or labels"), std::string::npos);
}

TEST(SpecReader, ReadsEveryKindOfStep) {
    const ResolvedSpec read = readSpec(withLine(R"(recipe:
  - {filter: x > 1, name: x}
  - join: {table: t.csv, on: {a: b, c: d}, take: [p, q r], on_duplicate: first, missing: drop}
  - semi_join: {table: t.csv, on: [a, c]}
  - anti_join: {table: t.csv, on: a}
  - {name: draw, sample: {keep: 0.5, redraw: each_epoch}}
  - derive: {z: x + 1}
  - weight: 2 * x
  - hash: {column: s, as: s_id, buckets: 100, seed: 18446744073709551615}
  - bucketize: {column: x, boundaries: [0, 1.5]}
  - truncate: {column: l, length: 10, from: last}
  - select: [x, y])"));
    ASSERT_TRUE(read.ok()) << toStatus(read.errors, "");
    const std::vector<Step>& r = read.spec->recipe;
    ASSERT_EQ(r.size(), 11U);
    EXPECT_EQ(std::get<JoinStep>(r[1].body).on[1].right, "d");
    EXPECT_EQ(std::get<JoinStep>(r[1].body).take[1].expr, "\"q r\"");
    EXPECT_EQ(std::get<JoinStep>(r[1].body).missing, "drop");
    EXPECT_TRUE(std::get<SampleStep>(r[4].body).redrawEachEpoch);
    EXPECT_EQ(std::get<HashStep>(r[7].body).seed, 18446744073709551615U);
    EXPECT_EQ(std::get<BucketizeStep>(r[8].body).as, "x");
    EXPECT_EQ(std::get<TruncateStep>(r[9].body).from, "last");
    EXPECT_EQ(std::get<SelectStep>(r[10].body).columns.size(), 2U);
}

TEST(SpecReader, AStepIsOfOneKnownKind) {
    EXPECT_EQ(errorsOf(withLine("recipe:\n  - {flter: x > 1}")),
              "5:6 unknown key 'flter' in recipe[0]; did you mean 'filter'?\n"
              "5:5 the step has no kind; one of filter, weight, derive, join, semi_join, "
              "anti_join, sample, hash, bucketize, truncate, select");
    EXPECT_NE(
        errorsOf(withLine("recipe:\n  - {filter: x > 1, weight: x}")).find("not filter and weight"),
        std::string::npos);
    EXPECT_NE(errorsOf(withLine("recipe:\n  - filter:")).find("must be an expression, not nothing"),
              std::string::npos);
}

TEST(SpecReader, TwoDrawsWithoutNamesAskForNames) {
    EXPECT_NE(errorsOf(withLine("recipe:\n  - sample: {keep: 0.5}\n  - sample: {keep: 0.4}"))
                  .find("give each a name"),
              std::string::npos);
    EXPECT_NE(errorsOf(withLine("recipe:\n  - {name: a, sample: {keep: 0.5}}\n"
                                "  - {name: a, filter: x > 1}"))
                  .find("two steps are named 'a'"),
              std::string::npos);
    EXPECT_NE(errorsOf(withLine("recipe:\n  - {name: sample, filter: x > 1}"))
                  .find("cannot be named 'sample'"),
              std::string::npos);
}

TEST(SpecReader, MicroRowsDivideRows) {
    EXPECT_EQ(errorsOf(withLine("batch: {rows: 100, micro_rows: 30}")),
              "4:32 batch.micro_rows (30) must divide batch.rows (100): one of 1, 2, 4, 5, 10, 20, "
              "25, 50, 100");
    for (const auto& [batch, micro] : {std::pair("{rows: 1024}", 128),
                                       {"{rows: 100}", 20},
                                       {"{rows: 101}", 101},
                                       {"{rows: 100}\ntrain: {ranks: 4}", 25}}) {
        EXPECT_EQ(readSpec(withLine(strCat("batch: ", batch))).spec->batch.microRows, micro);
    }
}

TEST(SpecReader, RanksThatDoNotDivideAreRefusedWithTheAdmissibleCounts) {
    EXPECT_EQ(errorsOf(withLine("train: {ranks: 3}")),
              "4:16 train.ranks (3) must divide batch.rows / micro_rows (8): one of 1, 2, 4, 8");
    EXPECT_TRUE(readSpec(withLine("train: {ranks: 4}")).ok());
    EXPECT_EQ(errorsOf(withLine("train: {ranks: 4, nodes: 3}")),
              "4:26 train.nodes (3) must divide train.ranks (4): one of 1, 2, 4");
}

TEST(SpecReader, WhereTheRanksAreChangesNoHashOfARunOnOneNode) {
    const auto spec = [](const std::string& train) {
        return *readSpec(withLine("train: {ranks: 4" + train + "}")).spec;
    };
    EXPECT_FALSE(spec("").toJson()["train"].contains("nodes"));
    EXPECT_EQ(specHash(spec(", nodes: 1")), specHash(spec("")));
    EXPECT_NE(specHash(spec(", nodes: 2")), specHash(spec("")));
    EXPECT_EQ(streamHash(spec(", nodes: 2")), streamHash(spec("")));
}

TEST(SpecReader, ModelsMustFitTogether) {
    EXPECT_NE(errorsOf(withLine("model: {bottom: [32, 8]}")).find("must end with embedding_dim"),
              std::string::npos);
    EXPECT_NE(errorsOf(withLine("model: {top: [64, 2]}")).find("must end with 1"),
              std::string::npos);
    EXPECT_NE(errorsOf(withLine("model: {type: target_mean}")).find("needs keys"),
              std::string::npos);
    EXPECT_NE(errorsOf(withLine("model: {type: target_mean, keys: [x]}"))
                  .find("'x' is not among features.ids"),
              std::string::npos);
    EXPECT_NE(errorsOf(withLine("model: {type: mlp}\ncommand: [python, t.py]"))
                  .find("give command or model"),
              std::string::npos);
    EXPECT_TRUE(readSpec(withLine("command: [python, t.py]")).ok());
}

TEST(SpecReader, AVariationTakesNamesOutOfListsAndEntriesOutOfMaps) {
    const std::string base =
        "dataset: {path: a}\nlabel: y\nfeatures: {ids: [user, item, tail]}\n"
        "embeddings: {user: {rows: 8}, item: {rows: 8}, tail: {rows: 9}}\nvariations:\n";
    const auto resolved = [&base](const std::string& set) {
        return readSpec(base + "  - {name: v, set: {" + set + "}}\n", {}, "v");
    };
    const ResolvedSpec less = resolved("features.ids: {remove: [tail]}, embeddings.tail: null");
    ASSERT_TRUE(less.ok()) << less.errors[0].message;
    EXPECT_EQ(less.spec->features.ids, (std::vector<std::string>{"user", "item"}));
    EXPECT_FALSE(less.spec->embeddings.contains("tail"));
    const ResolvedSpec unused = resolved("features.ids: {remove: tail}");
    ASSERT_TRUE(unused.ok()) << unused.errors[0].message;
    EXPECT_NE(unused.warnings.back().find("'tail' is not an id or list feature"),
              std::string::npos);
    EXPECT_EQ(resolved("features.ids: {remove: [tial]}").errors[0].message,
              "variation 'v': features.ids names no 'tial' to remove; it names user, item, tail");
    EXPECT_EQ(resolved("embeddings.tial: null").errors[0].message,
              "variation 'v': embeddings has no 'tial' to take out; did you mean 'tail'?");
    const ResolvedSpec filled = readSpec(
        "dataset: {path: a}\nlabel: y\n"
        "features: {dense: [{column: price, fill: 1}, age]}\nmodel: {type: mlp}\n"
        "variations:\n  - {name: v, set: {features.dense: {remove: [price]}}}\n",
        {}, "v");
    ASSERT_TRUE(filled.ok()) << filled.errors[0].message;
    ASSERT_EQ(filled.spec->features.dense.size(), 1U) << "an entry is called by its column";
    EXPECT_EQ(filled.spec->features.dense[0].column, "age");
}

TEST(SpecReader, TargetMeanRefusesEpochsThatWouldTeachItNothing) {
    EXPECT_NE(errorsOf("dataset: {path: a}\nlabel: y\nfeatures: {ids: [user]}\n"
                       "embeddings: {user: {rows: 8}}\nmodel: {type: target_mean, keys: [user]}\n"
                       "batch: {epochs: 3}\n")
                  .find("target_mean sums up the rows once"),
              std::string::npos);
}

TEST(SpecReader, EmbeddingsNameKnownFeatures) {
    const ResolvedSpec unused = readSpec(withLine("embeddings: {usr: {rows: 8}}"));
    ASSERT_TRUE(unused.ok());
    ASSERT_FALSE(unused.warnings.empty());
    EXPECT_NE(unused.warnings[0].find("'usr' is not an id or list feature"), std::string::npos);
    const std::string two =
        "dataset: {path: a}\nlabel: y\nfeatures: {ids: [user, item]}\n"
        "embeddings: {a: {features: [user, item], rows: 8}, user: {rows: 9}}\n";
    EXPECT_NE(errorsOf(two).find("has two embedding tables"), std::string::npos);
}

TEST(SpecReader, RequestsAreShuffledOnlyWithARequestColumn) {
    EXPECT_NE(errorsOf(withLine("batch: {shuffle: requests}")).find("needs features.request"),
              std::string::npos);
}

TEST(SpecReader, OrderMayNameAColumn) {
    const RunSpec spec = *readSpec(withLine("batch: {order: {by: day}}")).spec;
    EXPECT_EQ(spec.batch.order, "by");
    EXPECT_EQ(spec.batch.orderBy, "day");
    EXPECT_NE(errorsOf(withLine("batch: {order: sorted}")).find("permuted, as_is or"),
              std::string::npos);
    EXPECT_NE(errorsOf(withLine("batch: {order: as-is}")).find("did you mean 'as_is'?"),
              std::string::npos);
    EXPECT_NE(errorsOf(withLine("batch: {order: {by: day, then: hour}}")).find("{by: column}"),
              std::string::npos);
}

TEST(SpecReader, NullIsAsGoodAsAbsent) {
    const ResolvedSpec read = readSpec(withLine("recipe:\nbatch: {rows: null}\neval: ~"));
    ASSERT_TRUE(read.ok()) << toStatus(read.errors, "");
    EXPECT_EQ(read.spec->batch.rows, 1024);
    EXPECT_FALSE(read.spec->eval);
}

TEST(SpecReader, MissingColumnsMayBeTheWordNull) {
    EXPECT_EQ(readSpec("dataset: {path: a, missing_columns: null}\nlabel: y\n"
                       "features: {dense: [x]}\n")
                  .spec->dataset.missingColumns,
              "null");
}

TEST(SpecReader, EvaluationInheritsFilesButNotWhere) {
    const RunSpec spec = *readSpec(
                              "dataset: {path: a.csv, where: x < 1, csv_split_rows: 10}\n"
                              "label: y > 0\nfeatures: {dense: [x]}\n"
                              "eval: {dataset: {where: x >= 1}}\n")
                              .spec;
    EXPECT_EQ(spec.eval->dataset.path, spec.dataset.path);
    EXPECT_EQ(spec.eval->dataset.csvSplitRows, 10);
    EXPECT_EQ(spec.eval->dataset.where, "x >= 1");
    EXPECT_EQ(spec.eval->metrics.size(), 4U);
}

TEST(SpecReader, EvaluationLeavesOutWhatDropsOrWeighs) {
    const RunSpec spec = *readSpec(kMovieLens).spec;
    ASSERT_EQ(spec.eval->recipe.size(), 2U);
    EXPECT_EQ(spec.eval->recipe[0].kind(), "join");
    EXPECT_EQ(spec.eval->recipe[1].kind(), "derive");
    EXPECT_TRUE(spec.eval->labelRecipe.empty()) << "liked needs only the rating";
}

TEST(SpecReader, EvaluationsOwnStepsThatDropOrWeighAreRefusedAtTheirPlaces) {
    const std::string before =
        "dataset: {path: a}\nlabel: x > 0\nfeatures: {dense: [x]}\neval:\n  recipe:\n"
        "    - derive: {y: x + 1}\n";
    const std::string keeps =
        " drops rows, and evaluation keeps all rows of its dataset; leave the step out, and choose "
        "rows with eval.dataset.where";
    const std::pair<std::string, std::string> wrong[] = {
        {"filter: x > 1", "filter: a filter step" + keeps},
        {"semi_join: {table: t.csv, on: k}", "semi_join: a semi_join step" + keeps},
        {"anti_join: {table: t.csv, on: k}", "anti_join: an anti_join step" + keeps},
        {"{name: some, sample: {keep: 0.5}}", "some: a sample step" + keeps},
        {"weight: x",
         "weight: a weight step weighs rows, and evaluation gives every row the weight 1; leave "
         "the step out, and choose rows with eval.dataset.where"},
        {"join: {table: t.csv, on: k, take: [p], missing: drop}",
         "join: a join step with missing: drop drops rows, and evaluation keeps all rows of its "
         "dataset; leave out missing: drop, and choose rows with eval.dataset.where"}};
    for (const auto& [step, message] : wrong) {
        const ResolvedSpec read = readSpec(before + "    - " + step + "\n");
        ASSERT_EQ(read.errors.size(), 1U) << step;
        EXPECT_EQ(read.errors[0].message, "eval.recipe." + message);
        EXPECT_EQ(read.errors[0].line, 7) << step;
        EXPECT_GT(read.errors[0].column, 0) << step;
    }
    for (const std::string step :
         {"{enabled: false, filter: x > 1}", "join: {table: t.csv, on: k, take: [p]}"}) {
        EXPECT_TRUE(readSpec(before + "    - " + step + "\n").ok()) << step;
    }
}

TEST(SpecReader, EvaluationKeepsTheStepsThatTheLabelsNeed) {
    const RunSpec spec =
        *readSpec(
             "dataset: {path: a}\nlabel: z > 0\nfeatures: {dense: [x]}\neval: {}\nrecipe:\n"
             "  - join: {table: t.csv, on: k, take: [p], missing: drop}\n"
             "  - derive: {unused: x + 1}\n"
             "  - derive: {z: p + x}\n"
             "  - filter: x > 1\n")
             .spec;
    ASSERT_EQ(spec.eval->labelRecipe.size(), 2U);
    EXPECT_EQ(spec.eval->labelRecipe[0].kind(), "join");
    EXPECT_EQ(std::get<JoinStep>(spec.eval->labelRecipe[0].body).missing, "null");
    EXPECT_EQ(std::get<DeriveStep>(spec.eval->labelRecipe[1].body).columns[0].name, "z");
}

TEST(SpecReader, WarnsAboutDrawsByRowAndEvaluationOnEverything) {
    const ResolvedSpec read = readSpec(withLine("recipe: [{sample: {keep: 0.5}}]\neval: {}"));
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read.warnings.size(), 2U);
}

TEST(SpecReader, WarnsAboutKeysOfAnotherModel) {
    const ResolvedSpec read =
        readSpec(withLine("model: {type: mlp, hidden: [8], top: [4, 1], keys: [u], smoothing: 2}"));
    ASSERT_TRUE(read.ok());
    EXPECT_THAT(read.warnings,
                testing::ElementsAre("model.top is for dlrm; mlp does not use it",
                                     "model.keys is for target_mean; mlp does not use it",
                                     "model.smoothing is for target_mean; mlp does not use it"));
}

TEST(SpecReader, ErrorsPrintAsCompilersDo) {
    const ResolvedSpec read = readSpec(withLine("bach: 1"), {.fileName = "a.yaml"});
    EXPECT_EQ(read.errors[0].text("a.yaml"),
              "a.yaml:4:1: unknown key 'bach'; did you mean 'batch'?");
    EXPECT_EQ(read.errors[0].toJson()["code"], "unknown_key");
    EXPECT_EQ(toStatus(read.errors, "a.yaml").code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace millrace::spec

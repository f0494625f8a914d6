#include "backend/spec/bind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/spec/movielens_spec.h"

namespace millrace::spec {
namespace {

using ::testing::HasSubstr;

struct Bound {
    std::optional<RunSpec> spec;
    BindResult result;
    std::string errors() const {
        std::string all;
        for (const SpecError& e : result.errors) {
            all += strCat(all.empty() ? "" : "\n", e.line, ":", e.column, " ", e.message);
        }
        return all;
    }
};

Bound boundOf(const std::string& text, const expr::Schema& schema = ratingsSchema(),
              std::string_view variation = "") {
    ResolvedSpec read = readSpec(text, {}, variation);
    EXPECT_TRUE(read.ok()) << toStatus(read.errors, "spec");
    Bound bound;
    bound.spec = std::move(read.spec);
    if (bound.spec) {
        bound.result = bindSchema(*bound.spec, schema, movieTables());
    }
    return bound;
}

std::string withRecipe(const std::string& steps,
                       const std::string& features = "{dense: [rating]}") {
    return "dataset: {path: ratings.csv}\nlabel: rating >= 4\nfeatures: " + features +
           "\nrecipe:\n" + steps;
}

TEST(BindSchema, LeavesOutWhatTheMeansOfKeysDoNotRead) {
    const Bound bound = boundOf(
        "dataset: {path: ratings.csv}\nlabel: rating >= 4\n"
        "features: {dense: [timestamp], ids: [movieId, userId], carry: [rating]}\n"
        "embeddings: {movieId: {rows: 64}, userId: {rows: 32}}\n"
        "model: {type: target_mean, keys: [movieId]}\n");
    EXPECT_EQ(bound.errors(), "");
    EXPECT_EQ(bound.spec->features.ids, std::vector<std::string>{"movieId"});
    EXPECT_TRUE(bound.spec->features.dense.empty());
    EXPECT_EQ(bound.spec->features.carry, std::vector<std::string>{"rating"});
    EXPECT_EQ(bound.spec->embeddings.size(), 1U);
    ASSERT_EQ(bound.result.warnings.size(), 1U);
    EXPECT_EQ(bound.result.warnings[0],
              "model.type target_mean reads model.keys alone: other features are left out of this "
              "stream (timestamp, userId)");
    RunSpec again = *bound.spec;
    EXPECT_TRUE(bindSchema(again, ratingsSchema(), movieTables()).warnings.empty());
    EXPECT_EQ(dumpJson(again.toJson()), dumpJson(bound.spec->toJson()));
}

TEST(BindSchema, TypesTheExampleOfTheDesign) {
    const Bound bound = boundOf(kMovieLens);
    EXPECT_EQ(bound.errors(), "");
    EXPECT_EQ(bound.result.columns.find("age_years")->type.name(), "double");
    EXPECT_EQ(bound.result.columns.find("is_new")->type.name(), "bool");
    EXPECT_EQ(bound.result.columns.find("genres")->type.name(), "string[]");
    EXPECT_EQ(bound.result.columns.find("year")->type.name(), "int32");
    EXPECT_EQ(bound.spec->dataset.csv.types.at("rating"), "double");
}

TEST(BindSchema, TypesItsVariationsToo) {
    for (const char* variation : {"keep-30", "no-spam", "label-3.5"}) {
        EXPECT_EQ(boundOf(kMovieLens, ratingsSchema(), variation).errors(), "") << variation;
    }
}

TEST(BindSchema, AnErrorOfAListedColumnPointsToItsItem) {
    const auto errorsOf = [](const std::string& features) {
        return boundOf("dataset: {path: r.csv}\nlabel: rating >= 4\nfeatures:\n" + features)
            .errors();
    };
    EXPECT_NE(
        errorsOf("  dense: [rating, timestmap]\n").find("4:19 features.dense: unknown column"),
        std::string::npos)
        << errorsOf("  dense: [rating, timestmap]\n");
    EXPECT_NE(errorsOf("  dense: [rating, 'x*']\n").find("4:20 features.dense: no column matches"),
              std::string::npos);
    EXPECT_NE(errorsOf("  dense:\n  - rating\n  - {column: usrId, fill: 1}\n")
                  .find("6:5 features.dense: unknown column 'usrId'"),
              std::string::npos);
    const std::string ids =
        errorsOf("  ids: [userId, rating]\nembeddings: {userId: {rows: 9}, rating: {rows: 9}}\n");
    EXPECT_NE(ids.find("4:17 features.ids: column 'rating' is double"), std::string::npos) << ids;
    EXPECT_NE(ids.find("`dataset.types: {rating: int64}` reads integers"), std::string::npos)
        << ids;
}

TEST(BindSchema, OrderByNamesAColumnOfTheFiles) {
    const auto errorsOf = [](const std::string& column) {
        return boundOf(
                   "dataset: {path: r.csv}\nlabel: rating >= 4\nfeatures: {dense: [rating]}\n"
                   "recipe: [{derive: {age: timestamp / 2}}]\n"
                   "batch: {order: {by: " +
                   column + "}}\n")
            .errors();
    };
    EXPECT_EQ(errorsOf("timestamp"), "");
    EXPECT_NE(errorsOf("timestmap")
                  .find("5:21 batch.order: unknown column 'timestmap'; did you "
                        "mean 'timestamp'?"),
              std::string::npos)
        << errorsOf("timestmap");
    EXPECT_NE(errorsOf("age").find("unknown column 'age'"), std::string::npos)
        << "what the recipe makes is not known before it runs";
    EXPECT_NE(errorsOf("rating").find("batch.order: column 'rating' is double; needed is an "
                                      "integer"),
              std::string::npos);
}

TEST(BindSchema, WholeRequestsAreShuffledUnlessTheSpecSaysOtherwise) {
    const auto textOf = [](const std::string& request, const std::string& shuffle) {
        return "dataset: {path: r.csv}\nlabel: rating >= 4\n"
               "recipe: [{derive: {visit: \"timestamp // 3600\"}}]\nfeatures: {dense: [rating]" +
               (request.empty() ? "" : ", request: " + request) + "}\n" +
               (shuffle.empty() ? "" : "batch: {shuffle: " + shuffle + "}\n");
    };
    const auto of = [&](const std::string& request, const std::string& shuffle) {
        return boundOf(textOf(request, shuffle));
    };
    EXPECT_EQ(of("", "").spec->batch.shuffle, "rows");
    EXPECT_EQ(of("userId", "rows").spec->batch.shuffle, "rows");
    EXPECT_EQ(of("userId", "none").spec->batch.shuffle, "none");
    EXPECT_TRUE(of("userId", "rows").result.warnings.empty());
    Bound bound = of("userId", "");
    EXPECT_EQ(bound.spec->batch.shuffle, "requests");
    ASSERT_EQ(bound.result.warnings.size(), 1U);
    EXPECT_NE(bound.result.warnings[0].find("whole requests are shuffled, because "
                                            "features.request is 'userId'"),
              std::string::npos);
    EXPECT_EQ(streamHash(*bound.spec), streamHash(*of("userId", "requests").spec));
    EXPECT_TRUE(bindSchema(*bound.spec, ratingsSchema(), movieTables()).warnings.empty())
        << "the resolved spec says it";
    EXPECT_EQ(of("visit", "").spec->batch.shuffle, "rows") << "made by the recipe";
    EXPECT_NE(of("visit", "requests")
                  .errors()
                  .find("5:18 batch.shuffle: requests needs "
                        "features.request to be a column of the files"),
              std::string::npos)
        << of("visit", "requests").errors();
}

TEST(BindSchema, TheUserIsAColumnAndStandsInTheJsonWhenGiven) {
    const auto of = [](const std::string& user) {
        return boundOf("dataset: {path: r.csv}\nlabel: rating >= 4\nfeatures: {dense: [rating]" +
                       (user.empty() ? "" : ", user: " + user) + "}\n");
    };
    EXPECT_NE(of("userid").errors().find("features.user: unknown column 'userid'; did you mean "
                                         "'userId'?"),
              std::string::npos)
        << of("userid").errors();
    const Bound with = of("userId"), without = of("");
    EXPECT_EQ(with.errors(), "");
    EXPECT_EQ(without.spec->toJson()["features"].count("user"), 0U);
    EXPECT_EQ(with.spec->toJson()["features"]["user"], "userId");
    EXPECT_EQ(RunSpec::fromJson(with.spec->toJson())->features.user, "userId");
    EXPECT_EQ(streamHash(*with.spec), streamHash(*without.spec)) << "it changes no row";
}

TEST(BindSchema, TwiceChangesNothing) {
    Bound bound = boundOf(kMovieLens);
    const Json once = bound.spec->toJson();
    EXPECT_TRUE(bindSchema(*bound.spec, ratingsSchema(), movieTables()).ok());
    EXPECT_EQ(bound.spec->toJson(), once);
    RunSpec again = RunSpec::fromJson(once).value();
    EXPECT_TRUE(bindSchema(again, ratingsSchema(), movieTables()).ok());
    EXPECT_EQ(again.toJson(), once);
}

TEST(BindSchema, UnknownColumnsHaveTheirPlaceInTheFileAndTheNearestName) {
    EXPECT_EQ(boundOf(withRecipe("  - filter: rating > 1 and usrId = 3\n")).errors(),
              "5:28 recipe.filter: unknown column 'usrId'; did you mean 'userId'?");
    EXPECT_EQ(boundOf(withRecipe("  - derive: {a: \"abs(\\\"ratng\\\")\"}\n")).errors(),
              "5:22 recipe.derive: unknown column 'ratng'; did you mean 'rating'?");
    EXPECT_EQ(boundOf(withRecipe("  - hash: {column: usrId, buckets: 8}\n")).errors(),
              "5:20 recipe.hash: unknown column 'usrId'; did you mean 'userId'?");
}

TEST(BindSchema, TypeErrorsInsideExpressionsHaveTheirPlace) {
    EXPECT_EQ(boundOf(withRecipe("  - filter: rating > 1 and lower(userId) = 'x'\n")).errors(),
              "5:34 recipe.filter: lower() needs a string, not int64; cast it, as in cast(x as "
              "string)");
    EXPECT_EQ(boundOf(withRecipe("  - filter: rating + 1\n")).errors(),
              "5:13 recipe.filter: the expression must be true or false, not double; compare it "
              "with something");
    EXPECT_EQ(boundOf(withRecipe("  - weight: cast(rating as string)\n")).errors(),
              "5:13 recipe.weight: the expression must be a number, not string");
}

TEST(BindSchema, ColumnsComeAndGoAlongTheRecipe) {
    const Bound early =
        boundOf(withRecipe("  - filter: twice > 1\n  - derive: {twice: rating * 2}\n"));
    EXPECT_NE(early.errors().find("unknown column 'twice'"), std::string::npos);
    const Bound siblings = boundOf(withRecipe("  - derive: {a: rating, b: a + 1}\n"));
    EXPECT_NE(siblings.errors().find("unknown column 'a'"), std::string::npos);
    const Bound selected = boundOf(withRecipe("  - select: [rating]\n  - filter: userId > 1\n"));
    EXPECT_NE(selected.errors().find("unknown column 'userId'"), std::string::npos);
    EXPECT_EQ(boundOf(withRecipe("  - derive: {a: rating * 2}\n  - filter: a > 1\n")).errors(), "");
}

TEST(BindSchema, OneMistakeGivesOneMessage) {
    const Bound bound = boundOf(
        withRecipe("  - derive: {a: ratig * 2}\n  - filter: a > 1\n", "{dense: [a, rating]}"));
    EXPECT_EQ(bound.result.errors.size(), 1U) << bound.errors();
}

TEST(BindSchema, DisabledStepsAreSkipped) {
    EXPECT_EQ(boundOf(withRecipe("  - {filter: nothing > 1, enabled: false}\n")).errors(), "");
}

TEST(BindSchema, JoinsCheckTheirTable) {
    EXPECT_EQ(
        boundOf(withRecipe("  - join: {table: moves.csv, on: movieId, take: [title]}\n")).errors(),
        "5:19 recipe.join: moves.csv: no such file");
    EXPECT_EQ(boundOf(withRecipe("  - join: {table: movies.csv, on: movieId, take: [titl]}\n"))
                  .result.errors[0]
                  .message,
              "recipe.join: unknown column 'titl'; did you mean 'title'?");
    EXPECT_NE(
        boundOf(withRecipe("  - join: {table: movies.csv, on: {movieId: title}, take: [genres]}\n"))
            .errors()
            .find("cannot match movieId (int64) with title of movies.csv (string)"),
        std::string::npos);
    EXPECT_NE(
        boundOf(withRecipe("  - join: {table: movies.csv, on: movieId, take: {rating: title}}\n"))
            .errors()
            .find("have a column 'rating' already"),
        std::string::npos);
    const auto onOf = [](const std::string& left) {
        return boundOf(withRecipe("  - join: {table: movies.csv, on: {\"" + left +
                                  "\": movieId}, take: [title]}\n"))
            .errors();
    };
    EXPECT_EQ(onOf("movieId + 1"), "");
    EXPECT_NE(onOf("movieIdd + 1").find("recipe.join: unknown column 'movieIdd'; did you mean"),
              std::string::npos);
    EXPECT_NE(
        onOf("cast(movieId as varchar)").find("cannot match cast(movieId as varchar) (string)"),
        std::string::npos);
    EXPECT_NE(boundOf(withRecipe("  - semi_join: {table: movies.csv, on: userId}\n"))
                  .errors()
                  .find("movies.csv has no column 'userId'"),
              std::string::npos);
}

TEST(BindSchema, LabelsMustReadAColumnAndBeNumbers) {
    const auto withLabel = [](const std::string& label) {
        return "dataset: {path: r.csv}\nlabel: " + label + "\nfeatures: {dense: [rating]}\n";
    };
    EXPECT_EQ(boundOf(withLabel("1 > 0")).errors(),
              "2:8 labels.label: the expression is the same for every row: a label must read a "
              "column (with `command` a spec needs no labels)");
    EXPECT_NE(boundOf(withLabel("cast(rating as string)")).errors().find("not string"),
              std::string::npos);
    EXPECT_EQ(boundOf(withLabel("rating")).errors(), "");
}

TEST(BindSchema, ExpandsPatternsInTheOrderOfTheColumns) {
    expr::Schema schema{{{"y", typeNamed("bool")},
                         {"d2", typeNamed("float")},
                         {"d1", typeNamed("float")},
                         {"s1", typeNamed("int64")},
                         {"s2", typeNamed("int64")},
                         {"s3", typeNamed("int64")}}};
    const Bound bound = boundOf(
        "dataset: {path: a.parquet}\nlabel: y\n"
        "features: {dense: [d1, \"d*\"], ids: [\"s?\"]}\n"
        "embeddings: {\"s*\": {rows: 10}, s2: {rows: 20}}\n",
        schema);
    ASSERT_EQ(bound.errors(), "");
    ASSERT_EQ(bound.spec->features.dense.size(), 2U);
    EXPECT_EQ(bound.spec->features.dense[0].column, "d1");
    EXPECT_EQ(bound.spec->features.dense[1].column, "d2");
    EXPECT_EQ(bound.spec->features.ids, (std::vector<std::string>{"s1", "s2", "s3"}));
    EXPECT_EQ(bound.spec->embeddings.size(), 3U);
    EXPECT_EQ(bound.spec->embeddings.at("s2").rows, 20);
    EXPECT_EQ(bound.spec->embeddings.at("s3").features, std::vector<std::string>{"s3"});
    EXPECT_NE(
        boundOf(withRecipe("  []\n", "{dense: [\"q*\"]}")).errors().find("no column matches 'q*'"),
        std::string::npos);
}

TEST(BindSchema, FeaturesMustHaveTheRightTypes) {
    EXPECT_NE(boundOf(withRecipe("  - derive: {t: cast(rating as string)}\n", "{dense: [t]}"))
                  .errors()
                  .find("column 't' is string; needed is a number or a bool"),
              std::string::npos);
    EXPECT_NE(boundOf(withRecipe("  []\n", "{ids: [rating]}\nembeddings: {rating: {rows: 8}}"))
                  .errors()
                  .find("column 'rating' is double; needed is an integer or a string"),
              std::string::npos);
    EXPECT_NE(boundOf(withRecipe("  []\n", "{lists: [userId]}\nembeddings: {userId: {rows: 8}}"))
                  .errors()
                  .find("needed is a list"),
              std::string::npos);
}

TEST(BindSchema, IdsWithoutANumberOfIdsAreRefusedByName) {
    const Bound bound = boundOf(withRecipe("  []\n", "{ids: [userId]}"));
    EXPECT_NE(bound.errors().find("id feature 'userId' has no number of ids"), std::string::npos);
    EXPECT_NE(boundOf(withRecipe("  []\n", "{ids: [userId]}\nembeddings: {userId: {dim: 16}}"))
                  .errors()
                  .find("embeddings.userId needs rows"),
              std::string::npos);
}

TEST(BindSchema, HashAndBucketizeGiveTheNumberOfIds) {
    const Bound bound =
        boundOf(withRecipe("  - hash: {column: userId, as: u, buckets: 100}\n"
                           "  - bucketize: {column: rating, as: r, boundaries: [1, 2, 3]}\n",
                           "{ids: [u, r]}"));
    ASSERT_EQ(bound.errors(), "");
    EXPECT_EQ(bound.spec->embeddings.at("u").rows, 100);
    EXPECT_EQ(bound.spec->embeddings.at("u").dim, 16);
    EXPECT_EQ(bound.spec->embeddings.at("r").rows, 5);
    EXPECT_TRUE(isMadeId(bound.spec->recipe, "u"));
    EXPECT_FALSE(isMadeId(bound.spec->recipe, "userId"));
    EXPECT_NE(boundOf(withRecipe("  - hash: {column: userId, buckets: 100}\n",
                                 "{ids: [userId]}\nembeddings: {userId: {rows: 50}}"))
                  .errors()
                  .find("the recipe makes 100 ids"),
              std::string::npos);
}

TEST(BindSchema, AVocabularyGivesTheNumberOfIds) {
    EXPECT_EQ(boundOf(withRecipe("  []\n",
                                 "{ids: [movieId]}\nembeddings: {movieId: {vocabulary: "
                                 "{table: movies.csv, column: movieId}}}"))
                  .errors(),
              "");
    EXPECT_NE(boundOf(withRecipe("  []\n",
                                 "{ids: [movieId]}\nembeddings: {movieId: {vocabulary: "
                                 "{table: movies.csv, column: id}}}"))
                  .errors()
                  .find("movies.csv has no column 'id'"),
              std::string::npos);
}

TEST(BindSchema, ACountedVocabularyTakesNoKeysOfATable) {
    const auto textOf = [](const std::string& vocabulary) {
        return withRecipe(
            "  []\n", "{ids: [movieId]}\nembeddings: {movieId: {vocabulary: " + vocabulary + "}}");
    };
    for (const char* fine : {"auto", "{min_count: 2, max_rows: 100}",
                             "{table: movies.csv, column: movieId, on_duplicate: first}"}) {
        EXPECT_EQ(boundOf(textOf(fine)).errors(), "") << fine;
    }
    const auto refusal = [&](const std::string& vocabulary) {
        const ResolvedSpec read = readSpec(textOf(vocabulary), {});
        return read.errors.empty() ? std::string() : read.errors.front().message;
    };
    EXPECT_THAT(refusal("automatic"), HasSubstr("must be auto or a map"));
    EXPECT_THAT(refusal("{column: movieId}"), HasSubstr(".table is missing"));
    EXPECT_THAT(refusal("{table: movies.csv}"), HasSubstr(".column is missing"));
    EXPECT_THAT(refusal("{max_rows: 1}"), HasSubstr(".max_rows must be at least 2"));
    EXPECT_THAT(refusal("{table: movies.csv, column: movieId, min_count: 2}"),
                HasSubstr("min_count and max_rows are for counted values"));
    EXPECT_THAT(refusal("auto, rows: 7"), HasSubstr("max_rows: N} bounds them"));
}

TEST(BindSchema, TextsAndIntegersAreNotCountedTogether) {
    EXPECT_THAT(
        boundOf(withRecipe("  - derive: {word: cast(userId as varchar)}\n",
                           "{ids: [movieId, word]}\nembeddings: {both: {features: [movieId, word], "
                           "vocabulary: auto}}"))
            .errors(),
        HasSubstr("'word' holds string values, others int64"));
}

TEST(BindSchema, FeaturesOfOneNameAreRefused) {
    const std::string made =
        "  - derive: {dense: userId, l: \"split(cast(userId as varchar), 'x')\", "
        "Q.l: \"split(cast(userId as varchar), 'x')\"}\n";
    const auto errors = [&](const std::string& features) {
        return boundOf(withRecipe(made, features + "\nembeddings: {dense: {rows: 9}, l: {rows: 9}, "
                                                   "Q.l: {rows: 9}}"))
            .errors();
    };
    EXPECT_EQ(errors("{dense: [rating], ids: [dense]}"),
              "3:34 features.ids: 'dense' of features.ids and the block of dense features are both "
              "called 'dense' in a batch; give one of them another name (a derive step copies a "
              "column under another name)");
    EXPECT_EQ(errors("{lists: [Q.l], sequences: {Q: {columns: [l]}}}"),
              "3:41 features.sequences.Q: column 'l' of the sequence 'Q' and 'Q.l' of "
              "features.lists are both called 'Q.l' in a batch; give one of them another name (a "
              "derive step copies a column under another name)");
    EXPECT_EQ(errors("{ids: [dense], lists: [Q.l], sequences: {R: {columns: [l]}}}"), "");
}

TEST(BindSchema, EvaluationMustMakeTheSameColumns) {
    const std::string text = withRecipe("  - derive: {a: rating + 1}\n", "{dense: [a]}") +
                             "eval: {dataset: {where: rating > nothing}, recipe: [{derive: {b: "
                             "rating}}]}\n";
    const std::string errors = boundOf(text).errors();
    EXPECT_NE(errors.find("eval.dataset.where: unknown column 'nothing'"), std::string::npos);
    EXPECT_NE(errors.find("in evaluation: unknown column 'a'"), std::string::npos);
}

TEST(BindSchema, PinsTheTypesOfCsvAndChecksThoseGiven) {
    const std::string text =
        "dataset: {path: r.csv, csv: {types: {ratng: double}}}\n"
        "label: rating\nfeatures: {dense: [rating]}\n";
    EXPECT_NE(boundOf(text).errors().find("unknown column 'ratng'; did you mean 'rating'?"),
              std::string::npos);
}

TEST(ColumnsAfter, FollowsOneStep) {
    HashStep hash;
    hash.column = "userId";
    hash.as = "u";
    hash.buckets = 10;
    const Result<expr::Schema> after =
        columnsAfter({"h", true, hash}, ratingsSchema(), movieTables());
    ASSERT_TRUE(after.ok());
    EXPECT_EQ(after->fields.back().name, "u");
    hash.column = "x";
    EXPECT_FALSE(columnsAfter({"h", true, hash}, ratingsSchema(), movieTables()).ok());
}

expr::Schema actionsSchema() {
    const auto list = [](expr::TypeKind kind) { return expr::DataType{kind, true, 0, true}; };
    expr::Schema schema;
    schema.set("label", {expr::TypeKind::kBool});
    schema.set("now", {expr::TypeKind::kTimestamp});
    schema.set("tick", {expr::TypeKind::kInt64});
    schema.set("item", list(expr::TypeKind::kInt64));
    schema.set("price", list(expr::TypeKind::kDouble));
    schema.set("at", list(expr::TypeKind::kTimestamp));
    return schema;
}

Bound boundSequence(const std::string& sequence) {
    return boundOf(
        "dataset: {path: a.parquet}\nlabel: label\ncommand: [x]\nfeatures: {sequences: "
        "{history: " +
            sequence + "}}\nembeddings: {item: {rows: 100}}\n",
        actionsSchema());
}

TEST(BindSchema, ASequencesTimeIsItsOneListOfTimes) {
    const Bound bound = boundSequence("{columns: [item, price, at], before: now, last: 5}");
    EXPECT_EQ(bound.errors(), "");
    EXPECT_EQ(bound.spec->features.sequences.at("history").time, "at");
}

TEST(BindSchema, OnlyIdsOfASequenceNeedANumberOfIds) {
    EXPECT_EQ(boundSequence("{columns: [item, price, at]}").errors(), "");
    const Bound bound = boundOf(
        "dataset: {path: a.parquet}\nlabel: label\ncommand: [x]\n"
        "features: {dense: [tick],\n  sequences: {history: {columns: [item, price]}}}\n",
        actionsSchema());
    EXPECT_NE(bound.errors().find("5:24 id feature 'history.item' has no number of ids: give "
                                  "embeddings: {item: {rows: N}}"),
              std::string::npos)
        << bound.errors();
}

TEST(BindSchema, BeforeNeedsTimesOfOneKind) {
    EXPECT_EQ(boundSequence("{columns: [item], before: now}").errors(),
              "4:33 features.sequences.history.before needs `time`, the list column of the "
              "elements' times");
    EXPECT_EQ(boundSequence("{columns: [item], time: at, before: tick}").errors(),
              "4:33 features.sequences.history: before 'tick' is int64, time 'at' timestamp[]; "
              "make_timestamp(microseconds) makes a time of an integer");
    EXPECT_EQ(boundSequence("{columns: [item, now]}").errors(),
              "4:33 features.sequences.history: column 'now' is timestamp; needed is a list of "
              "integers, strings, floats or times");
}

// From 2^63 on they did not fit int64, which was said at the first such row without a table or
// step.
TEST(BindSchema, AsOfRefusesTimesOfUint64BeforeARowIsRead) {
    expr::Schema rows = ratingsSchema();
    rows.set("seen", typeNamed("uint64"));
    const TableSchemaLookup tables = [](const TableRef&) -> Result<expr::Schema> {
        return expr::Schema{{{"movieId", typeNamed("int64")},
                             {"wide", typeNamed("uint64")},
                             {"plain", typeNamed("int64")},
                             {"title", typeNamed("string")}}};
    };
    const auto errorsOf = [&](const std::string& before, const std::string& left,
                              const std::string& right) {
        ResolvedSpec read = readSpec(
            withRecipe(before +
                       "  - {name: price, join: {table: movies.csv, on: movieId, as_of: {left: " +
                       left + ", right: " + right + "}, take: [title]}}\n"),
            {}, "");
        Bound bound;
        bound.spec = std::move(read.spec);
        bound.result = bindSchema(*bound.spec, rows, tables);
        return bound.errors();
    };
    const auto has = [](const char* text) { return testing::HasSubstr(text); };
    EXPECT_THAT(errorsOf("", "seen", "plain"),
                has("recipe.price: column 'seen', the time of the rows for movies.csv, is uint64; "
                    "times are compared as int64: derive a cast to int64"));
    EXPECT_THAT(errorsOf("", "timestamp", "wide"),
                has("recipe.price: column 'wide' of movies.csv is uint64; times are compared as "
                    "int64: write it as int64 or a timestamp"));
    EXPECT_EQ(errorsOf("", "timestamp", "plain"), "");
    EXPECT_EQ(errorsOf("  - derive: {at: cast(seen as int64)}\n", "at", "plain"), "")
        << "what the sentence says works";
}

TEST(BindSchema, AsOfComparesTimesOfOneKind) {
    const std::string join =
        "  - join: {table: movies.csv, on: movieId, as_of: {left: timestamp, right: ";
    const Bound fine = boundOf(withRecipe(join + "movieId, tolerance: 60}, take: [title]}\n"));
    EXPECT_EQ(fine.errors(), "");
    ASSERT_TRUE(std::get<JoinStep>(fine.spec->recipe[0].body).asOf.has_value());
    EXPECT_EQ(std::get<JoinStep>(fine.spec->recipe[0].body).asOf->tolerance, 60);
    const Result<RunSpec> again = RunSpec::fromJson(fine.spec->toJson());
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->toJson(), fine.spec->toJson());
    EXPECT_NE(
        boundOf(withRecipe(join + "title}, take: [title]}\n"))
            .errors()
            .find("cannot compare timestamp (int64) with title of movies.csv (string); both must "
                  "be times, or both integers; strptime(title, FORMAT) reads a text as a time, "
                  "with a format such as '%d/%m/%Y'"),
        std::string::npos);
    const std::string keyword = boundOf(withRecipe(join + "from}, take: [title]}\n")).errors();
    EXPECT_NE(keyword.find("strptime(\"from\", FORMAT)"), std::string::npos) << keyword;
    EXPECT_EQ(boundOf(withRecipe(join + "movieId + 1}, take: [title]}\n")).errors(), "");
    EXPECT_NE(boundOf(withRecipe(join + "movieId + since}, take: [title]}\n"))
                  .errors()
                  .find("unknown column 'since'"),
              std::string::npos);
    EXPECT_NE(boundOf(withRecipe(join + "when}, take: [title]}\n"))
                  .errors()
                  .find("movies.csv has no column 'when'"),
              std::string::npos);
    const std::string call =
        boundOf(withRecipe(join + "strptime(from)}, take: [title]}\n")).errors();
    EXPECT_NE(call.find("expected a value, not 'from'"), std::string::npos) << call;
    EXPECT_EQ(call.find("has no column"), std::string::npos) << call;
}

}  // namespace
}  // namespace millrace::spec

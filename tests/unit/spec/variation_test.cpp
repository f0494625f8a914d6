#include "backend/spec/variation.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/spec/movielens_spec.h"

namespace millrace::spec {
namespace {

RunSpec movieLensVariation(std::string_view variation, std::vector<std::string> sets = {}) {
    ResolvedSpec read = readSpec(kMovieLens, {.sets = std::move(sets)}, variation);
    EXPECT_TRUE(read.ok()) << toStatus(read.errors, "spec");
    return read.spec.value_or(RunSpec{});
}

double keepOf(const RunSpec& spec) {
    return std::get<SampleStep>(spec.recipe[4].body).keep;
}

std::string errorOf(const std::string& variations, std::string_view name = "v") {
    const std::string base = kMovieLens;
    const std::string text = base.substr(0, base.find("variations:")) + variations + "\n";
    const ResolvedSpec read = readSpec(text, {}, name);
    return read.errors.empty() ? "" : read.errors[0].message;
}

std::string setErrorOf(const std::string& set) {
    const ResolvedSpec read = readSpec(kMovieLens, {.sets = {set}});
    return read.errors.empty() ? "" : read.errors[0].text("spec");
}

TEST(Variations, AreListedInOrder) {
    SpecErrors errors;
    const auto reader = SpecReader::parse(kMovieLens, {}, errors);
    ASSERT_TRUE(reader.has_value());
    EXPECT_EQ(reader->variations(), (std::vector<std::string>{"keep-30", "no-spam", "label-3.5"}));
}

TEST(Variations, AddressStepsByKindAndByName) {
    EXPECT_EQ(keepOf(movieLensVariation("")), 1.0);
    EXPECT_EQ(keepOf(movieLensVariation("keep-30")), 0.3);
    EXPECT_EQ(movieLensVariation("keep-30").variation, "keep-30");
    EXPECT_FALSE(movieLensVariation("").recipe[1].enabled);
    EXPECT_TRUE(movieLensVariation("no-spam").recipe[1].enabled);
}

TEST(Variations, WithAnotherModelWarnOnlyOfKeysThatNoRunUses) {
    const auto warningsOf = [](const std::string& model, const std::string& type) {
        const std::string text = strCat(
            "dataset: {path: a.parquet}\nlabels: {y: a > 0}\nfeatures: {dense: [b]}\nmodel: ",
            model, "\ntrain: {dropout: 0.1}\nvariations:\n  - {name: v, set: {model.type: ", type,
            "}}\n");
        return readSpec(text).warnings.size() + readSpec(text, {}, "v").warnings.size();
    };
    EXPECT_EQ(warningsOf("{type: mlp, hidden: [8]}", "logistic"), 0U);
    EXPECT_EQ(warningsOf("{type: logistic, hidden: [8]}", "dcn_v2"), 0U) << "the base's key";
    EXPECT_EQ(warningsOf("{type: mlp, hidden: [8], top: [4, 1]}", "logistic"), 2U)
        << "no run has a dlrm";
    EXPECT_EQ(warningsOf("{type: logistic, hidden: [8]}", "logistic"), 4U);
}

TEST(Variations, OfTheLabelEvaluateWithTheBasesLabel) {
    const RunSpec spec = movieLensVariation("label-3.5");
    EXPECT_EQ(spec.labels.at("liked").expr, "rating >= 3.5");
    EXPECT_EQ(spec.eval->labels.at("liked").expr, "rating >= 4.0");
    EXPECT_EQ(spec.eval->dataset.where, movieLensVariation("").eval->dataset.where);
}

TEST(Variations, EvaluateTheHeadsThatTheyHave) {
    const std::string text =
        "name: two\ndataset: {path: d.csv}\nlabels: {click: a > 1, buy: b > 1}\n"
        "features: {dense: [a]}\nmodel: {type: logistic}\neval: {dataset: {where: a > 2}}\n"
        "variations:\n  - {name: fewer, set: {labels.buy: null, labels.click: a > 3}}\n"
        "  - {name: more, set: {labels.like: a > 4}}\n";
    const auto evaluated = [&](const std::string& variation) {
        const ResolvedSpec read = readSpec(text, {}, variation);
        EXPECT_TRUE(read.spec) << (read.errors.empty() ? "" : read.errors.front().message);
        std::map<std::string, std::string> labels;
        for (const auto& [head, label] : read.spec->eval->labels) {
            labels[head] = label.expr;
        }
        return labels;
    };
    EXPECT_EQ(evaluated("fewer"), (std::map<std::string, std::string>{{"click", "a > 1"}}));
    EXPECT_EQ(evaluated("more"), (std::map<std::string, std::string>{
                                     {"buy", "b > 1"}, {"click", "a > 1"}, {"like", "a > 4"}}));
}

TEST(Variations, OfTheDatasetEvaluateOnTheBasesFiles) {
    const std::string base = kMovieLens;
    const std::string text =
        base + "  - {name: other, set: {dataset.path: other.csv, dataset.where: null}}\n";
    const ResolvedSpec read = readSpec(text, {}, "other");
    ASSERT_TRUE(read.ok()) << toStatus(read.errors, "");
    EXPECT_EQ(read.spec->dataset.path[0], "other.csv");
    EXPECT_EQ(read.spec->dataset.where, "");
    EXPECT_EQ(read.spec->eval->dataset.path[0], "ratings.csv");
}

TEST(Variations, MaySetWholeSectionsStepsAndNewKeys) {
    const std::string base = kMovieLens;
    const std::string text = base +
                             R"(  - name: mean
    set:
      model: {type: target_mean, keys: [movieId], smoothing: 5}
      batch.epochs: 1
      recipe.filter: rating > 1
      recipe.derive.decade: year // 10
      labels.liked.weight: rating
      tags.kind: baseline
)";
    const ResolvedSpec read = readSpec(text, {}, "mean");
    ASSERT_TRUE(read.ok()) << toStatus(read.errors, "");
    EXPECT_EQ(read.spec->model.type(), "target_mean");
    EXPECT_EQ(std::get<FilterStep>(read.spec->recipe[0].body).expr, "rating > 1");
    EXPECT_EQ(std::get<DeriveStep>(read.spec->recipe[3].body).columns[2].name, "decade");
    EXPECT_EQ(read.spec->labels.at("liked").expr, "rating >= 4.0");
    EXPECT_EQ(read.spec->labels.at("liked").weight, "rating");
    EXPECT_EQ(read.spec->tags.at("kind"), "baseline");
}

TEST(Variations, UnknownPathsGiveTheNearestName) {
    EXPECT_EQ(errorOf("variations: [{name: v, set: {recipe.spa.enabled: true}}]"),
              "variation 'v': the recipe has no step 'spa'; did you mean 'spam'?");
    EXPECT_EQ(errorOf("variations: [{name: v, set: {batch.row: 8}}]"),
              "variation 'v': unknown key 'row' in batch; did you mean 'rows'?");
    EXPECT_EQ(errorOf("variations: [{name: v, set: {batch.rows.x: 8}}]"),
              "variation 'v': batch.rows is '1024' and has no key 'x'");
    EXPECT_EQ(errorOf("variations: [{name: v, set: {batch..x: 8}}]"),
              "variation 'v': 'batch..x' is not a path: a part is empty");
    EXPECT_EQ(errorOf("variations: [{name: v, set: {recipe.sample.kep: 8}}]"),
              "variation 'v': unknown key 'kep' in recipe[4].sample; did you mean 'keep'?");
    EXPECT_EQ(errorOf("variations: [{name: v, set: {recipe.filter.x: 8}}]"),
              "variation 'v': recipe.filter has no keys below it; set it as a whole");
}

TEST(Variations, AListCannotBeExtendedButIsShownAsItHasToBeWritten) {
    const std::string wanted =
        "variation 'v': features.ids takes {remove: [...]}, not {add: [...]}; to extend the list, "
        "write it as a whole: [userId, movieId, extra]";
    EXPECT_EQ(errorOf("variations: [{name: v, set: {features.ids: {add: [extra]}}}]"), wanted);
    EXPECT_EQ(errorOf("variations: [{name: v, set: {features.ids: {add: extra}}}]"), wanted);
}

// --set comes last, so a variation sees the file and never a changed list.
TEST(Variations, AreAppliedToTheFileBeforeSets) {
    const std::string text =
        "dataset: {path: a.csv}\nlabel: y > 0\nfeatures: {dense: [x], ids: [a, b, c]}\n"
        "embeddings: {\"*\": {rows: 10}}\nmodel: {type: mlp}\nvariations:\n"
        "  - {name: less, set: {features.ids: {remove: [c]}}}\n"
        "  - {name: other, set: {features.ids: [b, c]}}\n";
    const auto idsOf = [&](const std::string& variation, const std::string& set) {
        const ResolvedSpec read = readSpec(text, {.sets = {set}}, variation);
        EXPECT_TRUE(read.ok()) << variation << " " << set << toStatus(read.errors, "spec");
        return read.spec.value_or(RunSpec{}).features.ids;
    };
    using Ids = std::vector<std::string>;
    EXPECT_EQ(idsOf("", "features.ids=[a]"), Ids{"a"});
    EXPECT_EQ(idsOf("less", "features.ids=[a]"), Ids{"a"});
    EXPECT_EQ(idsOf("less", "features.ids={remove: [a]}"), Ids{"b"});
    EXPECT_EQ(idsOf("other", "features.ids=[a]"), Ids{"a"});
    EXPECT_EQ(idsOf("other", "features.ids={remove: [b]}"), Ids{"c"});
}

TEST(Variations, ErrorsInTheirValuesPointToTheVariation) {
    const std::string base = kMovieLens;
    const ResolvedSpec read =
        readSpec(base + "  - {name: bad, set: {recipe.sample.keep: 3}}\n", {}, "bad");
    ASSERT_EQ(read.errors.size(), 1U);
    EXPECT_EQ(read.errors[0].line, 22);
    EXPECT_EQ(read.errors[0].column, 43);
}

TEST(Variations, AmbiguousKindsAskForNames) {
    const std::string text =
        "dataset: {path: a}\nlabel: y\nfeatures: {dense: [x]}\nrecipe:\n  - filter: x > 1\n"
        "  - filter: x > 2\nvariations: [{name: v, set: {recipe.filter.enabled: false}}]\n";
    EXPECT_EQ(readSpec(text, {}, "v").errors[0].message,
              "variation 'v': the recipe has 2 steps 'filter'; give each a name and use it in the "
              "path");
}

TEST(Variations, NeedUniqueNamesAndASet) {
    EXPECT_EQ(errorOf("variations: [{name: v, set: {}}, {name: v, set: {}}]"),
              "two variations are named 'v'");
    EXPECT_EQ(errorOf("variations: [{name: base, set: {}}]"),
              "a variation cannot be named 'base': runs without a variation are shown as base");
    EXPECT_EQ(errorOf("variations: [{name: v}]"), "variation 'v' needs set: {key.path: value}");
    EXPECT_EQ(errorOf("variations: [{set: {}}]"), "a variation needs a name");
    EXPECT_EQ(errorOf("variations: 7"),
              "variations must be a list of {name: x, set: {...}}, not '7'");
    EXPECT_EQ(errorOf("variations: [{name: keep-30, set: {}}]", "keep-3"),
              "no variation 'keep-3'; did you mean 'keep-30'?");
    EXPECT_EQ(errorOf("", "nope"), "no variation 'nope'; the spec has none");
    std::string many = "variations: [", known;
    for (int i = 0; i < 22; ++i) {
        many += strCat(i == 0 ? "" : ", ", "{name: v", i, ", set: {}}");
        known += i < 20 ? strCat(i == 0 ? "" : ", ", "v", i) : "";
    }
    EXPECT_EQ(errorOf(many + "]", "nope"), "no variation 'nope'; known: " + known + " and 2 more");
}

TEST(Variations, CannotChangeWhatIsEvaluated) {
    EXPECT_NE(errorOf("variations: [{name: v, set: {eval.dataset.where: 'true'}}]")
                  .find("eval.dataset.where is the base's for all variations"),
              std::string::npos);
    EXPECT_EQ(errorOf("variations: [{name: v, set: {eval.every_steps: 5}}]"), "");
}

TEST(SetOption, ChangesTheBaseAndItsVariationsLast) {
    EXPECT_EQ(movieLensVariation("", {"batch.rows=2048"}).batch.rows, 2048);
    EXPECT_EQ(keepOf(movieLensVariation("", {"recipe.sample.keep=0.5"})), 0.5);
    EXPECT_EQ(keepOf(movieLensVariation("keep-30", {"recipe.sample.keep=0.5"})), 0.5);
    const RunSpec set = movieLensVariation("", {"labels.liked=rating >= 3", "model.top=[8, 1]"});
    EXPECT_EQ(set.model.as<DlrmModel>()->top, (std::vector<std::int64_t>{8, 1}));
    EXPECT_EQ(
        std::get<FilterStep>(movieLensVariation("", {"recipe.filter=rating = 4"}).recipe[0].body)
            .expr,
        "rating = 4");
    EXPECT_EQ(movieLensVariation("", {"eval.dataset.where=true"}).eval->dataset.where, "true");
}

TEST(SetOption, SaysWhatIsWrongWithoutAPlace) {
    EXPECT_EQ(setErrorOf("rows"), "spec: --set 'rows': write key=value, as in batch.rows=512");
    EXPECT_EQ(setErrorOf("batch.row=8"), "spec: unknown key 'row' in batch; did you mean 'rows'?");
    EXPECT_NE(setErrorOf("batch.rows=[1").find("--set batch.rows: not YAML"), std::string::npos);
    EXPECT_NE(
        setErrorOf("batch.rows=[1")
            .find("(values are YAML; a text that begins with [ takes quotes of its own, as in "
                  "KEY='\"[...\"')"),
        std::string::npos);
    EXPECT_EQ(setErrorOf("batch.rows=\"8\" x"),
              "spec: batch.rows must be a whole number, not '\"8\" x'");
    EXPECT_EQ(setErrorOf("labels.liked=rating >"),
              "spec: labels.liked.expr: expected a value, not the end");
}

TEST(SetOption, TakesATextThatYamlDoesNotReadAsItIs) {
    const auto whereOf = [](const std::string& where) {
        return movieLensVariation("", {"dataset.where=" + where}).dataset.where;
    };
    EXPECT_EQ(whereOf("\"Item Price\" > 3"), "\"Item Price\" > 3");
    EXPECT_EQ(whereOf("'b' = genre"), "'b' = genre");
    EXPECT_EQ(whereOf("\"Item Price\" > 3 and \"b: c\" = '# 1'"),
              "\"Item Price\" > 3 and \"b: c\" = '# 1'");
    EXPECT_EQ(whereOf("\"rating > 3\""), "rating > 3") << "quoted as YAML";
    EXPECT_EQ(movieLensVariation("", {"labels.liked=\"rating\" >= 3"}).labels.at("liked").expr,
              "\"rating\" >= 3");
    EXPECT_EQ(movieLensVariation("", {"tags.note=@x"}).tags.at("note"), "@x");
}

TEST(SetOption, PathsMayQuoteNamesWithDots) {
    EXPECT_EQ(*splitPath("a.\"b.c\".d"), (std::vector<std::string>{"a", "b.c", "d"}));
    EXPECT_FALSE(splitPath("a.").ok());
    EXPECT_FALSE(splitPath("a.\"b").ok());
    const Result<Change> change = parseSet("labels.\"a=b\"=x = 1");
    ASSERT_TRUE(change.ok());
    EXPECT_EQ(change->path, "labels.\"a=b\"");
    EXPECT_EQ(change->value, "x = 1");
}

}  // namespace
}  // namespace millrace::spec

#include "backend/spec/run_spec.h"

#include <sstream>

#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "backend/spec/bind.h"
#include "tests/unit/spec/movielens_spec.h"

namespace millrace::spec {
namespace {

RunSpec movieLens(std::vector<std::string> sets = {}, std::string_view variation = "") {
    RunSpec spec = readSpec(kMovieLens, {.baseDir = "/b", .sets = std::move(sets)}, variation)
                       .spec.value_or(RunSpec{});
    EXPECT_TRUE(bindSchema(spec, ratingsSchema(), movieTables()).ok());
    return spec;
}

TEST(RunSpec, GoesThroughJsonUnchanged) {
    const RunSpec spec = movieLens();
    const Json json = spec.toJson();
    const Result<RunSpec> back = RunSpec::fromJson(parseJson(dumpJson(json), "test").value());
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(dumpJson(back->toJson()), dumpJson(json));
    EXPECT_EQ(specHash(*back), specHash(spec));
    EXPECT_EQ(streamHash(*back), streamHash(spec));
}

/// Gives every member of a step or a model a value that is not its default.
template <class S>
struct Filler {
    S& into;

    void operator()(std::string_view, auto member, std::string_view, const KeyLimits& = {}) const {
        fill(into.*member);
    }
    void choice(std::string_view, auto member, std::string_view, std::string_view,
                std::string_view) const {
        into.*member = true;
    }
    void table(auto member, std::string_view, const KeyLimits& = {}) const { into.*member = "t"; }

    static void fill(std::string& value) { value = "x"; }
    static void fill(double& value) { value = 0.25; }
    static void fill(std::int64_t& value) { value = 7; }
    static void fill(std::uint64_t& value) { value = 0xffffffffffffffffU; }
    static void fill(std::vector<std::string>& value) { value = {"h"}; }
    static void fill(std::vector<double>& value) { value = {1, 2.5}; }
    static void fill(std::vector<std::int64_t>& value) { value = {8, 1}; }
    static void fill(std::vector<NamedExpr>& value) { value = {{"c", "d"}}; }
    static void fill(std::vector<JoinKey>& value) { value = {{"a", "b"}}; }
    static void fill(std::optional<AsOf>& value) { value = AsOf{"a", "b", 3}; }
};

void fillAll(auto& body) {
    std::visit(
        [](auto& one) {
            const Filler<std::remove_cvref_t<decltype(one)>> filler{one};
            one.listKeys(filler);
        },
        body);
}

TEST(RunSpec, EveryKindOfStepGoesThroughJsonUnchanged) {
    RunSpec spec;
    for (const std::string& kind : stepKindNames()) {
        Step step{kind, true, stepBodyOf(kind).value()};
        fillAll(step.body);
        EXPECT_EQ(step.kind(), kind);
        spec.recipe.push_back(step);
    }
    const Json json = spec.toJson();
    EXPECT_EQ(RunSpec::fromJson(json)->toJson(), json);
    for (std::size_t i = 0; i < spec.recipe.size(); ++i) {
        EXPECT_GT(json["recipe"][i].size(), 3U) << "of " << spec.recipe[i].name;
    }
}

TEST(RunSpec, EveryModelGoesThroughJsonUnchangedAndWithTheKeysOfTheFirstOnes) {
    for (const ModelBody& body : allModels()) {
        RunSpec spec;
        spec.model.body = body;
        fillAll(spec.model.body);
        const Json json = spec.toJson();
        EXPECT_EQ(json["model"].size(), modelType(body) == "dcn_v2" ? 9U : 7U);
        EXPECT_EQ(RunSpec::fromJson(json)->toJson(), json);
    }
    const Json usual = RunSpec().toJson()["model"];
    EXPECT_EQ(dumpJson(usual),
              R"({"bottom":[],"embedding_dim":16,"hidden":[],"keys":[],"smoothing":5.0,"top":[],)"
              R"("type":"dlrm"})");
}

TEST(RunSpec, JsonOfTheWrongShapeIsAnErrorThatNamesTheKey) {
    const auto errorOf = [](const char* text) {
        return std::string(messageOf(RunSpec::fromJson(parseJson(text, "t").value()).status()));
    };
    EXPECT_EQ(errorOf("[]"), "resolved spec: the text must be an object, not []");
    EXPECT_EQ(errorOf(R"({"batch": {"rows": "x"}})"),
              "resolved spec: batch.rows must be an integer, not \"x\"");
    EXPECT_EQ(errorOf(R"({"recipe": [{"kind": "fliter"}]})"),
              "resolved spec: recipe[0].kind must be the kind of a step, not \"fliter\"");
    EXPECT_EQ(errorOf(R"({"model": {"type": "cnn"}})"),
              "resolved spec: model.type must be the type of a model, not \"cnn\"");
    EXPECT_EQ(errorOf(R"({"batch": {"micro_rows": 0}})"),
              "resolved spec: batch.micro_rows must divide batch.rows");
    EXPECT_EQ(errorOf(R"({"train": {"ranks": 3}})"),
              "resolved spec: train.ranks must divide batch.rows / batch.micro_rows");
    EXPECT_EQ(errorOf(R"({"eval": 3})"), "resolved spec: eval must be an object, not 3");
    EXPECT_EQ(errorOf("{}"), "");
}

TEST(RunSpec, HoldsEveryKeyOfTheTable) {
    Json json = movieLens().toJson();
    EXPECT_EQ(json["batch"]["order"], "permuted");
    EXPECT_EQ(json["eval"]["label_recipe"], Json::array());
    EXPECT_EQ(json["recipe"][1]["on"][0]["left"], "userId");
    EXPECT_EQ(json["features"]["dense"][0]["column"], "age_years");
    EXPECT_EQ(json["train"]["checkpoint"]["keep"], 3);
    EXPECT_EQ(json["base_dir"], "/b");
}

TEST(SpecHash, IsTheKnownOneForTheExample) {
    EXPECT_EQ(specHash(movieLens()), "029b8e9d1db7b0c57be71087d2c72ddc");
    EXPECT_EQ(streamHash(movieLens()), "1c8e7c17ec4424f67e38291d2b54c474");
}

// Each line: a spec of the tree, "-" or its variation, and the two hashes that stores and receipts
// hold. A line changes only with its spec: an older run must keep its hashes.
TEST(SpecHash, OfEverySpecOfTheTreeIsTheKnownOne) {
    const std::string root = std::string(MILLRACE_SOURCE_DIR) + "/";
    std::istringstream lines(readFile(root + "tests/golden/spec/hashes.txt").value_or(""));
    int numSpecs = 0;
    for (std::string file, variation, spec, stream; lines >> file >> variation >> spec >> stream;) {
        const Result<std::string> text = readFile(root + file);
        ASSERT_TRUE(text.ok()) << text.status();
        const ResolvedSpec read = readSpec(*text, {}, variation == "-" ? "" : variation);
        ASSERT_TRUE(read.ok()) << file << ": " << toStatus(read.errors, file);
        EXPECT_EQ(specHash(*read.spec), spec) << file << " " << variation;
        EXPECT_EQ(streamHash(*read.spec), stream) << file << " " << variation;
        ++numSpecs;
    }
    EXPECT_GT(numSpecs, 25);
}

TEST(SpecHash, LeavesOutNamesNotesAndResources) {
    const std::string hash = specHash(movieLens());
    EXPECT_EQ(specHash(movieLens({"name=other", "notes=n", "owner=o", "project=p", "tags={a: b}",
                                  "resources.loader_threads=3"})),
              hash);
    EXPECT_NE(specHash(movieLens({"train.learning_rate=0.1"})), hash);
    EXPECT_NE(specHash(movieLens({"eval.every_steps=7"})), hash);
}

TEST(StreamHash, CountsWhatDecidesTheStreamAndNothingElse) {
    const std::string hash = streamHash(movieLens());
    for (const char* same : {"train.learning_rate=0.1", "batch.epochs=9", "model.type=mlp",
                             "eval.every_steps=7", "resources.loader_threads=3", "name=x"}) {
        EXPECT_EQ(streamHash(movieLens({same})), hash) << same;
    }
    for (const char* other :
         {"batch.seed=8", "batch.micro_rows=128", "batch.segment_splits=2", "batch.shuffle=none",
          "batch.order=as_is", "labels.liked=rating > 3", "recipe.sample.keep=0.5",
          "dataset.where=null", "embeddings.genres.rows=99", "dataset.csv_split_rows=10"}) {
        EXPECT_NE(streamHash(movieLens({other})), hash) << other;
    }
    RunSpec wider = movieLens();
    wider.embeddings["genres"].dim = 8;
    EXPECT_EQ(streamHash(wider), hash);
}

// Their values changed: the x87 unit's long doubles before, SLEEF now (decision 0025).
TEST(StreamHash, HasTheRevisionOfFunctionsWhoseValuesChanged) {
    const auto of = [](const std::string& label) {
        return streamHash(movieLens({"labels.liked=" + label}));
    };
    EXPECT_EQ(of("rating > 3"), "51fe75f3c85cbfc8a1505f0f936c87a8");
    EXPECT_EQ(of("sqrt(rating) > 3"), "dc729b31a1b3af59f7b5bea9153cce5a");
    EXPECT_EQ(of("ln(rating) > 3"), "5368df5d6e4a3386e714decbb5f49e33");
    EXPECT_EQ(of("rating ^ 2 > 3"), "2f97c3398101f7b96fe46be6c8b111ed");
    EXPECT_EQ(streamHash(movieLens({"dataset.where=Exp(rating) > 3"})),
              "ed48b2a3a539446bdcc6d67e930f7a3d");
}

TEST(FlattenParams, GivesEveryKeyAText) {
    const auto params = flattenParams(movieLens().toJson());
    EXPECT_EQ(params.at("batch.rows"), "1024");
    EXPECT_EQ(params.at("features.ids"), "userId, movieId");
    EXPECT_EQ(params.at("features.dense"), "age_years, is_new");
    EXPECT_EQ(params.at("recipe.join.take.genres"), "split(genres, '|')");
    EXPECT_EQ(params.at("recipe.spam.enabled"), "false");
    EXPECT_EQ(params.at("recipe.spam.on.userId"), "userId");
    EXPECT_EQ(params.at("model.top"), "64, 1");
    EXPECT_TRUE(flattenParams(Json()).empty());
}

}  // namespace
}  // namespace millrace::spec

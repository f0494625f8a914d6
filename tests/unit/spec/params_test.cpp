// `params` and `${name}`: constants, each of one type, at any place in a spec.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/expr/expression.h"
#include "backend/spec/bind.h"
#include "backend/spec/spec_reader.h"

namespace millrace::spec {
namespace {

std::string specOf(const std::string& params, const std::string& where,
                   const std::string& more = "") {
    return "params: " + params + "\ndataset:\n  path: log/*.parquet\n  where: " + where +
           "\nlabel: y > 0\nfeatures: {dense: [x]}\n" + more;
}

/// `where` of the dataset, or the first error in brackets.
std::string whereOf(const std::string& params, const std::string& where,
                    std::vector<std::string> sets = {}) {
    const ResolvedSpec read = readSpec(specOf(params, where), {.sets = std::move(sets)});
    return read.ok() ? read.spec->dataset.where : "[" + read.errors.front().text("spec") + "]";
}

std::string pathOf(const std::string& params, const std::string& path) {
    const ResolvedSpec read = readSpec("params: " + params + "\ndataset: {path: " + path +
                                       "}\nlabel: y > 0\nfeatures: {dense: [x]}\n");
    return read.ok() ? read.spec->dataset.path.front()
                     : "[" + read.errors.front().text("spec") + "]";
}

TEST(Params, AreConstantsOfTheirType) {
    EXPECT_EQ(whereOf("{a: 7}", "x > ${a}"), "x > 7");
    EXPECT_EQ(whereOf("{a: -7}", "x - ${a} > 0"), "x - -7 > 0");
    EXPECT_EQ(whereOf("{a: -9223372036854775808}", "x > ${a}"), "x > -9223372036854775808");
    EXPECT_EQ(whereOf("{a: 1.0}", "x / ${a} > 2"), "x / 1.0 > 2");
    EXPECT_EQ(whereOf("{a: 1e-7}", "x > ${ a }"), "x > 1e-07");
    EXPECT_EQ(whereOf("{a: true}", "b = ${a}"), "b = true");
    EXPECT_EQ(whereOf("{a: 2024-02-29}", "d >= ${a}"), "d >= date '2024-02-29'");
    EXPECT_EQ(whereOf("{a: '2024-02-29'}", "s = ${a}"), "s = '2024-02-29'");
    EXPECT_EQ(whereOf("{a: '2024-02-30'}", "s = ${a}"), "s = '2024-02-30'");
    EXPECT_EQ(whereOf("{a: {b: {c: 3}}}", "x > ${a.b.c}"), "x > 3");
    EXPECT_EQ(whereOf("{a: [3, -5], b: [x, \"y'\"]}", "x in ${a} and s not in ${b}"),
              "x in (3, -5) and s not in ('x', 'y''')");
}

TEST(Params, OfATextStayOneTextWhateverItHolds) {
    const std::vector<std::string> hostile = {"' or 1=1 or s='",
                                              "''",
                                              "'",
                                              "a\\'b",
                                              "${other}",
                                              "x' || ${other} || 'y",
                                              "\"quoted\"",
                                              "line\nbreak\r\n",
                                              "-- comment",
                                              "/* c */",
                                              "); drop",
                                              "$$",
                                              "}",
                                              "\xF0\x9F\x98\x80"};
    for (const std::string& text : hostile) {
        const std::string params = dumpJson({{"s", text}, {"other", 3}});
        const ResolvedSpec read = readSpec(specOf(params, "s = ${s} and x > 1"));
        ASSERT_TRUE(read.ok()) << text << ": " << read.errors.front().message;
        const auto tree = expr::parseExpression(read.spec->dataset.where);
        ASSERT_TRUE(tree.ok()) << text;
        ASSERT_EQ((*tree)->op, expr::ExprOp::kAnd) << text;
        const expr::Expr& equal = (*tree)->children[0];
        ASSERT_EQ(equal->children[1]->op, expr::ExprOp::kLiteral) << text;
        EXPECT_EQ(std::get<std::string>(equal->children[1]->literal), text);
        EXPECT_EQ(read.spec->params["s"], text);
    }
}

TEST(Params, TakeDaysFromDatesAndNumbersFromIntegers) {
    EXPECT_EQ(whereOf("{day: 2024-03-02}", "d > ${day-6} and d < ${day + 30}"),
              "d > date '2024-02-25' and d < date '2024-04-01'");
    EXPECT_EQ(whereOf("{n: 5}", "x > ${n-6} and x < ${n+1}"), "x > -1 and x < 6");
    EXPECT_EQ(whereOf("{day: '2024-03-02'}", "s > ${day-6}"),
              "[spec:4:14: dataset.where: ${day-6} needs a date or a whole number, and params.day "
              "is a text; a date is written without quotes]");
    EXPECT_EQ(whereOf("{x: 0.5}", "x > ${x-6}"),
              "[spec:4:14: dataset.where: ${x-6} needs a date or a whole number, and params.x is a "
              "number with a fraction]");
    EXPECT_EQ(whereOf("{n: 9223372036854775807}", "x > ${n+1}"),
              "[spec:4:14: dataset.where: ${n+1} does not fit into 64 bits]");
    EXPECT_EQ(whereOf("{d: 0001-01-01}", "x > ${d-1}"),
              "[spec:4:14: dataset.where: ${d-1} is not a date of the years 1 to 9999]");
    EXPECT_EQ(whereOf("{d: 2024-01-01}", "x > ${d-9223372036854775807}"),
              "[spec:4:14: dataset.where: ${d-9223372036854775807} is not a date of the years 1 to "
              "9999]");
}

TEST(Params, ErrorsNameThePlaceAndWhatIsKnown) {
    EXPECT_EQ(whereOf("{floor: 1}", "x > 0 and\n    x < ${flor}"),
              "[spec:5:9: dataset.where: unknown parameter 'flor'; did you mean 'floor'?]");
    EXPECT_EQ(whereOf("{a: 1, b: 2}", "x > ${window}"),
              "[spec:4:14: dataset.where: unknown parameter 'window'; known: a, b]");
    EXPECT_EQ(whereOf("{}", "x > ${a}"),
              "[spec:4:14: dataset.where: unknown parameter 'a'; the spec has no params]");
    EXPECT_EQ(whereOf("{w: {days: 1}}", "x > ${w}"),
              "[spec:4:14: dataset.where: params.w is a map; name a value of it, as in ${w.days}]");
    EXPECT_EQ(whereOf("{a: 1}", "x > ${a*2}"),
              "[spec:4:14: dataset.where: '${a*2}' is not understood: write a parameter's name, as "
              "in ${day}, or with a whole number, as in ${day-6}]");
    EXPECT_EQ(whereOf("{a: 1}", "s = 'x${a}'"),
              "[spec:4:16: dataset.where: ${a} is within quotes, where nothing is put in; write "
              "it without them]");
    EXPECT_EQ(whereOf("{a: 1}", "s = 'x${1}'"), "s = 'x${1}'") << "a text of the user's own";
    EXPECT_EQ(whereOf("{a: [1]}", "x = ${a}"),
              "[spec:4:14: dataset.where: ${a} is a list, which may be used only after `in`]");
    EXPECT_EQ(whereOf("{a: []}", "x in ${a}"), "[spec:4:15: dataset.where: ${a} is an empty list]");
    EXPECT_EQ(whereOf("{a: long text}", "s = ${a} and and").substr(0, 40),
              "[spec:4:23: dataset.where: expected a va")
        << "places behind a constant are those of the text";
}

TEST(Params, TouchNothingThatWouldBeReadWithThem) {
    const std::string params = "{a: 1, b: 2, t: v, neg: -3}";
    const auto refused = [](int column, const std::string& use, const std::string& beside) {
        return "[spec:4:" + std::to_string(column) + ": dataset.where: " + use + " touches " +
               beside +
               ", and a constant is not joined with its neighbours; write a blank between them, "
               "or make the whole one parameter]";
    };
    EXPECT_EQ(whereOf(params, "x < ${a}${b}"), refused(14, "${a}", "${b}"));
    EXPECT_EQ(whereOf(params, "x < ${a}5"), refused(14, "${a}", "5"));
    EXPECT_EQ(whereOf(params, "x < 5${neg}"), refused(15, "${neg}", "5"));
    EXPECT_EQ(whereOf(params, "x < ${a}e5 + 1"), refused(14, "${a}", "e5"));
    EXPECT_EQ(whereOf(params, "x < ${a}.5"), refused(14, "${a}", ".5"));
    EXPECT_EQ(whereOf(params, "s = ${t}'x'"), refused(14, "${t}", "'x'"));
    EXPECT_EQ(whereOf(params, "s = 'x'${t}"), refused(17, "${t}", "'x'"));
    EXPECT_EQ(whereOf(params, "s = ${t}\"x\""), refused(14, "${t}", "\"x\""));
    EXPECT_EQ(whereOf(params, "x in${a}"), refused(14, "${a}", "in"));
    EXPECT_EQ(whereOf(params, "x < a.b1${a}"), refused(18, "${a}", "a.b1"));
    EXPECT_EQ(whereOf(params, "(x<${a})and -${neg}*${b}<=${a}||'t'"), "(x<1)and --3*2<=1||'t'");
}

TEST(Params, LeaveErrorsOfTypesAtTheirPlaceInTheText) {
    ResolvedSpec read = readSpec(specOf("{a: a long text}", "s = ${a} and z > 1"));
    ASSERT_TRUE(read.ok());
    const expr::Schema schema{{{"s", *expr::parseType("string")},
                               {"x", *expr::parseType("double")},
                               {"y", *expr::parseType("double")}}};
    const BindResult bound = bindSchema(*read.spec, schema, nullptr);
    ASSERT_FALSE(bound.ok());
    EXPECT_EQ(bound.errors.front().text("spec").substr(0, 44),
              "spec:4:23: dataset.where: unknown column 'z'");
}

TEST(Params, NamesAndValuesAreChecked) {
    EXPECT_EQ(
        whereOf("{\"a-b\": 1}", "x > 0"),
        "[spec:1:10: params.a-b is not a name: letters, digits and _, a letter first, at most "
        "60]");
    EXPECT_EQ(whereOf("{name: x}", "x > 0"),
              "[spec:1:10: params.name is also what filters call the spec's own key name; give the "
              "parameter another name]");
    EXPECT_EQ(whereOf("{batch: {rows: 3}}", "x > 0").substr(0, 40),
              "[spec:1:10: params.batch is also what fi");
    EXPECT_EQ(whereOf("{model: resnet, dataset: cifar, label: x, eval: 3, seed: 1}", "x > 0"),
              "x > 0");
    EXPECT_EQ(whereOf("{a: 9223372036854775808}", "x > 0"),
              "[spec:1:13: params.a must fit into 64 bits, and 9223372036854775808 does not; in "
              "quotes it is a text]");
    for (const std::string number : {"1e400", "-1e400", "1e-400"}) {
        EXPECT_EQ(whereOf("{a: " + number + "}", "x > 0"),
                  "[spec:1:13: params.a must fit into a double, and " + number +
                      " does not; in quotes it is a text]");
    }
    EXPECT_EQ(whereOf("{a: True}", "x > 0"),
              "[spec:1:13: params.a is True; write true or false, or put it in quotes, in which it "
              "is a text]");
    EXPECT_EQ(whereOf("{a: 'True', b: '1e400'}", "s = ${a} or s = ${b}"),
              "s = 'True' or s = '1e400'");
    EXPECT_NE(whereOf("{a: }", "x > 0")
                  .find("params.a must be a number, a text, true or false, or "
                        "a list of these, not nothing]"),
              std::string::npos);
    EXPECT_EQ(whereOf("{a: [[1]]}", "x > 0"),
              "[spec:1:13: params.a must be a list of numbers, texts and bools; it holds a list]");
    EXPECT_EQ(whereOf("[1]", "x > 0"),
              "[spec:1:9: params must be a map of names and values, not a list]");
    EXPECT_EQ(whereOf("{a: " + std::string(70'000, 'x') + "}", "x > 0").substr(0, 45),
              "[spec:1:9: params take 70,008 bytes as JSON; ");
}

TEST(Params, OfAPathAreAPartOfAName) {
    EXPECT_EQ(pathOf("{day: 2024-03-01}", "\"log/day=${day-1}/*.parquet\""),
              "log/day=2024-02-29/*.parquet");
    EXPECT_EQ(pathOf("{n: 7, s: eu-west, b: false}", "\"${s}/${n}-${b}.parquet\""),
              "eu-west/7-false.parquet");
    for (const char* const text : {"../x", "a/b", "..", ".", "/etc", "*", "x?", "[ab]", "{a,b}"}) {
        const std::string refused = pathOf(dumpJson({{"s", text}}), "\"log/${s}/x.parquet\"");
        EXPECT_NE(refused.find("dataset.path: ${s} is '" + std::string(text) + "', which would"),
                  std::string::npos)
            << refused;
    }
    EXPECT_EQ(pathOf("{day: ''}", "\"d/${day}*.parquet\""),
              "[spec:2:20: dataset.path: ${day} is an empty text, with which the path would name "
              "other files; give the parameter a value, or write the path without it]");
    EXPECT_EQ(pathOf("{s: [1]}", "\"${s}.parquet\""),
              "[spec:2:18: dataset.path: ${s} is a list; a path takes only one value]");
    EXPECT_EQ(pathOf("{s: 1}", "\"a${s.parquet\""),
              "[spec:2:19: dataset.path: this ${ has no closing }]");
}

TEST(Params, WithoutQuotesInBracesAreExplained) {
    EXPECT_EQ(whereOf("{s: 1}", "x\nmore: {path: a/${s}/b}"),
              "[spec:5:17: not YAML: end of map flow not found; within {} and [] put a value that "
              "holds ${...} in double quotes]");
}

TEST(Params, ATabBeforeAKeyIsExplained) {
    const ResolvedSpec read = readSpec("dataset:\n\tpath: a.parquet\n");
    ASSERT_FALSE(read.errors.empty());
    EXPECT_NE(read.errors[0].message.find("indent lines with spaces"), std::string::npos)
        << read.errors[0].message;
}

TEST(Params, StandInEveryExpressionOfASpec) {
    const ResolvedSpec read = readSpec(
        "params: {k: 3, t: items}\ndataset: {path: a.parquet}\nlabels:\n  y: {expr: \"y > ${k}\", "
        "weight: \"1.0 * ${k}\", where: \"x < ${k}\"}\nfeatures: {dense: [z]}\nrecipe:\n"
        "  - filter: x <> ${k}\n  - weight: x + ${k}\n  - derive: {z: \"x * ${k}\"}\n"
        "  - join: {table: \"${t}.csv\", on: id, take: {w: \"p + ${k}\"}}\n"
        "  - sample: {where: \"x = ${k}\", keep: 0.5}\n"
        "eval:\n  dataset: {path: \"${t}.parquet\", where: \"x = ${k+1}\"}\n");
    ASSERT_TRUE(read.ok()) << read.errors.front().message;
    const std::string json = dumpJson(read.spec->toJson());
    EXPECT_EQ(json.find("${"), std::string::npos) << json;
    EXPECT_NE(json.find("\"p + 3\""), std::string::npos);
    EXPECT_NE(json.find("\"items.csv\""), std::string::npos);
    EXPECT_EQ(read.spec->eval->dataset.where, "x = 4");
    EXPECT_EQ(read.spec->eval->dataset.path.front(), "items.parquet");
}

TEST(Params, KeepTheTypeOfANumberADateOrABool) {
    const std::string params = "{n: 1, f: 0.5, day: 2024-03-01, is: true, t: v, l: [1]}";
    const auto set = [&](const std::string& change) { return whereOf(params, "x > 1", {change}); };
    for (const char* const change :
         {"params.n=0.5", "params.f=3", "params.day=2024-02-29", "params.is=false", "params.t=5",
          "params.t=2024-03-01", "params.l=3", "params.n=null"}) {
        EXPECT_EQ(set(change), "x > 1") << change;
    }
    EXPECT_EQ(set("params.n='5'"),
              "[spec: --set params.n: params.n is a number in the spec (1), and '5' is not]");
    EXPECT_EQ(set("params.n=[5]"),
              "[spec: --set params.n: params.n is a number in the spec (1), and a list is not]");
    EXPECT_EQ(set("params.day=2024-3-1"),
              "[spec: --set params.day: params.day is a date in the spec (2024-03-01), and "
              "'2024-3-1' is not]");
    EXPECT_EQ(set("params.day=2024-13-01"),
              "[spec: --set params.day: params.day is a date in the spec (2024-03-01), and "
              "'2024-13-01' is not]");
    EXPECT_EQ(set("params.is=no"),
              "[spec: --set params.is: params.is is true or false in the spec (true), and 'no' is "
              "not]");
    EXPECT_EQ(
        whereOf("{day: 2023-02-29}", "x > 1"),
        "[spec:1:15: params.day is 2023-02-29, which no calendar has; in quotes it is a text]");
    const ResolvedSpec varied = readSpec(specOf(params, "x > 1",
                                                "variations:\n"
                                                "  - {name: bad, set: {params.n: auto}}\n"),
                                         {}, "bad");
    ASSERT_FALSE(varied.errors.empty());
    EXPECT_NE(varied.errors[0].message.find("params.n is a number in the spec (1)"),
              std::string::npos)
        << varied.errors[0].message;
}

TEST(Params, WarnOfWordsThatAreBoolsElsewhere) {
    const auto warnings = [](const std::string& params, std::vector<std::string> sets = {}) {
        return readSpec(specOf(params, "x > 1"), {.sets = std::move(sets)}).warnings;
    };
    EXPECT_EQ(warnings("{dropout: no, w: {a: [1, On]}}"),
              (std::vector<std::string>{
                  "params.dropout: no is a text here; write false, or \"no\" in quotes",
                  "params.w.a: On is a text here; write true, or \"On\" in quotes"}));
    EXPECT_EQ(warnings("{a: \"no\", b: 'yes', c: none, d: y, e: false}"),
              std::vector<std::string>{});
    EXPECT_EQ(warnings("{a: x}", {"params.a=off"}).size(), 1U);
    EXPECT_EQ(warnings("{a: x}", {"params.a=\"off\""}).size(), 0U);
}

TEST(Params, AreSetByVariationsAndSetsWhereTheyHaveAPlace) {
    const std::string where = "x > ${a}";
    EXPECT_EQ(whereOf("{a: 1}", where, {"params.a=5"}), "x > 5");
    EXPECT_EQ(whereOf("{a: 1}", where, {"params.window=5"}),
              "[spec: --set params.window: params has no 'window' to set; known: a]");
    EXPECT_EQ(whereOf("{a: 1}", where, {"params.win.days=5"}),
              "[spec: --set params.win.days: params has no 'win' to set; known: a]");
    EXPECT_EQ(whereOf("{a: 1, w: {days: 2}}", where, {"params.w.days=5"}), "x > 1");
    EXPECT_EQ(whereOf("{a: 1, w: {days: 2}}", where, {"params.w={dayz: 5}"}),
              "[spec: --set params.w: params.w has no 'dayz' to set; did you mean 'days'?]");
    EXPECT_EQ(whereOf("{a: 1}", where, {"params={nope: 3}"}),
              "[spec: --set params: params has no 'nope' to set; known: a]");
    EXPECT_EQ(whereOf("{a: 1}", where, {"params.a={b: 3}"}),
              "[spec: --set params.a: params.a is one value, and cannot be set to a map]");
    EXPECT_EQ(whereOf("{a: 1, w: {days: 2}}", where, {"params.w=3"}),
              "[spec: --set params.w: params.w is a map of names, and cannot be set to '3']");
    EXPECT_EQ(whereOf("{a: 1, w: {days: 2}}", "x > ${a} + ${w.days}",
                      {"params={a: 7}", "params.w={days: 3}"}),
              "x > 7 + 3")
        << "the other names stay";
    const std::string text = specOf("{a: 1, b: 2}", where,
                                    "eval: {dataset: {where: \"x = ${a}\"}}\nvariations:\n"
                                    "  - {name: more, set: {params.a: 9, params.b: null}}\n");
    const ResolvedSpec more = readSpec(text, {}, "more");
    ASSERT_TRUE(more.ok()) << more.errors.front().message;
    EXPECT_EQ(more.spec->dataset.where, "x > 9");
    EXPECT_EQ(dumpJson(more.spec->params), "{\"a\":9}");
    EXPECT_EQ(more.spec->eval->dataset.where, "x = 1") << "evaluation is the base's";
}

TEST(Params, CountForTheStreamHashOnlyWhereTheyAreUsed) {
    const auto of = [](const std::string& params, const std::string& where) {
        return *readSpec(specOf(params, where)).spec;
    };
    const RunSpec plain = of("{}", "x > 3");
    EXPECT_NE(specHash(of("{a: 1}", "x > 3")), specHash(plain));
    EXPECT_NE(specHash(of("{a: 1}", "x > 3")), specHash(of("{a: 2}", "x > 3")));
    EXPECT_EQ(streamHash(of("{a: 1}", "x > 3")), streamHash(plain));
    EXPECT_EQ(streamHash(of("{a: 3}", "x > ${a}")), streamHash(plain)) << "the same constant";
    EXPECT_NE(streamHash(of("{a: 4}", "x > ${a}")), streamHash(plain));
    EXPECT_EQ(streamHash(of("{n: -3}", "x > ${n}")), streamHash(of("{}", "x > -3")));
}

TEST(Params, AreReadAgainFromTheResolvedSpec) {
    const RunSpec spec =
        *readSpec(specOf("{day: 2024-03-01, lr: 0.1, w: {n: [1, a]}}", "x > 3")).spec;
    const auto again = RunSpec::fromJson(spec.toJson());
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(dumpJson(again->params), R"({"day":"2024-03-01","lr":0.1,"w":{"n":[1,"a"]}})");
    EXPECT_EQ(specHash(*again), specHash(spec));
}

std::string textsOfErrors(const std::string& text) {
    std::string all;
    for (const SpecError& error : readSpec(text).errors) {
        all += (all.empty() ? "" : "\n") + error.text("spec");
    }
    return all;
}

TEST(SpecWithoutDataset, IsItsCommand) {
    const ResolvedSpec read =
        readSpec("command: [bash, job.sh]\nparams: {n: 3}\ntrain: {ranks: 3, threads: 2}\n",
                 {.fileName = "dir/job.yaml"});
    ASSERT_TRUE(read.ok()) << read.errors.front().message;
    EXPECT_FALSE(read.spec->hasDataset());
    EXPECT_EQ(read.spec->name, "job");
    EXPECT_EQ(read.spec->train.ranks, 3);
    const Json json = read.spec->toJson();
    for (const char* key : {"dataset", "recipe", "labels", "features", "batch", "model", "eval"}) {
        EXPECT_FALSE(json.contains(key)) << key;
    }
    const auto again = RunSpec::fromJson(json);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->model.type(), "");
    EXPECT_EQ(specHash(*again), specHash(*read.spec));
}

TEST(SpecWithoutDataset, RefusesTheKeysOfStreams) {
    EXPECT_EQ(textsOfErrors("label: y\nfeatures: {dense: [x]}\n").substr(0, 29),
              "spec:1:1: dataset is missing:");
    EXPECT_EQ(
        textsOfErrors(
            "command: [x]\nbatch: {rows: 8}\ntrain: {max_steps: 3, nodes: 2, ranks: 2}\n"),
        "spec:2:8: batch is for the stream of a dataset, and the spec has none: add dataset, or "
        "leave it out\n"
        "spec:3:20: train.max_steps is for the stream of a dataset, and the spec has none: add "
        "dataset, or leave it out\n"
        "spec:3:30: train.nodes: the ranks of a run without a dataset are on one node; start one "
        "run for each node, or add a dataset");
}

}  // namespace
}  // namespace millrace::spec

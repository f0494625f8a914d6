// Random schemas' rows through random recipes: the compiled recipe against the slow oracle. A
// failure prints the seed, the recipe and the row; MILLRACE_PROPERTY_SEED runs one seed alone.
#include <cstdlib>
#include <random>

#include <arrow/array/builder_nested.h>

#include "backend/spec/step_text.h"
#include "tests/unit/recipe/property_oracle.h"
#include "tests/unit/recipe/recipe_fixture.h"

namespace millrace::recipe {
namespace {

using namespace test;
using spec::StepKind;
using Kind = Value::Kind;

constexpr std::int64_t kRows = 60;
constexpr std::int64_t kIdRows = 97;

using TestRow = std::map<std::string, Value>;

arrow::Status append(arrow::ArrayBuilder& builder, const Value& value) {
    switch (value.kind) {
        case Kind::kInt:
            return static_cast<arrow::Int64Builder&>(builder).Append(value.i);
        case Kind::kReal:
            return static_cast<arrow::DoubleBuilder&>(builder).Append(value.d);
        case Kind::kText:
            return static_cast<arrow::StringBuilder&>(builder).Append(value.s);
        case Kind::kList: {
            auto& list = static_cast<arrow::ListBuilder&>(builder);
            arrow::Status status = list.Append();
            for (const Value& element : value.l) {
                status &= append(*list.value_builder(), element);
            }
            return status;
        }
        default:
            return builder.AppendNull();
    }
}

std::shared_ptr<arrow::ArrayBuilder> builderOf(const std::string& column) {
    const auto scalar = [](char c) -> std::shared_ptr<arrow::ArrayBuilder> {
        if (c == 'y') {
            return std::make_shared<arrow::DoubleBuilder>();
        }
        if (c == 's') {
            return std::make_shared<arrow::StringBuilder>();
        }
        return std::make_shared<arrow::Int64Builder>();
    };
    return column[0] == 'l' ? std::make_shared<arrow::ListBuilder>(arrow::default_memory_pool(),
                                                                   scalar(column[1]))
                            : scalar(column[0]);
}

std::vector<Column> columnsOf(const std::vector<TestRow>& rows,
                              const std::vector<std::string>& names) {
    std::vector<Column> columns;
    for (const std::string& name : names) {
        const auto builder = builderOf(name);
        for (const TestRow& row : rows) {
            EXPECT_TRUE(append(*builder, row.at(name)).ok());
        }
        columns.push_back({name, *builder->Finish()});
    }
    return columns;
}

/// Draws data, a recipe and features. A column's first letters are its type: i, y, s; li, ly, ls.
class Generator {
 public:
    explicit Generator(std::uint64_t seed) : random_(seed) {
        for (std::int64_t r = 0; r < kRows; ++r) {
            rows_.push_back(randomRow());
        }
        for (OracleTable& table : tables_) {
            const int count = upTo(20);
            for (int r = 0; r < count; ++r) {
                table.rows.push_back({{"ik", integer(5)},
                                      {"sk", text()},
                                      {"it", integer(30)},
                                      {"yv", real()},
                                      {"iv", integer(100)}});
            }
        }
    }

    static std::vector<std::string> fileColumns() {
        return {"ia", "ib", "inow", "ya", "yb", "sa", "sb", "lihist", "lyhist", "litime", "lsa"};
    }
    const std::vector<TestRow>& rows() const { return rows_; }
    const OracleTable& table(std::size_t i) const { return tables_[i]; }

    std::vector<OracleStep> recipe() {
        columns_ = fileColumns();
        std::vector<OracleStep> steps;
        const int count = 1 + upTo(6);
        for (int i = 0; i < count; ++i) {
            OracleStep step = oneStep();
            step.step.name = strCat("step", i);
            steps.push_back(std::move(step));
        }
        return steps;
    }
    /// Columns after the recipe() made last.
    const std::vector<std::string>& columns() const { return columns_; }
    int upTo(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }

 private:
    bool chance(int percent) { return upTo(100) < percent; }
    Value integer(int below) {
        return chance(15) ? Value{} : Value::of(static_cast<std::int64_t>(upTo(below)) - below / 4);
    }
    Value real() {
        return chance(15)  ? Value{}
               : chance(5) ? Value::of(std::nan(""))
                           : Value::of(static_cast<double>(upTo(80)) / 8 - 5);
    }
    Value text() {
        static const std::vector<std::string> kTexts = {"", "a", "b", "ab", "xyz"};
        return chance(15) ? Value{} : Value::of(kTexts[static_cast<std::size_t>(upTo(5))]);
    }
    TestRow randomRow() {
        TestRow row{{"ia", integer(5)}, {"ib", integer(1000)}, {"inow", integer(30)},
                    {"ya", real()},     {"yb", real()},        {"sa", text()},
                    {"sb", text()}};
        std::vector<Value> hist, price, time, words;
        for (int n = upTo(5); n > 0; --n) {
            hist.push_back(integer(50));
            price.push_back(real());
            time.push_back(integer(30));
        }
        for (int n = upTo(4); n > 0; --n) {
            words.push_back(text());
        }
        const bool hasNone = hist.empty() && chance(50);
        row["lihist"] = hasNone ? Value{} : Value::of(hist);
        row["lyhist"] = Value::of(price);
        row["litime"] = hasNone ? Value{} : Value::of(time);
        row["lsa"] = chance(15) ? Value{} : Value::of(words);
        return row;
    }

    std::string any(const std::string& prefixes) {
        std::vector<std::string> fit;
        for (const std::string& name : columns_) {
            const std::string type = name[0] == 'l' ? "l" : name.substr(0, 1);
            if (prefixes.find(type) != std::string::npos) {
                fit.push_back(name);
            }
        }
        return fit[static_cast<std::size_t>(upTo(static_cast<int>(fit.size())))];
    }
    std::string fresh(const std::string& type) {
        const std::string name = strCat(type, "m", made_++);
        columns_.push_back(name);
        return name;
    }

    OraclePredicate predicate() {
        const std::string a = any("iy"), s = any("s");
        const std::int64_t c = upTo(6);
        switch (upTo(4)) {
            case 0:
                return {strCat(a, " > ", c), [a, c](const OracleRow& r) -> std::optional<bool> {
                            const Value& v = r.at(a);
                            if (v.isNull()) {
                                return std::nullopt;
                            }
                            return std::isnan(v.number()) || v.number() > static_cast<double>(c);
                        }};
            case 1:
                return {strCat(s, " in ('a', 'ab') or ", a, " is null"),
                        [a, s](const OracleRow& r) -> std::optional<bool> {
                            if (r.at(a).isNull()) {
                                return true;
                            }
                            if (r.at(s).isNull()) {
                                return std::nullopt;
                            }
                            return r.at(s).s == "a" || r.at(s).s == "ab";
                        }};
            case 2:
                return {strCat("length(", s, ") < ", c % 3, " + 1"),
                        [s, c](const OracleRow& r) -> std::optional<bool> {
                            if (r.at(s).isNull()) {
                                return std::nullopt;
                            }
                            return static_cast<std::int64_t>(r.at(s).s.size()) < c % 3 + 1;
                        }};
            default:
                return {strCat("coalesce(", a, ", 0) <= ", c),
                        [a, c](const OracleRow& r) -> std::optional<bool> {
                            const Value& v = r.at(a);
                            return v.isNull() || v.number() <= static_cast<double>(c);
                        }};
        }
    }

    OracleStep derive() {
        OracleStep s;
        s.step.kind = StepKind::kDerive;
        const std::string a = any("i"), y = any("y"), t = any("s");
        const std::int64_t c = 1 + upTo(4);
        switch (upTo(3)) {
            case 0:
                s.expr = {strCat(a, " % ", c, " + ", c), [a, c](const OracleRow& r) {
                              return r.at(a).isNull() ? Value{} : Value::of(r.at(a).i % c + c);
                          }};
                s.step.columns = {{fresh("i"), s.expr.text}};
                break;
            case 1:
                s.expr = {strCat("case when ", y, " > 0 then ", y, " * 2 else -1.0 end"),
                          [y](const OracleRow& r) {
                              const Value& v = r.at(y);
                              return !v.isNull() && (std::isnan(v.d) || v.d > 0)
                                         ? Value::of(v.d * 2)
                                         : Value::of(-1.0);
                          }};
                s.step.columns = {{fresh("y"), s.expr.text}};
                break;
            default:
                s.expr = {strCat("concat(", t, ", '-", c, "')"), [t, c](const OracleRow& r) {
                              return Value::of(strCat(r.at(t).s, "-", c));
                          }};
                s.step.columns = {{fresh("s"), s.expr.text}};
        }
        return s;
    }

    OracleStep join(StepKind kind) {
        OracleStep s;
        s.step.kind = kind;
        const int which = upTo(2);
        s.table = &tables_[which];
        s.step.table = strCat("t", which, ".parquet");
        const int keys = upTo(4);
        if (keys != 2) {
            s.step.on.push_back({any("i"), "ik"});
        }
        if (keys > 1) {
            s.step.on.push_back({any("s"), "sk"});
        }
        if (kind != StepKind::kJoin) {
            return s;
        }
        s.step.onDuplicate = "first";
        s.step.missing = chance(40) ? "drop" : "null";
        if (chance(50)) {
            s.step.asOf = spec::AsOf{any("i"), "it", chance(50) ? 0.0 : 5.0};
        }
        const std::string iv = fresh("i"), yv = fresh("y");
        s.step.take = {{iv, "iv"}, {yv, "yv"}};
        return s;
    }

    OracleStep sample() {
        OracleStep s;
        s.step.kind = StepKind::kSample;
        s.step.keep = 0.25 * (1 + upTo(3));
        s.step.isInverseWeighted = chance(50);
        s.step.redrawEachEpoch = chance(30);
        if (chance(50)) {
            s.where = predicate();
            s.step.where = s.where.text;
        }
        if (chance(50)) {
            s.step.by = {any("i"), any("s")};
        }
        return s;
    }

    OracleStep columnStep() {
        OracleStep s;
        const int which = upTo(3);
        if (which == 0) {
            s.step.kind = StepKind::kHash;
            s.step.column = any("isl");
            s.isList = s.step.column[0] == 'l';
            s.isList &= s.step.column[1] != 'y';
            if (s.step.column[0] == 'l' && s.step.column[1] == 'y') {
                s.step.column = any("is");
            }
            s.step.buckets = 2 + upTo(50);
            s.step.seed = static_cast<std::uint64_t>(upTo(3));
            s.step.as = fresh(s.isList ? "li" : "i");
        } else if (which == 1) {
            s.step.kind = StepKind::kBucketize;
            s.step.column = any("iy");
            s.step.boundaries = {-1, 0.5, 2};
            s.step.as = fresh("i");
        } else {
            s.step.kind = StepKind::kTruncate;
            s.step.column = any("l");
            s.step.length = upTo(3);
            s.step.from = chance(50) ? "last" : "first";
            s.step.as = fresh(s.step.column.substr(0, 2));
        }
        return s;
    }

    OracleStep oneStep() {
        OracleStep s;
        switch (upTo(9)) {
            case 0:
                s.step.kind = StepKind::kFilter;
                s.where = predicate();
                s.step.expr = s.where.text;
                return s;
            case 1:
                return sample();
            case 2:
                return derive();
            case 3:
                return join(StepKind::kJoin);
            case 4:
                return join(chance(50) ? StepKind::kSemiJoin : StepKind::kAntiJoin);
            case 5: {
                s.step.kind = StepKind::kWeight;
                const std::string a = any("i");
                s.expr = {
                    strCat("coalesce(abs(", a, "), 2)"), [a](const OracleRow& r) {
                        return Value::of(r.at(a).isNull() ? 2.0 : std::fabs(r.at(a).number()));
                    }};
                s.step.expr = s.expr.text;
                return s;
            }
            case 6:
                return select();
            default:
                return columnStep();
        }
    }

    OracleStep select() {
        OracleStep s;
        s.step.kind = StepKind::kSelect;
        std::vector<std::string> kept = {"ia", "inow", "ya", "sa", "lihist", "lyhist", "litime"};
        for (const std::string& name : columns_) {
            if (std::find(kept.begin(), kept.end(), name) == kept.end() && chance(70)) {
                kept.push_back(name);
            }
        }
        s.step.select = columns_ = kept;
        return s;
    }

    std::mt19937_64 random_;
    std::vector<TestRow> rows_;
    OracleTable tables_[2];
    std::vector<std::string> columns_;
    int made_ = 0;
};

std::string shown(double value) {
    return std::isnan(value) ? "nan" : strCat(static_cast<float>(value));
}

/// Features of all columns there are.
void addFeatures(spec::RunSpec& spec, const std::vector<std::string>& columns, Generator& draw) {
    for (const std::string& name : columns) {
        if (name[0] == 'i' || name[0] == 'y') {
            spec.features.dense.push_back({name, 0.5});
        }
        if (name[0] == 'i' || name[0] == 's') {
            spec.features.ids.push_back(name);
        } else if (name[0] == 'l' && name[1] != 'y' && name != "lihist") {
            spec.features.lists.push_back(name);
        }
        if (name[0] != 'y' && name.substr(0, 2) != "ly") {
            spec.embeddings[name].features = {name};
            spec.embeddings[name].rows = kIdRows;
        }
    }
    spec::SequenceFeature& past = spec.features.sequences["past"];
    past.columns = {"lihist", "lyhist", "litime"};
    past.time = "litime";
    past.before = draw.upTo(2) == 0 ? "inow" : "";
    past.last = draw.upTo(3);
}

std::int64_t idOf(const spec::RunSpec& spec, const std::string& column, const Value& value) {
    if (spec::isMadeId(spec.recipe, column)) {
        return value.isNull() ? 0 : value.i;
    }
    return hashedId(value, kIdRows, 0).i;
}

/// A row's output as text, as the oracle has it.
std::string expected(const spec::RunSpec& spec, const OracleRow& row) {
    std::string out = strCat("row ", row.number, " weight ", shown(row.weight));
    for (const spec::DenseFeature& dense : spec.features.dense) {
        const Value& v = row.at(dense.column);
        strAppend(&out, " ", dense.column, "=", shown(v.isNull() ? dense.fill : v.number()));
    }
    for (const std::string& name : spec.features.ids) {
        strAppend(&out, " ", name, "#", idOf(spec, name, row.at(name)));
    }
    for (const std::string& name : spec.features.lists) {
        strAppend(&out, " ", name, "[");
        for (const Value& element : row.at(name).l) {
            strAppend(&out, idOf(spec, name, element), ",");
        }
        strAppend(&out, "]");
    }
    const spec::SequenceFeature& past = spec.features.sequences.at("past");
    std::vector<std::string> actions;
    for (std::size_t k = 0; k < row.at("lihist").l.size(); ++k) {
        const Value &time = row.at("litime").l[k], &price = row.at("lyhist").l[k];
        if (!past.before.empty()) {
            const Value& now = row.at(past.before);
            if (now.isNull() || time.isNull() || time.i >= now.i) {
                continue;
            }
        }
        actions.push_back(strCat(idOf(spec, "lihist", row.at("lihist").l[k]), "/",
                                 shown(price.isNull() ? 0 : price.d), "/",
                                 time.isNull() ? 0 : time.i, ","));
    }
    const std::size_t skip = past.last > 0 && actions.size() > static_cast<std::size_t>(past.last)
                                 ? actions.size() - static_cast<std::size_t>(past.last)
                                 : 0;
    strAppend(&out, " past(");
    for (std::size_t k = skip; k < actions.size(); ++k) {
        strAppend(&out, actions[k]);
    }
    return out + ")";
}

/// The same of the batch.
std::string found(const FeatureBatch& batch, std::size_t r) {
    std::string out =
        strCat("row ", batch.rowNumbers[r], " weight ", shown(batch.heads[0].weight[r]));
    for (const DenseColumn& dense : batch.dense) {
        strAppend(&out, " ", dense.name, "=", shown(dense.values[r]));
    }
    for (const IdColumn& id : batch.ids) {
        strAppend(&out, " ", id.name, "#", id.values[r]);
    }
    for (const ListColumn& list : batch.lists) {
        strAppend(&out, " ", list.name, "[");
        for (std::int32_t k = list.offsets[r]; k < list.offsets[r + 1]; ++k) {
            strAppend(&out, list.values[k], ",");
        }
        strAppend(&out, "]");
    }
    const auto& s = batch.sequences;
    strAppend(&out, " past(");
    for (std::int32_t k = s[0].offsets[r]; k < s[0].offsets[r + 1]; ++k) {
        strAppend(&out, static_cast<const std::int64_t*>(s[0].values)[k], "/",
                  shown(static_cast<const float*>(s[1].values)[k]), "/",
                  static_cast<const std::int64_t*>(s[2].values)[k], ",");
    }
    return out + ")";
}

std::vector<std::string> runOracle(const spec::RunSpec& spec, const std::vector<OracleStep>& steps,
                                   const std::vector<TestRow>& rows, std::uint64_t firstRow,
                                   std::uint32_t epoch) {
    std::vector<std::string> lines;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        OracleRow row{rows[r], firstRow + r, 1};
        bool isKept = true;
        for (const OracleStep& step : steps) {
            isKept = isKept && passes(step, row, spec.batch.seed, epoch, "f.csv");
        }
        if (isKept) {
            lines.push_back(expected(spec, row));
        }
    }
    return lines;
}

void checkSeed(std::uint64_t seed) {
    Generator draw(seed);
    Bench bench;
    bench.firstRow = 1000;
    bench.epoch = static_cast<std::uint32_t>(draw.upTo(3));
    for (std::size_t t = 0; t < 2; ++t) {
        bench.dir.parquet(strCat("t", t, ".parquet"),
                          columnsOf(draw.table(t).rows, {"ik", "sk", "it", "yv", "iv"}));
    }
    const std::vector<OracleStep> steps = draw.recipe();
    std::string described = strCat("seed ", seed);
    for (const OracleStep& step : steps) {
        bench.spec.recipe.push_back(step.step);
        strAppend(&described, "\n  - ", spec::stepText(step.step));
    }
    SCOPED_TRACE(described);
    addFeatures(bench.spec, draw.columns(), draw);
    bench.spec.labels["l"].expr = "coalesce(ia, 0) > 0";
    const auto want = runOracle(bench.spec, steps, draw.rows(), bench.firstRow, bench.epoch);
    MemoryColumns data(columnsOf(draw.rows(), Generator::fileColumns()));
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    std::vector<std::string> got;
    for (std::size_t r = 0; r < batch->rowNumbers.size(); ++r) {
        got.push_back(found(*batch, r));
    }
    ASSERT_EQ(got, want);
    std::int64_t rows = kRows;
    for (const StepCount& count : batch->steps) {
        ASSERT_EQ(count.rowsIn, rows);
        rows = count.rowsOut;
    }
    ASSERT_EQ(rows, static_cast<std::int64_t>(want.size()));
}

TEST(RecipeProperty, IsTheOraclesForAnyDataAndSteps) {
    if (const char* one = std::getenv("MILLRACE_PROPERTY_SEED"); one != nullptr) {
        return checkSeed(std::strtoull(one, nullptr, 10));
    }
    for (std::uint64_t seed = 1; seed <= 400 && !::testing::Test::HasFatalFailure(); ++seed) {
        checkSeed(seed);
    }
}

/// Acceptance: keep 0.1 is within keep 0.2, whatever stands around the step and does not draw.
TEST(RecipeProperty, SamplesAreMonotoneAndPaired) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        Generator draw(seed);
        std::vector<OracleStep> around = draw.recipe();
        std::erase_if(around, [](const OracleStep& s) { return s.step.dropsOrWeighs(); });
        MemoryColumns data(columnsOf(draw.rows(), Generator::fileColumns()));
        const auto keptBy = [&](double keep, bool hasOthers) {
            Bench bench;
            for (std::size_t t = 0; t < 2; ++t) {
                bench.dir.parquet(strCat("t", t, ".parquet"),
                                  columnsOf(draw.table(t).rows, {"ik", "sk", "it", "yv", "iv"}));
            }
            for (const OracleStep& s : around) {
                spec::Step step = s.step;
                step.missing = "null";
                if (hasOthers) {
                    bench.spec.recipe.push_back(step);
                }
            }
            spec::Step& sample = bench.add(StepKind::kSample, "negatives");
            sample.keep = keep;
            sample.by =
                seed % 2 == 0 ? std::vector<std::string>{"ia", "sa"} : std::vector<std::string>{};
            const auto batch = bench.run(data);
            EXPECT_TRUE(batch.ok()) << batch.status();
            return batch.ok() ? batch->rowNumbers : std::vector<std::uint64_t>();
        };
        const auto few = keptBy(0.1, false), more = keptBy(0.2, false);
        EXPECT_TRUE(std::includes(more.begin(), more.end(), few.begin(), few.end())) << seed;
        EXPECT_EQ(keptBy(0.1, true), few) << seed;
        EXPECT_EQ(keptBy(0.2, true), more) << seed;
    }
}

}  // namespace
}  // namespace millrace::recipe

#pragma once
// Recipes and features drawn at random, each step with what the oracle knows of it beside.
#include "tests/unit/recipe/property_data.h"

namespace millrace::test {

/// Draws data, side tables, a recipe and features.
class Generator : public DataDraw {
 public:
    explicit Generator(std::uint64_t seed, std::int64_t rows = 60) : DataDraw(seed, rows) {
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

 private:
    OracleStep derive() {
        OracleStep s;
        s.step.kind = spec::StepKind::kDerive;
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

    OracleStep join(spec::StepKind kind) {
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
        if (kind != spec::StepKind::kJoin) {
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
        s.step.kind = spec::StepKind::kSample;
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
            s.step.kind = spec::StepKind::kHash;
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
            s.step.kind = spec::StepKind::kBucketize;
            s.step.column = any("iy");
            s.step.boundaries = {-1, 0.5, 2};
            s.step.as = fresh("i");
        } else {
            s.step.kind = spec::StepKind::kTruncate;
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
                s.step.kind = spec::StepKind::kFilter;
                s.where = predicate();
                s.step.expr = s.where.text;
                return s;
            case 1:
                return sample();
            case 2:
                return derive();
            case 3:
                return join(spec::StepKind::kJoin);
            case 4:
                return join(chance(50) ? spec::StepKind::kSemiJoin : spec::StepKind::kAntiJoin);
            case 5: {
                s.step.kind = spec::StepKind::kWeight;
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
        s.step.kind = spec::StepKind::kSelect;
        std::vector<std::string> kept = {"ia", "inow", "ya", "sa", "lihist", "lyhist", "litime"};
        for (const std::string& name : columns_) {
            if (std::find(kept.begin(), kept.end(), name) == kept.end() && chance(70)) {
                kept.push_back(name);
            }
        }
        s.step.select = columns_ = kept;
        return s;
    }

    OracleTable tables_[2];
};

}  // namespace millrace::test

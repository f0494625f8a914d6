#pragma once
// Random recipes and features, each step with the oracle's function for it.
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
    /// Columns after the last recipe().
    const std::vector<std::string>& columns() const { return columns_; }

 private:
    OracleStep derive() {
        OracleStep s;
        auto& step = s.step.body.emplace<spec::DeriveStep>();
        const std::string a = any("i"), y = any("y"), t = any("s");
        const std::int64_t c = 1 + upTo(4);
        switch (upTo(3)) {
            case 0:
                s.expr = {strCat(a, " % ", c, " + ", c), [a, c](const OracleRow& r) {
                              return r.at(a).isNull() ? Value{} : Value::of(r.at(a).i % c + c);
                          }};
                step.columns = {{fresh("i"), s.expr.text}};
                break;
            case 1:
                s.expr = {strCat("case when ", y, " > 0 then ", y, " * 2 else -1.0 end"),
                          [y](const OracleRow& r) {
                              const Value& v = r.at(y);
                              return !v.isNull() && (std::isnan(v.d) || v.d > 0)
                                         ? Value::of(v.d * 2)
                                         : Value::of(-1.0);
                          }};
                step.columns = {{fresh("y"), s.expr.text}};
                break;
            default:
                s.expr = {strCat("concat(", t, ", '-", c, "')"), [t, c](const OracleRow& r) {
                              return Value::of(strCat(r.at(t).s, "-", c));
                          }};
                step.columns = {{fresh("s"), s.expr.text}};
        }
        return s;
    }

    template <class Kind>
    OracleStep lookup() {
        OracleStep s;
        auto& step = s.step.body.emplace<Kind>();
        const int which = upTo(2);
        s.table = &tables_[which];
        step.table = strCat("t", which, ".parquet");
        const int keys = upTo(4);
        if (keys != 2) {
            step.on.push_back({any("i"), "ik"});
        }
        if (keys > 1) {
            step.on.push_back({any("s"), "sk"});
        }
        return s;
    }

    OracleStep join() {
        OracleStep s = lookup<spec::JoinStep>();
        auto& step = std::get<spec::JoinStep>(s.step.body);
        step.onDuplicate = "first";
        step.missing = chance(40) ? "drop" : "null";
        if (chance(50)) {
            step.asOf = spec::AsOf{any("i"), "it", chance(50) ? 0.0 : 5.0};
        }
        const std::string iv = fresh("i"), yv = fresh("y");
        step.take = {{iv, "iv"}, {yv, "yv"}};
        return s;
    }

    OracleStep sample() {
        OracleStep s;
        auto& step = s.step.body.emplace<spec::SampleStep>();
        step.keep = 0.25 * (1 + upTo(3));
        step.isInverseWeighted = chance(50);
        step.redrawEachEpoch = chance(30);
        if (chance(50)) {
            s.where = predicate();
            step.where = s.where.text;
        }
        if (chance(50)) {
            step.by = {any("i"), any("s")};
        }
        return s;
    }

    OracleStep columnStep() {
        OracleStep s;
        const int which = upTo(3);
        if (which == 0) {
            auto& step = s.step.body.emplace<spec::HashStep>();
            step.column = any("isl");
            s.isList = step.column[0] == 'l';
            s.isList &= step.column[1] != 'y';
            if (step.column[0] == 'l' && step.column[1] == 'y') {
                step.column = any("is");
            }
            step.buckets = 2 + upTo(50);
            step.seed = static_cast<std::uint64_t>(upTo(3));
            step.as = fresh(s.isList ? "li" : "i");
        } else if (which == 1) {
            auto& step = s.step.body.emplace<spec::BucketizeStep>();
            step.column = any("iy");
            step.boundaries = {-1, 0.5, 2};
            step.as = fresh("i");
        } else {
            auto& step = s.step.body.emplace<spec::TruncateStep>();
            step.column = any("l");
            step.length = upTo(3);
            step.from = chance(50) ? "last" : "first";
            step.as = fresh(step.column.substr(0, 2));
        }
        return s;
    }

    OracleStep oneStep() {
        OracleStep s;
        switch (upTo(9)) {
            case 0:
                s.where = predicate();
                s.step.body.emplace<spec::FilterStep>().expr = s.where.text;
                return s;
            case 1:
                return sample();
            case 2:
                return derive();
            case 3:
                return join();
            case 4:
                return chance(50) ? lookup<spec::SemiJoinStep>() : lookup<spec::AntiJoinStep>();
            case 5: {
                const std::string a = any("i");
                s.expr = {
                    strCat("coalesce(abs(", a, "), 2)"), [a](const OracleRow& r) {
                        return Value::of(r.at(a).isNull() ? 2.0 : std::fabs(r.at(a).number()));
                    }};
                s.step.body.emplace<spec::WeightStep>().expr = s.expr.text;
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
        std::vector<std::string> kept = {"ia", "inow", "ya", "sa", "lihist", "lyhist", "litime"};
        for (const std::string& name : columns_) {
            if (std::find(kept.begin(), kept.end(), name) == kept.end() && chance(70)) {
                kept.push_back(name);
            }
        }
        columns_ = kept;
        s.step.body.emplace<spec::SelectStep>().columns = std::move(kept);
        return s;
    }

    OracleTable tables_[2];
};

}  // namespace millrace::test

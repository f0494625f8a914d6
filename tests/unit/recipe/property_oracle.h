#pragma once
// The slow, obviously correct recipe for comparison with the compiled one: rows are maps of values,
// handled one after the other on one thread.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "backend/core/philox.h"
#include "backend/spec/run_spec.h"

namespace millrace::test {

struct Value {
    enum class Kind { kNull, kInt, kReal, kText, kList } kind = Kind::kNull;
    std::int64_t i = 0;
    double d = 0;
    std::string s;
    std::vector<Value> l;

    static Value of(std::int64_t i) { return {Kind::kInt, i, 0, {}, {}}; }
    static Value of(double d) { return {Kind::kReal, 0, d, {}, {}}; }
    static Value of(std::string s) { return {Kind::kText, 0, 0, std::move(s), {}}; }
    static Value of(std::vector<Value> l) { return {Kind::kList, 0, 0, {}, std::move(l)}; }
    bool isNull() const { return kind == Kind::kNull; }
    double number() const { return kind == Kind::kInt ? static_cast<double>(i) : d; }
    void hashInto(CanonicalBytes& bytes) const {
        switch (kind) {
            case Kind::kInt:
                bytes.integer(i);
                return;
            case Kind::kReal:
                bytes.real(d);
                return;
            case Kind::kText:
                bytes.text(s);
                return;
            default:
                bytes.null();
        }
    }
    bool equals(const Value& o) const { return kind == o.kind && i == o.i && d == o.d && s == o.s; }
};

struct OracleRow {
    std::map<std::string, Value> columns;
    std::uint64_t number = 0;
    double weight = 1;
    const Value& at(const std::string& name) const { return columns.at(name); }
};

/// An expression as text for the spec and as a function of a row.
struct OracleExpr {
    std::string text;
    std::function<Value(const OracleRow&)> of;
};
/// true, false, or null.
struct OraclePredicate {
    std::string text;
    std::function<std::optional<bool>(const OracleRow&)> of;
};

struct OracleTable {
    std::vector<std::map<std::string, Value>> rows;
};

/// A step of the spec with the oracle's function for it.
struct OracleStep {
    spec::Step step;
    OraclePredicate where;  ///< filter, sample
    OracleExpr expr;        ///< derive, weight
    const OracleTable* table = nullptr;
    bool isList = false;  ///< hash: a null list stays null, a null value is id 0
};

inline Value hashedId(const Value& value, std::int64_t buckets, std::uint64_t seed) {
    if (value.kind == Value::Kind::kList) {
        std::vector<Value> ids;
        for (const Value& element : value.l) {
            ids.push_back(hashedId(element, buckets, seed));
        }
        return Value::of(std::move(ids));
    }
    if (value.isNull()) {
        return Value::of(std::int64_t{0});
    }
    CanonicalBytes bytes;
    value.hashInto(bytes);
    return Value::of(
        static_cast<std::int64_t>(1 + bytes.hash(seed) % static_cast<std::uint64_t>(buckets - 1)));
}

/// The partner of a row, or null: the row with equal keys that is the newest not newer than the
/// row's time.
inline const std::map<std::string, Value>* partnerOf(const OracleStep& s, const OracleRow& row) {
    const std::map<std::string, Value>* best = nullptr;
    const auto* join = s.step.as<spec::JoinStep>();
    const auto asOf = join == nullptr ? std::optional<spec::AsOf>() : join->asOf;
    for (const auto& candidate : s.table->rows) {
        bool isEqual = true;
        for (const spec::JoinKey& key : s.step.lookup()->on) {
            const Value &a = row.at(key.left), &b = candidate.at(key.right);
            isEqual &= !a.isNull() && !b.isNull() && a.equals(b);
        }
        if (!isEqual) {
            continue;
        }
        if (!asOf) {
            return &candidate;
        }
        const Value &now = row.at(asOf->left), &then = candidate.at(asOf->right);
        if (now.isNull() || then.isNull() || then.i > now.i) {
            continue;
        }
        if (best == nullptr || then.i > best->at(asOf->right).i) {
            best = &candidate;
        }
    }
    if (best != nullptr && asOf && asOf->tolerance > 0) {
        const auto age = static_cast<double>(row.at(asOf->left).i - best->at(asOf->right).i);
        return age <= asOf->tolerance ? best : nullptr;
    }
    return best;
}

inline bool isDrawn(const std::string& name, const spec::SampleStep& step, const OracleRow& row,
                    std::uint64_t seed, std::uint32_t epoch, const std::string& path) {
    DrawKey key(DrawPurpose::kDraw, name);
    if (step.redrawEachEpoch) {
        key.epoch(epoch);
    } else {
        key.noEpoch();
    }
    if (step.by.empty()) {
        key.rest().text(path);
        return unitInterval(philox64(seed, key.counter(), row.number)) < step.keep;
    }
    for (const std::string& column : step.by) {
        row.at(column).hashInto(key.rest());
    }
    return unitInterval(philox64(seed, key.counter(), 0)) < step.keep;
}

/// Passes one row through one step; false: the step drops it.
struct OraclePass {
    const OracleStep& s;
    OracleRow& row;
    std::uint64_t seed;
    std::uint32_t epoch;
    const std::string& path;

    bool operator()(const spec::FilterStep&) const { return s.where.of(row).value_or(false); }
    bool operator()(const spec::SampleStep& step) const {
        if (s.where.of && !s.where.of(row).value_or(false)) {
            return true;
        }
        if (!isDrawn(s.step.name, step, row, seed, epoch, path)) {
            return false;
        }
        row.weight *= step.isInverseWeighted ? 1 / step.keep : 1;
        return true;
    }
    bool operator()(const spec::DeriveStep& step) const {
        row.columns[step.columns[0].name] = s.expr.of(row);
        return true;
    }
    bool operator()(const spec::WeightStep&) const {
        row.weight *= s.expr.of(row).number();
        return true;
    }
    bool operator()(const spec::HashStep& step) const {
        row.columns[step.as] = row.at(step.column).isNull() && s.isList
                                   ? Value{}
                                   : hashedId(row.at(step.column), step.buckets, step.seed);
        return true;
    }
    bool operator()(const spec::BucketizeStep& step) const {
        const Value& x = row.at(step.column);
        std::int64_t id = 0;
        if (!x.isNull()) {
            id = 1;
            for (const double bound : step.boundaries) {
                id += std::isnan(x.number()) || bound <= x.number() ? 1 : 0;
            }
        }
        row.columns[step.as] = Value::of(id);
        return true;
    }
    bool operator()(const spec::TruncateStep& step) const {
        Value list = row.at(step.column);
        const auto n = static_cast<std::size_t>(step.length);
        if (!list.isNull() && list.l.size() > n) {
            const std::size_t from = step.from == "last" ? list.l.size() - n : 0;
            list.l = {list.l.begin() + static_cast<std::ptrdiff_t>(from),
                      list.l.begin() + static_cast<std::ptrdiff_t>(from + n)};
        }
        row.columns[step.as] = list;
        return true;
    }
    bool operator()(const spec::SelectStep& step) const {
        std::map<std::string, Value> kept;
        for (const std::string& name : step.columns) {
            kept[name] = row.at(name);
        }
        row.columns = std::move(kept);
        return true;
    }
    bool operator()(const spec::SemiJoinStep&) const { return partnerOf(s, row) != nullptr; }
    bool operator()(const spec::AntiJoinStep&) const { return partnerOf(s, row) == nullptr; }
    bool operator()(const spec::JoinStep& step) const {
        const auto* partner = partnerOf(s, row);
        if (partner == nullptr && step.missing == "drop") {
            return false;
        }
        for (const spec::NamedExpr& taken : step.take) {
            row.columns[taken.name] = partner == nullptr ? Value{} : partner->at(taken.expr);
        }
        return true;
    }
};

inline bool passes(const OracleStep& s, OracleRow& row, std::uint64_t seed, std::uint32_t epoch,
                   const std::string& path) {
    return std::visit(OraclePass{s, row, seed, epoch, path}, s.step.body);
}

}  // namespace millrace::test

#pragma once
// Random rows: values, columns, predicates over them, and the oracle's view of features.
#include <random>

#include <arrow/array/builder_nested.h>

#include "tests/unit/dataset/data_files.h"
#include "tests/unit/recipe/property_oracle.h"

namespace millrace::test {

constexpr std::int64_t kIdRows = 97;

using TestRow = std::map<std::string, Value>;

inline arrow::Status append(arrow::ArrayBuilder& builder, const Value& value) {
    switch (value.kind) {
        case Value::Kind::kInt:
            return static_cast<arrow::Int64Builder&>(builder).Append(value.i);
        case Value::Kind::kReal:
            return static_cast<arrow::DoubleBuilder&>(builder).Append(value.d);
        case Value::Kind::kText:
            return static_cast<arrow::StringBuilder&>(builder).Append(value.s);
        case Value::Kind::kList: {
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

inline std::shared_ptr<arrow::ArrayBuilder> builderOf(const std::string& column) {
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

inline std::vector<Column> columnsOf(const std::vector<TestRow>& rows,
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

/// Draws data. The first letters of a column's name are its type: i, y, s; li, ly, ls.
class DataDraw {
 public:
    DataDraw(std::uint64_t seed, std::int64_t rows) : random_(seed) {
        for (const char* name : {"ic", "id", "yc", "sc", "lib", "lyb", "lsb"}) {
            if (chance(40)) {
                more_.emplace_back(name);
            }
        }
        for (std::int64_t r = 0; r < rows; ++r) {
            rows_.push_back(randomRow());
        }
    }

    /// Columns that every recipe may name, and some more.
    std::vector<std::string> fileColumns() const {
        std::vector<std::string> names = {"ia", "ib",     "inow",   "ya",     "yb", "sa",
                                          "sb", "lihist", "lyhist", "litime", "lsa"};
        names.insert(names.end(), more_.begin(), more_.end());
        return names;
    }
    const std::vector<TestRow>& rows() const { return rows_; }
    int upTo(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
    bool chance(int percent) { return upTo(100) < percent; }

 protected:
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
    Value scalarOf(char type) { return type == 'i' ? integer(40) : type == 'y' ? real() : text(); }
    Value listOf(char type) {
        std::vector<Value> elements;
        for (int n = upTo(4); n > 0; --n) {
            elements.push_back(scalarOf(type));
        }
        return chance(15) ? Value{} : Value::of(elements);
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
        for (const std::string& name : more_) {
            row[name] = name[0] == 'l' ? listOf(name[1]) : scalarOf(name[0]);
        }
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

    std::mt19937_64 random_;
    std::vector<std::string> more_;
    std::vector<TestRow> rows_;
    std::vector<std::string> columns_;
    int made_ = 0;
};

}  // namespace millrace::test

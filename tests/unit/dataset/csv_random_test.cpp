// Random CSV files in random dialects: values, nulls and errors equal those of plain code.
#include <algorithm>

#include <arrow/array/array_base.h>
#include <arrow/builder.h>
#include <arrow/scalar.h>
#include <gmock/gmock.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/csv/csv_types.h"
#include "backend/csv/csv_values.h"
#include "backend/dataset/dataset.h"
#include "backend/dataset/split_reader.h"
#include "tests/unit/csv/plain_csv.h"
#include "tests/unit/dataset/data_files.h"

namespace millrace::dataset {
namespace {

using test::DataDirectory;
using test::PlainRecord;
using test::plainValue;
using test::RandomCsv;
using K = expr::TypeKind;
using ScalarPtr = std::shared_ptr<arrow::Scalar>;

template <class T, class Parse>
ScalarPtr scalarOf(const std::shared_ptr<arrow::DataType>& type, const std::string& text,
                   const Parse& parse) {
    T value{};
    return parse(text, value) ? *arrow::MakeScalar(type, value) : nullptr;
}

template <class T>
ScalarPtr wholeOf(const std::shared_ptr<arrow::DataType>& type, const std::string& text) {
    return scalarOf<T>(type, text, [](const auto& t, T& v) { return csv::csvInteger(t, v); });
}

/// The text as a value of the type; null if it is not one.
ScalarPtr valueOf(const expr::DataType& type, const std::string& text, bool hasComma) {
    const auto arrowType = arrays::toArrowType(type);
    const auto number = hasComma ? csv::csvCommaNumber : csv::csvNumber;
    switch (type.kind) {
        case K::kBool:
            return scalarOf<bool>(arrowType, text, csv::csvBool);
        case K::kInt8:
            return wholeOf<std::int8_t>(arrowType, text);
        case K::kInt32:
            return wholeOf<std::int32_t>(arrowType, text);
        case K::kInt64:
            return wholeOf<std::int64_t>(arrowType, text);
        case K::kUint16:
            return wholeOf<std::uint16_t>(arrowType, text);
        case K::kUint64:
            return wholeOf<std::uint64_t>(arrowType, text);
        case K::kFloat:
            return scalarOf<float>(arrowType, text, [&](const auto& t, float& value) {
                double wide = 0;
                const bool isNumber = number(t, wide);
                value = static_cast<float>(wide);
                return isNumber;
            });
        case K::kDouble:
            return scalarOf<double>(arrowType, text, number);
        case K::kDate:
            return scalarOf<std::int32_t>(arrowType, text, csv::csvDate);
        case K::kTimestamp:
            return scalarOf<std::int64_t>(arrowType, text, csv::csvTime);
        default:
            return *arrow::MakeScalar(arrowType, std::string(text));
    }
}

struct Case {
    explicit Case(unsigned seed) : csv(seed), width(1 + csv.below(9)) {
        const std::vector<std::string> types[] = {
            {"int64", "int32", "uint64", "int8", "uint16", "double", "string"},
            {"double", "float", "string"},
            {"date", "timestamp", "string"},
            {"timestamp", "string"},
            {"bool", "string"},
            {"string"},
            {"string", "int64"}};
        for (std::size_t c = 0; c < width; ++c) {
            const auto& fit = types[c % 7];
            csv.options.csvTypes["c" + std::to_string(c)] = fit[csv.below(fit.size())];
        }
        csv.options.csvDropsBadRows = csv.below(3) == 0;
        text = csv.file(width, csv.below(300));
        const auto plain = test::plainFile(text, csv.options);
        for (std::size_t r = 1; r < plain.records.size(); ++r) {
            if (!csv.options.csvDropsBadRows || !isBad(plain.records[r])) {
                rows.push_back(plain.records[r]);
            }
        }
    }

    expr::DataType typeOf(std::size_t column) const {
        return *expr::parseType(csv.options.csvTypes.at("c" + std::to_string(column)));
    }
    std::string valueAt(const PlainRecord& row, std::size_t column) const {
        return plainValue(row.fields[column], csv.options.csvQuote);
    }
    bool isNull(const PlainRecord& row, std::size_t column) const {
        const csv::CsvNulls nulls(csv.options);
        const std::string value = valueAt(row, column);
        const bool isText = typeOf(column).kind == K::kString;
        return row.fields[column].empty() ||
               (isText ? nulls.isNullText(value) : nulls.isNull(value));
    }
    /// The value of a row's column; null if the text is not a value.
    ScalarPtr read(const PlainRecord& row, std::size_t column) const {
        return isNull(row, column)
                   ? arrow::MakeNullScalar(arrays::toArrowType(typeOf(column)))
                   : valueOf(typeOf(column), valueAt(row, column), csv.options.csvHasDecimalComma);
    }
    bool isBad(const PlainRecord& row) const {
        for (std::size_t c = 0; c < width; ++c) {
            if (read(row, c) == nullptr) {
                return true;
            }
        }
        return row.fields.size() != width;
    }

    RandomCsv csv;
    const std::size_t width;
    std::string text;
    std::vector<PlainRecord> rows;
};

/// Columns of rows [first, first + count), or the first bad row.
void check(const Case& one, const std::string& path,
           const Result<std::vector<std::shared_ptr<arrow::Array>>>& read,
           const std::vector<std::size_t>& columns, std::size_t first, std::size_t count) {
    std::vector<std::unique_ptr<arrow::ArrayBuilder>> builders;
    for (const std::size_t c : columns) {
        builders.push_back(*arrow::MakeBuilder(arrays::toArrowType(one.typeOf(c))));
    }
    for (std::size_t r = first; r < first + count; ++r) {
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const ScalarPtr value = one.read(one.rows[r], columns[i]);
            if (value == nullptr) {
                ASSERT_EQ(messageOf(read.status()),
                          strCat(path, ":", one.rows[r].line, ": ",
                                 csv::csvMisfit("c" + std::to_string(columns[i]),
                                                one.valueAt(one.rows[r], columns[i]),
                                                one.typeOf(columns[i]))));
                return;
            }
            ASSERT_TRUE(builders[i]->AppendScalar(*value).ok());
        }
    }
    ASSERT_TRUE(read.ok()) << read.status();
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const std::shared_ptr<arrow::Array> expected = *builders[i]->Finish();
        ASSERT_TRUE(read->at(i)->ValidateFull().ok());
        ASSERT_TRUE(read->at(i)->Equals(
            *expected, arrow::EqualOptions().nans_equal(true).signed_zeros_equal(false)))
            << read->at(i)->ToString() << expected->ToString();
    }
}

/// Reads random columns of random rows from a range that begins at row `begin`.
void readSome(Case& one, const std::string& path, SplitReader& reader, std::size_t stretch,
              std::size_t begin, std::size_t rows) {
    const std::size_t skip = one.csv.below(4) == 0 ? one.csv.below(rows) : 0;
    const std::size_t count = one.csv.below(4) == 0 ? one.csv.below(rows - skip + 1) : rows - skip;
    std::vector<std::size_t> columns;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < one.width; ++i) {
        if (one.csv.below(4) != 0) {
            columns.insert(
                columns.begin() + static_cast<std::ptrdiff_t>(one.csv.below(columns.size() + 1)),
                i);
        }
    }
    std::ranges::transform(columns, std::back_inserter(names),
                           [](std::size_t i) { return "c" + std::to_string(i); });
    const SplitRange split{0, static_cast<std::int64_t>(stretch),
                           static_cast<std::int64_t>(begin + skip),
                           static_cast<std::int64_t>(count)};
    check(one, path, reader.readColumns(split, names), columns, begin + skip, count);
}

TEST(CsvRandom, ValuesNullsAndErrorsAreThoseOfPlainCode) {
    for (unsigned seed = 0; seed < 250; ++seed) {
        Case one(seed);
        DataDirectory dir;
        const std::string path = dir.text("t.csv", one.text);
        const auto dataset = Dataset::open({"t.csv"}, dir.path(), one.csv.options,
                                           std::make_shared<MetadataCache>(), 3);
        ASSERT_TRUE(dataset.ok()) << dataset.status();
        const auto facts = *(*dataset)->facts(0);
        ASSERT_EQ(facts->rows, static_cast<std::int64_t>(one.rows.size())) << seed;
        SplitReader reader(*dataset);
        std::size_t chunkBegin = 0;
        for (std::size_t c = 0; c < facts->chunks.size(); ++c) {
            const auto rows = static_cast<std::size_t>(facts->chunks[c].rows);
            for (int call = 0; call < 3; ++call) {  // other columns and rows of what was cut
                readSome(one, path, reader, c, chunkBegin, rows);
                ASSERT_FALSE(HasFatalFailure()) << "seed " << seed << ", stretch " << c;
            }
            chunkBegin += rows;
        }
    }
}

}  // namespace
}  // namespace millrace::dataset

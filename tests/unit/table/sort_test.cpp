// Sort keys and the external sort compared with std::stable_sort over plain values.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <optional>
#include <random>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "backend/table/external_sort.h"
#include "backend/table/row_gather.h"
#include "backend/table/sort_key.h"
#include "backend/table/sort_order.h"
#include "tests/support/temp_dir.h"

namespace millrace::table {
namespace {

std::vector<std::uint32_t> orderOf(const std::vector<BatchPtr>& batches,
                                   const std::vector<int>& columns, int threads) {
    const Result<SortedRows> sorted = sortedOrder(batches, columns, threads);
    EXPECT_TRUE(sorted.ok()) << sorted.status();
    return {sorted->rows.begin(), sorted->rows.end()};
}

struct Row {
    std::optional<std::int64_t> request;
    std::string word;
    std::int64_t number = 0;  ///< of the row as it came
    bool operator==(const Row&) const = default;
};

// The order: nulls last.
bool isBefore(const Row& a, const Row& b) {
    if (a.request != b.request) {
        return a.request && (!b.request || *a.request < *b.request);
    }
    return a.word < b.word;
}

std::shared_ptr<arrow::Schema> rowSchema() {
    return arrow::schema({arrow::field("request", arrow::int64()),
                          arrow::field("word", arrow::utf8()),
                          arrow::field("number", arrow::int64()),
                          arrow::field("list", arrow::list(arrow::int64()))});
}

BatchPtr batchOf(const std::vector<Row>& rows) {
    arrow::Int64Builder request, number;
    arrow::StringBuilder word;
    arrow::ListBuilder list(arrow::default_memory_pool(), std::make_shared<arrow::Int64Builder>());
    for (const Row& row : rows) {
        EXPECT_TRUE((row.request ? request.Append(*row.request) : request.AppendNull()).ok());
        EXPECT_TRUE(word.Append(row.word).ok());
        EXPECT_TRUE(number.Append(row.number).ok());
        EXPECT_TRUE(list.Append().ok());
        for (std::int64_t i = 0; i < row.number % 4; ++i) {
            EXPECT_TRUE(
                static_cast<arrow::Int64Builder*>(list.value_builder())->Append(row.number).ok());
        }
    }
    return arrow::RecordBatch::Make(
        rowSchema(), static_cast<std::int64_t>(rows.size()),
        {*request.Finish(), *word.Finish(), *number.Finish(), *list.Finish()});
}

void append(const arrow::RecordBatch& batch, std::vector<Row>& rows) {
    const auto& request = static_cast<const arrow::Int64Array&>(*batch.column(0));
    const auto& word = static_cast<const arrow::StringArray&>(*batch.column(1));
    const auto& number = static_cast<const arrow::Int64Array&>(*batch.column(2));
    const auto& list = static_cast<const arrow::ListArray&>(*batch.column(3));
    for (std::int64_t r = 0; r < batch.num_rows(); ++r) {
        Row row{std::nullopt, word.GetString(r), number.Value(r)};
        if (request.IsValid(r)) {
            row.request = request.Value(r);
        }
        EXPECT_EQ(list.value_length(r), row.number % 4);
        rows.push_back(row);
    }
}

std::vector<Row> someRows(int count, int requests) {
    std::mt19937 random(7);
    std::vector<Row> rows;
    for (int i = 0; i < count; ++i) {
        Row row{static_cast<std::int64_t>(random() % requests) - requests / 2,
                std::string(1 + random() % 2, static_cast<char>('a' + random() % 3)), i};
        if (random() % 17 == 0) {
            row.request.reset();
        }
        rows.push_back(row);
    }
    return rows;
}

class ExternalSortTest : public ::testing::Test {
 protected:
    std::vector<Row> sorted(const std::vector<Row>& rows, std::int64_t memoryBytes,
                            std::size_t fanIn, std::int64_t leastRuns, int threads = 1,
                            std::size_t step = 37) {
        ExternalSort::Options options;
        options.threads = threads;
        options.keys = {"request", "word"};
        options.directory = directory_ / "runs";
        options.memoryBytes = memoryBytes;
        options.fanIn = fanIn;
        auto sort = ExternalSort::make(rowSchema(), options);
        EXPECT_TRUE(sort.ok()) << sort.status();
        for (std::size_t at = 0; at < rows.size(); at += step) {
            const auto end = std::min(rows.size(), at + step);
            EXPECT_TRUE((*sort)
                            ->add(batchOf({rows.begin() + static_cast<std::ptrdiff_t>(at),
                                           rows.begin() + static_cast<std::ptrdiff_t>(end)}))
                            .ok());
        }
        std::vector<Row> out;
        const Status status = (*sort)->finish([&](const BatchPtr& batch) {
            append(*batch, out);
            return okStatus();
        });
        EXPECT_TRUE(status.ok()) << status;
        EXPECT_GE((*sort)->numRuns(), leastRuns);
        sort->reset();
        std::error_code error;
        EXPECT_TRUE(std::filesystem::is_empty(directory_ / "runs", error) || error)
            << "a run was left";
        return out;
    }
    static std::vector<Row> expected(std::vector<Row> rows) {
        std::stable_sort(rows.begin(), rows.end(), isBefore);
        return rows;
    }
    tests::TempDir directory_;
};

TEST_F(ExternalSortTest, SortsInMemoryWhatFits) {
    const std::vector<Row> rows = someRows(500, 40);
    EXPECT_EQ(sorted(rows, 1 << 26, 64, 0), expected(rows));
}

TEST_F(ExternalSortTest, MergesRunsAndKeepsEqualRowsInOrder) {
    const std::vector<Row> rows = someRows(3000, 25);
    EXPECT_EQ(sorted(rows, 40'000, 64, 4), expected(rows));
}

TEST_F(ExternalSortTest, MergesInSeveralPassesWhereThereAreManyRuns) {
    const std::vector<Row> rows = someRows(4000, 1000);
    EXPECT_EQ(sorted(rows, 15'000, 3, 12), expected(rows));
}

TEST_F(ExternalSortTest, SortsTheSameWithSeveralThreads) {
    const std::vector<Row> rows = someRows(300'000, 500);
    const std::vector<Row> order = expected(rows);
    EXPECT_EQ(sorted(rows, 16'000'000, 64, 3, 3, 5000), order);
    EXPECT_EQ(sorted(rows, 1 << 30, 64, 0, 3, 5000), order);
    EXPECT_EQ(sorted(rows, 16'000'000, 2, 4, 2, 5000), order);
}

/// Few different values in many runs, so that the bounds of a merge are often equal.
TEST_F(ExternalSortTest, EqualRowsOfManyRunsStayInOrder) {
    for (const int requests : {1, 2, 5}) {
        const std::vector<Row> rows = someRows(5000, requests);
        EXPECT_EQ(sorted(rows, 30'000, 64, 8), expected(rows));
    }
}

TEST_F(ExternalSortTest, SortsNothing) {
    EXPECT_TRUE(sorted({}, 1000, 64, 0).empty());
}

TEST_F(ExternalSortTest, RefusesListsAndUnknownColumnsByName) {
    ExternalSort::Options options;
    options.keys = {"list"};
    auto sort = ExternalSort::make(rowSchema(), options);
    ASSERT_FALSE(sort.ok());
    EXPECT_NE(messageOf(sort.status()).find("has no order"), std::string::npos);
    options.keys = {"requst"};
    sort = ExternalSort::make(rowSchema(), options);
    EXPECT_NE(messageOf(sort.status()).find("did you mean 'request'"), std::string::npos)
        << sort.status();
}

/// A column of random values, many of them equal, some null.
std::shared_ptr<arrow::Array> randomColumn(const std::shared_ptr<arrow::DataType>& type,
                                           std::int64_t rows, std::mt19937& random) {
    const auto builder = *arrow::MakeBuilder(type);
    const std::uint64_t range = std::uint64_t{1} << (1 + random() % 62);
    for (std::int64_t r = 0; r < rows; ++r) {
        const auto number = static_cast<std::int64_t>(
            (std::uint64_t{random()} << 32 | random()) % range - (random() % 2) * (range / 2));
        std::shared_ptr<arrow::Scalar> value;
        if (type->id() == arrow::Type::STRING) {
            std::string text(random() % 12, 'a');
            for (char& c : text) {
                c = "ab\0\xff"[random() % 4];
            }
            value = *arrow::MakeScalar(type, text);
        } else if (type->id() == arrow::Type::DECIMAL128) {
            value = std::make_shared<arrow::Decimal128Scalar>(
                arrow::Decimal128(random() % 3 == 0 ? number : number % 3, random()), type);
        } else if (type->id() == arrow::Type::DOUBLE || type->id() == arrow::Type::FLOAT) {
            const double odd[] = {0.0, -0.0, NAN, -NAN, INFINITY, -INFINITY};
            const double real = random() % 4 == 0 ? odd[random() % 6] : static_cast<double>(number);
            value = *arrow::MakeScalar(type, real);
        } else if (type->id() == arrow::Type::BOOL) {
            value = arrow::MakeScalar(number % 2 == 0);
        } else {
            const int bits = static_cast<const arrow::FixedWidthType&>(*type).bit_width();
            const std::int64_t most = bits == 64 ? INT64_MAX : (std::int64_t{1} << (bits - 1)) - 1;
            value = *arrow::MakeScalar(type, number % most);
        }
        EXPECT_TRUE(
            (random() % 9 == 0 ? builder->AppendNull() : builder->AppendScalar(*value)).ok());
    }
    return *builder->Finish();
}

TEST(SortedOrder, IsThatOfTheKeys) {
    std::mt19937 random(11);
    const std::shared_ptr<arrow::DataType> types[] = {
        arrow::int8(),           arrow::int16(),
        arrow::int32(),          arrow::int64(),
        arrow::uint8(),          arrow::uint16(),
        arrow::uint32(),         arrow::uint64(),
        arrow::float32(),        arrow::float64(),
        arrow::boolean(),        arrow::utf8(),
        arrow::date32(),         arrow::timestamp(arrow::TimeUnit::MICRO),
        arrow::decimal128(38, 2)};
    for (int round = 0; round < 300; ++round) {
        const auto rows = static_cast<std::int64_t>(random() % (round % 3 == 0 ? 3000 : 50));
        arrow::FieldVector fields;
        arrow::ArrayVector arrays;
        std::vector<int> columns;
        for (int c = 0; c <= static_cast<int>(random() % 3); ++c) {
            const auto& type = types[random() % std::size(types)];
            fields.push_back(arrow::field("c" + std::to_string(c), type));
            arrays.push_back(randomColumn(type, rows, random));
            columns.insert(
                columns.begin() + static_cast<std::ptrdiff_t>(random() % (columns.size() + 1)), c);
        }
        const auto whole = arrow::RecordBatch::Make(arrow::schema(fields), rows, arrays);
        const auto batch = whole->Slice(rows / 10);
        const SortKeys keys(*batch, columns);
        std::vector<std::uint32_t> expected(static_cast<std::size_t>(batch->num_rows()));
        std::iota(expected.begin(), expected.end(), 0U);
        std::ranges::stable_sort(expected, [&keys](auto a, auto b) { return keys[a] < keys[b]; });
        // Sorted in one piece, and in three, one of them empty.
        const std::int64_t cut = batch->num_rows() / 3;
        const std::vector<BatchPtr> pieces{batch->Slice(0, cut), batch->Slice(cut, 0),
                                           batch->Slice(cut)};
        ASSERT_EQ(orderOf({batch}, columns, 1), expected) << batch->schema()->ToString();
        ASSERT_EQ(orderOf(pieces, columns, 2), expected) << batch->schema()->ToString();
        const RowPlaces places(pieces);
        const auto gatheredRows = gathered(batch->schema(), pieces, places, expected, 2);
        ASSERT_TRUE(gatheredRows.ok()) << gatheredRows.status();
        const auto nans = arrow::EqualOptions::Defaults().nans_equal(true);
        for (std::size_t i = 0; i < expected.size(); i += 7) {
            const auto at = static_cast<std::int64_t>(i);
            ASSERT_TRUE(
                (*gatheredRows)->Slice(at, 1)->Equals(*batch->Slice(expected[i], 1), false, nans));
        }
    }
}

/// Enough rows for nested parts and a separate range for each thread, with common prefixes and
/// equal values.
TEST(SortedOrder, OfManyTextsIsThatOfTheirBytes) {
    std::mt19937 random(5);
    for (const char* prefix : {"", "the same for all of them "}) {
        for (const std::uint32_t range : {3U, 4'000'000'000U}) {
            arrow::StringBuilder builder;
            std::vector<std::string> texts;
            for (int i = 0; i < 200'000; ++i) {
                char hex[16];
                std::snprintf(hex, sizeof hex, "%012llx", 977ULL * (random() % range));
                texts.push_back(std::string(prefix) + hex + std::string(random() % 2, '\0') +
                                std::string(random() % 8 == 0 ? 30 : 0, 'x'));
                ASSERT_TRUE(builder.Append(texts.back()).ok());
            }
            std::vector<std::uint32_t> expected(texts.size());
            std::iota(expected.begin(), expected.end(), 0U);
            std::ranges::stable_sort(expected, {}, [&](auto row) { return texts[row]; });
            const auto column = *builder.Finish();
            const auto batch = arrow::RecordBatch::Make(
                arrow::schema({arrow::field("t", arrow::utf8())}), column->length(), {column});
            EXPECT_EQ(orderOf({batch}, {0}, 1), expected) << prefix << range;
            EXPECT_EQ(orderOf({batch->Slice(0, 30'000), batch->Slice(30'000)}, {0}, 3), expected);
        }
    }
}

template <class Builder, class Values>
void expectAscending(const Values& values) {
    Builder builder;
    ASSERT_TRUE(builder.AppendValues(values).ok());
    ASSERT_TRUE(builder.AppendNull().ok());
    const auto array = *builder.Finish();
    const auto batch = arrow::RecordBatch::Make(arrow::schema({arrow::field("x", array->type())}),
                                                array->length(), {array});
    const SortKeys keys(*batch, {0});
    for (std::int64_t r = 1; r < array->length(); ++r) {
        EXPECT_LT(keys[r - 1], keys[r]) << array->ToString() << " at " << r;
    }
}

TEST(SortKeysTest, OrderNumbersByValueWithNanAndNullLast) {
    expectAscending<arrow::DoubleBuilder>(
        std::vector<double>{-INFINITY, -1e300, -2, -1e-300, 0, 1e-300, 2, 1e300, INFINITY, NAN});
    expectAscending<arrow::FloatBuilder>(std::vector<float>{-3.5F, 0, 1e-30F, 7});
    expectAscending<arrow::Int8Builder>(std::vector<std::int8_t>{-128, -1, 0, 127});
    expectAscending<arrow::UInt64Builder>(
        std::vector<std::uint64_t>{0, 1, std::uint64_t{1} << 63, ~std::uint64_t{0}});
}

TEST(SortKeysTest, OrderTextsByBytesAlsoWithZeroBytes) {
    expectAscending<arrow::StringBuilder>(std::vector<std::string>{
        "", std::string("\0", 1), std::string("\0a", 2), "a", std::string("a\0", 2),
        std::string("a\0b", 3), "ab", "b", "\xc3\xa9"});
}

TEST(SortKeysTest, NegativeZeroEqualsZero) {
    arrow::DoubleBuilder builder;
    ASSERT_TRUE(builder.AppendValues(std::vector<double>{-0.0, 0.0}).ok());
    const auto array = *builder.Finish();
    const auto batch =
        arrow::RecordBatch::Make(arrow::schema({arrow::field("x", array->type())}), 2, {array});
    const SortKeys keys(*batch, {0});
    EXPECT_EQ(keys[0], keys[1]);
}

}  // namespace
}  // namespace millrace::table

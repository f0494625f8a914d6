// Columns joined from pieces compared with Arrow's concatenation; tables read by several threads.
#include "backend/dataset/joined_column.h"

#include <arrow/array/builder_nested.h>
#include <arrow/array/concatenate.h>
#include <arrow/table.h>

#include "backend/dataset/side_table.h"
#include "backend/spec/table_ref.h"
#include "tests/unit/dataset/data_files.h"

namespace millrace::dataset {
namespace {

using test::DataDirectory;
using test::ints;
using test::reals;
using test::texts;
using ArrayPtr = std::shared_ptr<arrow::Array>;

ArrayPtr flags(const std::vector<bool>& values) {
    arrow::BooleanBuilder builder;
    EXPECT_TRUE(builder.AppendValues(values).ok());
    return *builder.Finish();
}

TEST(JoinedColumn, IsWhatArrowMakesOfThePieces) {
    const std::vector<std::vector<ArrayPtr>> columns = {
        {ints({1, 2, 3}), ints({4, INT64_MIN, 6, 7})->Slice(1), ints({}), ints({8})},
        {reals({1.5}), reals({-999, 2.5}), reals({}), reals({3, 4, 5, 6, -999, 7})},
        {texts({"a", "", "\x01"}), texts({"no", "bcd", "\x01", "e"})->Slice(1), texts({}),
         texts({std::string(5000, 'x')})},
        {texts({""}), texts({std::string(100'000, 'y'), "z"}), texts({"\x01"}), texts({})},
        {flags({true, false, true}), flags({false}), flags({}), flags({true, true})}};
    for (const std::vector<ArrayPtr>& pieces : columns) {
        const ArrayPtr expected = *arrow::Concatenate(pieces);
        for (const std::size_t first : {0, 1}) {  // which of two is copied first
            JoinedColumn joined(expected->length(), "here");
            for (std::size_t i = 0; i < pieces.size(); i += 2) {
                ASSERT_TRUE(joined.place({pieces[i], pieces[i + 1]}).ok());
                joined.copy(first);
                joined.copy(1 - first);
                ASSERT_TRUE(joined.letGo().ok());
            }
            const auto made = joined.finish();
            ASSERT_TRUE(made.ok()) << made.status();
            EXPECT_TRUE((*made)->ValidateFull().ok());
            EXPECT_TRUE((*made)->Equals(*expected)) << (*made)->ToString();
            EXPECT_EQ((*made)->null_count(), expected->null_count());
        }
    }
}

TEST(SideTable, IsTheSameHoweverManyThreadsLoadIt) {
    DataDirectory dir;
    constexpr std::int64_t kRows = 200'000;
    std::vector<std::int64_t> keys;
    std::vector<std::string> names;
    std::vector<double> values;
    for (std::int64_t row = 0; row < kRows; ++row) {
        keys.push_back(row % 1000 == 5 ? INT64_MIN : row);
        names.push_back(row % 300 == 7 ? "\x01"
                                       : std::string(static_cast<std::size_t>(row % 23), 'n'));
        values.push_back(row % 77 == 1 ? -999 : static_cast<double>(row) / 4);
    }
    dir.parquet("t.parquet", {{"k", ints(keys)}, {"s", texts(names)}, {"y", reals(values)}},
                30'000);
    for (const int threads : {1, 2, 7}) {
        TablePlace place{dir.path(), std::make_shared<MetadataCache>()};
        place.threads = threads;
        const auto table = loadTable("t.parquet", {"k", "s", "y"}, place);
        ASSERT_TRUE(table.ok()) << table.status();
        EXPECT_EQ((*table)->num_rows(), kRows);
        EXPECT_TRUE((*table)->column(0)->chunk(0)->Equals(*ints(keys)));
        EXPECT_TRUE((*table)->column(1)->chunk(0)->Equals(*texts(names)));
        EXPECT_TRUE((*table)->column(2)->chunk(0)->Equals(*reals(values)));
    }
}

}  // namespace
}  // namespace millrace::dataset

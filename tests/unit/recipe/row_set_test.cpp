#include "backend/recipe/row_set.h"

#include "tests/unit/recipe/recipe_fixture.h"

namespace millrace::recipe {
namespace {

using eval::ArrayPtr;
using test::ints;
using test::MemoryColumns;

TEST(RowSet, ReadsEachColumnOnceHoweverManyAreAskedFor) {
    for (const int count : {3, 40}) {
        std::vector<test::Column> columns;
        std::vector<std::string> names = {"made", "unknown"};
        for (int c = 0; c < count; ++c) {
            columns.push_back({strCat("x", c), ints({c, c + 1, c + 2})});
            names.push_back(columns.back().name);
            names.push_back(columns.back().name);
        }
        columns.push_back({"made", ints({7, 8, 9})});
        MemoryColumns data(columns);
        const expr::Schema schema = data.schema();
        const expr::ColumnIndex index(schema);
        const SplitInput split{0, "f.csv", 0, 3, &data};
        RowSet rows(split, index);
        rows.set("made", ints({0, 0, 0}));
        ASSERT_TRUE(rows.prefetch(names).ok());
        ASSERT_TRUE(rows.prefetch(names).ok());
        EXPECT_EQ(data.reads.size(), static_cast<std::size_t>(count));
        for (int c = 0; c < count; ++c) {
            EXPECT_EQ(data.reads[strCat("x", c)], 1) << c;
            EXPECT_TRUE((*rows.column(strCat("x", c)))->Equals(ints({c, c + 1, c + 2})));
        }
        ASSERT_TRUE(rows.keep({0, 2}).ok());
        EXPECT_TRUE((*rows.column("x1"))->Equals(ints({1, 3})));
        EXPECT_FALSE(rows.column("unknown").ok());
        ASSERT_TRUE(rows.keep({}).ok());
        EXPECT_EQ((*rows.column("x1"))->length(), 0);
    }
}

// All names are the file's columns; a column that was read or that a step made is not read again.
TEST(RowSet, ReadsKnownColumnsButThoseAtHand) {
    MemoryColumns data({{"a", ints({1, 2, 3})}, {"b", ints({4, 5, 6})}, {"c", ints({7, 8, 9})}});
    const expr::Schema schema = data.schema();
    const expr::ColumnIndex index(schema);
    const SplitInput split{0, "f.csv", 0, 3, &data};
    RowSet rows(split, index);
    ASSERT_TRUE(rows.column("a").ok());
    rows.set("b", ints({0, 0, 0}));
    ASSERT_TRUE(rows.keep({0, 2}).ok());
    ASSERT_TRUE(rows.prefetchKnown({"a", "b", "c"}, true).ok());
    ASSERT_TRUE(rows.prefetchKnown({"a", "b", "c"}, true).ok());
    EXPECT_EQ(data.reads["a"], 1);
    EXPECT_EQ(data.reads["b"], 0);
    EXPECT_EQ(data.reads["c"], 1);
    EXPECT_TRUE((*rows.column("a"))->Equals(ints({1, 3})));
    EXPECT_TRUE((*rows.column("b"))->Equals(ints({0, 0})));
    EXPECT_TRUE((*rows.column("c"))->Equals(ints({7, 9})));
    ASSERT_TRUE(rows.keep({}).ok());
    EXPECT_TRUE(rows.prefetchKnown({"a"}, true).ok());
}

// A column that a step makes replaces the file's column of that name; an earlier copy keeps the
// file's.
TEST(RowSet, LetsGoOfAColumnThatIsReplaced) {
    MemoryColumns data({{"x", ints({1, 2, 3})}});
    const expr::Schema schema = data.schema();
    const expr::ColumnIndex index(schema);
    const SplitInput split{0, "f.csv", 0, 3, &data};
    RowSet rows(split, index);
    const eval::ArrayPtr read = *rows.column("x");
    const long before = read.use_count();
    rows.set("x", ints({7, 8, 9}));
    EXPECT_EQ(read.use_count(), before - 1);
    EXPECT_TRUE((*rows.column("x"))->Equals(ints({7, 8, 9})));

    RowSet others(split, index);
    ASSERT_TRUE(others.column("x").ok());
    RowSet copy = others;
    others.set("x", ints({7, 8, 9}));
    ASSERT_TRUE(others.keep({1}).ok());
    EXPECT_TRUE((*others.column("x"))->Equals(ints({8})));
    EXPECT_TRUE((*copy.column("x"))->Equals(ints({1, 2, 3})));
    EXPECT_EQ(data.reads["x"], 2);
}

// Numbers that are stored once are evaluated once each; all other code sees one number per row.
TEST(RowSet, NumbersStoredOnceStaySoAndAreGivenByRow) {
    MemoryColumns data({{"x", ints({5, test::kNull, 5, 7, 5, 5, 7})}});
    data.codesNumbers = true;
    const expr::Schema schema = data.schema();
    const expr::ColumnIndex index(schema);
    const SplitInput split{0, "f.csv", 0, data.rows(), &data};
    RowSet rows(split, index);
    const auto expr = expr::compileExpression("x * 2", schema);
    ASSERT_TRUE(expr.ok()) << expr.status();
    const auto doubled = evaluateStored(*expr, rows, "y");
    ASSERT_TRUE(doubled.ok()) << doubled.status();
    ASSERT_TRUE(arrays::isNumberCodes(**doubled));
    EXPECT_EQ(static_cast<const arrow::DictionaryArray&>(**doubled).dictionary()->length(), 3);
    rows.set("y", *doubled);
    ASSERT_TRUE(rows.keep({0, 1, 3, 4, 5, 6}).ok());
    const auto stored = rows.storedValues("y");
    ASSERT_TRUE(stored.ok() && stored->isWorth());
    EXPECT_EQ(stored->indices->length(), 6);
    const ArrayPtr wanted = ints({10, test::kNull, 14, 10, 10, 14});
    EXPECT_TRUE((*rows.storedColumn("y"))->Equals(wanted));
    EXPECT_TRUE((*rows.column("y"))->Equals(wanted));
    EXPECT_TRUE((*rows.column("x"))->Equals(ints({5, test::kNull, 7, 5, 5, 7})));
    EXPECT_FALSE(rows.storedValues("x")->isWorth()) << "it has become a number a row";
}

}  // namespace
}  // namespace millrace::recipe

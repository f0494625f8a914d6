// A pruned split never has a row that passes: proofs from bounds, nulls and bloom filters.
#include "backend/dataset/plan/split_pruner.h"

#include <cmath>
#include <limits>

#include <arrow/array/builder_time.h>
#include <arrow/table.h>
#include <gmock/gmock.h>
#include <parquet/properties.h>

#include "backend/dataset/dataset.h"
#include "backend/dataset/split_reader.h"
#include "tests/unit/dataset/data_files.h"

namespace millrace::dataset {
namespace {

using test::DataDirectory;
using test::ints;
using test::reals;
using test::texts;

class Pruning : public testing::Test {
 protected:
    /// The row groups of 3 rows, out of two, that may have a row that passes: "0", "01".
    std::string kept(const std::string& where) {
        const SplitPruner pruner = prunerOf(where);
        SplitReader reader(dataset_);
        std::string out;
        for (std::int64_t group = 0; group < 2; ++group) {
            const auto isEmpty = reader.provesEmpty({0, group, group * 3, 3}, pruner);
            EXPECT_TRUE(isEmpty.ok()) << isEmpty.status();
            out += *isEmpty ? "" : std::to_string(group);
        }
        return out;
    }
    SplitPruner prunerOf(const std::string& where) {
        if (dataset_ == nullptr) {
            const auto dataset =
                Dataset::open({dir_.path()}, "/", {}, std::make_shared<MetadataCache>());
            EXPECT_TRUE(dataset.ok()) << dataset.status();
            dataset_ = *dataset;
        }
        spec::RunSpec spec;
        spec.dataset.where = where;
        const auto typed = expr::compilePredicate(where, dataset_->schema(), "where");
        EXPECT_TRUE(typed.ok()) << typed.status();
        return SplitPruner::make(spec, dataset_->schema(), false);
    }
    /// The rows in this range of the first file that its pages do not rule out: "0 1 5", "all".
    std::string left(const std::string& where, std::int64_t group, std::int64_t firstRow,
                     std::int64_t rows) {
        const SplitPruner pruner = prunerOf(where);
        SplitReader reader(dataset_);
        const auto found = reader.rowsNotRuledOut({0, group, firstRow, rows}, pruner);
        EXPECT_TRUE(found.ok()) << found.status();
        if (!found->has_value()) {
            return "all";
        }
        std::string out;
        for (const std::int64_t row : **found) {
            out += (out.empty() ? "" : " ") + std::to_string(row);
        }
        return out;
    }
    DataDirectory dir_;
    std::shared_ptr<const Dataset> dataset_;
};

TEST_F(Pruning, IntegersByTheirBounds) {
    dir_.parquet("a.parquet", {{"x", ints({1, 2, 3, 10, 20, 30})}}, 3);
    EXPECT_EQ(kept("x = 3"), "0");
    EXPECT_EQ(kept("x = 4"), "");
    EXPECT_EQ(kept("3 < x"), "1");
    EXPECT_EQ(kept("x <= 3"), "0");
    EXPECT_EQ(kept("x < 1"), "");
    EXPECT_EQ(kept("x >= 30"), "1");
    EXPECT_EQ(kept("x <> 2"), "01");
    EXPECT_EQ(kept("x in (7, 20, null)"), "1");
    EXPECT_EQ(kept("x between 2 and 15"), "01");
    EXPECT_EQ(kept("not (x > 3)"), "0");
    EXPECT_EQ(kept("not (x > 3 or x < 2)"), "0");
    EXPECT_EQ(kept("not (x > 3 and x < 2)"), "01");
    EXPECT_EQ(kept("x > 3 or x = 1"), "01");
    EXPECT_EQ(kept("x > -5 and x < 2.5"), "0");
    EXPECT_EQ(kept("x + 0 = 99"), "01") << "unknown operations prove nothing";
    EXPECT_EQ(kept("x = 3 and x + 0 = 99"), "0");
    EXPECT_EQ(kept("x % 2 = 0 or x = 4"), "01");
    EXPECT_EQ(kept("false"), "");
    EXPECT_EQ(kept("x is not null"), "01");
    EXPECT_EQ(kept("x is null"), "");
}

TEST_F(Pruning, TextAndNulls) {
    dir_.parquet("a.parquet",
                 {{"s", texts({"a", "b", "c", "x", "\x01", "z"})},
                  {"n", ints({INT64_MIN, INT64_MIN, INT64_MIN, 1, 2, 3})}},
                 3);
    EXPECT_EQ(kept("s > 'm'"), "1");
    EXPECT_EQ(kept("s is null"), "1");
    EXPECT_EQ(kept("n is null"), "0");
    EXPECT_EQ(kept("n is not null"), "1");
    EXPECT_EQ(kept("n <> 99"), "1");
    EXPECT_EQ(kept("not (n in (99))"), "1");
    EXPECT_EQ(kept("s like 'q%'"), "01");
}

TEST_F(Pruning, NanStandsAboveTheBounds) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    dir_.parquet("a.parquet", {{"d", reals({1, 2, nan, 1, 1, 1})}}, 3);
    EXPECT_EQ(kept("d > 5"), "01");
    EXPECT_EQ(kept("d < 1"), "");
    EXPECT_EQ(kept("d = 2"), "0");
}

TEST_F(Pruning, BloomFiltersProveWhatBoundsCannot) {
    const auto table = arrow::Table::Make(
        arrow::schema({arrow::field("x", arrow::int64()), arrow::field("s", arrow::utf8())}),
        {ints({1, 500, 1000, 2, 600, 1000}), texts({"a", "k", "z", "a", "m", "z"})});
    auto sink = *arrow::io::FileOutputStream::Open(dir_.at("a.parquet"));
    parquet::BloomFilterOptions bloom;
    bloom.ndv = 100;
    bloom.fpp = 0.0001;
    parquet::WriterProperties::Builder properties;
    properties.enable_bloom_filter("x", bloom)->enable_bloom_filter("s", bloom);
    ASSERT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), sink, 3,
                                           properties.build())
                    .ok());
    ASSERT_TRUE(sink->Close().ok());
    EXPECT_EQ(kept("x = 500"), "0");
    EXPECT_EQ(kept("x in (2, 501)"), "1");
    EXPECT_EQ(kept("x = 1000"), "01");
    EXPECT_EQ(kept("s = 'm'"), "1");
    EXPECT_EQ(kept("s = 'l'"), "");
}

TEST_F(Pruning, PagesRuleOutTheirRows) {
    // Two row groups of six rows with pages of two rows.
    dir_.parquet(
        "a.parquet",
        {{"x", ints({1, 2, 3, 4, 5, 6, 70, 71, 72, 73, 74, 75})},
         {"n", ints({1, 2, 3, 4, INT64_MIN, INT64_MIN, 4, 5, 6, 7, 8, 9})},
         {"t", texts({"a", "b", "ccccccccc", "d", "e", "f", "g", "h", "i", "j", "k", "l"})}},
        6, 2);
    EXPECT_EQ(left("x = 3", 0, 0, 6), "2 3");
    EXPECT_EQ(left("x >= 4", 0, 0, 6), "2 3 4 5");
    EXPECT_EQ(left("x <> 3", 0, 0, 6), "all");
    EXPECT_EQ(left("x = 1 or x = 6", 0, 0, 6), "0 1 4 5");
    EXPECT_EQ(left("x > 1 and t = 'd'", 0, 0, 6), "2 3") << "by either column's pages";
    EXPECT_EQ(left("x = 99", 0, 0, 6), "");
    EXPECT_EQ(left("x = 72", 1, 6, 6), "2 3") << "counted from the split's first row";
    EXPECT_EQ(left("x = 72", 1, 7, 3), "1 2") << "a split within a page's borders";
    EXPECT_EQ(left("n is null", 0, 0, 6), "4 5");
    EXPECT_EQ(left("n is not null", 0, 0, 6), "0 1 2 3");
    EXPECT_EQ(left("n > 2", 0, 0, 6), "2 3");
    EXPECT_EQ(left("x % 2 = 0", 0, 0, 6), "all") << "what is not known rules out nothing";
    EXPECT_EQ(left("t >= 'e'", 0, 0, 6), "4 5");
}

TEST_F(Pruning, PagesOfFilesWithoutAnIndexRuleOutNothing) {
    dir_.parquet("a.parquet", {{"x", ints({1, 2, 3, 4})}}, 2);
    EXPECT_EQ(left("x = 1", 0, 0, 2), "all");
}

TEST_F(Pruning, OnlyFiltersBeforeAMadeColumnCount) {
    dir_.parquet("a.parquet", {{"x", ints({1, 2, 3, 10, 20, 30})}}, 3);
    kept("x = 1");
    spec::RunSpec spec;
    spec::DeriveStep made;
    made.columns = {{"x", "x + 100"}};
    spec::FilterStep above;
    above.expr = "x > 100";
    const spec::Step derive{"derive", true, made}, filter{"filter", true, above};
    spec.recipe = {derive, filter};
    EXPECT_FALSE(SplitPruner::make(spec, dataset_->schema(), false).hasFilters());
    spec.recipe = {filter, derive};
    EXPECT_TRUE(SplitPruner::make(spec, dataset_->schema(), false).hasFilters());
    EXPECT_FALSE(SplitPruner::make(spec, dataset_->schema(), true).hasFilters());
    spec.recipe[0].enabled = false;
    EXPECT_FALSE(SplitPruner::make(spec, dataset_->schema(), false).hasFilters());
}

}  // namespace
}  // namespace millrace::dataset

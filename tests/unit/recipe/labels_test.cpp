// Rows without a label, and labels and weights at the limits of their range.
#include "tests/unit/recipe/recipe_fixture.h"

namespace millrace::recipe {
namespace {

using test::Bench;
using test::ints;
using test::kNull;
using test::MemoryColumns;
using test::reals;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(Recipe, RowsWithoutALabelAreCountedByWhy) {
    Bench bench;
    bench.derive("y", "case when z <> -99 then z end");
    bench.spec.labels["h"].expr = "y";
    bench.spec.labels["i"].expr = "y";
    bench.spec.labels["i"].where = "x > 0";
    bench.spec.labels["j"].expr = "coalesce(y, 1.0)";
    const double nan = std::nan("");
    MemoryColumns data({{"x", ints({0, 1, 2, 3, 4})}, {"z", reals({nan, -99, 1, nan, -99})}});
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    const auto gaps = [&](std::size_t h) {
        return std::pair(batch->heads[h].gaps.nulls, batch->heads[h].gaps.nans);
    };
    EXPECT_EQ(gaps(0), std::pair(std::int64_t{2}, std::int64_t{2}));
    EXPECT_EQ(gaps(1), std::pair(std::int64_t{2}, std::int64_t{1}));
    EXPECT_EQ(gaps(2), std::pair(std::int64_t{0}, std::int64_t{2}));
    EXPECT_THAT(batch->heads[2].mask, ElementsAre(0, 1, 1, 0, 1));
}

TEST(Recipe, AWeightBeyondFloatsIsRefusedAndALabelIsToldWithAllItsDigits) {
    const auto why = [](const std::string& label, const std::string& ofLabel,
                        const std::string& ofRow) {
        Bench bench;
        bench.spec.labels["h"].expr = label;
        bench.spec.labels["h"].weight = ofLabel;
        if (!ofRow.empty()) {
            bench.add<spec::WeightStep>().expr = ofRow;
        }
        MemoryColumns data({{"x", ints({0, 1})}});
        const auto batch = bench.run(data);
        return batch.ok() ? std::string("fine") : std::string(messageOf(batch.status()));
    };
    const std::string range = "; it must be a number from 0 to 3.4028234663852886e+38";
    EXPECT_THAT(why("x = 0", "if(x = 1, 1e300, 1)", ""),
                EndsWith("row 1: labels.h.weight: the weight is 1e+300" + range));
    EXPECT_THAT(why("x = 0", "if(x = 1, 1e30, 1)", "1e20"),
                EndsWith("row 1: labels.h.weight: the weight is 1e+30, times the row's own weight "
                         "of 1e+20" +
                         range));
    EXPECT_THAT(why("x = 0", "", "if(x = 1, 1e300, 1)"),
                EndsWith("row 1: the recipe's weights: the weight is 1e+300" + range));
    EXPECT_EQ(why("x = 0", "3e38", ""), "fine");
    EXPECT_EQ(why("x = 0", "1e-300", ""), "fine");
    EXPECT_EQ(why("if(x = 1, null, 1)", "1e300 * x", ""), "fine") << "a masked row has no weight";
    EXPECT_THAT(why("1.0000001", "", ""), HasSubstr("the label is 1.0000001; it must be"));
}

}  // namespace
}  // namespace millrace::recipe

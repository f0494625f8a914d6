// Decimals become the double that is nearest to their digits.
#include "backend/arrays/decimals.h"

#include <cstdlib>
#include <random>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_primitive.h>
#include <arrow/array/builder_decimal.h>
#include <arrow/util/decimal.h>
#include <gtest/gtest.h>

namespace millrace::arrays {
namespace {

double written(const std::string& text) {
    return std::strtod(text.c_str(), nullptr);
}

TEST(Decimals, EveryPriceIsTheDoubleThatItsTextIs) {
    for (std::int64_t cents = -10'000; cents < 10'000; ++cents) {
        const arrow::Decimal128 value(cents);
        ASSERT_EQ(nearestDouble(value, 2), written(value.ToString(2))) << cents;
    }
}

TEST(Decimals, LongOnesAreRoundedOnceToo) {
    std::mt19937_64 random(11);
    for (int round = 0; round < 20'000; ++round) {
        const auto digits = static_cast<int>(1 + random() % 38);
        std::string text = random() % 2 == 0 ? "-" : "";
        for (int i = 0; i < digits; ++i) {
            text += static_cast<char>('0' + random() % 10);
        }
        const auto value = arrow::Decimal128::FromString(text).ValueOrDie();
        const auto scale = static_cast<int>(random() % 39);
        const std::string whole = text + "e-" + std::to_string(scale);
        ASSERT_EQ(nearestDouble(value, scale), written(whole)) << whole;
        ASSERT_EQ(nearestDouble(arrow::Decimal256(value), scale), written(whole)) << whole;
    }
    EXPECT_EQ(nearestDouble(arrow::Decimal128(57), -3), 57000.0);
}

std::shared_ptr<arrow::Array> decimals(const std::vector<std::string>& texts, int scale) {
    arrow::Decimal128Builder builder(arrow::decimal128(38, scale));
    for (const std::string& text : texts) {
        EXPECT_TRUE((text.empty()
                         ? builder.AppendNull()
                         : builder.Append(arrow::Decimal128::FromString(text).ValueOrDie()))
                        .ok());
    }
    return builder.Finish().ValueOrDie();
}

TEST(Decimals, KeysOfTwoScalesAreEqualWhereTheNumbersAre) {
    const auto texts = [](const std::shared_ptr<arrow::Array>& array) {
        const auto keys = decimalKeys(*array, arrow::default_memory_pool());
        std::vector<std::string> all;
        for (std::int64_t row = 0; row < (*keys)->length(); ++row) {
            all.push_back((*keys)->IsNull(row)
                              ? "null"
                              : static_cast<const arrow::StringArray&>(**keys).GetString(row));
        }
        return all;
    };
    const std::vector<std::string> wanted = {"0.57", "-100", "0", "null", "0.01"};
    EXPECT_EQ(texts(decimals({"57", "-10000", "0", "", "1"}, 2)), wanted);
    EXPECT_EQ(texts(decimals({"570000", "-100000000", "0", "", "10000"}, 6)), wanted);
}

TEST(Decimals, WholeNumbersAreRoundedAwayFromZeroAtHalves) {
    const auto rounded = roundedDecimals(decimals({"25", "-25", "24", "9007199254740993", ""}, 1),
                                         arrow::default_memory_pool());
    ASSERT_TRUE(rounded.ok()) << rounded.status();
    const auto& whole = static_cast<const arrow::Decimal128Array&>(**rounded);
    EXPECT_EQ(whole.FormatValue(0), "3");
    EXPECT_EQ(whole.FormatValue(1), "-3");
    EXPECT_EQ(whole.FormatValue(2), "2");
    EXPECT_EQ(whole.FormatValue(3), "900719925474099");
    EXPECT_TRUE(whole.IsNull(4));
}

}  // namespace
}  // namespace millrace::arrays

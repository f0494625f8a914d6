// Casts of numbers: all at once if all fit, else the error names the first that does not.
#include <cmath>
#include <limits>

#include <arrow/array/array_primitive.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/type_traits.h>

#include "backend/eval/evaluator.h"
#include "tests/unit/recipe/recipe_fixture.h"

namespace millrace::eval {
namespace {

template <class Builder, class T>
ArrayPtr numbers(const std::vector<T>& values, bool hasNulls) {
    Builder builder;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const bool isNull = hasNulls && i % 3 == 1;
        EXPECT_TRUE((isNull ? builder.AppendNull() : builder.Append(values[i])).ok());
    }
    return *builder.Finish();
}

template <class To>
void expectCast(const ArrayPtr& from, const std::vector<double>& wanted) {
    expr::DataType source, target;
    ASSERT_TRUE(arrays::toSpecType(*from->type(), source));
    ASSERT_TRUE(arrays::toSpecType(*arrow::TypeTraits<To>::type_singleton(), target));
    const Result<ArrayPtr> made = castValues(from, source, target, false);
    ASSERT_TRUE(made.ok()) << made.status();
    ASSERT_TRUE((*made)->ValidateFull().ok());
    ASSERT_EQ((*made)->type_id(), To::type_id);
    const auto& values = static_cast<const typename arrow::TypeTraits<To>::ArrayType&>(**made);
    for (std::int64_t i = 0; i < from->length(); ++i) {
        ASSERT_EQ(values.IsNull(i), from->IsNull(i)) << i;
        const double value = static_cast<double>(values.raw_values()[i]);
        const double right = from->IsNull(i) ? 0 : wanted[static_cast<std::size_t>(i)];
        EXPECT_TRUE(value == right || (std::isnan(value) && std::isnan(right))) << i;
    }
}

TEST(Casts, OfNumbersAreThoseOfEachValue) {
    std::vector<std::int32_t> whole;
    std::vector<double> same, real, rounded, shortReal;
    for (int i = 0; i < 300; ++i) {
        whole.push_back(i * 7919 - 1'000'000);
        same.push_back(whole.back());
        real.push_back(i % 50 == 7 ? NAN : i % 50 == 9 ? INFINITY : i * 0.37 - 50);
        shortReal.push_back(static_cast<float>(real.back()));
    }
    std::vector<double> halves;
    for (int i = 0; i < 300; ++i) {
        halves.push_back(i * 0.5 - 60);
        rounded.push_back(std::nearbyint(halves.back()));
    }
    const auto rest = [](const std::vector<double>& values, std::int64_t from) {
        return std::vector<double>(values.begin() + from, values.end());
    };
    for (const bool hasNulls : {false, true}) {
        for (const std::int64_t from : {0, 5, 300}) {
            const ArrayPtr ints = numbers<arrow::Int32Builder>(whole, hasNulls)->Slice(from);
            expectCast<arrow::DoubleType>(ints, rest(same, from));
            expectCast<arrow::FloatType>(ints, rest(same, from));
            expectCast<arrow::Int64Type>(ints, rest(same, from));
            const ArrayPtr reals = numbers<arrow::DoubleBuilder>(real, hasNulls)->Slice(from);
            expectCast<arrow::FloatType>(reals, rest(shortReal, from));
            const ArrayPtr some = numbers<arrow::DoubleBuilder>(halves, hasNulls)->Slice(from);
            expectCast<arrow::Int32Type>(some, rest(rounded, from));
        }
    }
}

TEST(Casts, AValueThatDoesNotFitFailsUnlessItIsNull) {
    const std::vector<std::int64_t> values = {1, std::int64_t{1} << 40, 3};
    const expr::DataType from{expr::TypeKind::kInt64}, to{expr::TypeKind::kInt32};
    const ArrayPtr valid = numbers<arrow::Int64Builder>(values, false);
    EXPECT_THAT(castValues(valid, from, to, false).status().message(),
                ::testing::HasSubstr("cannot cast '1099511627776' to int32"));
    const Result<ArrayPtr> tried = castValues(valid, from, to, true);
    ASSERT_TRUE(tried.ok()) << tried.status();
    EXPECT_TRUE((*tried)->IsNull(1));
    EXPECT_EQ((*tried)->null_count(), 1);

    const std::uint8_t bits[] = {0b101};
    const ArrayPtr hidden = std::make_shared<arrow::Int64Array>(
        3, arrow::Buffer::Wrap(values), std::make_shared<arrow::Buffer>(bits, 1));
    expectCast<arrow::Int32Type>(hidden, {1, 0, 3});
    const ArrayPtr wide = numbers<arrow::DoubleBuilder>(std::vector<double>{1, 1e300}, false);
    EXPECT_FALSE(castValues(wide, {expr::TypeKind::kDouble}, {expr::TypeKind::kFloat}, false).ok());
}

/// The texts as integers of `To`; "null" for a value that does not fit.
template <class To>
std::string wholeNumbers(const std::vector<std::string>& texts) {
    arrow::StringBuilder builder;
    EXPECT_TRUE(builder.AppendValues(texts).ok());
    expr::DataType target;
    EXPECT_TRUE(arrays::toSpecType(*arrow::TypeTraits<To>::type_singleton(), target));
    const Result<ArrayPtr> made =
        castValues(*builder.Finish(), {expr::TypeKind::kString}, target, true);
    EXPECT_TRUE(made.ok()) << made.status();
    const auto& values = static_cast<const typename arrow::TypeTraits<To>::ArrayType&>(**made);
    std::string all;
    for (std::int64_t i = 0; i < values.length(); ++i) {
        strAppend(&all, i == 0 ? "" : " ",
                  values.IsNull(i) ? "null" : strCat(std::int64_t{0} + values.Value(i)));
    }
    return all;
}

TEST(Casts, OfTextsToIntegersAreExact) {
    EXPECT_EQ(wholeNumbers<arrow::Int64Type>(
                  {"9007199254740993.0", "123456789012345678.9", "-123456789012345678.5",
                   "9223372036854775807.4", "9223372036854775807.5", "-9223372036854775808.4",
                   "-9223372036854775808.5", "-9223372036854775809", "-9223372036854776000",
                   "9223372036854775808", "922337203685477580.7e1", "9.007199254740993e15"}),
              "9007199254740993 123456789012345679 -123456789012345679 9223372036854775807 null "
              "-9223372036854775808 null null null null 9223372036854775807 9007199254740993");
    const std::vector<std::string> large = {"18446744073709551615.0", "18446744073709551615.49",
                                            "18446744073709551615.5", "18446744073709551616",
                                            "9223372036854775808.5",  "1844674407370955161.5e1"};
    std::string all;
    for (const std::string& text : large) {
        arrow::StringBuilder builder;
        ASSERT_TRUE(builder.Append(text).ok());
        const auto made = castValues(*builder.Finish(), {expr::TypeKind::kString},
                                     {expr::TypeKind::kUint64}, true);
        ASSERT_TRUE(made.ok());
        const auto& value = static_cast<const arrow::UInt64Array&>(**made);
        strAppend(&all, value.IsNull(0) ? "null" : strCat(value.Value(0)), " ");
    }
    EXPECT_EQ(all,
              "18446744073709551615 18446744073709551615 null null 9223372036854775809 "
              "18446744073709551615 ");
}

TEST(Casts, OfTextsToIntegersRoundHalvesAwayFromZero) {
    EXPECT_EQ(wholeNumbers<arrow::Int8Type>(
                  {" 4.5 ", "-4.5", "4.49999999999999999999", "+3", ".5", "5.", "-0.4", "127.4",
                   "127.5", "-128.5", "1e2", "1E+2", "1e-2", "45e-1", "12700e-2",
                   "0e999999999999999999999", "1e400", "1e-400", "0000000000000000000000012"}),
              "5 -5 4 3 1 5 0 127 null null 100 100 0 5 127 0 null 0 12");
    EXPECT_EQ(
        wholeNumbers<arrow::Int8Type>({"", ".", "-", "+-5", "-+5", "--5", "1e", "1e+", "e5", ".e5",
                                       "1.2.3", "1 2", "inf", "nan", "0x10", "1_0", "12a"}),
        "null null null null null null null null null null null null null null null null null");
    EXPECT_EQ(wholeNumbers<arrow::UInt8Type>({"-0.4", "-0.5", "-1", "255.4", "255.5"}),
              "0 null null 255 null");
}

}  // namespace
}  // namespace millrace::eval

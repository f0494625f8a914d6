#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_primitive.h>
#include <arrow/array/builder_decimal.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/scalar.h>
#include <arrow/util/decimal.h>

#include "backend/core/philox.h"
#include "backend/eval/function_kernels.h"
#include "tests/unit/recipe/recipe_fixture.h"

namespace millrace::eval {
namespace {

using test::ints;
using test::MemoryColumns;
using test::reals;
using test::texts;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// One row: i = 7, z = 0, n = null, d = 2.5, nan, s = 'Toy Story (1995)', g = 'a|b|c', t (time).
MemoryColumns oneRow() {
    return MemoryColumns({{"i", ints({7})},
                          {"z", ints({0})},
                          {"n", ints({INT64_MIN})},
                          {"big", ints({std::numeric_limits<std::int64_t>::max()})},
                          {"d", reals({2.5})},
                          {"nan", reals({std::nan("")})},
                          {"s", texts({"Toy Story (1995)"})},
                          {"g", texts({"a|b|c"})}});
}

/// The value as text; "null"; "error: ...".
std::string value(const std::string& text) {
    MemoryColumns data = oneRow();
    const auto expr = expr::compileExpression(text, data.schema());
    if (!expr.ok()) {
        return "does not compile: " + std::string(messageOf(expr.status()));
    }
    const auto result = evaluate(*expr, data);
    if (!result.ok()) {
        return "error: " + std::string(messageOf(result.status()));
    }
    EXPECT_EQ((*result)->length(), 1);
    const auto scalar = *(*result)->GetScalar(0);
    return scalar->is_valid ? scalar->ToString() : "null";
}

ArrayPtr decimals(int precision, int scale, const std::vector<std::int64_t>& values) {
    arrow::Decimal128Builder builder(arrow::decimal128(precision, scale));
    for (const std::int64_t value : values) {
        EXPECT_TRUE(
            (value == INT64_MIN ? builder.AppendNull() : builder.Append(arrow::Decimal128(value)))
                .ok());
    }
    return builder.Finish().ValueOrDie();
}

/// All rows' values as text, or the error.
std::string rowsOf(const std::string& text, MemoryColumns& data) {
    const auto expr = expr::compileExpression(text, data.schema());
    const auto result = expr.ok() ? evaluate(*expr, data) : Result<ArrayPtr>(expr.status());
    if (!result.ok()) {
        return std::string(messageOf(result.status()));
    }
    std::string shown;
    for (std::int64_t i = 0; i < (*result)->length(); ++i) {
        const auto scalar = *(*result)->GetScalar(i);
        strAppend(&shown, i == 0 ? "" : ", ", scalar->is_valid ? scalar->ToString() : "null");
    }
    return shown;
}

TEST(Expression, DecimalsInConditionalsAreDoublesWhereANullStandsBeside) {
    MemoryColumns data({{"k", ints({0, 1, 2})},
                        {"p", decimals(9, 2, {150, 0, INT64_MIN})},
                        {"q", decimals(20, 4, {20'000, INT64_MIN, 5'000})}});
    const std::pair<const char*, const char*> cases[] = {
        {"nullif(p, 0)", "1.5, null, null"},
        {"case when k = 0 then p end", "1.5, null, null"},
        {"if(k = 1, p, null)", "null, 0, null"},
        {"coalesce(null, p)", "1.5, 0, null"},
        {"p + null", "null, null, null"},
        {"p in (1.5, null)", "true, null, null"},
        {"greatest(p, q)", "2, 0, 0.5"},
        {"least(p, q)", "1.5, 0, 0.5"},
        {"least(p, 1)", "1, 0, 1"},
        {"case when k = 0 then p else q end", "1.5000, null, 0.5000"},
        {"coalesce(p, q)", "1.5000, 0.0000, 0.5000"},
    };
    for (const auto& [text, wanted] : cases) {
        EXPECT_EQ(rowsOf(text, data), wanted) << text;
    }
}

TEST(Expression, AConstantTextIsSplitAlsoWhereThereAreNoRows) {
    MemoryColumns data({{"u", texts({"1", "3"})}}), none({{"u", texts({})}});
    for (const char* text :
         {"list_contains(split('1|2', '|'), u)", "length(split('1|2', '|')) = 2",
          "hash_ids(split('a|b', '|'), 10)", "cast(split('1|2', '|') as bigint[])"}) {
        EXPECT_EQ(rowsOf(text, none), "") << text;
        EXPECT_THAT(rowsOf(text, data), Not(HasSubstr("Must pass"))) << text;
    }
    EXPECT_EQ(rowsOf("list_contains(split('1|2', '|'), u)", data), "true, false");
}

TEST(Expression, DatesBeyondTimestampsHaveNoPartsAndCompareAsInfinite) {
    const auto dates = [](const std::vector<std::int32_t>& days) {
        arrow::Date32Builder builder;
        EXPECT_TRUE(builder.AppendValues(days).ok());
        return *builder.Finish();
    };
    constexpr std::int32_t kInfinity = std::numeric_limits<std::int32_t>::max();
    MemoryColumns data({{"d", dates({kInfinity, -kInfinity, 0, 100'000'000})}});
    EXPECT_EQ(rowsOf("year(d)", data), "null, null, 1970, 275760");
    EXPECT_EQ(rowsOf("date_trunc('month', d) = timestamp '1970-01-01 00:00:00'", data),
              "null, null, true, false");
    EXPECT_EQ(rowsOf("d > timestamp '2024-01-31 12:00:00'", data), "true, false, false, true");
    EXPECT_EQ(rowsOf("cast(d as varchar)", data), "infinity, -infinity, 1970-01-01, 275760-09-13");
    EXPECT_EQ(rowsOf("try_cast(d as timestamp) is null", data), "true, true, false, false");
    EXPECT_THAT(rowsOf("cast(d as timestamp)", data), HasSubstr("out of bounds timestamp"));
}

TEST(Expression, TextsThatAreNoUtf8PassThrough) {
    MemoryColumns data({{"s", texts({" \xff"
                                     "Ab ",
                                     "\x01", " \xc3\x84x", "Y\xc3"})}});
    EXPECT_EQ(rowsOf("lower(s)", data),
              " \xff"
              "ab , null,  \xc3\xa4x, y\xc3");
    EXPECT_EQ(rowsOf("upper(s)", data),
              " \xff"
              "AB , null,  \xc3\x84X, Y\xc3");
    EXPECT_EQ(rowsOf("trim(s)", data),
              "\xff"
              "Ab, null, \xc3\x84x, Y\xc3");
    EXPECT_EQ(rowsOf("ltrim(s) = '\xc3\x84x'", data), "false, null, true, false");
}

TEST(Expression, IntegersThatOnlyUint64HoldAreLiterals) {
    arrow::UInt64Builder builder;
    ASSERT_TRUE(builder.AppendValues({std::numeric_limits<std::uint64_t>::max(), 7}).ok());
    MemoryColumns data({{"u", *builder.Finish()}});
    EXPECT_EQ(rowsOf("u = 18446744073709551615", data), "true, false");
    EXPECT_EQ(rowsOf("u in (18446744073709551615, 7)", data), "true, true");
    EXPECT_EQ(rowsOf("u < 9223372036854775808", data), "false, true");
    EXPECT_THAT(rowsOf("u = 18446744073709551616", data), HasSubstr("is beyond 64 bits"));
    EXPECT_THAT(rowsOf("u = -9223372036854775809", data), HasSubstr("is beyond 64 bits"));
}

TEST(Expression, WrongRegularExpressionsAreToldBeforeAnyRow) {
    const MemoryColumns data = oneRow();
    for (const char* text : {"regexp_matches(s, '(')", "i > 3 and regexp_matches(s, '(')",
                             "regexp_replace(s, '[', 'x') = 'x'",
                             "case when i > 3 then regexp_extract(s, '(', 0) end"}) {
        EXPECT_THAT(
            std::string(messageOf(compileChecked(text, data.schema(), "recipe.x").status())),
            AllOf(StartsWith("recipe.x: "), HasSubstr("egular expression"), Not(HasSubstr("row"))))
            << text;
    }
    EXPECT_THAT(std::string(messageOf(compileChecked("regexp_replace(s, 'a', 'x', 'gm') = 'x'",
                                                     data.schema(), "recipe.x")
                                          .status())),
                "recipe.x: regexp_replace: unknown option 'm'; there are 'g' (every match) and 'i' "
                "(ignores case)");
}

TEST(Expression, DecimalsAreTheNearestDoublesAndKeepTheirDigitsAsIntegers) {
    const std::int64_t id = 9007199254740993;
    MemoryColumns data({{"a", decimals(8, 2, {57, 115, 435, 9999})},
                        {"id", decimals(20, 0, {id, id, id, id})},
                        {"h", decimals(5, 1, {25, -25, 24, -4})}});
    const auto shown = [&](const std::string& text) {
        const auto expr = expr::compileExpression(text, data.schema());
        EXPECT_TRUE(expr.ok()) << expr.status();
        const auto result = evaluate(*expr, data);
        return result.ok() ? (*result)->ToString() : std::string(messageOf(result.status()));
    };
    EXPECT_EQ(shown("a = 0.57 or a = 1.15 or a = 4.35 or a = 99.99"),
              "[\n  true,\n  true,\n  true,\n  true\n]");
    EXPECT_EQ(shown("cast(id as int64)"),
              "[\n  9007199254740993,\n  9007199254740993,\n  9007199254740993,\n  "
              "9007199254740993\n]");
    EXPECT_EQ(shown("cast(h as int8)"), "[\n  3,\n  -3,\n  2,\n  0\n]");
    EXPECT_EQ(shown("try_cast(id as int32)"), "[\n  null,\n  null,\n  null,\n  null\n]");
}

// A function without a kernel would use another's, or fail at the first row.
TEST(Expression, EveryFunctionHasOneKernel) {
    const Status status = checkFunctionKernels();
    EXPECT_TRUE(status.ok()) << status;
}

TEST(Expression, TextsBeyondTheRangeOfDoublesAreInfiniteOrZero) {
    EXPECT_EQ(value("cast('1e400' || '' as double)"), "inf");
    EXPECT_EQ(value("cast('-1e400' || '' as double)"), "-inf");
    EXPECT_EQ(value("try_cast('1e-400' || '' as double)"), "0");
    EXPECT_EQ(value("try_cast('1e400x' || '' as double)"), "null");
    EXPECT_EQ(value("try_cast('1e400' || '' as int64)"), "null");
}

TEST(Expression, TextBehindADateIsNoDate) {
    for (const char* text : {"2024-02-29xyz", "2024-02-291", "2024-02-29,2023-01-01",
                             "2024-02-29 99:99:99", "0044-03-15 (BC)", "2024-02-30", ""}) {
        EXPECT_EQ(value(strCat("try_cast('", text, "' || '' as date)")), "null") << text;
    }
    for (const char* text :
         {"2024-02-29", " 2024-02-29 ", "2024-02-29 10:11:12", "2024-02-29T10:11:12.5"}) {
        EXPECT_EQ(value(strCat("try_cast('", text, "' || '' as date)")), "2024-02-29") << text;
    }
}

TEST(Expression, RoundEndsAtOnceForAnyDigits) {
    const auto rounded = [](const std::string& number, const std::string& digits) {
        return value(strCat("round(cast('", number, "' || '' as double), ", digits, ")"));
    };
    EXPECT_EQ(rounded("2.5", "0"), "3");
    EXPECT_EQ(rounded("-2.5", "0"), "-3");
    EXPECT_EQ(rounded("2.65", "1"), "2.7");
    EXPECT_EQ(rounded("-2.65", "1"), "-2.7");
    EXPECT_EQ(rounded("1234.5678", "2"), "1234.57");
    EXPECT_EQ(rounded("1234.5678", "-2"), "1200");
    for (const char* digits : {"400", "100000000", "9223372036854775807"}) {
        EXPECT_EQ(rounded("2.5", digits), "2.5") << digits;
        EXPECT_EQ(rounded("2.5", strCat("-", digits)), "0") << digits;
        EXPECT_EQ(rounded("inf", strCat("-", digits)), "inf") << digits;
        EXPECT_EQ(value(strCat("round(i, ", digits, ")")), "7") << digits;
        EXPECT_EQ(value(strCat("round(i, -", digits, ")")), "0") << digits;
    }
    EXPECT_EQ(rounded("1.7e308", "2"), "1.7e+308") << "what is between is beyond doubles";
    EXPECT_EQ(rounded("5e-324", "-2"), "0");
    EXPECT_EQ(rounded("0.123456789012345", "13"), "0.1234567890123");
}

TEST(Expression, NanHasNoSign) {
    EXPECT_EQ(value("sign(cast('nan' || '' as double))"), "0");
    EXPECT_EQ(value("sign(cast('-inf' || '' as float))"), "-1");
}

TEST(Expression, DivisionIsAsInDuckDb) {
    EXPECT_EQ(value("i / 2"), "3.5");
    EXPECT_EQ(value("i // 2"), "3");
    EXPECT_EQ(value("-i // 2"), "-3");
    EXPECT_EQ(value("-i % 4"), "-3");
    EXPECT_EQ(value("i / z"), "null");
    EXPECT_EQ(value("i // z"), "null");
    EXPECT_EQ(value("i % z"), "null");
    EXPECT_EQ(value("d / 0"), "null");
    EXPECT_EQ(value("5.5 % 2"), "1.5");
}

TEST(Expression, IntegerOverflowIsAnError) {
    EXPECT_EQ(value("big + 1"), "error: integer overflow");
    EXPECT_EQ(value("big * 2"), "error: integer overflow");
    EXPECT_EQ(value("-big - 2"), "error: integer overflow");
    EXPECT_EQ(value("abs(-big)"), "9223372036854775807");
}

TEST(Expression, LogicHasThreeValues) {
    EXPECT_EQ(value("n > 1"), "null");
    EXPECT_EQ(value("n > 1 or true"), "true");
    EXPECT_EQ(value("n > 1 and false"), "false");
    EXPECT_EQ(value("n > 1 and true"), "null");
    EXPECT_EQ(value("not (n > 1)"), "null");
    EXPECT_EQ(value("n is null and i is not null"), "true");
}

TEST(Expression, InKnowsNull) {
    EXPECT_EQ(value("i in (1, 7)"), "true");
    EXPECT_EQ(value("i in (1, 2, null)"), "null");
    EXPECT_EQ(value("i not in (1, 2)"), "true");
    EXPECT_EQ(value("n in (1, 2, 3, 4, 5, 6)"), "null");
    EXPECT_EQ(value("i in (1, 2, 3, 4, 5, 6)"), "false");
    EXPECT_EQ(value("i in (1, 2, 3, 4, 5, null)"), "null");
    EXPECT_EQ(value("i in (1, 2, 3, 4, 7, null)"), "true");
}

TEST(Expression, NaNEqualsItselfAndIsTheLargest) {
    EXPECT_EQ(value("nan = nan"), "true");
    EXPECT_EQ(value("nan > 1e300"), "true");
    EXPECT_EQ(value("nan < d"), "false");
    EXPECT_EQ(value("greatest(d, nan)"), "nan");
    EXPECT_EQ(value("least(d, nan)"), "2.5");
}

TEST(Expression, MixedNumbersCompareByValue) {
    EXPECT_EQ(value("i > d"), "true");
    EXPECT_EQ(value("i = 7.0"), "true");
    EXPECT_EQ(value("d between 2 and 3"), "true");
}

TEST(Expression, CastsThatDoNotFitAreErrorsAndTryCastGivesNull) {
    EXPECT_THAT(value("cast(s as int)"),
                HasSubstr("error: cannot cast 'Toy Story (1995)' to int32"));
    EXPECT_EQ(value("try_cast(s as int)"), "null");
    EXPECT_EQ(value("try_cast(big as int)"), "null");
    EXPECT_EQ(value("cast('12' as int) + 1"), "13");
    EXPECT_EQ(value("cast(' 3.7 ' as int)"), "4");
    EXPECT_EQ(value("cast(2.5 as int)"), "2");
    EXPECT_EQ(value("cast(3.5 as bigint)"), "4");
    EXPECT_EQ(value("try_cast(nan as bigint)"), "null");
    EXPECT_EQ(value("try_cast('1e300' as float)"), "null");
    EXPECT_EQ(value("cast('yes' as bool)"), "true");
    EXPECT_EQ(value("cast(i as string)"), "7");
    EXPECT_EQ(value("cast(i > 1 as int)"), "1");
    EXPECT_EQ(value("cast(9007199254740993 as double) = 9007199254740992.0"), "true");
    EXPECT_EQ(value("try_cast(256 as uint8)"), "null");
}

TEST(Expression, CaseTakesOnlyTheBranchThatApplies) {
    EXPECT_EQ(value("case when i > 1 then 'many' else 'few' end"), "many");
    EXPECT_EQ(value("case when n > 1 then 1 else 2 end"), "2");
    EXPECT_EQ(value("case when i > 1 then 0 else cast(s as int) end"), "0");
    EXPECT_THAT(value("case when i < 1 then 0 else cast(s as int) end"), HasSubstr("cannot cast"));
    EXPECT_EQ(value("i < 1 and cast(s as int) > 0"), "false");
    EXPECT_EQ(value("coalesce(i, cast(s as int))"), "7");
    EXPECT_EQ(value("nullif(i, 7)"), "null");
}

TEST(Expression, Strings) {
    EXPECT_EQ(value("lower(s) || '!'"), "toy story (1995)!");
    EXPECT_EQ(value("length(s)"), "16");
    EXPECT_EQ(value("s like 'Toy%(____)'"), "true");
    EXPECT_EQ(value("substr(s, 1, 3)"), "Toy");
    EXPECT_EQ(value("substr(s, -5, 4)"), "1995");
    EXPECT_EQ(value("substr(s, 100)"), "");
    EXPECT_EQ(value("replace(g, '|', '')"), "abc");
    EXPECT_EQ(value("trim('  x ')"), "x");
    EXPECT_EQ(value("starts_with(s, 'Toy')"), "true");
    EXPECT_EQ(value("contains(s, 'Story')"), "true");
    EXPECT_EQ(value("concat('a', null, 'b')"), "ab");
    EXPECT_EQ(value("'a' || null"), "null");
}

TEST(Expression, RegularExpressionsHaveGroups) {
    EXPECT_EQ(value("regexp_extract(s, '\\((\\d{4})\\)', 1)"), "1995");
    EXPECT_EQ(value("regexp_extract(s, '\\((\\d{4})\\)')"), "(1995)");
    EXPECT_EQ(value("regexp_extract(s, '(T)(o)(?:y) ([A-Z])', 3)"), "S");
    EXPECT_EQ(value("regexp_extract(s, '[(]([0-9]+)[)]', 1)"), "1995");
    EXPECT_EQ(value("regexp_extract(s, 'zzz', 0)"), "");
    EXPECT_THAT(value("regexp_extract(s, '(a)', 2)"), HasSubstr("the pattern has 1 groups, not 2"));
    EXPECT_EQ(value("regexp_matches(s, 'S.*y')"), "true");
    EXPECT_THAT(value("regexp_matches(s, '(')"), HasSubstr("error: "));
    EXPECT_EQ(value("try_cast(regexp_extract(s, '\\((\\d{4})\\)', 1) as int)"), "1995");
}

TEST(Expression, Lists) {
    EXPECT_THAT(value("split(g, '|')"), HasSubstr("a"));
    EXPECT_EQ(value("length(split(g, '|'))"), "3");
    EXPECT_EQ(value("list_extract(split(g, '|'), 2)"), "b");
    EXPECT_EQ(value("list_extract(split(g, '|'), -1)"), "c");
    EXPECT_EQ(value("list_extract(split(g, '|'), 4)"), "null");
    EXPECT_EQ(value("list_contains(split(g, '|'), 'b')"), "true");
    EXPECT_EQ(value("list_contains(split(g, '|'), 'z')"), "false");
    EXPECT_EQ(value("length(split('abc', ''))"), "3");
    EXPECT_EQ(value("length(split('', '|'))"), "1");
}

TEST(Expression, Times) {
    EXPECT_EQ(value("year(timestamp '2024-02-29 13:14:15')"), "2024");
    EXPECT_EQ(value("hour(timestamp '2024-02-29 13:14:15')"), "13");
    EXPECT_EQ(value("dayofweek(date '2024-03-03')"), "0");
    EXPECT_EQ(value("epoch(timestamp '1970-01-01 00:00:01.5')"), "1.5");
    EXPECT_EQ(value("epoch_ms(timestamp '1970-01-01 00:00:01.5')"), "1500");
    EXPECT_EQ(value("year(make_timestamp(i * 1000000))"), "1970");
    EXPECT_EQ(value("date '2024-01-02' > date '2024-01-01'"), "true");
}

TEST(Expression, TextsOfTimesAreReadByTheirFormat) {
    MemoryColumns data({{"s", texts({"1.2.2024", "", "29.02.2023", "31.12.1969 ", "x"})},
                        {"k", ints({0, 1, 2, 3, 4})}});
    EXPECT_EQ(rowsOf("strptime(s, '%d.%m.%Y')", data),
              "2024-02-01 00:00:00.000000, null, null, 1969-12-31 00:00:00.000000, null");
    EXPECT_EQ(rowsOf("strptime(s, '%d.%m.%Y') = timestamp '2024-02-01'", data),
              "true, null, null, false, null");
    // Equal formats share a node, different ones do not.
    EXPECT_EQ(rowsOf("day(strptime(s, '%d.%m.%Y')) * 100 + day(strptime(s, '%m.%d.%Y'))", data),
              "102, null, null, null, null");
    EXPECT_EQ(value("strptime('Feb 1, 2024 3:05 PM', '%b %d, %Y %I:%M %p')"),
              "2024-02-01 15:05:00.000000");
    EXPECT_EQ(value("strptime(null, '%Y')"), "null");
}

TEST(Expression, LocalTimesFollowTheRulesOfTheirZone) {
    EXPECT_EQ(value("hour(timestamp '2024-01-15 12:00:00' at time zone 'America/New_York')"), "7");
    EXPECT_EQ(value("hour(timestamp '2024-07-15 12:00:00' at time zone 'America/New_York')"), "8");
    EXPECT_EQ(value("day(timestamp '2024-07-15 23:30:00' at time zone 'Europe/Berlin')"), "16");
    EXPECT_EQ(value("hour(timezone('Asia/Kolkata', make_timestamp(0)))"), "5");
    EXPECT_EQ(value("minute(make_timestamp(0) at time zone 'Asia/Kolkata')"), "30");
    EXPECT_EQ(value("hour(timestamp '2024-01-15 12:00:00' at time zone 'UTC')"), "12");
    // Summer time began on 2024-03-31 at 01:00 UTC.
    EXPECT_EQ(value("hour(timestamp '2024-03-31 00:59:59' at time zone 'Europe/Berlin')"), "1");
    EXPECT_EQ(value("hour(timestamp '2024-03-31 01:00:00' at time zone 'Europe/Berlin')"), "3");
}

TEST(Expression, PartsOfTexts) {
    EXPECT_EQ(value("left(s, 3)"), "Toy");
    EXPECT_EQ(value("left(s, -7)"), "Toy Story");
    EXPECT_EQ(value("right(s, 6)"), "(1995)");
    EXPECT_EQ(value("right(s, -4)"), "Story (1995)");
    EXPECT_EQ(value("left('é|ü', 2)"), "é|");
    EXPECT_EQ(value("strpos(s, 'Story')"), "5");
    EXPECT_EQ(value("strpos('é|ü', 'ü')"), "3");
    EXPECT_EQ(value("strpos(s, 'x')"), "0");
    EXPECT_EQ(value("split_part(g, '|', 2)"), "b");
    EXPECT_EQ(value("split_part(g, '|', -1)"), "c");
    EXPECT_EQ(value("split_part(g, '|', 9)"), "");
    EXPECT_EQ(value("reverse(g)"), "c|b|a");
    EXPECT_EQ(value("regexp_replace(s, '[aeiou]', '*')"), "T*y Story (1995)");
    EXPECT_EQ(value("regexp_replace(s, '(T)(o)', '\\2\\1')"), "oTy Story (1995)");
    EXPECT_EQ(value("regexp_replace(s, '[to]', '*', 'g')"), "T*y S**ry (1995)");
    EXPECT_EQ(value("regexp_replace(s, '[to]', '*', 'ig')"), "**y S**ry (1995)");
    EXPECT_EQ(value("regexp_replace(s, 't', '*', 'i')"), "*oy Story (1995)");
}

TEST(Expression, ListsAreCutAndHashed) {
    EXPECT_EQ(value("list_extract(list_slice(split(g, '|'), 2, 3), 1)"), "b");
    EXPECT_EQ(value("length(list_slice(split(g, '|'), -2, -1))"), "2");
    EXPECT_EQ(value("length(list_slice(split(g, '|'), 1, 99))"), "3");
    EXPECT_EQ(value("length(list_slice(split(g, '|'), 3, 1))"), "0");
    EXPECT_EQ(value("length(hash_ids(split(g, '|'), 100))"), "3");
    EXPECT_EQ(value("list_extract(hash_ids(split(g, '|'), 100), 1) = hash_ids('a', 100)"), "true");
    EXPECT_EQ(value("hash_ids(n, 100)"), "0");
    EXPECT_EQ(value("hash_ids(i, 100) = hash_ids(i, 100, 3)"), "false");
    EXPECT_EQ(value("hash_ids(i, 1)"),
              "does not compile: 1:13: hash_ids() needs at least 2 buckets");
}

TEST(Expression, PartsOfTimes) {
    const std::string t = "timestamp '2024-12-30 13:14:15.5'";
    EXPECT_EQ(value("second(" + t + ")"), "15");
    EXPECT_EQ(value("quarter(" + t + ")"), "4");
    EXPECT_EQ(value("week(" + t + ")"), "1");
    EXPECT_EQ(value("dayofyear(" + t + ")"), "365");
    EXPECT_EQ(value("isodow(" + t + ")"), "1");
    EXPECT_EQ(value("date_part('minute', " + t + ")"), "14");
    EXPECT_EQ(value("epoch_us(" + t + ") - epoch_ms(" + t + ") * 1000"), "0");
    EXPECT_EQ(value("date_trunc('week', timestamp '2024-12-29 23:00:00') = date '2024-12-23'"),
              "true");
    EXPECT_EQ(value("date_trunc('month', " + t + ") = timestamp '2024-12-01'"), "true");
    EXPECT_EQ(value("date_diff('day', timestamp '2024-12-29 23:00:00', " + t + ")"), "1");
    EXPECT_EQ(value("date_diff('year', " + t + ", date '2023-01-01')"), "-1");
    EXPECT_EQ(value("date_diff('week', timestamp '2024-12-29 23:00:00', " + t + ")"), "1");
    EXPECT_EQ(value("date_diff('week', date '1969-12-28', date '1970-01-12')"), "3");
    EXPECT_THAT(value("date_trunc('dayofyear', " + t + ")"),
                HasSubstr("date_trunc() needs a part of a time as a literal text: day, hour,"));
}

TEST(Expression, Mathematics) {
    EXPECT_EQ(value("ln(1)"), "0");
    EXPECT_EQ(value("ln(0)"), "-inf");
    EXPECT_EQ(value("exp(0)"), "1");
    EXPECT_EQ(value("pow(2, 10)"), "1024");
    EXPECT_EQ(value("round(2.5)"), "3");
    EXPECT_EQ(value("round(-2.5)"), "-3");
    EXPECT_EQ(value("floor(-2.5)"), "-3");
    EXPECT_EQ(value("sqrt(-1)"), value("nan"));
    EXPECT_EQ(value("sign(-3)"), "-1");
    EXPECT_EQ(value("ln(-1)"), value("nan"));
    EXPECT_EQ(value("pow(-8, 3)"), "-512");
    EXPECT_EQ(value("pow(-8, 0.5)"), value("nan"));
    EXPECT_EQ(value("pow(nan, 0)"), "1");
    EXPECT_EQ(value("pow(0, -1)"), "inf");
    EXPECT_EQ(value("exp(n)"), "null");
    EXPECT_EQ(value("pow(d, n)"), "null");
}

TEST(Expression, Hash01IsTheHashOfTheCanonicalBytes) {
    MemoryColumns data({{"a", ints({42, INT64_MIN})}, {"b", texts({"x", "y"})}});
    const auto expr = expr::compileExpression("hash01(a, b)", data.schema());
    const auto result = evaluate(*expr, data);
    ASSERT_TRUE(result.ok()) << result.status();
    const auto& values = static_cast<const arrow::DoubleArray&>(**result);
    EXPECT_EQ(values.Value(0), hash01(CanonicalBytes().integer(42).text("x")));
    EXPECT_EQ(values.Value(1), hash01(CanonicalBytes().null().text("y")));
    EXPECT_EQ(values.null_count(), 0);
}

TEST(Expression, AnErrorKnowsItsFirstRow) {
    MemoryColumns data({{"s", texts({"1", "2", "x", "4", "y"})}});
    const auto expr = expr::compileExpression("cast(s as int) + 1", data.schema());
    std::int64_t row = -1;
    EXPECT_FALSE(evaluate(*expr, data, &row).ok());
    EXPECT_EQ(row, 2);
}

TEST(Expression, RowsFollowTheirNulls) {
    MemoryColumns data({{"x", ints({1, INT64_MIN, 3})}, {"y", ints({0, 2, INT64_MIN})}});
    const auto result = evaluate(*expr::compileExpression("x // y", data.schema()), data);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ((*result)->null_count(), 3);
    const auto filled =
        evaluate(*expr::compileExpression("coalesce(x, y, -1) * 2", data.schema()), data);
    EXPECT_TRUE((*filled)->Equals(ints({2, 4, 6})));
}

TEST(Expression, SeveralThreadsEvaluateOneExpression) {
    std::vector<std::int64_t> numbers;
    std::vector<double> fractions;
    std::vector<std::string> words;
    for (int row = 0; row < 20'000; ++row) {
        numbers.push_back(row % 97);
        fractions.push_back(row * 0.25);
        words.push_back(strCat("word ", row % 300));
    }
    const auto data = [&] {
        return MemoryColumns({{"i", ints(numbers)}, {"d", reals(fractions)}, {"s", texts(words)}});
    };
    for (const char* text :
         {"case when i > 50 then ln(d + 1) else pow(d, 0.3) end", "upper(s) || substr(s, 2, 4)",
          "s like '%7%' and i % 3 = 0", "regexp_extract(s, '[0-9]+')"}) {
        MemoryColumns columns = data();
        const auto expr = expr::compileExpression(text, columns.schema());
        ASSERT_TRUE(expr.ok()) << expr.status();
        std::vector<ArrayPtr> results(4);
        {
            std::vector<std::jthread> threads;
            for (ArrayPtr& result : results) {
                threads.emplace_back([&] {
                    MemoryColumns own = data();
                    const auto values = evaluate(*expr, own);
                    result = values.ok() ? *values : nullptr;
                });
            }
        }
        const auto wanted = evaluate(*expr, columns);
        ASSERT_TRUE(wanted.ok()) << wanted.status();
        for (const ArrayPtr& result : results) {
            ASSERT_NE(result, nullptr) << text;
            EXPECT_TRUE(result->Equals(*wanted)) << text;
        }
    }
}

}  // namespace
}  // namespace millrace::eval

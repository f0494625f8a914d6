// The evaluator's kernels give the same for any number of rows at once and with any vector
// instructions.
#include "backend/eval/lanes/lanes.h"

#include <cmath>
#include <cstring>
#include <random>

#include <arrow/array/builder_primitive.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/compute/api_scalar.h>

#include "backend/eval/civil_days.h"
#include "backend/eval/program.h"
#include "tests/unit/recipe/recipe_fixture.h"

namespace millrace::eval {
namespace {

using test::MemoryColumns;
using ::testing::HasSubstr;

// More than two turns, and a rest that does not fill a byte of the bitmap.
constexpr std::int64_t kRows = 9001;

template <class Builder, class Make>
ArrayPtr made(Builder builder, std::uint64_t seed, double nulls, Make make) {
    std::mt19937_64 bits(seed);
    std::uniform_real_distribution<double> unit(0, 1);
    for (std::int64_t i = 0; i < kRows; ++i) {
        const arrow::Status status =
            unit(bits) < nulls ? builder.AppendNull() : builder.Append(make(bits));
        EXPECT_TRUE(status.ok());
    }
    return *builder.Finish();
}

double someReal(std::mt19937_64& bits) {
    constexpr double kSpecial[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 5e-324, 1e300, 3, -3};
    const std::uint64_t choice = bits() % 20;
    return choice < std::size(kSpecial) ? kSpecial[choice]
                                        : static_cast<double>(bits() % 4000) / 8 - 250;
}

MemoryColumns manyColumns() {
    const auto small = [](std::mt19937_64& b) { return static_cast<std::int64_t>(b() % 41) - 20; };
    const auto time = [](std::mt19937_64& b) {
        return static_cast<std::int64_t>(b() % 8'000'000'000'000'000) - 4'000'000'000'000'000;
    };
    const auto flag = [](std::mt19937_64& b) { return b() % 2 == 0; };
    const auto word = [](std::mt19937_64& b) { return std::string(b() % 2 == 0 ? "12" : "abc"); };
    const auto stamp = arrow::timestamp(arrow::TimeUnit::MICRO);
    return MemoryColumns(
        {{"d", made(arrow::DoubleBuilder(), 1, 0.2, someReal)},
         {"e", made(arrow::DoubleBuilder(), 2, 0, someReal)},
         {"f", made(arrow::FloatBuilder(), 3, 0.1,
                    [](auto& b) { return static_cast<float>(someReal(b)); })},
         {"i", made(arrow::Int64Builder(), 4, 0.1, small)},
         {"j", made(arrow::Int64Builder(), 5, 0, small)},
         {"k", made(arrow::Int32Builder(), 6, 0.3,
                    [&](auto& b) { return static_cast<std::int32_t>(small(b)); })},
         {"b", made(arrow::BooleanBuilder(), 7, 0.2, flag)},
         {"c", made(arrow::BooleanBuilder(), 8, 0, flag)},
         {"s", made(arrow::StringBuilder(), 9, 0.1, word)},
         {"t", made(arrow::TimestampBuilder(stamp, arrow::default_memory_pool()), 10, 0.1, time)},
         {"u", made(arrow::TimestampBuilder(stamp, arrow::default_memory_pool()), 11, 0, time)}});
}

/// A range of rows of another input.
class PartInput : public ExprInput {
 public:
    PartInput(ExprInput& whole, std::int64_t first, std::int64_t rows)
        : whole_(whole), first_(first), rows_(rows) {}
    std::int64_t rows() const override { return rows_; }
    Result<ArrayPtr> column(const std::string& name) override {
        ASSIGN_OR_RETURN(const ArrayPtr all, whole_.column(name));
        return all->Slice(first_, rows_);
    }

 private:
    ExprInput& whole_;
    const std::int64_t first_, rows_;
};

bool areSame(const arrow::Array& a, const arrow::Array& b) {
    return a.Equals(b, arrow::EqualOptions::Defaults().nans_equal(true).signed_zeros_equal(false));
}

constexpr const char* kExpressions[] = {
    "d + e * 2 - f",
    "-d / e",
    "d % e",
    "i * j + k",
    "i // j",
    "i % k",
    "abs(i) + abs(j)",
    "d < e",
    "f >= d",
    "i = k",
    "t <= u",
    "b != c",
    "b and c or not b",
    "b or d > 3 and c",
    "i in (1, 2, null)",
    "i in (j, k, 3)",
    "d in (0, 3, -3, 1.5)",
    "j in (1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,-1,-2,-3,-4,-5,-6,-7)",
    "case when d > 10 then 1 when b then k when d < 0 then null else j end",
    "case when b then ln(abs(d)) when c then pow(e, 2) else d end",
    "case when s = '12' then cast(s as int64) else i end",
    "case when b then s when c then upper(s) else 'x' end",
    "coalesce(d, k, e)",
    "coalesce(k, i, 7) + coalesce(i, j)",
    "coalesce(s, 'none') || 'x'",
    "least(d, e, 0.0, f)",
    "greatest(d, k, f)",
    "try_cast(d as int32)",
    "try_cast(s as double) + d",
    "cast(b as int32) + cast(i as int8)",
    "floor(d) + ceil(e) + sqrt(abs(f))",
    "isnan(d) or isfinite(e)",
    "d is null or b is not null",
    "exp(d / 100) + log1p(e)",
    "hour(t) + weekday(u) * 100",
    "date_trunc('week', t)",
    "date_diff('month', t, u)",
    "minute(u at time zone 'America/New_York')",
    "length(s) > 2 and d > 0",
    "s like '1%' or i > 3",
    "hash01(i, s) < 0.5",
};

TEST(Lanes, ValuesDoNotDependOnHowManyRowsAreEvaluatedAtOnce) {
    MemoryColumns data = manyColumns();
    for (const char* text : kExpressions) {
        const auto expr = expr::compileExpression(text, data.schema());
        ASSERT_TRUE(expr.ok()) << text << ": " << expr.status();
        const auto whole = evaluate(*expr, data);
        ASSERT_TRUE(whole.ok()) << text << ": " << whole.status();
        ASSERT_TRUE((*whole)->ValidateFull().ok()) << text;
        arrow::ArrayVector parts;
        for (std::int64_t first = 0, n = 1; first < kRows; first += n, n = n * 3 + 2) {
            n = std::min(n, kRows - first);
            PartInput part(data, first, n);
            const auto some = evaluate(*expr, part);
            ASSERT_TRUE(some.ok()) << text << ": " << some.status();
            parts.push_back(*some);
        }
        EXPECT_TRUE(areSame(**whole, **arrow::Concatenate(parts))) << text;
    }
}

TEST(Lanes, EveryMachineComputesTheSameBits) {
    MemoryColumns data = manyColumns();
    for (const char* text : kExpressions) {
        const auto program = Program::compile(*expr::compileExpression(text, data.schema()));
        ASSERT_TRUE(program.ok()) << program.status();
        const auto plain = (*program)->run(data, nullptr, Isa::kPlain);
        const auto wide = (*program)->run(data, nullptr, machineIsa());
        ASSERT_TRUE(plain.ok() && wide.ok()) << text;
        EXPECT_TRUE(areSame(**plain, **wide)) << text;
    }
}

TEST(Lanes, EqualPartsAreOneNodeAndConstantsAreFolded) {
    MemoryColumns data = manyColumns();
    const auto nodesOf = [&](const char* text) {
        return (*Program::compile(*expr::compileExpression(text, data.schema())))->root() + 1;
    };
    EXPECT_EQ(nodesOf("pow(d, 3) + pow(d, 3)"), nodesOf("pow(d, 3) + d"));
    const auto program =
        Program::compile(*expr::compileExpression("exp(1) * 2 - 1", data.schema()));
    EXPECT_EQ((*program)->node((*program)->root()).kind, ProgramNode::Kind::kConstant);
}

TEST(Lanes, WhatFailsForNoRowThatNeedsItIsNoError) {
    MemoryColumns data = manyColumns();
    for (const char* text :
         {"case when s = '12' then cast(s as int64) end", "s = '12' and cast(s as int64) > 3",
          "s is null or s = 'abc' or cast(s as int64) > 3",
          "coalesce(i, case when i is null then 0 else cast('x' || s as int64) end)",
          "if(false, cast('x' as int64), 1)"}) {
        const auto expr = expr::compileExpression(text, data.schema());
        ASSERT_TRUE(expr.ok()) << text << ": " << expr.status();
        const auto values = evaluate(*expr, data);
        EXPECT_TRUE(values.ok()) << text << ": " << values.status();
    }
}

// The value under a null may be anything: it must not overflow a sum or divide by zero.
TEST(Lanes, WhatStandsUnderNullsFailsNothing) {
    const std::vector<std::int64_t> numbers = {INT64_MAX, INT64_MIN, 0, 1};
    const std::uint8_t bits = 0b1000;
    const auto data = arrow::ArrayData::Make(
        arrow::int64(), 4,
        {std::make_shared<arrow::Buffer>(&bits, 1), arrow::Buffer::Wrap(numbers)});
    MemoryColumns columns({{"x", arrow::MakeArray(data)}, {"y", test::ints({9, -1, 0, 4})}});
    for (const char* text : {"x + x", "x * 3", "-x", "abs(x)", "x // y", "x % y", "y // x",
                             "cast(x as int8)", "x - 5"}) {
        const auto values = evaluate(*expr::compileExpression(text, columns.schema()), columns);
        ASSERT_TRUE(values.ok()) << text << ": " << values.status();
        EXPECT_EQ((*values)->null_count(), 3) << text;
    }
}

// The first row decides, however many rows fail and whichever operand fails first elsewhere.
TEST(Lanes, TheSentenceIsThatOfTheFirstRowThatFails) {
    std::vector<std::int64_t> a(kRows, 1), b(kRows, 1);
    b[5000] = 300;
    a[6000] = a[8000] = INT64_MAX;
    MemoryColumns data({{"a", test::ints(a)}, {"b", test::ints(b)}});
    const auto expr = expr::compileExpression("a + 1 > cast(b as int8)", data.schema());
    std::int64_t row = -1;
    const auto whole = evaluate(*expr, data, &row);
    EXPECT_EQ(row, 5000);
    EXPECT_THAT(std::string(messageOf(whole.status())), HasSubstr("cannot cast '300' to int8"));
    PartInput later(data, 5500, kRows - 5500);
    const auto rest = evaluate(*expr, later, &row);
    EXPECT_EQ(row, 500);
    EXPECT_THAT(std::string(messageOf(rest.status())), HasSubstr("integer overflow"));
}

TEST(Lanes, RemaindersAreThoseOfC) {
    MemoryColumns data = manyColumns();
    const auto values = evaluate(*expr::compileExpression("e % d", data.schema()), data);
    const auto& x = static_cast<const arrow::DoubleArray&>(**data.column("e"));
    const auto& y = static_cast<const arrow::DoubleArray&>(**data.column("d"));
    const auto& out = static_cast<const arrow::DoubleArray&>(**values);
    for (std::int64_t i = 0; i < kRows; ++i) {
        ASSERT_EQ(out.IsNull(i), y.IsNull(i) || y.Value(i) == 0) << i;
        if (out.IsValid(i)) {
            const double wanted = std::fmod(x.Value(i), y.Value(i));
            ASSERT_TRUE(std::isnan(wanted) ? std::isnan(out.Value(i))
                                           : out.Value(i) == wanted &&
                                                 std::signbit(out.Value(i)) == std::signbit(wanted))
                << x.Value(i) << " % " << y.Value(i);
        }
    }
}

TEST(CivilDays, AreThoseOfTheCalendar) {
    std::int32_t year = -1600, month = 1, day = 1;
    const auto isLeap = [](std::int32_t y) { return y % 4 == 0 && (y % 100 != 0 || y % 400 == 0); };
    std::int32_t days = daysOfCivil(year, month, day);
    ASSERT_EQ(daysOfCivil(1970, 1, 1), 0);
    ASSERT_EQ(days, -1'303'916);
    for (; year < 3200; ++days) {
        const CivilDay civil = civilOfDays(days);
        ASSERT_TRUE(civil.year == year && civil.month == month && civil.day == day) << days;
        ASSERT_EQ(daysOfCivil(year, month, day), days);
        constexpr std::int32_t kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
        if (++day > kDays[month - 1] + (month == 2 && isLeap(year) ? 1 : 0)) {
            day = 1;
            month = month % 12 + 1;
            year += month == 1 ? 1 : 0;
        }
    }
    for (const std::int32_t end : {-106'751'992, 106'751'991}) {
        const CivilDay civil = civilOfDays(end);
        EXPECT_EQ(daysOfCivil(civil.year, civil.month, civil.day), end);
    }
    EXPECT_EQ(weekdayOf(0), 3);
    EXPECT_EQ(weekdayOf(-4), 6);
    EXPECT_EQ(weekdayOf(-106'751'992), (3 + 7 - 106'751'992 % 7) % 7);
}

// Arrow's calendar is the reference for 12,000 years.
TEST(Times, PartsAreThoseOfArrowsCalendar) {
    const ArrayPtr times = made(
        arrow::TimestampBuilder(arrow::timestamp(arrow::TimeUnit::MICRO),
                                arrow::default_memory_pool()),
        12, 0.05, [](auto& bits) {
            constexpr std::int64_t kDay = 86'400'000'000;
            const std::int64_t any = static_cast<std::int64_t>(bits() % 400'000'000'000'000'000) -
                                     200'000'000'000'000'000;
            const std::int64_t near = static_cast<std::int64_t>(bits() % 20'000'000) - 10'000'000;
            const std::int64_t edge =
                (static_cast<std::int64_t>(bits() % 1'000'000) - 500'000) * kDay;
            return bits() % 3 == 0 ? any : edge + near % 3 * (bits() % 2 == 0 ? 1 : near);
        });
    MemoryColumns data({{"t", times}});
    const auto ours = [&](const std::string& text) {
        const auto values = evaluate(*expr::compileExpression(text, data.schema()), data);
        EXPECT_TRUE(values.ok()) << text << ": " << values.status();
        return *values;
    };
    const auto arrows = [&](const char* name, const arrow::compute::FunctionOptions* options) {
        return callKernel(name, {Datum(times)}, options)->make_array();
    };
    const std::pair<const char*, const char*> same[] = {
        {"year", "year"},       {"month", "month"},   {"day", "day"},
        {"hour", "hour"},       {"minute", "minute"}, {"second", "second"},
        {"quarter", "quarter"}, {"week", "iso_week"}, {"dayofyear", "day_of_year"}};
    for (const auto& [name, kernel] : same) {
        EXPECT_TRUE(ours(strCat(name, "(t)"))->Equals(arrows(kernel, nullptr))) << name;
    }
    const arrow::compute::DayOfWeekOptions sunday(true, 7), monday(false, 1);
    EXPECT_TRUE(ours("dayofweek(t)")->Equals(arrows("day_of_week", &sunday)));
    EXPECT_TRUE(ours("isodow(t)")->Equals(arrows("day_of_week", &monday)));
    using Unit = arrow::compute::CalendarUnit;
    const std::pair<const char*, Unit> units[] = {
        {"year", Unit::YEAR},     {"quarter", Unit::QUARTER}, {"month", Unit::MONTH},
        {"week", Unit::WEEK},     {"day", Unit::DAY},         {"hour", Unit::HOUR},
        {"minute", Unit::MINUTE}, {"second", Unit::SECOND}};
    for (const auto& [name, unit] : units) {
        const arrow::compute::RoundTemporalOptions options(1, unit, true);
        EXPECT_TRUE(
            ours(strCat("date_trunc('", name, "', t)"))->Equals(arrows("floor_temporal", &options)))
            << name;
    }
}

TEST(Times, DifferencesAreThoseOfArrowsCalendar) {
    MemoryColumns data = manyColumns();
    const Datum from(*data.column("t")), to(*data.column("u"));
    const arrow::compute::DayOfWeekOptions monday(true, 1);
    for (const char* unit : {"year", "quarter", "week", "day", "hour", "minute", "second"}) {
        const bool isWeek = std::string_view(unit) == "week";
        const auto wanted =
            callKernel(strCat(unit, "s_between"), {from, to}, isWeek ? &monday : nullptr);
        ASSERT_TRUE(wanted.ok()) << wanted.status();
        const auto ours = evaluate(
            *expr::compileExpression(strCat("date_diff('", unit, "', t, u)"), data.schema()), data);
        EXPECT_TRUE((*ours)->Equals(wanted->make_array())) << unit;
    }
}

TEST(Lanes, BitsAndBytesAreTurnedIntoEachOther) {
    std::mt19937_64 random(13);
    std::vector<std::uint8_t> bits(40), bytes(300), back(40);
    for (std::uint8_t& byte : bits) {
        byte = static_cast<std::uint8_t>(random());
    }
    for (const std::int64_t offset : {0, 1, 7, 8, 13}) {
        for (const std::int64_t n : {0, 1, 7, 8, 9, 64, 255, 300}) {
            bytesOfBits(bits.data(), offset, n, bytes.data());
            bitsOfBytes(bytes.data(), n, back.data());
            std::int64_t ones = 0;
            for (std::int64_t i = 0; i < n; ++i) {
                const int wanted = bits[(offset + i) / 8] >> (offset + i) % 8 & 1;
                ones += wanted;
                ASSERT_EQ(bytes[i], wanted);
                ASSERT_EQ(back[i / 8] >> i % 8 & 1, wanted);
            }
            EXPECT_EQ(countOnes(bytes.data(), n), ones);
        }
    }
    const std::vector<std::uint8_t> all(5000, 1);
    EXPECT_EQ(countOnes(all.data(), 5000), 5000);
}

}  // namespace
}  // namespace millrace::eval

// The role that init gives to columns like those of real data sets.
#include "backend/profile/column_guess.h"

#include <cmath>
#include <functional>
#include <variant>

#include <absl/strings/str_join.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_nested.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/array/builder_time.h>
#include <gmock/gmock.h>

#include "backend/expr/expression.h"
#include "backend/profile/first_spec.h"
#include "backend/profile/spec_split.h"
#include "tests/unit/profile/columns.h"

namespace millrace::profile {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kRows = 4000;

template <class Builder, class Make>
std::shared_ptr<arrow::Array> rowsOf(Builder builder, Make make) {
    for (std::int64_t r = 0; r < kRows; ++r) {
        const auto value = make(r);
        EXPECT_TRUE((value ? builder.Append(*value) : builder.AppendNull()).ok());
    }
    return *builder.Finish();
}

TEST(Profile, NeverCountsMoreDifferentValuesThanThereAreValues) {
    for (std::int64_t rows = 1'000; rows <= 9'000; rows += 250) {
        arrow::Int64Builder builder;
        for (std::int64_t r = 0; r < rows; ++r) {
            EXPECT_TRUE(builder.Append(r).ok());
        }
        const ColumnProfile column = columnOf("id", {expr::TypeKind::kInt64}, *builder.Finish());
        EXPECT_LE(column.distinct(), static_cast<double>(rows));
    }
}

ColumnProfile integers(const std::string& name,
                       const std::function<std::optional<std::int64_t>(std::int64_t)>& value) {
    return columnOf(name, {expr::TypeKind::kInt64}, rowsOf(arrow::Int64Builder(), value));
}

ColumnProfile texts(const std::string& name,
                    const std::function<std::optional<std::string>(std::int64_t)>& value) {
    return columnOf(name, {expr::TypeKind::kString}, rowsOf(arrow::StringBuilder(), value));
}

ColumnProfile times(const std::string& name) {
    arrow::ListBuilder builder(
        arrow::default_memory_pool(),
        std::make_shared<arrow::TimestampBuilder>(arrow::timestamp(arrow::TimeUnit::MICRO),
                                                  arrow::default_memory_pool()));
    auto& values = static_cast<arrow::TimestampBuilder&>(*builder.value_builder());
    for (std::int64_t r = 0; r < kRows; ++r) {
        EXPECT_TRUE(builder.Append().ok() && values.Append(r).ok());
    }
    return columnOf(name, {expr::TypeKind::kTimestamp, true}, *builder.Finish());
}

ColumnProfile age() {
    return integers("age", [](std::int64_t r) { return r % 70; });
}

ColumnProfile label() {
    return integers("click", [](std::int64_t r) { return r % 3 == 0 ? 1 : 0; });
}

Result<FirstSpec> specOf(const std::vector<ColumnProfile>& columns, const std::string& label = "",
                         int splitsLeft = 0) {
    DatasetProfile profile;
    profile.columns = columns;
    profile.splits = splitsLeft;
    profile.rows = profile.rowsRead = kRows;
    FirstSpecOptions options;
    options.name = "first";
    options.paths = {"rows.parquet"};
    options.label = label;
    return firstSpec(profile, options);
}

TEST(ColumnGuess, NamesThatSayIdAndThoseThatDoNot) {
    for (const char* name : {"user_id", "movieId", "user_id:token", "userid", "id", "ad", "sku",
                             "Clothing ID", "zip", "item"}) {
        EXPECT_TRUE(isNamedLikeId(name)) << name;
    }
    for (const char* name : {"paid", "valid", "age", "user_age", "price", "humidity", "fnlwgt"}) {
        EXPECT_FALSE(isNamedLikeId(name)) << name;
    }
}

TEST(ColumnGuess, IntegersByTheirNameAndTheirShape) {
    const auto useOf = [](const std::string& name, auto value) {
        return guessOf(integers(name, value)).use;
    };
    EXPECT_EQ(useOf("user_id:token", [](std::int64_t r) { return r % 900; }), Use::kId);
    EXPECT_EQ(useOf("education", [](std::int64_t r) { return r % 16; }), Use::kId);
    EXPECT_EQ(useOf("fnlwgt", [](std::int64_t r) { return 12285 + r / 2 * 371; }), Use::kDense)
        << "a wide range with few repeats";
    EXPECT_EQ(useOf("gains", [](std::int64_t r) { return r % 10 == 0 ? r % 120 * 833 : 0; }),
              Use::kDense)
        << "few values far apart";
    EXPECT_EQ(useOf("hours-per-week", [](std::int64_t r) { return r % 96; }), Use::kDense);
    EXPECT_EQ(useOf("s07", [](std::int64_t r) { return r * 7919 % 700 * 1000; }), Use::kId)
        << "many values that repeat";
    EXPECT_EQ(useOf("flag", [](std::int64_t r) { return r % 2; }), Use::kDense);
    EXPECT_EQ(useOf("impression_id", [](std::int64_t r) { return r * 77; }), Use::kLeftOut);
    EXPECT_EQ(useOf("Unnamed: 0", [](std::int64_t r) { return r; }), Use::kLeftOut)
        << "a row number";
}

TEST(ColumnGuess, SecondsSince1970AreTimesUnderAnyName) {
    const auto useOf = [](const std::string& name, std::int64_t from) {
        return guessOf(integers(name, [=](std::int64_t r) { return from + 997 * r; })).use;
    };
    EXPECT_EQ(useOf("erstellt", 1'700'000'000), Use::kTime);
    EXPECT_NE(useOf("erstellt", 999'000'000), Use::kTime);
    EXPECT_NE(useOf("erstellt", 1'997'000'000), Use::kTime);
    EXPECT_NE(useOf("order_id", 1'700'000'000), Use::kTime);
    EXPECT_NE(useOf("balance", 1'700'000'000), Use::kTime);
}

TEST(ColumnGuess, NamesOfRowsAreNoFeature) {
    const auto names = integers("row_names", [](std::int64_t r) { return r % 90; });
    EXPECT_EQ(guessOf(names).use, Use::kLeftOut);
    const auto index = integers("__index_level_0__", [](std::int64_t r) { return r * 3; });
    EXPECT_EQ(guessOf(index).why, "the names of the rows") << "of pandas, in Parquet";
}

TEST(ColumnGuess, ASplitByFewKeysSaysThatItsShareIsRough) {
    const auto user = integers("user_id", [](std::int64_t r) { return r % 90; });
    const auto many = integers("user_id", [](std::int64_t r) { return r % 2500; });
    EXPECT_THAT(specOf({label(), user, age()})->text,
                HasSubstr("About a tenth of the rows is kept for evaluation, by a hash"))
        << "of user and age";
    EXPECT_THAT(
        specOf({label(), user, integers("size", [](std::int64_t r) { return r % 3; })})->text,
        HasSubstr("About a tenth of the rows is kept for evaluation, by a hash: it stays the "
                  "same rows. Rows with equal values of these columns are in one part."));
    EXPECT_THAT(specOf({label(), many})->text, AllOf(HasSubstr("About a tenth of the rows is kept"),
                                                     Not(HasSubstr("Rows with equal values"))));
}

TEST(ColumnGuess, ADenseColumnWithNullsIsFilledWithItsMean) {
    const auto years = integers("year_of_built", [](std::int64_t r) {
        return r % 7 == 0 ? std::nullopt : std::optional(1930 + r * 7 % 5 * 20);
    });
    const auto spec = specOf({label(), age(), years});
    EXPECT_THAT(spec->text, HasSubstr("    - {column: year_of_built, fill: 1970}  # "));
    EXPECT_THAT(spec->text, HasSubstr("14.3 % nulls, which count as the mean\n"));
    EXPECT_THAT(spec->text, HasSubstr("    - age  # named like a measure, 0 to 69\n"));
    EXPECT_THAT(spec->uses[2].why, HasSubstr("14.3 % nulls, which count as the mean"));
}

TEST(ColumnGuess, AMeanIsAsShortAsTheSpreadAllows) {
    EXPECT_EQ(fillText(1970.2634, 80), "1970.3");
    EXPECT_EQ(fillText(1970.0412, 80), "1970");
    EXPECT_EQ(fillText(-0.000123456, 0.001), "-0.00012");
    EXPECT_EQ(fillText(0.51234, 1), "0.51");
    EXPECT_EQ(fillText(123'456, 1e6), "120000");
    EXPECT_EQ(fillText(-0.0001, 80), "0");
    EXPECT_EQ(fillText(7.25, 0), "7.25");
}

TEST(ColumnGuess, WholeIdsThatAreStoredAsFloatsAreReadAsIntegers) {
    const auto stored = [](const std::string& name, double add) {
        return columnOf(
            name, {expr::TypeKind::kDouble}, rowsOf(arrow::DoubleBuilder(), [add](std::int64_t r) {
                return r % 9 == 0 ? std::nullopt : std::optional(10'001 + add + double(r % 300));
            }));
    };
    const auto spec = specOf({label(), age(), stored("customer_id", 0), stored("shop id", 0)});
    EXPECT_THAT(spec->text, HasSubstr("  types: {customer_id: int64, \"shop id\": int64}\n"));
    EXPECT_THAT(spec->text, HasSubstr("  ids:\n    - customer_id  # named like an id, whole "
                                      "numbers stored as double, 300 different values, "));
    EXPECT_THAT(spec->text, HasSubstr("  customer_id: {vocabulary: auto}\n"));
    EXPECT_THAT(specOf({label(), age(), stored("customer_id", 0.5)})->text,
                Not(HasSubstr("types:")));
    EXPECT_THAT(specOf({label(), age(), stored("customer_id", 1e16)})->text,
                HasSubstr("left out: customer_id (named like an id, but stored as double"));
}

TEST(ColumnGuess, NullsDoNotCountAmongDifferentValues) {
    const auto review = texts("review", [](std::int64_t r) {
        return r % 3 == 0 ? std::nullopt : std::optional(strCat("text ", r));
    });
    EXPECT_EQ(guessOf(review).why, "nearly every row has its own value");
    const auto name = texts("name", [](std::int64_t r) { return strCat("text ", r % 2500); });
    EXPECT_THAT(guessOf(name).why, HasSubstr("free text"));
    EXPECT_EQ(guessOf(texts("name", [](std::int64_t r) { return strCat("n", r % 500); })).use,
              Use::kId);
}

TEST(ColumnGuess, NamesOfFewRowsAreLeftOutToo) {
    const auto useOfFew = [](std::int64_t values, std::int64_t different) {
        return guessOf(texts("name",
                             [=](std::int64_t r) {
                                 return r < values ? std::optional(strCat("text ", r % different))
                                                   : std::nullopt;
                             }))
            .use;
    };
    EXPECT_EQ(useOfFew(300, 300), Use::kLeftOut);
    EXPECT_EQ(useOfFew(300, 190), Use::kLeftOut);
    EXPECT_EQ(useOfFew(300, 140), Use::kId);
    EXPECT_EQ(useOfFew(90, 90), Use::kId) << "too few to tell";
}

TEST(ColumnGuess, ListsOfTimesAreLeftOut) {
    const auto spec = specOf(
        {label(), times("hist_t"), integers("user_id", [](std::int64_t r) { return r % 300; })});
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_THAT(spec->text, AllOf(HasSubstr("left out: hist_t (lists of timestamps"),
                                  Not(HasSubstr("  lists:"))));
    EXPECT_EQ(spec->uses[1].use, "left out");
}

TEST(ColumnGuess, TheKeyOfTheSplitIsNoFeature) {
    const auto row = integers("row_id", [](std::int64_t r) { return r * 31; });
    const auto user = integers("user_id", [](std::int64_t r) { return r % 2500; });
    const auto price = columnOf(
        "price", {expr::TypeKind::kDouble},
        rowsOf(arrow::DoubleBuilder(), [](std::int64_t r) { return std::optional(r % 70 * 0.5); }));
    const auto byRow = specOf({label(), user, price, row});
    ASSERT_TRUE(byRow.ok()) << byRow.status();
    EXPECT_THAT(byRow->text, AllOf(HasSubstr("hash01(row_id) < 0.9"), HasSubstr("- user_id")));
    EXPECT_THAT(specOf({label(), user, price})->text,
                AllOf(HasSubstr("hash01(user_id, price) < 0.9"), HasSubstr("- user_id")));
    const auto byUser = specOf({label(), user, integers("age", [](std::int64_t r) {
                                    return r > 0 ? std::optional<std::int64_t>(30) : std::nullopt;
                                })});
    ASSERT_TRUE(byUser.ok()) << byUser.status();
    EXPECT_THAT(byUser->text, AllOf(HasSubstr("hash01(user_id) < 0.9"),
                                    HasSubstr("left out: user_id (the key of the split")));
    EXPECT_THAT(byUser->notes.front(), HasSubstr("rows are told apart by 'user_id'"));
}

TEST(ColumnGuess, OfTwoTextsTheRarerOneIsPositive) {
    const auto income =
        texts("income", [](std::int64_t r) { return r % 4 == 0 ? ">50K" : "<=50K"; });
    const auto age = integers("age", [](std::int64_t r) { return 17 + r % 74; });
    const auto spec = specOf(
        {age, income, integers("fnlwgt", [](std::int64_t r) { return 12285 + r / 2 * 371; })});
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_EQ(spec->label, "income");
    EXPECT_THAT(spec->text, HasSubstr("income: 'income = ''>50K'''"));
    EXPECT_THAT(spec->notes.front(), HasSubstr("positive is income = '>50K', one of two texts"));
    const auto three = texts("income", [](std::int64_t r) { return strCat("c", r % 3); });
    EXPECT_THAT(std::string(messageOf(specOf({age, three}, "income").status())),
                HasSubstr("neither numbers nor two texts to predict (its texts are 'c0', 'c1', "
                          "'c2')"));
}

TEST(ColumnGuess, WordsForAMissingValueBesideTwoTextsAreNoClass) {
    const auto sex = texts("Sex", [](std::int64_t r) {
        return r % 10 == 0 ? "NA" : r % 10 == 1 ? "?" : r % 3 == 0 ? "FEMALE" : "MALE";
    });
    const auto user = integers("user_id", [](std::int64_t r) { return r % 2500; });
    const auto spec = specOf({user, age(), sex}, "Sex");
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_THAT(spec->text,
                AllOf(HasSubstr("filter: 'Sex not in (''?'', ''NA'')'"),
                      HasSubstr("Sex: 'Sex = ''FEMALE'''"),
                      HasSubstr("hash01(user_id, age) >= 0.9 and Sex not in (''?'', ''NA'')'}")));
    EXPECT_THAT(spec->notes, Contains(HasSubstr("whose 'Sex' is 'NA' (400) are neither trained")));
    const auto answers = texts("answer", [](std::int64_t r) { return r % 2 == 0 ? "no" : "NA"; });
    EXPECT_THAT(specOf({user, age(), answers}, "answer")->text, Not(HasSubstr("not in")));
}

TEST(ColumnGuess, FewRowsAreReadUntilAModelHasLearntThem) {
    const auto batchOf = [](std::int64_t rows) {
        DatasetProfile profile;
        profile.columns = {label(), age()};
        profile.rows = profile.rowsRead = rows;
        FirstSpecOptions options;
        options.name = "first";
        options.paths = {"rows.parquet"};
        const std::string text = firstSpec(profile, options)->text;
        const std::size_t at = text.find("batch: {rows:");
        return text.substr(at, text.find(", seed") - at);
    };
    EXPECT_EQ(batchOf(400), "batch: {rows: 32, micro_rows: 16, epochs: 30");
    EXPECT_EQ(batchOf(4'000), "batch: {rows: 32, micro_rows: 16, epochs: 7");
    EXPECT_EQ(batchOf(50'000), "batch: {rows: 256, micro_rows: 128, epochs: 4");
    EXPECT_EQ(batchOf(10'000'000), "batch: {rows: 4096, micro_rows: 2048, epochs: 1");
}

TEST(ColumnGuess, ARemarkIsBesideItsColumn) {
    DatasetProfile profile;
    profile.columns = {label(), age()};
    profile.rows = profile.rowsRead = kRows;
    FirstSpecOptions options;
    options.name = "first";
    options.paths = {"rows.parquet"};
    options.remarks["age"] = "alone tells the label";
    EXPECT_THAT(firstSpec(profile, options)->text,
                HasSubstr("- age  # named like a measure, 0 to 69; alone tells the label\n"));
}

TEST(ColumnGuess, AffirmativeTextsArePositiveHoweverOften) {
    const auto answer = texts("liked", [](std::int64_t r) { return r % 4 == 0 ? "No" : "Yes"; });
    EXPECT_EQ(positiveText(answer), "Yes");
}

TEST(ColumnGuess, NamesThatAnExpressionReadsOtherwiseAreQuoted) {
    for (const char* name : {"end", "case", "When", "not", "like", "between", "null", "true",
                             "from", "date", "a b", "1st"}) {
        const std::string quoted = expr::sqlName(name);
        const auto read = expr::tryParseExpression(strCat(quoted, " < 1"));
        EXPECT_TRUE(std::holds_alternative<expr::Expr>(read)) << name;
        const auto spec =
            specOf({label(), age(), integers(name, [](std::int64_t r) { return r * 7; })});
        ASSERT_TRUE(spec.ok()) << name << ": " << spec.status();
        EXPECT_THAT(spec->text, HasSubstr(strCat("hash01(", quoted, ")"))) << name;
    }
    EXPECT_EQ(expr::sqlName("end"), "\"end\"");
    EXPECT_EQ(expr::sqlName("user_id"), "user_id");
}

TEST(ColumnGuess, ALabelWhoseLeastValueIsTheMostFrequentOneHasTwoClasses) {
    const auto user = integers("user_id", [](std::int64_t r) { return r; });
    const auto grade = integers("grade", [](std::int64_t r) { return r % 5 < 3 ? 1 : 2; });
    EXPECT_THAT(specOf({user, age(), grade}, "grade")->text, HasSubstr("grade: 'grade > 1'"));
    const auto same = integers("same", [](std::int64_t) { return 3; });
    EXPECT_THAT(std::string(messageOf(specOf({user, age(), same}, "same").status())),
                HasSubstr("'same' is 3 in every row"));
}

TEST(ColumnGuess, WithoutAFeatureTheErrorNamesWhatADateIsReadWith) {
    const auto day = texts("day", [](std::int64_t r) {
        return strCat("2010/0", 1 + r % 9, "/", 10 + r / 250, " 0", r % 9, ":", 10 + r % 50);
    });
    const Status refused = specOf({label(), day}).status();
    EXPECT_THAT(std::string(messageOf(refused)),
                AllOf(HasSubstr("no column that a model could learn from; 'day' is a time"),
                      HasSubstr("`derive: {hour: 'hour(strptime(day, ''%Y/%m/%d %H:%M''))'}`")));
}

TEST(ColumnGuess, WithoutAFeatureTheErrorNamesWhatATimeGives) {
    const auto at = columnOf(
        "At time", {expr::TypeKind::kTimestamp},
        rowsOf(arrow::Int64Builder(), [](std::int64_t r) { return std::optional(r * 1'000'000); })
            ->View(arrow::timestamp(arrow::TimeUnit::MICRO))
            .ValueOrDie());
    EXPECT_THAT(std::string(messageOf(specOf({label(), at}).status())),
                HasSubstr("'At time' is a time, and a spec that you write makes features of it: "
                          "`derive: {hour: 'hour(\"At time\")'}`"));
}

TEST(ColumnGuess, ATimeThatSplitsBadlyIsNamed) {
    const auto day = columnOf(
        "day", {expr::TypeKind::kTimestamp},
        rowsOf(arrow::Int64Builder(), [](std::int64_t r) { return std::optional(r * 1'000'000); })
            ->View(arrow::timestamp(arrow::TimeUnit::MICRO))
            .ValueOrDie());
    DatasetProfile profile;
    profile.columns = {label(), age(), day};
    profile.rows = profile.rowsRead = kRows;
    FirstSpecOptions options;
    options.name = "first";
    options.paths = {"rows.parquet"};
    const auto isNamed = Contains(HasSubstr("by 'day' one part has a single value of the label"));
    EXPECT_THAT(firstSpec(profile, options)->notes, Not(isNamed));
    options.splitsByTime = false;
    EXPECT_THAT(firstSpec(profile, options)->notes, isNamed);
}

TEST(ColumnGuess, ATimeWithFewNullsSplitsAndItsNullsAreTrainedOn) {
    const auto paid =
        columnOf("paid_at", {expr::TypeKind::kTimestamp},
                 rowsOf(arrow::Int64Builder(),
                        [](std::int64_t r) {
                            return r == 3 ? std::nullopt
                                          : std::optional(1'700'000'000'000'000 + r * 1'000'000);
                        })
                     ->View(arrow::timestamp(arrow::TimeUnit::MICRO))
                     .ValueOrDie());
    const auto spec = specOf({label(), age(), paid});
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_THAT(spec->text, ContainsRegex("where: 'paid_at < timestamp .* or paid_at is null'"));
    EXPECT_THAT(spec->text, ContainsRegex("dataset: .where: 'paid_at >= timestamp [^o]*'.\n"));
}

TEST(ColumnGuess, AnIdWithTheNameOfTheDenseBlockIsLeftOut) {
    const auto dense = integers("dense", [](std::int64_t r) { return r % 41; });
    const auto spec = specOf({label(), dense, age()});
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_THAT(spec->text, Not(HasSubstr("ids: [dense]")));
    EXPECT_THAT(spec->uses, Contains(Field(&ColumnUse::why, HasSubstr("a derive step can copy"))));
    EXPECT_THAT(specOf({label(), dense})->text, HasSubstr("dense"));
}

TEST(ColumnGuess, NanOfALabelIsFilteredAndTimesWithNullsDoNotSplit) {
    const auto delay = columnOf(
        "delay", {expr::TypeKind::kDouble}, rowsOf(arrow::DoubleBuilder(), [](std::int64_t r) {
            return std::optional(r % 7 == 0 ? std::nan("") : static_cast<double>(r % 50));
        }));
    const auto paid = columnOf(
        "paid_at", {expr::TypeKind::kTimestamp},
        rowsOf(arrow::Int64Builder(),
               [](std::int64_t r) {
                   return r % 3 == 0 ? std::nullopt
                                     : std::optional(1'700'000'000'000'000 + r * 1'000'000);
               })
            ->View(arrow::timestamp(arrow::TimeUnit::MICRO))
            .ValueOrDie());
    const auto user = integers("user_id", [](std::int64_t r) { return r % 2500; });
    const auto spec = specOf({delay, paid, user, age()}, "delay");
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_THAT(spec->text, AllOf(HasSubstr("filter: 'delay is not null and not isnan(delay)'"),
                                  HasSubstr("where: 'hash01(user_id"),
                                  HasSubstr("eval:\n  dataset: {where: 'hash01(user_id, age) >= "
                                            "0.9 and not isnan(delay)'}")));
    EXPECT_THAT(spec->notes, testing::Contains(HasSubstr("'paid_at' has 1,334 nulls")));
}

TEST(ColumnGuess, OfSeveralColumnsOfTwoClassesTheLastIsGuessedAndTheOthersAreNamed) {
    const auto flag = [](const char* name, int every) {
        return integers(name, [every](std::int64_t r) { return r % every == 0; });
    };
    const auto user = integers("user_id", [](std::int64_t r) { return r % 2500; });
    const auto guessed = specOf({user, age(), flag("a", 2), flag("b", 3)});
    ASSERT_TRUE(guessed.ok()) << guessed.status();
    EXPECT_EQ(guessed->label, "b");
    EXPECT_THAT(guessed->notes.front(), HasSubstr("columns of two classes: a"));
    EXPECT_EQ(specOf({user, age(), flag("is_fraud", 9), flag("b", 3)})->label, "is_fraud");
    const auto income = integers("income", [](std::int64_t r) { return r; });
    const auto broke = texts("default", [](std::int64_t r) { return r % 9 == 0 ? "Yes" : "No"; });
    EXPECT_EQ(specOf({user, age(), income, broke})->label, "default");
}

TEST(ColumnGuess, ColumnsThatCannotBeReadAreNamedWithTheReason) {
    DatasetProfile profile;
    profile.columns = {label(), age(), integers("item", [](std::int64_t r) { return r % 900; })};
    profile.refused = {{"user_id", "is string in p2, but int64 in p1", false, true},
                       {"place", "is a struct", true, false}};
    profile.rows = profile.rowsRead = kRows;
    FirstSpecOptions options;
    options.name = "first";
    options.paths = {"rows.parquet"};
    const auto spec = firstSpec(profile, options);
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_THAT(spec->text, HasSubstr("# left out: user_id (is string in p2, but int64 in p1)\n"));
    ASSERT_EQ(spec->uses.size(), 4U);
    EXPECT_EQ(spec->uses.back().column, "user_id");
    EXPECT_EQ(spec->uses.back().use, "left out");
}

TEST(ColumnGuess, ATextOfDatesSplitsTheRowsAndIsDerived) {
    const auto specWith = [](const ColumnProfile& when) {
        const auto spec = specOf({label(), age(), when});
        EXPECT_TRUE(spec.ok()) << spec.status();
        return spec.ok() ? *spec : FirstSpec();
    };
    const auto sold = texts("sold on", [](std::int64_t r) -> std::optional<std::string> {
        const std::int64_t at = r * 7919 % kRows;
        return at == 5 ? "" : strCat(1 + at % 28, "/", 1 + at / 28 % 12, "/", 2000 + at / 400);
    });
    const FirstSpec spec = specWith(sold);
    EXPECT_THAT(spec.text,
                HasSubstr("  - derive: {\"sold on_time\": 'strptime(\"sold on\", ''%d/%m/%Y'')'}"));
    EXPECT_THAT(spec.text, HasSubstr("The latest rows by sold on, about "));
    const std::string time = "strptime(\"sold on\", ''%d/%m/%Y'')";
    const std::string border = "timestamp ''2008-12-28 00:00:00''";
    EXPECT_THAT(spec.text,
                HasSubstr(strCat("  where: '", time, " < ", border, " or ", time, " is null'\n")));
    EXPECT_THAT(spec.text, HasSubstr(strCat("dataset: {where: '", time, " >= ", border, "'}\n")));
    EXPECT_THAT(spec.text, HasSubstr("# left out: sold on (dates as text, which `strptime("));
    EXPECT_THAT(spec.text, Not(HasSubstr("- \"sold on\"")));
    EXPECT_THAT(spec.notes, Not(Contains(HasSubstr("sold on"))));
    // Two formats read these: the text decides nothing, and is not an id either.
    const FirstSpec open = specWith(texts("day", [](std::int64_t r) {
        return strCat(1 + r % 12, "/", 1 + r % 11, "/", 2000 + r % 10);
    }));
    EXPECT_THAT(open.text, HasSubstr("# left out: day (dates, but the values do not tell"));
    EXPECT_THAT(open.text, AllOf(HasSubstr("where: 'hash01("), Not(HasSubstr("derive:"))));
}

TEST(ColumnGuess, ATextOfDatesThatWasReadInPartMayShowNoTimeElsewhere) {
    const auto day =
        texts("day", [](std::int64_t r) { return strCat(13 + r % 10, ".01.", 2000 + r / 400); });
    EXPECT_THAT(specOf({label(), age(), day})->text, Not(HasSubstr("is null")));
    EXPECT_THAT(specOf({label(), age(), day}, "", 1)->text,
                HasSubstr("or strptime(day, ''%d.%m.%Y'') is null'"));
}

TEST(ColumnGuess, DatesInOtherFormsGetAnExpressionThatReadsThem) {
    const auto noteOf = [](const ColumnProfile& when) {
        const auto spec = specOf({label(), age(), when});
        EXPECT_TRUE(spec.ok()) << spec.status();
        return spec.ok() ? strCat(spec->text, absl::StrJoin(spec->notes, "\n")) : "";
    };
    const auto dates = [&](const std::string& start, const std::string& end) {
        return noteOf(
            texts("day", [&](std::int64_t r) { return strCat(start, 10 + r % 18, end); }));
    };
    EXPECT_THAT(dates("01/", "/2026"), AllOf(HasSubstr("`strptime(day, '%m/%d/%Y')`"),
                                             Not(HasSubstr("reads every value"))));
    EXPECT_THAT(dates("", ".01.2026 10:00"), HasSubstr("`strptime(day, '%d.%m.%Y %H:%M')`"));
    EXPECT_THAT(dates("Jan ", ", 2026 3:05 PM"),
                HasSubstr("`strptime(day, '%b %d, %Y %I:%M %p')`"));
    EXPECT_THAT(
        noteOf(texts("day", [](std::int64_t r) { return strCat("2/", 1 + r % 12, "/26"); })),
        HasSubstr("'day' looks like a date (2/1/26), but is string; "
                  "`strptime(day, '%m/%d/%y')` in a derive step reads it as one; "
                  "'%d/%m/%y' reads every value too: the values do not tell which number "
                  "is the day"));
    // The last row alone shows that the day comes first.
    EXPECT_THAT(noteOf(texts("day",
                             [](std::int64_t r) {
                                 return r == kRows - 1 ? "13/1/2026"
                                                       : strCat("1/", 1 + r % 12, "/2026");
                             })),
                HasSubstr("which `strptime(day, '%d/%m/%Y')` reads"));
    EXPECT_THAT(noteOf(texts("day",
                             [](std::int64_t r) {
                                 return r == kRows - 1 ? "unknown"
                                                       : strCat("1/", 1 + r % 12, "/2026");
                             })),
                Not(HasSubstr("strptime")));
    EXPECT_THAT(noteOf(integers("day", [](std::int64_t r) { return 20260101 + r % 28; })),
                HasSubstr("`strptime(cast(day as varchar), '%Y%m%d')`"));
    EXPECT_THAT(noteOf(integers("day", [](std::int64_t r) { return 1'767'225'600'000 + r; })),
                HasSubstr("make_timestamp(day * 1000)"));
    EXPECT_THAT(dates("12/", "/20"), HasSubstr("`strptime(day, '%m/%d/%y')`"));
    EXPECT_THAT(dates("12/", ""), Not(HasSubstr("strptime")));
    EXPECT_THAT(noteOf(integers("zip", [](std::int64_t r) { return 20261300 + r % 90; })),
                Not(HasSubstr("looks like a date")));
}

TEST(ColumnGuess, NamesWithLineEndsStayOneLineOfTheSpec) {
    const auto constant = integers("only\ntags: {a: b}\n#", [](std::int64_t) { return 1; });
    const auto user = integers("user\nid", [](std::int64_t r) { return r % 3000; });
    const auto spec = specOf({label(), constant, user, age()});
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_THAT(spec->text, AllOf(Not(HasSubstr("\ntags:")), Not(HasSubstr("user\nid"))));
}

TEST(ColumnGuess, ValuesAreCountedInADatasetThatWasReadWhole) {
    const std::vector<ColumnProfile> columns = {
        label(), texts("occupation", [](std::int64_t r) { return strCat("o", r % 15); }),
        integers("user_id", [](std::int64_t r) { return r % 300; })};
    const auto whole = specOf(columns), part = specOf(columns, "", 1);
    ASSERT_TRUE(whole.ok() && part.ok()) << whole.status() << part.status();
    EXPECT_THAT(whole->text, AllOf(HasSubstr("occupation: {vocabulary: auto}"),
                                   HasSubstr("user_id: {vocabulary: auto}")));
    EXPECT_THAT(part->text,
                AllOf(HasSubstr("occupation: {rows: 65536}"), HasSubstr("user_id: {rows: 65536}")));
}

}  // namespace
}  // namespace millrace::profile

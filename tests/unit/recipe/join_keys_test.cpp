// Keys of side tables of every kind compared with a plain map: with any number of threads, and
// columns in any form.
#include <map>
#include <random>

#include <arrow/array/array_dict.h>

#include "backend/recipe/gather_rows.h"
#include "backend/recipe/join/as_of_table.h"
#include "backend/recipe/join/join_table.h"
#include "tests/unit/recipe/recipe_fixture.h"

namespace millrace::recipe {
namespace {

using eval::ArrayPtr;
using test::ints;
using test::kNull;
using test::reals;
using test::texts;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const expr::DataType kInt64Key{expr::TypeKind::kInt64};
const expr::DataType kTextKey{expr::TypeKind::kString};
const expr::DataType kRealKey{expr::TypeKind::kDouble};
using Texts = std::vector<std::string>;
using Rows = std::vector<std::int64_t>;

JoinTable::Options optionsOf(int threads, JoinTable::Finds finds = JoinTable::Finds::kRow) {
    return {"t", true, nullptr, finds, threads};
}

std::vector<JoinKeySpec> keysOfType(const expr::DataType& type) {
    return {{"k", "k", type, type}};
}

/// Texts of 0 to about 45 bytes, many of them twice, some null.
Texts someTexts(std::size_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Texts made(count);
    for (std::string& text : made) {
        const std::uint64_t number = random() % (count / 2);
        text = number % 97 == 0 ? "\x01" : std::string(number % 41, 'x') + std::to_string(number);
        text = number % 41 == 0 && number % 97 != 0 ? text.substr(0, number % 9) : text;
    }
    return made;
}

Rows firstsOf(const Texts& table, const Texts& asked) {
    std::map<std::string, std::int64_t> firsts;
    for (std::size_t row = 0; row < table.size(); ++row) {
        if (table[row] != "\x01") {
            firsts.emplace(table[row], static_cast<std::int64_t>(row));
        }
    }
    Rows rows;
    for (const std::string& text : asked) {
        const auto known = firsts.find(text);
        rows.push_back(known == firsts.end() ? -1 : known->second);
    }
    return rows;
}

/// A dictionary with every text once, in order of appearance, and with the nulls.
ArrayPtr asDictionary(const Texts& values, const Texts& unused) {
    std::map<std::string, std::int32_t> numbers;
    Texts different = unused;
    arrow::Int32Builder indices;
    for (const std::string& text : values) {
        const auto [at, isNew] = numbers.emplace(text, static_cast<std::int32_t>(different.size()));
        if (isNew) {
            different.push_back(text);
        }
        const bool isMissing = text == "\x01" && values.size() % 2 == 0;  // else a null entry
        EXPECT_TRUE((isMissing ? indices.AppendNull() : indices.Append(at->second)).ok());
    }
    return *arrow::DictionaryArray::FromArrays(arrow::dictionary(arrow::int32(), arrow::utf8()),
                                               *indices.Finish(), texts(different));
}

TEST(JoinKeys, TextsMeetInWhateverFormTheyCome) {
    const Texts table = someTexts(60'000, 1), many = someTexts(90'001, 2), few = someTexts(500, 3);
    for (const int threads : {1, 2, 3}) {
        const auto made = JoinTable::make(optionsOf(threads), keysOfType(kTextKey), {texts(table)});
        ASSERT_TRUE(made.ok()) << made.status();
        for (const Texts& asked : {many, few}) {
            const Rows expected = firstsOf(table, asked);
            EXPECT_EQ(*(*made)->find({texts(asked)}), expected);
            EXPECT_EQ(*(*made)->find({asDictionary(asked, {})}), expected);
            EXPECT_EQ(*(*made)->find({asDictionary(asked, many)}), expected) << "more texts";
            EXPECT_EQ(*(*made)->find({texts(asked)->Slice(3)}),
                      Rows(expected.begin() + 3, expected.end()));
            EXPECT_EQ(*(*made)->find({asDictionary(asked, {})->Slice(3)}),
                      Rows(expected.begin() + 3, expected.end()));
        }
    }
}

/// Texts of one width, or of all widths up to it if `isOne` is false; any bytes except "\x01"
/// alone, which is a null.
Texts narrowTexts(std::size_t count, std::size_t width, bool isOne, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Texts made(count);
    for (std::string& text : made) {
        std::uint64_t number = random() % (count * 2);
        for (std::size_t i = 0; i < (isOne ? width : number % (width + 1)); ++i) {
            text += static_cast<char>(i % 3 == 0 ? number % 3 : number % 128);
            number = number / 5 + number * 31 % 1009;
        }
    }
    return made;
}

TEST(JoinKeys, ShortTextsAreTheirOwnKeys) {
    for (const std::size_t width : {3, 7, 8, 11, 12, 13}) {
        for (const bool isOne : {true, false}) {
            const Texts table = narrowTexts(33'000, width, isOne, width);
            Texts asked = narrowTexts(6'000, width, isOne, width + 1);
            for (const Texts& others : {narrowTexts(3'000, 13, false, 3), table}) {
                asked.insert(asked.end(), others.begin(), others.begin() + 3'000);
            }
            const Rows expected = firstsOf(table, asked);
            for (const int threads : {1, 3}) {
                const auto rows =
                    JoinTable::make(optionsOf(threads), keysOfType(kTextKey), {texts(table)});
                ASSERT_TRUE(rows.ok()) << rows.status();
                EXPECT_EQ(*(*rows)->find({texts(asked)}), expected) << width;
                EXPECT_EQ(*(*rows)->find({asDictionary(asked, {})}), expected) << width;
                const auto members = JoinTable::make(optionsOf(threads, JoinTable::Finds::kMember),
                                                     keysOfType(kTextKey), {texts(table)});
                ASSERT_TRUE(members.ok()) << members.status();
                const Rows found = *(*members)->find({texts(asked)});
                for (std::size_t i = 0; i < asked.size(); ++i) {
                    ASSERT_EQ(found[i] >= 0, expected[i] >= 0) << width << " " << i;
                }
            }
        }
    }
}

TEST(JoinKeys, ShortTextsKeepNoColumn) {
    Texts narrow(30'000), wide(30'000);
    for (std::size_t row = 0; row < narrow.size(); ++row) {
        narrow[row] = std::to_string(100'000'000'000 + row * 7'919);
        wide[row] = narrow[row] + "x";
    }
    const auto bytesOf = [](const Texts& table) {
        return (*JoinTable::make(optionsOf(1), keysOfType(kTextKey), {texts(table)}))->bytes();
    };
    EXPECT_LT(bytesOf(narrow), 30'000 * 22);
    EXPECT_GT(bytesOf(wide), 30'000 * (17 + 13 + 4));
}

TEST(JoinKeys, TheFilterOfMembersIsCounted) {
    constexpr std::int64_t kRows = 40'000;
    Rows table(kRows);
    for (std::size_t row = 0; row < table.size(); ++row) {
        table[row] = static_cast<std::int64_t>(row) * 1'000'003;
    }
    MemoryBudget budget(100'000'000);
    JoinTable::Options options = optionsOf(1, JoinTable::Finds::kMember);
    options.budget = &budget;
    const auto members = JoinTable::make(options, keysOfType(kInt64Key), {ints(table)});
    ASSERT_TRUE(members.ok()) << members.status();
    EXPECT_EQ((*members)->bytes(), JoinTable::bucketBytes(kRows, JoinTable::Finds::kMember));
    EXPECT_GT((*members)->bytes(), JoinTable::bucketBytes(kRows));
    EXPECT_EQ(budget.usedBytes(), (*members)->bytes());
}

TEST(JoinKeys, TuplesMeetInWhateverFormTheyCome) {
    const Texts table = someTexts(40'000, 4), asked = someTexts(9'000, 5);
    const auto numbersOf = [](const Texts& values) {
        Rows numbers;
        for (const std::string& text : values) {
            numbers.push_back(text.size() == 7 ? kNull : static_cast<std::int64_t>(text.size()));
        }
        return ints(numbers);
    };
    Texts known = table, wanted = asked;
    for (Texts* all : {&known, &wanted}) {
        for (std::string& text : *all) {
            text = text.size() == 7 ? "\x01" : text;  // a tuple with a null part is not a key
        }
    }
    const Rows expected = firstsOf(known, wanted);
    const std::vector<JoinKeySpec> specs = {{"s", "s", kTextKey, kTextKey},
                                            {"n", "n", kInt64Key, kInt64Key}};
    for (const int threads : {1, 2}) {
        const auto made =
            JoinTable::make(optionsOf(threads), specs, {texts(table), numbersOf(table)});
        ASSERT_TRUE(made.ok()) << made.status();
        EXPECT_EQ(*(*made)->find({texts(asked), numbersOf(asked)}), expected);
        EXPECT_EQ(*(*made)->find({asDictionary(asked, {}), numbersOf(asked)}), expected);
    }
}

TEST(JoinKeys, RealNumbersMeetByTheirValue) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto made =
        JoinTable::make(optionsOf(1), keysOfType(kRealKey), {reals({-0.0, nan, 1.5, -999, 0.0})});
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_THAT(*(*made)->find({reals({0.0, -nan, 1.5, -999, 2})}), ElementsAre(0, 1, 2, -1, -1));
}

TEST(JoinKeys, IntegersMeetWhetherTheyLieCloseOrFarApart) {
    std::mt19937_64 random(6);
    for (const std::int64_t apart : {std::int64_t{1}, std::int64_t{1} << 40}) {
        Rows table, asked;
        std::map<std::int64_t, std::int64_t> firsts;
        const auto any = [&] {
            return (static_cast<std::int64_t>(random() % 50'000) - 25'000) * apart;
        };
        for (std::int64_t row = 0; row < 70'000; ++row) {
            table.push_back(row % 50 == 0 ? kNull : any());
            if (table.back() != kNull) {
                firsts.emplace(table.back(), row);
            }
        }
        Rows expected;
        for (int i = 0; i < 10'000; ++i) {
            asked.push_back(i % 30 == 0 ? kNull : i % 31 == 0 ? INT64_MAX - i : any());
            const auto known = firsts.find(asked.back());
            expected.push_back(known == firsts.end() ? -1 : known->second);
        }
        for (const int threads : {1, 2, 3}) {
            const auto rows =
                JoinTable::make(optionsOf(threads), keysOfType(kInt64Key), {ints(table)});
            EXPECT_EQ(*(*rows)->find({ints(asked)}), expected);
            const auto members = JoinTable::make(optionsOf(threads, JoinTable::Finds::kMember),
                                                 keysOfType(kInt64Key), {ints(table)});
            const Rows found = *(*members)->find({ints(asked)});
            for (std::size_t i = 0; i < found.size(); ++i) {
                EXPECT_EQ(found[i] >= 0, expected[i] >= 0);
            }
            EXPECT_EQ((*members)->bytes() < (*rows)->bytes() / 20, apart == 1) << "bits";
            EXPECT_EQ((*rows)->bytes() < JoinTable::bucketBytes(70'000), apart == 1);
        }
    }
}

TEST(JoinKeys, AnyNumberOfRowsIsLookedUp) {
    Rows numbers, order(300);
    Texts names;
    for (std::int64_t row = 0; row < 300; ++row) {
        numbers.push_back((row - 150) << 40);
        names.push_back(std::to_string(row * 7919 % 100'003 + 100'003));
        order[static_cast<std::size_t>(row)] = row;
    }
    const auto byNumber = JoinTable::make(optionsOf(1), keysOfType(kInt64Key), {ints(numbers)});
    const auto byName = JoinTable::make(optionsOf(1), keysOfType(kTextKey), {texts(names)});
    for (std::int64_t count = 0; count <= 300; ++count) {
        const Rows expected(order.begin(), order.begin() + count);
        ASSERT_EQ(*(*byNumber)->find({ints(numbers)->Slice(0, count)}), expected) << count;
        ASSERT_EQ(*(*byName)->find({texts(names)->Slice(0, count)}), expected) << count;
    }
}

TEST(JoinKeys, NumbersAscendByFirstRowsAndTakeRoomForTheKeysAlone) {
    Texts table(30'000);
    Rows integers(table.size());
    for (std::size_t row = 0; row < table.size(); ++row) {
        integers[row] = static_cast<std::int64_t>((row * 7919) % 100);
        table[row] = std::to_string(integers[row]);
    }
    const auto number = [](const expr::DataType& type, const ArrayPtr& keys) {
        const auto made =
            JoinTable::make(optionsOf(2, JoinTable::Finds::kNumber), keysOfType(type), {keys});
        EXPECT_TRUE(made.ok()) << made.status();
        EXPECT_EQ((*made)->numKeys(), 100);
        EXPECT_LT((*made)->bytes(), 10'000);
        return *(*made)->findOwn({keys});
    };
    const Rows ofTexts = number(kTextKey, texts(table));
    EXPECT_EQ(number(kInt64Key, ints(integers)), ofTexts);
    for (std::size_t row = 0; row < ofTexts.size(); ++row) {
        ASSERT_EQ(ofTexts[row], static_cast<std::int64_t>(row % 100));
    }
}

TEST(JoinKeys, TheFirstRowThatRepeatsAKeyIsNamedHoweverManyThreads) {
    constexpr std::size_t kRows = 600'000;  // more than are hashed at a time
    Texts table(kRows);
    Rows integers(kRows);
    for (std::size_t row = 0; row < kRows; ++row) {
        integers[row] = static_cast<std::int64_t>(row) * 1'000'003;
    }
    for (const std::size_t row : {599'998, 410'000, 410'001, 500'000}) {
        integers[row] = integers[row / 2];
    }
    for (std::size_t row = 0; row < kRows; ++row) {
        table[row] = std::to_string(integers[row]);
    }
    for (const int threads : {1, 2, 5}) {
        JoinTable::Options options = optionsOf(threads);
        options.isFirstTaken = false;
        for (const auto& [type, keys] :
             {std::pair{kInt64Key, ints(integers)}, std::pair{kTextKey, texts(table)}}) {
            const Status status = JoinTable::make(options, keysOfType(type), {keys}).status();
            EXPECT_THAT(std::string(messageOf(status)),
                        HasSubstr("the key k = 205000615000 occurs twice, in rows 205001 and "
                                  "410001; on_duplicate"));
        }
    }
}

TEST(GatherRows, TakesValuesAndNulls) {
    const ArrayPtr values = ints({10, kNull, 30, 40})->Slice(1);
    const auto taken = gatherRows(values, {1, 0, -1, 2, 1});
    ASSERT_TRUE(taken.ok()) << taken.status();
    EXPECT_TRUE((*taken)->Equals(*ints({30, kNull, kNull, 40, 30}))) << (*taken)->ToString();
    EXPECT_TRUE((*taken)->ValidateFull().ok());
    EXPECT_EQ((*gatherRows(values, {1, 2}))->null_count(), 0);
    EXPECT_TRUE((*gatherRows(ints({}), {-1, -1}))->Equals(*ints({kNull, kNull})));
    EXPECT_TRUE((*gatherRows(texts({"a", "b"}), {1, -1}))->Equals(*texts({"b", "\x01"})));
}

TEST(AsOfTable, FindsWhatASearchThroughAllRowsFinds) {
    std::mt19937_64 random(8);
    constexpr std::size_t kRows = 50'000;
    Rows keys(kRows), times(kRows);
    std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> byTime;
    for (std::size_t row = 0; row < kRows; ++row) {
        keys[row] = static_cast<std::int64_t>(random() % 3000) * 7;
        times[row] = row % 40 == 0 ? kNull : static_cast<std::int64_t>(random() % 1000) - 500;
        if (times[row] != kNull) {
            byTime[keys[row]].emplace(times[row], static_cast<std::int64_t>(row));
        }
    }
    Rows askedKeys, askedTimes, expected;
    for (int i = 0; i < 20'000; ++i) {
        askedKeys.push_back(static_cast<std::int64_t>(random() % 3100) * 7);
        askedTimes.push_back(i % 50 == 0 ? kNull
                                         : static_cast<std::int64_t>(random() % 1000) - 500);
        const auto& known = byTime[askedKeys.back()];
        auto next = known.upper_bound(askedTimes.back());
        const bool isThere = askedTimes.back() != kNull && next != known.begin() &&
                             askedTimes.back() - (--next)->first <= 90;
        expected.push_back(isThere ? next->second : -1);
    }
    for (const int threads : {1, 2, 3}) {
        const auto table = AsOfTable::make(optionsOf(threads), keysOfType(kInt64Key), {ints(keys)},
                                           ints(times), kInt64Key, spec::AsOf{"now", "at", 90});
        ASSERT_TRUE(table.ok()) << table.status();
        const auto found = (*table)->find({ints(askedKeys)}, ints(askedTimes), kInt64Key);
        ASSERT_TRUE(found.ok()) << found.status();
        EXPECT_EQ(found->rows, expected);
        EXPECT_EQ(found->noKey + found->noneBefore + found->tooOld,
                  std::count(expected.begin(), expected.end(), -1));
    }
}

}  // namespace
}  // namespace millrace::recipe

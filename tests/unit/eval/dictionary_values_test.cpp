// Expressions over texts in a dictionary give the same as over plain texts.
#include "backend/eval/dictionary_values.h"

#include <arrow/array/array_dict.h>
#include <arrow/array/array_primitive.h>
#include <arrow/array/concatenate.h>
#include <arrow/memory_pool.h>

#include "backend/core/philox.h"
#include "backend/eval/hash_rows.h"
#include "tests/unit/recipe/recipe_fixture.h"

namespace millrace::eval {
namespace {

using test::codedTexts;
using test::ints;
using test::MemoryColumns;
using test::texts;

ArrayPtr manyTexts() {
    std::vector<std::string> values;
    for (int i = 0; i < 500; ++i) {
        values.push_back(i % 7 == 0 ? "\x01" : i % 11 == 0 ? "" : strCat(i % 13, "|Ab ", i % 5));
    }
    return texts(values);
}

TEST(DictionaryValues, AreThoseOfPlainTexts) {
    MemoryColumns data({{"s", manyTexts()}, {"t", texts(std::vector<std::string>(500, "b"))}});
    for (const char* text : {"s",
                             "s = '3|Ab 3'",
                             "s like '%b 2'",
                             "lower(s)",
                             "length(s)",
                             "s is null",
                             "coalesce(s, 'none')",
                             "nullif(lower(s), '3|ab 3')",
                             "split(s, '|')",
                             "try_cast(split_part(s, '|', 1) as int64)",
                             "cast(length(s) as double) / 2",
                             "hash01(s)",
                             "hash_ids(s, 100)",
                             "regexp_extract(s, '[0-9]+')",
                             "s || t",
                             "lower(s) || t",
                             "case when s like '1%' then t else upper(s) end",
                             "s in ('', '1|Ab 1')",
                             "s = t or s is null",
                             "cast(1 as int64)"}) {
        const auto expr = expr::compileExpression(text, data.schema());
        ASSERT_TRUE(expr.ok()) << text << ": " << expr.status();
        data.codesTexts = false;
        const auto plain = evaluate(*expr, data);
        data.codesTexts = true;
        const auto coded = evaluate(*expr, data);
        ASSERT_TRUE(plain.ok()) << text << ": " << plain.status();
        ASSERT_TRUE(coded.ok()) << text << ": " << coded.status();
        EXPECT_TRUE((*coded)->ValidateFull().ok()) << text;
        EXPECT_TRUE((*coded)->Equals(*plain)) << text;
    }
}

TEST(DictionaryValues, AreMadeOnceAnEntry) {
    MemoryColumns data({{"s", manyTexts()}});
    data.codesTexts = true;
    const auto expr = expr::compileExpression("length(s) + 1", data.schema());
    ASSERT_TRUE(expr.ok()) << expr.status();
    std::int64_t rows = 0;
    const auto values = evaluateEntries("s", data, [&](ExprInput& entries) {
        rows = entries.rows();
        return evaluate(*expr, entries);
    });
    ASSERT_TRUE(values.has_value());
    EXPECT_EQ((*values)->length(), 500);
    EXPECT_LT(rows, 90);
}

TEST(DictionaryValues, ATextOfNoRowMayFailAndOneOfARowTellsIt) {
    MemoryColumns data({{"s", texts({"1", "2", "1", "2", "1"})}});
    data.codesTexts = true;
    data.unusedText = "no number";
    const auto expr = expr::compileExpression("cast(s as int64) * 2", data.schema());
    ASSERT_TRUE(expr.ok()) << expr.status();
    const auto values = evaluate(*expr, data);
    ASSERT_TRUE(values.ok()) << values.status();
    EXPECT_TRUE((*values)->Equals(ints({2, 4, 2, 4, 2})));

    MemoryColumns bad({{"s", texts({"1", "1", "x", "1", "x"})}});
    bad.codesTexts = true;
    std::int64_t failed = -1;
    EXPECT_FALSE(evaluate(*expr, bad, &failed).ok());
    EXPECT_EQ(failed, 2);
}

TEST(DictionaryValues, WithMoreEntriesThanRowsTheRowsAreEvaluated) {
    const auto coded = codedTexts(texts({"a", "b"}));
    ASSERT_FALSE(arrays::TextCodes::of(*coded)->isWorth());
    MemoryColumns data({{"s", texts({"a", "b"})}});
    data.codesTexts = true;
    const auto expr = expr::compileExpression("upper(s)", data.schema());
    const auto values = evaluate(*expr, data);
    ASSERT_TRUE(values.ok()) << values.status();
    EXPECT_TRUE((*values)->Equals(texts({"A", "B"})));
}

TEST(HashIds, OfTextsAreThoseOfTheirCanonicalBytes) {
    std::vector<std::string> values = {"", "\x01"};
    for (std::size_t length = 1; length < 700; length += length < 40 ? 1 : 61) {
        values.push_back(std::string(length, static_cast<char>('a' + length % 26)));
        values.push_back(values.back());
    }
    const ArrayPtr plain = texts(values);
    const ArrayPtr repeated = *arrow::Concatenate({plain, plain, plain});
    for (const std::int64_t buckets : {1L, 2L, 3L, 97L, 1'000'000L, INT64_MAX}) {
        const auto ids = hashIds(repeated, buckets, 5);
        const auto ofCoded = hashIds(codedTexts(repeated), buckets, 5);
        const auto ofFew = hashIds(codedTexts(plain->Slice(0, 2)), buckets, 5);
        ASSERT_TRUE(ids.ok() && ofCoded.ok() && ofFew.ok());
        EXPECT_TRUE((*ofCoded)->Equals(*ids)) << buckets;
        EXPECT_TRUE((*ofFew)->Equals((*ids)->Slice(0, 2))) << buckets;
        for (std::size_t i = 0; i < values.size(); ++i) {
            const std::uint64_t hash = CanonicalBytes().text(values[i]).hash(5);
            const std::int64_t wanted =
                buckets == 1 || plain->IsNull(static_cast<std::int64_t>(i))
                    ? 0
                    : 1 + static_cast<std::int64_t>(hash % static_cast<std::uint64_t>(buckets - 1));
            EXPECT_EQ(
                static_cast<const arrow::Int64Array&>(**ids).Value(static_cast<std::int64_t>(i)),
                wanted)
                << i << " of " << buckets;
        }
    }
}

TEST(TextCodes, ExpandToTheirTexts) {
    for (const ArrayPtr& plain : {manyTexts(), texts({}), texts({"\x01", "\x01"}), texts({""})}) {
        const ArrayPtr coded = codedTexts(plain);
        const auto expanded = arrays::plainTexts(coded, arrow::default_memory_pool());
        ASSERT_TRUE(expanded.ok()) << expanded.status();
        EXPECT_TRUE((*expanded)->ValidateFull().ok());
        EXPECT_TRUE((*expanded)->Equals(plain));
        EXPECT_EQ(arrays::TextCodes::of(*coded)->nullRows(), plain->null_count());
        const auto part =
            arrays::plainTexts(coded->Slice(plain->length() / 2), arrow::default_memory_pool());
        EXPECT_TRUE((*part)->Equals(plain->Slice(plain->length() / 2)));
    }
}

}  // namespace
}  // namespace millrace::eval

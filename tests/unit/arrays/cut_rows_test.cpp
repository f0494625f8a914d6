// Rows that are cut out of arrays equal a slice of the arrays, and have no offset.
#include "backend/arrays/cut_rows.h"

#include <arrow/api.h>
#include <gtest/gtest.h>

namespace millrace::arrays {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;

constexpr std::int64_t kRows = 200;

template <class Builder, class Value>
ArrayPtr built(Builder builder, const Value& value) {
    for (std::int64_t r = 0; r < kRows; ++r) {
        const arrow::Status status = r % 11 == 5 ? builder.AppendNull() : builder.Append(value(r));
        EXPECT_TRUE(status.ok()) << status;
    }
    return *builder.Finish();
}

ArrayPtr lists() {
    auto values = std::make_shared<arrow::Int64Builder>();
    arrow::ListBuilder builder(arrow::default_memory_pool(), values);
    for (std::int64_t r = 0; r < kRows; ++r) {
        EXPECT_TRUE((r % 13 == 3 ? builder.AppendNull() : builder.Append()).ok());
        for (std::int64_t i = 0; r % 13 != 3 && i < r % 4; ++i) {
            EXPECT_TRUE((i == 2 ? values->AppendNull() : values->Append(10 * r + i)).ok());
        }
    }
    return *builder.Finish();
}

ArrayPtr fixedLists() {
    auto values = std::make_shared<arrow::FloatBuilder>();
    arrow::FixedSizeListBuilder builder(arrow::default_memory_pool(), values, 3);
    for (std::int64_t r = 0; r < kRows; ++r) {
        EXPECT_TRUE((r % 13 == 3 ? builder.AppendNull() : builder.Append()).ok());
        for (std::int64_t i = 0; r % 13 != 3 && i < 3; ++i) {
            EXPECT_TRUE(values->Append(static_cast<float>(r) + 0.25F).ok());
        }
    }
    return *builder.Finish();
}

/// Neighbours have the same value of `dictionary`.
ArrayPtr coded(const ArrayPtr& dictionary) {
    const ArrayPtr indices = built(arrow::Int32Builder(),
                                   [](std::int64_t r) { return static_cast<std::int32_t>(r / 3); });
    return *arrow::DictionaryArray::FromArrays(
        arrow::dictionary(arrow::int32(), dictionary->type()), indices, dictionary);
}

std::vector<ArrayPtr> arraysOfAllKinds() {
    const ArrayPtr texts = built(arrow::StringBuilder(), [](std::int64_t r) {
        return std::string(static_cast<std::size_t>(r % 5), static_cast<char>('a' + r % 26));
    });
    return {
        built(arrow::Int64Builder(), [](std::int64_t r) { return r * 7; }),
        built(arrow::Int8Builder(),
              [](std::int64_t r) { return static_cast<std::int8_t>(r % 100); }),
        built(arrow::DoubleBuilder(), [](std::int64_t r) { return static_cast<double>(r) / 3; }),
        built(arrow::BooleanBuilder(), [](std::int64_t r) { return r % 3 == 0; }),
        texts,
        lists(),
        fixedLists(),
        coded(texts),
        coded(lists()),
        std::make_shared<arrow::NullArray>(kRows)};
}

TEST(CutRows, IsTheSliceWithoutAnOffset) {
    for (const ArrayPtr& whole : arraysOfAllKinds()) {
        for (const ArrayPtr& array : {whole, whole->Slice(9, 150)}) {
            for (const auto& [first, rows] :
                 {std::pair{0, 150}, {0, 64}, {64, 50}, {3, 1}, {13, 77}, {149, 1}, {20, 0}}) {
                const auto cut = cutRows(array, first, rows, arrow::default_memory_pool());
                ASSERT_TRUE(cut.ok()) << cut.status();
                const std::string what =
                    whole->type()->ToString() + " from " + std::to_string(first);
                ASSERT_EQ((*cut)->length(), rows) << what;
                ASSERT_TRUE((*cut)->ValidateFull().ok()) << (*cut)->ValidateFull() << what;
                const ArrayPtr slice = array->Slice(first, rows);
                for (std::int64_t r = 0; r < rows; ++r) {
                    ASSERT_TRUE((*(*cut)->GetScalar(r))->Equals(**slice->GetScalar(r)) ||
                                (whole->type_id() == arrow::Type::DICTIONARY &&
                                 static_cast<const arrow::DictionaryScalar&>(**(*cut)->GetScalar(r))
                                     .GetEncodedValue()
                                     .ValueOrDie()
                                     ->Equals(*static_cast<const arrow::DictionaryScalar&>(
                                                   **slice->GetScalar(r))
                                                   .GetEncodedValue()
                                                   .ValueOrDie())))
                        << what << ", row " << r;
                }
                EXPECT_TRUE((*cut)->offset() == 0 || (first == 0 && *cut == array)) << what;
            }
        }
    }
}

TEST(CutRows, AStoredListIsInTheCutsThatHaveItAlone) {
    const ArrayPtr stored = coded(lists());
    const auto cut = cutRows(stored, 30, 9, arrow::default_memory_pool());
    ASSERT_TRUE(cut.ok());
    const auto& part = static_cast<const arrow::DictionaryArray&>(**cut);
    EXPECT_EQ(part.dictionary()->length(), 3);
    const auto& list = static_cast<const arrow::ListArray&>(*part.dictionary());
    EXPECT_LE(list.values()->length(), 9);
    // Another dictionary is shared, so work per dictionary entry is done once for all cuts.
    const ArrayPtr texts = coded(built(arrow::StringBuilder(), [](std::int64_t) { return "x"; }));
    const auto other = cutRows(texts, 30, 9, arrow::default_memory_pool());
    ASSERT_TRUE(other.ok());
    EXPECT_EQ((*other)->data()->dictionary, texts->data()->dictionary);
}

}  // namespace
}  // namespace millrace::arrays

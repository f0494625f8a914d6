// Values are converted to the pinned type by their meaning, even where Arrow's casts would change
// it.
#include <arrow/array.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_decimal.h>
#include <arrow/array/builder_nested.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/array/util.h>
#include <arrow/chunked_array.h>
#include <arrow/scalar.h>
#include <arrow/util/decimal.h>
#include <gtest/gtest.h>

#include "backend/arrays/arrow_bridge.h"

namespace millrace::dataset {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;

class Pinned : public ::testing::Test {
 protected:
    static ArrayPtr pinned(const ArrayPtr& array) {
        expr::DataType type;
        EXPECT_TRUE(arrays::toSpecType(*array->type(), type));
        auto made = arrays::pinArray(arrow::ChunkedArray(array), type, "test",
                                     arrow::default_memory_pool());
        EXPECT_TRUE(made.ok()) << made.status();
        return made.ok() ? *made : nullptr;
    }
};

TEST_F(Pinned, ListViewsKeepTheirElementsWhateverStandsBetweenThem) {
    const auto values = std::make_shared<arrow::Int64Builder>();
    ASSERT_TRUE(values->AppendValues({2, 3, 1}).ok());
    const ArrayPtr elements = values->Finish().ValueOrDie();
    const auto offsets = arrow::Buffer::FromVector(std::vector<std::int32_t>{2, 0, 3, 0});
    const auto sizes = arrow::Buffer::FromVector(std::vector<std::int32_t>{1, 2, 0, 2});
    const auto valid = arrow::Buffer::FromVector(std::vector<std::uint8_t>{0b1101});
    const auto array = std::make_shared<arrow::ListViewArray>(arrow::list_view(arrow::int64()), 4,
                                                              offsets, sizes, elements, valid, 1);
    const ArrayPtr lists = pinned(array);
    ASSERT_NE(lists, nullptr);
    ASSERT_TRUE(lists->ValidateFull().ok());
    EXPECT_EQ(lists->type()->ToString(), "list<element: int64>");
    const auto& list = static_cast<const arrow::ListArray&>(*lists);
    EXPECT_EQ(list.value_slice(0)->ToString(), "[\n  1\n]");
    EXPECT_TRUE(list.IsNull(1));
    EXPECT_EQ(list.value_length(2), 0);
    EXPECT_EQ(list.value_slice(3)->ToString(), "[\n  2,\n  3\n]");
}

TEST_F(Pinned, ListViewsOfStringViewsAreListsOfTexts) {
    arrow::StringViewBuilder builder;
    ASSERT_TRUE(builder.Append("a").ok());
    ASSERT_TRUE(builder.Append("longer than the twelve bytes in place").ok());
    const ArrayPtr elements = builder.Finish().ValueOrDie();
    const auto offsets = arrow::Buffer::FromVector(std::vector<std::int32_t>{1, 0});
    const auto sizes = arrow::Buffer::FromVector(std::vector<std::int32_t>{1, 2});
    const ArrayPtr lists = pinned(std::make_shared<arrow::ListViewArray>(
        arrow::list_view(arrow::utf8_view()), 2, offsets, sizes, elements));
    ASSERT_NE(lists, nullptr);
    EXPECT_EQ(lists->type()->ToString(), "list<element: string>");
    EXPECT_EQ(static_cast<const arrow::ListArray&>(*lists).value_slice(1)->ToString(),
              "[\n  \"a\",\n  \"longer than the twelve bytes in place\"\n]");
}

TEST_F(Pinned, AListViewThatPointsOutsideItsValuesIsCorrupt) {
    const auto offsets = arrow::Buffer::FromVector(std::vector<std::int32_t>{2});
    const auto sizes = arrow::Buffer::FromVector(std::vector<std::int32_t>{5});
    const ArrayPtr elements = arrow::MakeArrayFromScalar(arrow::Int64Scalar(7), 3).ValueOrDie();
    const auto array = std::make_shared<arrow::ListViewArray>(arrow::list_view(arrow::int64()), 1,
                                                              offsets, sizes, elements);
    const auto made = arrays::pinArray(
        arrow::ChunkedArray(std::static_pointer_cast<arrow::Array>(array)),
        {expr::TypeKind::kInt64, true}, "a.arrow, v", arrow::default_memory_pool());
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(messageOf(made.status()), "a.arrow, v: corrupt: list 0 is outside its values");
}

TEST_F(Pinned, NanosecondsBefore1970AreRoundedDown) {
    arrow::TimestampBuilder builder(arrow::timestamp(arrow::TimeUnit::NANO),
                                    arrow::default_memory_pool());
    ASSERT_TRUE(builder.AppendValues({-1999, -1000, -1, 0, 1999}).ok());
    const ArrayPtr times = pinned(builder.Finish().ValueOrDie());
    ASSERT_NE(times, nullptr);
    const auto& micros = static_cast<const arrow::TimestampArray&>(*times);
    const std::vector<std::int64_t> wanted = {-2, -1, -1, 0, 1};
    for (std::int64_t row = 0; row < 5; ++row) {
        EXPECT_EQ(micros.Value(row), wanted[static_cast<std::size_t>(row)]);
    }
}

TEST_F(Pinned, DecimalsInListsAndOfManyDigitsAreTheNearestDoubles) {
    const auto element = std::make_shared<arrow::Decimal128Builder>(arrow::decimal128(8, 2));
    arrow::ListBuilder lists(arrow::default_memory_pool(), element);
    ASSERT_TRUE(lists.Append().ok());
    for (const std::int64_t cents : {57, 115, 435, 9999}) {
        ASSERT_TRUE(element->Append(arrow::Decimal128(cents)).ok());
    }
    const ArrayPtr list = pinned(lists.Finish().ValueOrDie());
    const auto& doubles = static_cast<const arrow::DoubleArray&>(
        *static_cast<const arrow::ListArray&>(*list).values());
    EXPECT_EQ(doubles.Value(0), 0.57);
    EXPECT_EQ(doubles.Value(1), 1.15);
    EXPECT_EQ(doubles.Value(2), 4.35);
    EXPECT_EQ(doubles.Value(3), 99.99);

    arrow::Decimal256Builder wide(arrow::decimal256(50, 2));
    ASSERT_TRUE(wide.Append(arrow::Decimal256(9999)).ok());
    const ArrayPtr many = pinned(wide.Finish().ValueOrDie());
    EXPECT_EQ(static_cast<const arrow::DoubleArray&>(*many).Value(0), 99.99);
}

}  // namespace
}  // namespace millrace::dataset

// Parts of lists as separate lists, for elements of any type.
#include "backend/eval/list_view.h"

#include <arrow/api.h>
#include <gmock/gmock.h>

#include "backend/arrays/arrow_bridge.h"
#include "tests/unit/recipe/recipe_fixture.h"

namespace millrace::eval {
namespace {

constexpr std::int64_t kElements = 60;

// Numbers from 0 on in this type; some are null if `hasNulls`.
ArrayPtr elementsOfType(const std::shared_ptr<arrow::DataType>& type, bool hasNulls) {
    std::unique_ptr<arrow::ArrayBuilder> builder;
    EXPECT_TRUE(arrow::MakeBuilder(arrow::default_memory_pool(), type, &builder).ok());
    for (std::int64_t i = 0; i < kElements; ++i) {
        const auto number = arrow::MakeScalar(i % 2 == 0 ? i : -i);
        const auto value =
            type->id() == arrow::Type::BOOL
                ? arrow::Result<std::shared_ptr<arrow::Scalar>>(arrow::MakeScalar(i % 3 == 0))
                : number->CastTo(type);
        EXPECT_TRUE(value.ok()) << value.status();
        EXPECT_TRUE(
            (hasNulls && i % 7 == 3 ? builder->AppendNull() : builder->AppendScalar(**value)).ok());
    }
    return *builder->Finish();
}

// Lists of 0 to 9 elements, every third null; or of four elements each, if the size is fixed.
ArrayPtr listsOf(const ArrayPtr& elements, bool isFixed) {
    constexpr int kSize = 4;
    if (isFixed) {
        return *arrow::FixedSizeListArray::FromArrays(elements, kSize);
    }
    arrow::Int32Builder offsets;
    std::int32_t at = 0;
    for (std::int32_t count = 0; at + count <= kElements; ++count) {
        EXPECT_TRUE((count == 2 ? offsets.AppendNull() : offsets.Append(at)).ok());
        at += count == 2 ? 0 : count;
    }
    return *arrow::ListArray::FromArrays(**offsets.Finish(), *elements);
}

// Checks views of each list without its first element, cut to three elements.
void expectParts(const ArrayPtr& lists, const std::string& where) {
    const ListView whole = viewLists(*lists);
    ListView part = whole;
    for (std::size_t i = 0; i < part.counts.size(); ++i) {
        if (part.counts[i] > 0) {
            ++part.begins[i];
            part.counts[i] = std::min<std::int64_t>(part.counts[i] - 1, 3);
        }
    }
    const auto copied = copyLists(part);
    ASSERT_TRUE(copied.ok()) << where << ": " << copied.status();
    ASSERT_TRUE((*copied)->ValidateFull().ok()) << where;
    ASSERT_EQ((*copied)->length(), lists->length()) << where;
    const auto& out = static_cast<const arrow::ListArray&>(**copied);
    for (std::int64_t row = 0; row < out.length(); ++row) {
        const auto at = static_cast<std::size_t>(row);
        ASSERT_EQ(out.IsNull(row), lists->IsNull(row)) << where << ", row " << row;
        const ArrayPtr wanted = part.elements->Slice(part.begins[at], part.count(at));
        EXPECT_TRUE(out.value_slice(row)->Equals(wanted)) << where << ", row " << row;
    }
    EXPECT_EQ(out.values()->length(), out.value_offset(out.length())) << where;
}

TEST(ListView, PartsOfListsAreCopied) {
    for (const auto& type : {arrow::int64(), arrow::int32(), arrow::int8(), arrow::float32(),
                             arrow::boolean(), arrow::utf8(), arrow::date32()}) {
        for (const bool hasNulls : {false, true}) {
            for (const bool isFixed : {false, true}) {
                const ArrayPtr lists = listsOf(elementsOfType(type, hasNulls), isFixed);
                const std::string where =
                    strCat(lists->type()->ToString(), hasNulls ? ", nulls" : "");
                expectParts(lists, where);
                expectParts(lists->Slice(3, 5), where + ", sliced");
                expectParts(lists->Slice(1, 0), where + ", no rows");
            }
        }
    }
}

TEST(ListView, ElementsThatBeginFurtherOnAreCopied) {
    const ArrayPtr elements = elementsOfType(arrow::int64(), false);
    const ArrayPtr lists =
        *arrow::FixedSizeListArray::FromArrays(elements->Slice(8, 40), /*list_size=*/4);
    expectParts(lists, "elements with an offset");
}

// The given pool holds the result.
TEST(ListView, CopiesAreOfThePool) {
    const auto pool = arrow::MemoryPool::CreateDefault();
    const ArrayPtr lists = listsOf(elementsOfType(arrow::int64(), false), false);
    const auto copied = copyLists(viewLists(*lists), pool.get());
    ASSERT_TRUE(copied.ok());
    EXPECT_TRUE((*copied)->Equals(lists));
    EXPECT_GE(pool->bytes_allocated(), 8 * 50);
}

}  // namespace
}  // namespace millrace::eval

// Packed differences, byte for byte as Arrow's encoder writes them.
#include "backend/table/packed_deltas.h"

#include <limits>
#include <random>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/buffer_builder.h>
#include <gtest/gtest.h>
#include <parquet/encoding.h>
#include <parquet/schema.h>

namespace millrace::table {
namespace {

template <class DType>
std::string byArrow(const std::vector<typename DType::c_type>& values) {
    const auto node = parquet::schema::PrimitiveNode::Make(
        "n", parquet::Repetition::REQUIRED, static_cast<parquet::Type::type>(DType::type_num));
    const parquet::ColumnDescriptor column(node, 0, 0);
    const auto encoder =
        parquet::MakeTypedEncoder<DType>(parquet::Encoding::DELTA_BINARY_PACKED, false, &column);
    encoder->Put(values.data(), static_cast<int>(values.size()));
    return encoder->FlushValues()->ToString();
}

/// Appends to the present bytes.
template <class T>
std::string packed(const std::vector<T>& values) {
    arrow::BufferBuilder out;
    EXPECT_TRUE(out.Append("levels", 6).ok());
    EXPECT_TRUE(appendDeltas(values, out).ok());
    const std::string all = (*out.Finish())->ToString();
    EXPECT_EQ(all.substr(0, 6), "levels");
    return all.substr(6);
}

template <class DType>
class PackedDeltas : public ::testing::Test {
 protected:
    using T = typename DType::c_type;

    /// Differences of `bits` bits, up and down.
    static std::vector<T> walk(std::size_t count, int bits, std::uint64_t seed) {
        std::mt19937_64 random(seed);
        std::vector<T> values;
        std::uint64_t value = random();
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint64_t step = bits == 0 ? 3 : random() >> (64 - bits);
            value += step - (bits == 0 ? 0 : (std::uint64_t{1} << (bits - 1)));
            values.push_back(static_cast<T>(value));
        }
        return values;
    }
};

using Integers = ::testing::Types<parquet::Int32Type, parquet::Int64Type>;
TYPED_TEST_SUITE(PackedDeltas, Integers);

TYPED_TEST(PackedDeltas, OfEveryWidthAreAsArrowWritesThem) {
    for (int bits = 0; bits <= 8 * static_cast<int>(sizeof(typename TypeParam::c_type)); ++bits) {
        const auto values = this->walk(1000, bits, static_cast<std::uint64_t>(bits));
        EXPECT_EQ(packed(values), byArrow<TypeParam>(values)) << bits << " bits";
    }
}

TYPED_TEST(PackedDeltas, OfEveryCountAreAsArrowWritesThem) {
    for (std::size_t count = 0; count <= 600; ++count) {
        const auto values = this->walk(count, 11, count);
        ASSERT_EQ(packed(values), byArrow<TypeParam>(values)) << count << " values";
    }
}

TYPED_TEST(PackedDeltas, WrapAround) {
    using Limits = std::numeric_limits<typename TypeParam::c_type>;
    const std::vector<typename TypeParam::c_type> values = {
        Limits::max(), Limits::min(), 0, Limits::min(), Limits::max(), -1, Limits::max(), 1};
    EXPECT_EQ(packed(values), byArrow<TypeParam>(values));
}

}  // namespace
}  // namespace millrace::table

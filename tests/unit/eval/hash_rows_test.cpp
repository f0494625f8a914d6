// Hashes and ids of columns equal those that the xxhash library computes from the canonical bytes.
#include "backend/eval/hash_rows.h"

#include <limits>
#include <random>

#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/array/builder_time.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include "backend/core/philox.h"

namespace millrace::eval {
namespace {

const std::vector<std::uint64_t> kSeeds = {0, 1, 14, 1ULL << 63, ~0ULL, 0x9e3779b97f4a7c15};

std::int64_t idOf(std::uint64_t hash, std::int64_t buckets) {
    return 1 + static_cast<std::int64_t>(hash % static_cast<std::uint64_t>(buckets - 1));
}

/// The library's hash of each row, and whether the row is null.
using Wanted = std::vector<std::pair<CanonicalBytes, bool>>;

void expectHashes(const ArrayPtr& values, const Wanted& wanted) {
    const std::int64_t rows = values->length();
    const CanonicalBytes none = CanonicalBytes().null();
    for (const std::uint64_t seed : kSeeds) {
        const auto hashes = hashRows({values}, rows, &seed);
        ASSERT_TRUE(hashes.ok()) << hashes.status();
        for (const std::int64_t buckets : {1L, 2L, 3L, 5L, 65L, 1'000'000L, (1L << 32) + 1,
                                           (1L << 62) + 1, (1L << 62) + 2, INT64_MAX}) {
            const auto ids = hashIds(values, buckets, seed);
            ASSERT_TRUE(ids.ok()) << ids.status();
            EXPECT_EQ((*ids)->null_count(), 0);
            const auto& id = static_cast<const arrow::Int64Array&>(**ids);
            for (std::int64_t i = 0; i < rows; ++i) {
                const auto& [bytes, isNull] = wanted[static_cast<std::size_t>(i)];
                ASSERT_EQ(id.Value(i), isNull || buckets == 1 ? 0 : idOf(bytes.hash(seed), buckets))
                    << values->type()->ToString() << " " << i << " of " << buckets << ", " << seed;
                ASSERT_EQ((*hashes)[static_cast<std::size_t>(i)],
                          isNull ? none.hash(seed) : bytes.hash(seed));
            }
        }
    }
    const auto plain = hashRows({values}, rows, nullptr);
    ASSERT_TRUE(plain.ok());
    for (std::size_t i = 0; i < plain->size(); ++i) {
        ASSERT_EQ((*plain)[i], wanted[i].second ? none.hash() : wanted[i].first.hash());
    }
}

template <class Builder>
void expectIntegers(Builder builder) {
    using T = typename Builder::value_type;
    std::mt19937_64 random(7);
    Wanted wanted;
    for (int i = 0; i < 300; ++i) {
        T value = static_cast<T>(random() >> (i % 64));
        value = i == 0   ? std::numeric_limits<T>::min()
                : i == 1 ? std::numeric_limits<T>::max()
                : i < 4  ? static_cast<T>(i - 3)
                         : value;
        const bool isNull = i > 200 || i % 5 == 4;
        ASSERT_TRUE((isNull ? builder.AppendNull() : builder.Append(value)).ok());
        wanted.emplace_back(CanonicalBytes().integer(static_cast<std::int64_t>(value)), isNull);
    }
    const ArrayPtr values = *builder.Finish();
    expectHashes(values, wanted);
    expectHashes(values->Slice(3, 150), Wanted(wanted.begin() + 3, wanted.begin() + 153));
    expectHashes(values->Slice(0, 4), Wanted(wanted.begin(), wanted.begin() + 4));
}

TEST(HashRows, OfIntegersOfAllWidthsAreTheLibrarys) {
    expectIntegers(arrow::Int8Builder());
    expectIntegers(arrow::Int16Builder());
    expectIntegers(arrow::Int32Builder());
    expectIntegers(arrow::Int64Builder());
    expectIntegers(arrow::UInt8Builder());
    expectIntegers(arrow::UInt16Builder());
    expectIntegers(arrow::UInt32Builder());
    expectIntegers(arrow::UInt64Builder());
    expectIntegers(arrow::Date32Builder());
    expectIntegers(arrow::TimestampBuilder(arrow::timestamp(arrow::TimeUnit::MICRO),
                                           arrow::default_memory_pool()));
}

// Each length is also the last text, beyond whose bytes nothing may be read.
TEST(HashRows, OfTextsOfAllLengthsAreTheLibrarys) {
    std::mt19937_64 random(8);
    for (int last = 0; last <= 300; ++last) {
        arrow::StringBuilder builder;
        Wanted wanted;
        for (const int length : {last / 2, 0, last, -1, last}) {
            std::string text(static_cast<std::size_t>(std::max(length, 0)), ' ');
            for (char& c : text) {
                c = static_cast<char>(random());
            }
            ASSERT_TRUE((length < 0 ? builder.AppendNull() : builder.Append(text)).ok());
            wanted.emplace_back(CanonicalBytes().text(text), length < 0);
        }
        const ArrayPtr built = *builder.Finish();
        // The buffer has exactly the texts' bytes, so that a sanitizer sees a read beyond them.
        const auto& in = static_cast<const arrow::StringArray&>(*built);
        std::vector<std::uint8_t> bytes(in.value_data()->data(),
                                        in.value_data()->data() + in.total_values_length());
        const ArrayPtr values = std::make_shared<arrow::StringArray>(
            in.length(), in.value_offsets(), arrow::Buffer::Wrap(bytes), in.null_bitmap(), 1);
        expectHashes(values, wanted);
        expectHashes(values->Slice(1), Wanted(wanted.begin() + 1, wanted.end()));
    }
}

TEST(HashRows, OfOtherKindsAreTheLibrarys) {
    arrow::DoubleBuilder reals;
    arrow::BooleanBuilder bools;
    Wanted ofReals, ofBools;
    for (int i = 0; i < 130; ++i) {
        const bool isNull = i % 3 == 1;
        ASSERT_TRUE((isNull ? reals.AppendNull() : reals.Append(i * 0.5 - 3)).ok());
        ASSERT_TRUE((isNull ? bools.AppendNull() : bools.Append(i % 2 == 0)).ok());
        ofReals.emplace_back(CanonicalBytes().real(i * 0.5 - 3), isNull);
        ofBools.emplace_back(CanonicalBytes().boolean(i % 2 == 0), isNull);
    }
    expectHashes(*reals.Finish(), ofReals);
    expectHashes(*bools.Finish(), ofBools);
    expectHashes(std::make_shared<arrow::NullArray>(3), Wanted(3, {CanonicalBytes(), true}));
}

}  // namespace
}  // namespace millrace::eval

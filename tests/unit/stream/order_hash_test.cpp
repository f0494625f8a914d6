#include "backend/stream/state/order_hash.h"

#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

struct DealtBatch {
    std::uint32_t epoch;
    std::uint64_t number;
    std::vector<std::uint32_t> files;
    std::vector<std::uint64_t> rows;
};

std::vector<DealtBatch> someStream(std::size_t rowsInBatch = 17) {
    std::mt19937_64 random(4);
    std::vector<DealtBatch> batches;
    for (std::uint64_t n = 0; n < 20; ++n) {
        DealtBatch batch{static_cast<std::uint32_t>(n / 10), n % 10, {}, {}};
        for (std::size_t i = 0; i < rowsInBatch; ++i) {
            batch.files.push_back(static_cast<std::uint32_t>(random() % 5));
            batch.rows.push_back(random() % 1000);
        }
        batches.push_back(batch);
    }
    return batches;
}

OrderHash hashOf(const std::vector<DealtBatch>& batches) {
    OrderHash hash;
    for (const DealtBatch& b : batches) {
        hash.add(b.epoch, b.number, b.files, b.rows);
    }
    return hash;
}

/// The hash of bytes as 16 bytes, the low word first.
std::string hashBytes(const std::string& bytes) {
    const Sum128 hash = Sum128::ofBytes(bytes);
    std::string text(16, '\0');
    std::memcpy(text.data(), &hash.low, 8);
    std::memcpy(text.data() + 8, &hash.high, 8);
    return text;
}

TEST(OrderHash, IsTheHashOfTheWrittenDownBytes) {
    const std::vector<std::uint32_t> files = {1, 2};
    const std::vector<std::uint64_t> rows = {10, 20};
    std::string bytes;
    const auto put = [&](auto value) {
        bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    };
    for (std::size_t i = 0; i < 2; ++i) {
        put(files[i]);
        put(rows[i]);
    }
    EXPECT_EQ(rowIdsHash(files, rows), Sum128::ofBytes(bytes));
    const std::string ids = std::exchange(bytes, "");
    put(std::uint32_t{3});
    put(std::uint64_t{4});
    const Sum128 expected = Sum128::ofBytes(bytes + hashBytes(ids));
    EXPECT_EQ(batchHash(3, 4, rowIdsHash(files, rows)), expected);
    OrderHash hash;
    hash.add(3, 4, files, rows);
    EXPECT_EQ(hash.sum(), expected);
    EXPECT_EQ(kOrderHashVersion, 3) << "another sum is another version";
}

TEST(OrderHash, LargeBatchesAreHashedInBlocks) {
    for (const std::size_t n : {0U, 1U, 511U, 512U, 513U, 4096U}) {
        std::vector<std::uint32_t> files(n);
        std::vector<std::uint64_t> rows(n);
        std::string bytes;
        for (std::size_t i = 0; i < n; ++i) {
            files[i] = static_cast<std::uint32_t>(i % 3);
            rows[i] = i * i;
            bytes.append(reinterpret_cast<const char*>(&files[i]), 4);
            bytes.append(reinterpret_cast<const char*>(&rows[i]), 8);
        }
        EXPECT_EQ(rowIdsHash(files, rows), Sum128::ofBytes(bytes)) << n;
    }
}

TEST(OrderHash, AddsUpOverRanksAndResumes) {
    const auto stream = someStream();
    const OrderHash whole = hashOf(stream);
    OrderHash parts;
    for (std::size_t rank = 0; rank < 3; ++rank) {
        OrderHash part;
        for (std::size_t i = rank; i < stream.size(); i += 3) {
            part.add(stream[i].epoch, stream[i].number, stream[i].files, stream[i].rows);
        }
        const std::optional<OrderHash> saved = OrderHash::fromHex(part.hex());
        ASSERT_TRUE(saved.has_value());
        parts.add(*saved);
    }
    EXPECT_EQ(parts, whole);
}

TEST(OrderHash, TwoSwappedMicroBatchesAreSeen) {
    auto stream = someStream();
    const OrderHash right = hashOf(stream);
    std::swap(stream[3].files, stream[4].files);
    std::swap(stream[3].rows, stream[4].rows);
    EXPECT_NE(hashOf(stream), right);
}

TEST(OrderHash, ALostRowIsSeen) {
    auto stream = someStream();
    const OrderHash right = hashOf(stream);
    stream[7].files.pop_back();
    stream[7].rows.pop_back();
    EXPECT_NE(hashOf(stream), right);
}

TEST(OrderHash, ARowTwiceIsSeen) {
    auto stream = someStream();
    const OrderHash right = hashOf(stream);
    stream[7].files.push_back(stream[7].files.back());
    stream[7].rows.push_back(stream[7].rows.back());
    EXPECT_NE(hashOf(stream), right);
}

TEST(OrderHash, TwoSwappedRowsAreSeen) {
    auto stream = someStream();
    const OrderHash right = hashOf(stream);
    std::swap(stream[0].rows[0], stream[0].rows[1]);
    EXPECT_NE(hashOf(stream), right);
}

TEST(OrderHash, ALostMicroBatchOrAnotherEpochIsSeen) {
    auto stream = someStream();
    const OrderHash right = hashOf(stream);
    auto lost = stream;
    lost.erase(lost.begin() + 5);
    EXPECT_NE(hashOf(lost), right);
    stream[5].epoch = 1;
    EXPECT_NE(hashOf(stream), right);
}

TEST(OrderHash, ReadsHexOnly) {
    EXPECT_TRUE(OrderHash::fromHex("000000000000000000000000000000ff").has_value());
    EXPECT_EQ(OrderHash::fromHex("00000000000000010000000000000002")->sum(), (Sum128{2, 1}));
    for (const char* wrong :
         {"", "12", "000000000000000000000000000000FF", "0000000000000000000000000000000g"}) {
        EXPECT_FALSE(OrderHash::fromHex(wrong).has_value()) << wrong;
    }
}

}  // namespace
}  // namespace millrace::stream

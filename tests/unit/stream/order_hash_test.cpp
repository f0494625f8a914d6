#include "backend/stream/order_hash.h"

#include <cstring>
#include <random>
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

TEST(OrderHash, IsTheHashOfTheWrittenDownBytes) {
    const std::vector<std::uint32_t> files = {1, 2};
    const std::vector<std::uint64_t> rows = {10, 20};
    std::string bytes;
    const auto put = [&](auto value) {
        bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    };
    put(std::uint32_t{3});
    put(std::uint64_t{4});
    for (std::size_t i = 0; i < 2; ++i) {
        put(files[i]);
        put(rows[i]);
    }
    EXPECT_EQ(batchHash(3, 4, files, rows), Sum128::ofBytes(bytes));
}

TEST(OrderHash, LargeBatchesAreHashedInBlocks) {
    for (const std::size_t n : {0U, 1U, 511U, 512U, 513U, 4096U}) {
        std::vector<std::uint32_t> files(n);
        std::vector<std::uint64_t> rows(n);
        std::string bytes(12, '\0');
        for (std::size_t i = 0; i < n; ++i) {
            files[i] = static_cast<std::uint32_t>(i % 3);
            rows[i] = i * i;
            bytes.append(reinterpret_cast<const char*>(&files[i]), 4);
            bytes.append(reinterpret_cast<const char*>(&rows[i]), 8);
        }
        EXPECT_EQ(batchHash(0, 0, files, rows), Sum128::ofBytes(bytes)) << n;
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
        const Result<OrderHash> saved = OrderHash::fromHex(part.hex());
        ASSERT_TRUE(saved.ok());
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
    EXPECT_TRUE(OrderHash::fromHex("000000000000000000000000000000ff").ok());
    EXPECT_EQ(OrderHash::fromHex("00000000000000010000000000000002")->sum(), (Sum128{2, 1}));
    for (const char* wrong :
         {"", "12", "000000000000000000000000000000FF", "0000000000000000000000000000000g"}) {
        EXPECT_FALSE(OrderHash::fromHex(wrong).ok()) << wrong;
    }
}

}  // namespace
}  // namespace millrace::stream

#include "daemon/worker/wire/frame_chunk.h"

#include <random>

#include <gtest/gtest.h>

#include "daemon/transport/raw_buffer.h"

namespace millrace::wire {
namespace {

stream::SegmentOrder order() {
    stream::SegmentOrder order;
    order.name = {3, 1'234'567};
    order.generation = 9;
    return order;
}

segment::CodedFrame frameOf(std::size_t bytes) {
    auto owner = std::make_shared<std::vector<std::byte>>(bytes);
    std::mt19937 random(1);
    for (std::byte& byte : *owner) {
        byte = static_cast<std::byte>(random());
    }
    return {owner, *owner};
}

/// The same message in pieces of `piece` bytes, as the network delivers it.
grpc::ByteBuffer cut(const grpc::ByteBuffer& buffer, std::size_t piece) {
    grpc::Slice whole;
    EXPECT_TRUE(buffer.DumpToSingleSlice(&whole).ok());
    std::vector<grpc::Slice> pieces;
    for (std::size_t at = 0; at < whole.size(); at += piece) {
        pieces.emplace_back(whole.begin() + at, std::min(piece, whole.size() - at));
    }
    return grpc::ByteBuffer(pieces.data(), pieces.size());
}

TEST(FrameChunk, ComesAsItWasSentHoweverItIsCut) {
    const segment::CodedFrame coded = frameOf(10'000);
    for (const std::size_t piece : {1UL, 7UL, 64UL, 130UL, 4096UL, 20'000UL}) {
        const auto chunk = FrameChunk::read(cut(makeChunk(order(), 5, coded, 0), piece));
        ASSERT_TRUE(chunk.ok()) << chunk.status();
        EXPECT_EQ(chunk->head.name().segment(), 1'234'567U);
        EXPECT_EQ(chunk->head.name().generation(), 9U);
        EXPECT_EQ(chunk->head.frame(), 5U);
        EXPECT_EQ(chunk->head.coded_bytes(), 10'000U);
        std::vector<std::byte> bytes(chunk->bytes);
        chunk->copyTo(bytes.data());
        EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), coded.bytes.begin(), coded.bytes.end()));
    }
}

// protobuf reads it too: the schema is correct.
TEST(FrameChunk, IsTheMessageThatTheSchemaSays) {
    const segment::CodedFrame coded = frameOf(300);
    v1::FrameChunk message;
    ASSERT_TRUE(transport::readBuffer(makeChunk(order(), 2, coded, 0), message));
    EXPECT_EQ(message.frame(), 2U);
    EXPECT_EQ(message.bytes().size(), 300U);
    const auto chunk = FrameChunk::read(transport::bufferOf(message));
    ASSERT_TRUE(chunk.ok()) << chunk.status();
    EXPECT_EQ(chunk->bytes, 300U);
}

TEST(FrameChunk, ALongFrameGoesInSeveralOfFourMegabytes) {
    const segment::CodedFrame coded = frameOf(2 * kChunkBytesMost + 5);
    std::vector<std::byte> bytes(coded.bytes.size());
    std::uint64_t offset = 0;
    for (const std::uint64_t size : {kChunkBytesMost, kChunkBytesMost, std::uint64_t{5}}) {
        const auto chunk = FrameChunk::read(makeChunk(order(), 0, coded, offset));
        ASSERT_TRUE(chunk.ok()) << chunk.status();
        EXPECT_EQ(chunk->bytes, size);
        EXPECT_EQ(chunk->head.offset(), offset);
        chunk->copyTo(bytes.data() + offset);
        offset += size;
    }
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), coded.bytes.begin()));
}

TEST(FrameChunk, KeepsTheFrameInMemoryUntilItHasGone) {
    segment::CodedFrame coded = frameOf(100);
    const std::weak_ptr<const void> owner = coded.owner;
    {
        const grpc::ByteBuffer buffer = makeChunk(order(), 0, coded, 0);
        coded = {};
        EXPECT_FALSE(owner.expired());
    }
    EXPECT_TRUE(owner.expired());
}

TEST(FrameChunk, BytesThatAreNoneAreRefused) {
    grpc::Slice whole;
    ASSERT_TRUE(makeChunk(order(), 0, frameOf(200), 0).DumpToSingleSlice(&whole).ok());
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const grpc::Slice part(whole.begin(), size);
        EXPECT_FALSE(FrameChunk::read(grpc::ByteBuffer(&part, 1)).ok()) << size;
    }
    std::mt19937 random(3);
    for (int turn = 0; turn < 2000; ++turn) {
        std::string text(random() % 300, 'x');
        for (char& byte : text) {
            byte = static_cast<char>(random());
        }
        const grpc::Slice slice(text);
        const auto chunk = FrameChunk::read(grpc::ByteBuffer(&slice, 1));
        if (chunk.ok()) {
            std::vector<std::byte> bytes(chunk->bytes);
            chunk->copyTo(bytes.data());
        }
    }
}

}  // namespace
}  // namespace millrace::wire

// Copies one ring into another through messages: every entry arrives unchanged, and an entry that
// was changed on the way does not arrive.
#include "daemon/worker/relay/ring_copy.h"

#include <cstring>
#include <random>
#include <vector>

#include <fcntl.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/feed/reader_ring.h"
#include "daemon/transport/raw_buffer.h"
#include "daemon/worker/relay/ring_entries.h"

namespace millrace::relay {
namespace {

using ::testing::HasSubstr;

struct Entry {
    ring::RingEntry head{};
    std::vector<std::byte> payload;
};

Entry entryOf(ring::EntryKind kind, std::uint64_t number, std::size_t bytes) {
    static std::mt19937 random(1);
    Entry entry;
    entry.head.kind = static_cast<std::uint32_t>(kind);
    entry.head.epoch = 3;
    entry.head.number = number;
    entry.head.bytes = bytes;
    entry.payload.resize(bytes);
    for (std::byte& byte : entry.payload) {
        byte = static_cast<std::byte>(random());
    }
    return entry;
}

/// The entry with the columns of a stream's frames.
Entry columnsEntry() {
    const auto layout = frame::FrameLayout::make(
        {frame::ColumnSpec::fixed(frame::Role::kId, frame::DType::kInt64, "id")},
        std::string(32, 'a'));
    frame::FrameWriter writer(*layout);
    frame::FrameBuffer frame(*writer.declare(0, std::vector<std::uint64_t>(3)));
    EXPECT_TRUE(writer.bind(frame.bytes(), {}).ok());
    Entry entry = entryOf(ring::EntryKind::kColumns, 0, frame.size());
    std::ranges::copy(frame.bytes(), entry.payload.begin());
    return entry;
}

class RingCopyTest : public ::testing::Test {
 protected:
    void SetUp() override {
        auto writer = ring::RingWriter::open({}, [this](int fd, std::uint64_t) {
            std::string wrong;
            ring_ = ring::ReaderRing::map(::fcntl(fd, F_DUPFD_CLOEXEC, 3), nullptr, wrong);
            return ring_ != nullptr ? okStatus() : internalError(wrong);
        });
        ASSERT_TRUE(writer.ok()) << writer.status();
        writer_ = std::move(*writer);
        copy_.emplace(*writer_);
        filler_.emplace(
            *writer_, nullptr,
            PartsFiller::Handlers{[](std::uint64_t) {}, [](std::uint64_t, std::uint32_t) {},
                                  [](const Status&, std::uint64_t) {}});
    }
    static grpc::ByteBuffer messageOf(const Entry& entry) {
        EntriesWriter writer(true);
        writer.add(entry.head, 0, entry.payload, std::make_shared<int>());
        return writer.take();
    }
    Status take(const grpc::ByteBuffer& message) { return copy_->take(message, *filler_, {}); }
    Status take(const v1::RingEntries& message) { return take(transport::bufferOf(message)); }
    static v1::RingEntries parsed(const grpc::ByteBuffer& buffer) {
        v1::RingEntries message;
        EXPECT_TRUE(transport::readBuffer(buffer, message));
        return message;
    }
    void expectNext(const Entry& expected) {
        ASSERT_TRUE(ring_->hasNext());
        ring::RingEntry head;
        unsigned char* payload = nullptr;
        std::uint64_t index = 0;
        ASSERT_EQ(ring_->take(head, payload, index), nullptr);
        EXPECT_EQ(head.kind, expected.head.kind);
        EXPECT_EQ(head.epoch, expected.head.epoch);
        EXPECT_EQ(head.number, expected.head.number);
        EXPECT_EQ(head.stride, expected.head.stride);
        EXPECT_EQ(head.count, expected.head.count);
        ASSERT_EQ(head.bytes, expected.payload.size());
        EXPECT_EQ(std::memcmp(payload, expected.payload.data(), head.bytes), 0);
        ring_->release(index);
    }

    std::shared_ptr<ring::ReaderRing> ring_;
    std::unique_ptr<ring::RingWriter> writer_;
    std::optional<RingCopy> copy_;
    std::optional<PartsFiller> filler_;
};

TEST_F(RingCopyTest, EveryEntryIsAsItWas) {
    std::vector<Entry> entries = {columnsEntry(),
                                  entryOf(ring::EntryKind::kFrame, 5, 70'000),
                                  entryOf(ring::EntryKind::kSegment, 1, 96),
                                  entryOf(ring::EntryKind::kFrame, 6, 4096),
                                  entryOf(ring::EntryKind::kFrame, 7, 4097),
                                  entryOf(ring::EntryKind::kStep, 8, 128),
                                  entryOf(ring::EntryKind::kEndOfEpoch, 9, 0),
                                  entryOf(ring::EntryKind::kEndOfStream, 0, 0)};
    entries[1].head.stride = 2;
    entries[1].head.count = 4;
    EntriesWriter writer(true);
    const auto owner = std::make_shared<int>();
    for (const Entry& entry : entries) {
        writer.add(entry.head, 0, entry.payload, owner);
    }
    EXPECT_EQ(writer.numEntries(), entries.size());
    EXPECT_GT(owner.use_count(), 1);
    ASSERT_TRUE(take(writer.take()).ok());
    EXPECT_EQ(owner.use_count(), 1) << "the lender has the payloads back";
    EXPECT_TRUE(writer.isEmpty());
    for (const Entry& entry : entries) {
        expectNext(entry);
    }
    EXPECT_FALSE(ring_->hasNext());
    EXPECT_TRUE(copy_->hasEnd());
    EXPECT_TRUE(writer_->hasTakenEnd());
}

TEST_F(RingCopyTest, APayloadInPiecesIsSeenWhenItIsWhole) {
    const Entry entry = entryOf(ring::EntryKind::kFrame, 2, 3'500'000);
    EntriesWriter writer(false);
    for (const auto& [from, bytes] :
         {std::pair(0, 1'000'000), std::pair(1'000'000, 1), std::pair(1'000'001, 2'499'999)}) {
        EXPECT_FALSE(ring_->hasNext());
        writer.add(entry.head, static_cast<std::uint64_t>(from),
                   std::span(entry.payload)
                       .subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(bytes)),
                   nullptr);
        ASSERT_TRUE(take(writer.take()).ok());
        EXPECT_TRUE(copy_->hasBegun());
    }
    expectNext(entry);
}

TEST_F(RingCopyTest, AChangedByteIsRefusedAndNeverSeen) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{5'000}, std::size_t{100'000}}) {
        v1::RingEntries message = parsed(messageOf(entryOf(ring::EntryKind::kFrame, 41, bytes)));
        std::string& payload = *message.mutable_payloads(0);
        payload[bytes / 2] = static_cast<char>(payload[bytes / 2] ^ 1);
        copy_.emplace(*writer_);
        const Status status = take(message);
        EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
        EXPECT_THAT(std::string(millrace::messageOf(status)),
                    HasSubstr("micro-batch 41 of epoch 3 was changed on its way"));
        EXPECT_FALSE(ring_->hasNext());
    }
}

TEST_F(RingCopyTest, WhatNoFeedSendsIsRefused) {
    const Entry frame = entryOf(ring::EntryKind::kFrame, 1, 1000);
    const auto refused = [&](const grpc::ByteBuffer& message) {
        copy_.emplace(*writer_);
        EXPECT_EQ(take(message).code(), absl::StatusCode::kDataLoss);
    };
    for (const auto kind : {ring::EntryKind::kContinue, ring::EntryKind::kNothing,
                            static_cast<ring::EntryKind>(0), static_cast<ring::EntryKind>(77)}) {
        refused(messageOf(entryOf(kind, 1, 10)));
    }
    v1::RingEntries message = parsed(messageOf(frame));
    message.mutable_entries(0)->set_offset(8);
    refused(transport::bufferOf(message));
    message.mutable_entries(0)->set_offset(0);
    message.mutable_entries(0)->set_bytes(999);
    refused(transport::bufferOf(message));
    message.clear_payloads();
    refused(transport::bufferOf(message));
    std::string cut = parsed(messageOf(frame)).SerializeAsString();
    cut.resize(cut.size() / 2);
    const grpc::Slice slice(cut);
    refused(grpc::ByteBuffer(&slice, 1));
    EXPECT_FALSE(ring_->hasNext());
}

TEST_F(RingCopyTest, NothingFollowsTheEnd) {
    ASSERT_TRUE(take(messageOf(entryOf(ring::EntryKind::kError, 4, 20))).ok());
    EXPECT_TRUE(copy_->hasEnd());
    EXPECT_EQ(take(messageOf(entryOf(ring::EntryKind::kFrame, 4, 20))).code(),
              absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace millrace::relay

#include "daemon/worker/wire/frame_chunk.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "daemon/worker/wire/order_name.h"

namespace millrace::wire {
namespace {

using google::protobuf::io::ArrayOutputStream;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

constexpr std::uint32_t kLengthDelimited = 2;
constexpr std::uint32_t kBytesTag = v1::FrameChunk::kBytesFieldNumber << 3 | kLengthDelimited;
// Upper bound for all fields except `bytes`; they are numbers.
constexpr std::size_t kHeadMost = 128;

/// `bytes` are sent from where they are, which `owner` keeps in place.
grpc::ByteBuffer messageOf(const v1::FrameChunk& head, std::span<const std::byte> bytes,
                           const std::shared_ptr<const void>& owner) {
    std::string text = head.SerializeAsString();
    std::array<std::uint8_t, 16> field{};
    std::uint8_t* end = CodedOutputStream::WriteVarint32ToArray(kBytesTag, field.data());
    end = CodedOutputStream::WriteVarint32ToArray(static_cast<std::uint32_t>(bytes.size()), end);
    text.append(reinterpret_cast<const char*>(field.data()),
                static_cast<std::size_t>(end - field.data()));
    if (bytes.empty()) {
        const grpc::Slice all(text);
        return grpc::ByteBuffer(&all, 1);
    }
    using Owner = std::shared_ptr<const void>;
    const grpc::Slice slices[] = {
        grpc::Slice(text),
        grpc::Slice(
            const_cast<std::byte*>(bytes.data()), bytes.size(),
            [](void* kept) { delete static_cast<Owner*>(kept); }, new Owner(owner))};
    return grpc::ByteBuffer(slices, 2);
}

}  // namespace

grpc::ByteBuffer makeChunk(const stream::SegmentOrder& order, std::int64_t frame,
                           const segment::CodedFrame& coded, std::uint64_t offset) {
    const std::uint64_t bytes =
        coded.isShared() ? 0
                         : std::min<std::uint64_t>(kChunkBytesMost, coded.bytes.size() - offset);
    v1::FrameChunk head;
    toMessage(order, *head.mutable_name());
    head.set_frame(static_cast<std::uint64_t>(frame));
    head.set_offset(offset);
    head.set_coded_bytes(coded.bytes.size());
    if (coded.isShared()) {
        head.mutable_place()->set_slab(coded.place.slab->id());
        head.mutable_place()->set_generation(coded.place.generation);
        head.mutable_place()->set_offset(coded.place.offset);
    }
    return messageOf(
        head, coded.isShared() ? std::span<const std::byte>() : coded.bytes.subspan(offset, bytes),
        coded.owner);
}

grpc::ByteBuffer missingChunk(const stream::SegmentOrder& order, std::int64_t frame) {
    v1::FrameChunk head;
    toMessage(order, *head.mutable_name());
    head.set_frame(static_cast<std::uint64_t>(frame));
    head.set_is_missing(true);
    return messageOf(head, {}, nullptr);
}

Result<FrameChunk> FrameChunk::read(const grpc::ByteBuffer& buffer) {
    FrameChunk chunk;
    if (!buffer.Dump(&chunk.slices_).ok()) {
        return dataLoss("a chunk of a frame that cannot be read");
    }
    std::array<std::uint8_t, kHeadMost> head{};
    std::size_t size = 0;
    for (const grpc::Slice& slice : chunk.slices_) {
        const std::size_t part = std::min(slice.size(), head.size() - size);
        std::memcpy(head.data() + size, slice.begin(), part);
        size += part;
    }
    CodedInputStream in(head.data(), static_cast<int>(size));
    std::uint32_t length = 0;
    int headEnd = 0;
    for (std::uint32_t tag = in.ReadTag(); tag != kBytesTag; tag = in.ReadTag()) {
        std::uint64_t skipped = 0;
        const bool isText = (tag & 7) == kLengthDelimited;
        if (tag == 0 || !in.ReadVarint64(&skipped) ||
            (isText && (skipped > kHeadMost || !in.Skip(static_cast<int>(skipped))))) {
            return dataLoss("a chunk of a frame without bytes");
        }
        headEnd = in.CurrentPosition();
    }
    if (!in.ReadVarint32(&length) || !chunk.head.ParseFromArray(head.data(), headEnd)) {
        return dataLoss("a chunk of a frame with a damaged head");
    }
    chunk.skipped_ = static_cast<std::size_t>(in.CurrentPosition());
    chunk.bytes = length;
    if (chunk.skipped_ + chunk.bytes != buffer.Length()) {
        return dataLoss("a chunk of a frame of ", length, " bytes that holds ",
                        buffer.Length() - chunk.skipped_);
    }
    return chunk;
}

void FrameChunk::copyTo(std::byte* to) const {
    std::size_t skip = skipped_;
    for (const grpc::Slice& slice : slices_) {
        const std::size_t part = std::min(skip, slice.size());
        std::memcpy(to, slice.begin() + part, slice.size() - part);
        to += slice.size() - part;
        skip -= part;
    }
}

}  // namespace millrace::wire

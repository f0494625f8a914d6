#include "daemon/worker/relay/ring_entries.h"

#include <algorithm>
#include <array>
#include <utility>

#include <xxhash.h>

namespace millrace::relay {
namespace {

using google::protobuf::io::CodedOutputStream;

constexpr std::uint32_t kLengthDelimited = 2;
constexpr std::uint32_t kEntryTag = v1::RingEntries::kEntriesFieldNumber << 3 | kLengthDelimited;
constexpr std::uint32_t kPayloadTag = v1::RingEntries::kPayloadsFieldNumber << 3 | kLengthDelimited;
// Upper bound for all fields of an entry, which are numbers.
constexpr std::uint32_t kEntryMost = 256;
// Below this size a copy is cheaper than a separate slice.
constexpr std::size_t kCopiedMost = 4096;

void appendField(std::uint32_t tag, std::uint32_t bytes, std::string& text) {
    std::array<std::uint8_t, 16> field{};
    std::uint8_t* end = CodedOutputStream::WriteVarint32ToArray(tag, field.data());
    end = CodedOutputStream::WriteVarint32ToArray(bytes, end);
    text.append(reinterpret_cast<const char*>(field.data()),
                static_cast<std::size_t>(end - field.data()));
}

Status broken() {
    return dataLoss("ring: what came from the leading feed are not entries of a ring");
}

}  // namespace

void EntriesWriter::add(const ring::RingEntry& entry, std::uint64_t offset,
                        std::span<const std::byte> piece, std::shared_ptr<const void> owner) {
    v1::RingEntry head;
    head.set_kind(entry.kind);
    head.set_epoch(entry.epoch);
    head.set_number(entry.number);
    head.set_stride(entry.stride);
    head.set_count(entry.count);
    head.set_bytes(entry.bytes);
    head.set_offset(offset);
    head.set_hash(isHashed_ ? XXH3_64bits(piece.data(), piece.size()) : 0);
    const std::string text = head.SerializeAsString();
    appendField(kEntryTag, static_cast<std::uint32_t>(text.size()), text_);
    text_ += text;
    appendField(kPayloadTag, static_cast<std::uint32_t>(piece.size()), text_);
    ++numEntries_;
    bytes_ += piece.size();
    if (piece.size() <= kCopiedMost) {
        text_.append(reinterpret_cast<const char*>(piece.data()), piece.size());
        return;
    }
    closeText();
    using Owner = std::shared_ptr<const void>;
    slices_.emplace_back(
        const_cast<std::byte*>(piece.data()), piece.size(),
        [](void* kept) { delete static_cast<Owner*>(kept); }, new Owner(std::move(owner)));
}

void EntriesWriter::closeText() {
    slices_.emplace_back(text_);
    text_.clear();
}

grpc::ByteBuffer EntriesWriter::take() {
    closeText();
    grpc::ByteBuffer message(slices_.data(), slices_.size());
    slices_.clear();
    numEntries_ = 0;
    bytes_ = 0;
    return message;
}

EntriesReader::EntriesReader(grpc::ByteBuffer message)
    : message_(std::move(message)), buffer_(&message_), in_(&buffer_) {}

Result<std::optional<v1::RingEntry>> EntriesReader::next() {
    const std::uint32_t tag = in_.ReadTag();
    if (tag == 0) {
        if (!in_.ConsumedEntireMessage() || !buffer_.status().ok()) {
            return broken();
        }
        return std::nullopt;
    }
    std::uint32_t bytes = 0;
    std::string text;
    if (tag != kEntryTag || !in_.ReadVarint32(&bytes) || bytes > kEntryMost ||
        !in_.ReadString(&text, static_cast<int>(bytes)) || !entry_.ParseFromString(text) ||
        in_.ReadTag() != kPayloadTag || !in_.ReadVarint32(&bytes) || bytes > kPieceBytesMost) {
        return broken();
    }
    piece_ = bytes;
    return entry_;
}

Status EntriesReader::copyTo(std::span<std::byte> to) {
    if (to.size() != piece_ || !in_.ReadRaw(to.data(), static_cast<int>(piece_))) {
        return broken();
    }
    if (entry_.hash() != 0 && XXH3_64bits(to.data(), to.size()) != entry_.hash()) {
        return dataLoss("ring: micro-batch ", entry_.number(), " of epoch ", entry_.epoch(),
                        " was changed on its way from the leading feed");
    }
    return okStatus();
}

}  // namespace millrace::relay

#pragma once
// v1::RingEntries as raw buffers: payloads are sent from where they are in the ring, and copied
// once on the other side, into the next ring. Used by RingPump and RingCopy.
//
// Threads: values of one owner. Failure: kDataLoss for bytes that are not such a message.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include "backend/core/status.h"
#include "backend/feed/ring_layout.h"
#include "millrace/v1/data.pb.h"

namespace millrace::relay {

/// Most bytes of one entry in one message.
inline constexpr std::uint64_t kPieceBytesMost = 4 << 20;

class EntriesWriter {
 public:
    /// `isHashed`: the bytes leave this machine.
    explicit EntriesWriter(bool isHashed) : isHashed_(isHashed) {}
    /// Adds the bytes of an entry's payload from `offset` on, at most kPieceBytesMost. `owner`
    /// keeps them in place until gRPC has them.
    void add(const ring::RingEntry& entry, std::uint64_t offset, std::span<const std::byte> piece,
             std::shared_ptr<const void> owner);
    bool isEmpty() const { return numEntries_ == 0; }
    std::size_t numEntries() const { return numEntries_; }
    std::uint64_t bytes() const { return bytes_; }
    /// Returns what was added as one message, and starts empty.
    grpc::ByteBuffer take();

 private:
    void closeText();
    const bool isHashed_;
    std::string text_;  ///< what is not in a slice yet
    std::vector<grpc::Slice> slices_;
    std::size_t numEntries_ = 0;
    std::uint64_t bytes_ = 0;
};

class EntriesReader {
 public:
    explicit EntriesReader(grpc::ByteBuffer message);
    /// The next entry; call copyTo() before the one after it. Nothing at the end.
    Result<std::optional<v1::RingEntry>> next();
    /// Bytes of the entry in this message.
    std::size_t pieceBytes() const { return piece_; }
    /// Copies all of the entry's bytes, checked against their hash.
    Status copyTo(std::span<std::byte> to);

 private:
    grpc::ByteBuffer message_;
    grpc::ProtoBufferReader buffer_;
    google::protobuf::io::CodedInputStream in_;
    v1::RingEntry entry_;
    std::size_t piece_ = 0;
};

}  // namespace millrace::relay

#pragma once
// Coded frames: the form of a frame between machines, with the cheapest codec for each column.
//
// A frame in memory is never coded. FrameEncoder makes the bytes for the wire; FrameDecoder decodes
// them directly into the frame's final memory (docs/formats/frame.md). CodecChooser measures the
// candidates on a stream's first frames: the time that a codec saves on the link against its time
// to encode and decode.
// Threads: one object per thread; contexts and buffers are kept between frames. Failure: kDataLoss
// with what is wrong; no input reads or writes out of bounds.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/frame/frame.h"

namespace millrace::frame {

enum class Codec : std::uint8_t { kNone = 0, kLz4 = 1, kZstd = 2 };

struct CodecChoice {
    Codec codec = Codec::kNone;
    int level = 0;  ///< zstd's, may be negative
    bool operator==(const CodecChoice&) const = default;

    /// "none", "lz4", "zstd:-5".
    std::string text() const;
    /// kInvalidArgument for an unknown word or an invalid zstd level.
    static Result<CodecChoice> parse(std::string_view text);
};

/// One choice per column of the layout, in order.
using CodecPlan = std::vector<CodecChoice>;

inline constexpr std::uint32_t kCodedMagic = 0x4352464dU;  // "MFRC"
inline constexpr std::uint16_t kCodedVersion = 1;

struct CodedHeader {
    std::uint32_t magic;
    std::uint16_t version;
    std::uint16_t headerBytes;  ///< 64
    std::uint64_t totalBytes;   ///< of the coded frame
    std::uint64_t frameBytes;   ///< of the frame
    /// The frame's head, then the payloads in directory order; 0: the frame follows uncoded.
    std::uint32_t parts;
    std::uint32_t reserved;
    std::uint64_t checksum;   ///< XXH3-64 of the coded frame with this field 0
    std::uint64_t headBytes;  ///< of the frame's header and directory
    std::uint8_t reserved2[16];
};
static_assert(sizeof(CodedHeader) == 64);

struct CodedPart {
    Codec codec;
    std::uint8_t reserved[7];
    std::uint64_t bytes;  ///< as stored
};
static_assert(sizeof(CodedPart) == 16);

/// The memory of zstd and lz4, and the calls that both sides share.
class CodecContext {
 public:
    CodecContext();
    ~CodecContext();
    CodecContext(CodecContext&&) noexcept;
    CodecContext& operator=(CodecContext&&) noexcept;

    /// Upper bound of the bytes that encode() writes.
    static std::size_t mostBytes(CodecChoice choice, std::size_t bytes);
    struct Encoded {
        Codec codec = Codec::kNone;
        std::size_t bytes = 0;
    };
    /// Encodes `from` into the front of `to`, which must have mostBytes(). Input that does not get
    /// smaller is stored unchanged, and the result says so.
    Encoded encode(CodecChoice choice, std::span<const std::byte> from, std::span<std::byte> to);
    /// Returns false if the bytes do not decode to exactly `to`.
    bool decode(Codec codec, std::span<const std::byte> from, std::span<std::byte> to);

 private:
    struct Contexts;
    std::unique_ptr<Contexts> contexts_;
};

class FrameEncoder {
 public:
    /// `plan`: one choice per column of the frames; empty: no column is coded.
    explicit FrameEncoder(CodecPlan plan) : plan_(std::move(plan)) {}
    /// Encodes into `out`, replacing its contents. kInvalidArgument for a frame of another layout.
    Status encode(const FrameView& frame, std::vector<std::byte>& out);
    /// Upper bound of the encoded bytes. kInvalidArgument for a frame of another layout.
    Result<std::size_t> mostBytes(const FrameView& frame) const;
    /// Encodes into the front of `out`, which must have mostBytes(); returns the number of bytes.
    std::size_t encode(const FrameView& frame, std::span<std::byte> out);

    /// Bytes to reserve before a frame that stays uncoded; wrap() fills them.
    static constexpr std::size_t kPlainHead = sizeof(CodedHeader);
    /// Makes a coded frame of `out`: kPlainHead bytes, filled here, and the frame. `isSummed`: adds
    /// the checksum, for a frame that leaves the machine.
    static void wrap(std::span<std::byte> out, bool isSummed);

 private:
    CodecChoice choiceOf(std::size_t column) const;

    CodecPlan plan_;
    CodecContext context_;
};

class FrameDecoder {
 public:
    /// Bytes that the frame needs; kDataLoss if the coded bytes are damaged, or claim more than
    /// `mostBytes`.
    static Result<std::uint64_t> frameBytes(std::span<const std::byte> coded,
                                            std::uint64_t mostBytes);
    /// Like frameBytes(), for a frame in memory shared with its encoder, without a checksum.
    static Result<std::uint64_t> sharedBytes(std::span<const std::byte> coded,
                                             std::uint64_t mostBytes);
    /// Decodes into exactly frameBytes() of memory, aligned to 64 bytes; checks the frame in full.
    Status decode(std::span<const std::byte> coded, std::span<std::byte> memory);
    /// Like decode(), for bytes whose checksum frameBytes() has verified: does not compute it
    /// again.
    Status decodeSummed(std::span<const std::byte> coded, std::span<std::byte> memory);
    /// The frame inside bytes that frameBytes() has verified, if none of its columns is coded. It
    /// is not checked. Nothing if it must be decoded.
    static std::optional<std::span<const std::byte>> plainFrame(std::span<const std::byte> coded);
    /// Like decode(), for a frame in shared memory: checks it like one in memory.
    Status decodeShared(std::span<const std::byte> coded, std::span<std::byte> memory);

 private:
    Status decodeParts(const CodedHeader& header, std::span<const std::byte> coded,
                       std::span<std::byte> memory);
    CodecContext context_;
};

/// Measurement of one codec on one column.
struct CodecMeasure {
    CodecChoice choice;
    std::uint64_t bytes = 0, codedBytes = 0;
    double encodeNs = 0, decodeNs = 0;

    /// Nanoseconds to encode, send and decode the column on a link of this speed (bytes per ns).
    double costNs(double bytesPerNs) const {
        return encodeNs + decodeNs + static_cast<double>(codedBytes) / bytesPerNs;
    }
};

/// By column of a layout, then by candidate.
using CodecMeasures = std::vector<std::vector<CodecMeasure>>;

/// The choice with the lowest cost; `measures` must not be empty.
CodecChoice cheapestOf(std::span<const CodecMeasure> measures, double bytesPerNs);
/// The cheapest choice per column. `linkBytesPerSecond` must be above 0.
CodecPlan cheapestOf(const CodecMeasures& measures, double linkBytesPerSecond);

class CodecChooser {
 public:
    explicit CodecChooser(const FrameLayout& layout);
    /// Measures the candidates on a frame's columns, on at most kSampleBytes of each payload.
    static constexpr std::size_t kSampleBytes = 256 * 1024;
    Status add(const FrameView& frame);
    const CodecMeasures& measures() const { return measures_; }

 private:
    const FrameLayout& layout_;
    CodecContext context_;
    CodecMeasures measures_;
};

}  // namespace millrace::frame

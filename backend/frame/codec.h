#pragma once
// Coded frames: how a frame travels between machines, each column with the codec that pays.
//
// A frame in memory is never coded; FrameEncoder makes the bytes for the wire, FrameDecoder puts
// them straight into the place where the frame will be read (docs/formats/frame.md). CodecChooser
// measures the candidates on a stream's first frames: what a codec saves on the link against what
// it costs to code and to decode.
// Threads: one object a thread; contexts and buffers are kept between frames. Failure: kDataLoss
// with what is wrong; no input reads or writes out of bounds.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
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
    int level = 0;  ///< zstd's, negative ones included
    bool operator==(const CodecChoice&) const = default;

    /// "none", "lz4", "zstd:-5".
    std::string text() const;
    /// kInvalidArgument for another word or a level that zstd does not have.
    static Result<CodecChoice> parse(std::string_view text);
};

/// One choice a column of the layout, in its order.
using CodecPlan = std::vector<CodecChoice>;

inline constexpr std::uint32_t kCodedMagic = 0x4352464dU;  // "MFRC"
inline constexpr std::uint16_t kCodedVersion = 1;

struct CodedHeader {
    std::uint32_t magic;
    std::uint16_t version;
    std::uint16_t headerBytes;  ///< 64
    std::uint64_t totalBytes;   ///< of the coded frame
    std::uint64_t frameBytes;   ///< of the frame
    /// The frame's head, then the payloads in the directory's order; 0: the frame follows as it is.
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

/// zstd's and lz4's memory, and the calls that both sides share.
class CodecContext {
 public:
    CodecContext();
    ~CodecContext();
    CodecContext(CodecContext&&) noexcept;
    CodecContext& operator=(CodecContext&&) noexcept;

    /// How many bytes encode() may write.
    static std::size_t mostBytes(CodecChoice choice, std::size_t bytes);
    struct Encoded {
        Codec codec = Codec::kNone;
        std::size_t bytes = 0;
    };
    /// Codes `from` to the front of `to`, which has mostBytes(); what does not get smaller is
    /// stored as it is, and said so.
    Encoded encode(CodecChoice choice, std::span<const std::byte> from, std::span<std::byte> to);
    /// False: the bytes do not decode to exactly `to`.
    bool decode(Codec codec, std::span<const std::byte> from, std::span<std::byte> to);

 private:
    struct Contexts;
    std::unique_ptr<Contexts> contexts_;
};

class FrameEncoder {
 public:
    /// `plan`: one choice a column of the frames; empty: none is coded.
    explicit FrameEncoder(CodecPlan plan) : plan_(std::move(plan)) {}
    /// Into `out`, whose contents go. kInvalidArgument for a frame of another layout.
    Status encode(const FrameView& frame, std::vector<std::byte>& out);
    /// Room that the frame may need. kInvalidArgument for a frame of another layout.
    Result<std::size_t> mostBytes(const FrameView& frame) const;
    /// To the front of `out`, which has mostBytes(): how many bytes it took.
    std::size_t encode(const FrameView& frame, std::span<std::byte> out);

    /// Before a frame that was written straight behind it and is not coded.
    static constexpr std::size_t kPlainHead = sizeof(CodedHeader);
    /// Makes `out` a coded frame: of kPlainHead bytes that are filled here and the frame.
    /// `isSummed`: with its checksum, for a frame that leaves the machine.
    static void wrap(std::span<std::byte> out, bool isSummed);

 private:
    CodecChoice choiceOf(std::size_t column) const;

    CodecPlan plan_;
    CodecContext context_;
};

class FrameDecoder {
 public:
    /// The bytes that the frame needs; kDataLoss when the coded bytes are damaged, or say more than
    /// `mostBytes`.
    static Result<std::uint64_t> frameBytes(std::span<const std::byte> coded,
                                            std::uint64_t mostBytes);
    /// Likewise of a frame in memory that is shared with who coded it: there is no checksum.
    static Result<std::uint64_t> sharedBytes(std::span<const std::byte> coded,
                                             std::uint64_t mostBytes);
    /// Into exactly frameBytes() of memory, aligned to 64 bytes; the frame is checked in full.
    Status decode(std::span<const std::byte> coded, std::span<std::byte> memory);
    /// Likewise, of bytes whose checksum frameBytes() has held to be right: it is not made again.
    Status decodeSummed(std::span<const std::byte> coded, std::span<std::byte> memory);
    /// Likewise, of a frame in shared memory: checked as one in memory is.
    Status decodeShared(std::span<const std::byte> coded, std::span<std::byte> memory);

 private:
    Status decodeParts(const CodedHeader& header, std::span<const std::byte> coded,
                       std::span<std::byte> memory);
    CodecContext context_;
};

/// What one codec did to one column.
struct CodecMeasure {
    CodecChoice choice;
    std::uint64_t bytes = 0, codedBytes = 0;
    double encodeNs = 0, decodeNs = 0;

    /// Nanoseconds to code, send and decode the column at a link's speed (bytes a nanosecond).
    double costNs(double bytesPerNs) const {
        return encodeNs + decodeNs + static_cast<double>(codedBytes) / bytesPerNs;
    }
};

/// By column of a layout, then by candidate.
using CodecMeasures = std::vector<std::vector<CodecMeasure>>;

/// The one with the least cost; `measures` is not empty.
CodecChoice cheapestOf(std::span<const CodecMeasure> measures, double bytesPerNs);
/// The cheapest of each column. `linkBytesPerSecond` above 0.
CodecPlan cheapestOf(const CodecMeasures& measures, double linkBytesPerSecond);

class CodecChooser {
 public:
    explicit CodecChooser(const FrameLayout& layout);
    /// Measures the candidates on a frame's columns, at most kSampleBytes of each payload.
    static constexpr std::size_t kSampleBytes = 256 * 1024;
    Status add(const FrameView& frame);
    /// The cheapest of each column. `linkBytesPerSecond` above 0.
    CodecPlan choose(double linkBytesPerSecond) const {
        return cheapestOf(measures_, linkBytesPerSecond);
    }
    const CodecMeasures& measures() const { return measures_; }

 private:
    const FrameLayout& layout_;
    CodecContext context_;
    CodecMeasures measures_;
};

}  // namespace millrace::frame

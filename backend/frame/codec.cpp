#include "backend/frame/codec.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>

#include <lz4.h>

#include <climits>
#include <zstd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace millrace::frame {
namespace {

// For a frame's header and directory, which are small and compress well.
constexpr CodecChoice kHeadChoice{Codec::kZstd, 1};
constexpr std::size_t kChecksumAt = offsetof(CodedHeader, checksum);

// The checksum covers its own field as zeros, so the header needs no special layout.
std::uint64_t checksumOf(std::span<const std::byte> coded) {
    const std::uint64_t zero = 0;
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, coded.data(), kChecksumAt);
    XXH3_64bits_update(&state, &zero, sizeof zero);
    const std::size_t rest = kChecksumAt + sizeof zero;
    XXH3_64bits_update(&state, coded.data() + rest, coded.size() - rest);
    return XXH3_64bits_digest(&state);
}

Status damaged(std::string_view what) {
    return dataLoss("coded frame: ", what);
}

struct Payload {
    std::size_t column;
    Extent extent;
};

// The payloads of a checked frame in directory order; a payload that columns share is included
// once.
std::vector<Payload> payloadsOf(const std::byte* frame) {
    const auto& header = *reinterpret_cast<const FrameHeader*>(frame);
    const auto* entries = reinterpret_cast<const ColumnEntry*>(frame + sizeof(FrameHeader));
    std::vector<Payload> payloads;
    std::set<std::uint64_t> seen;
    for (std::uint32_t c = 0; c < header.columns; ++c) {
        for (const Extent& extent : {entries[c].data, entries[c].offsets, entries[c].weights}) {
            // Encoder and decoder derive the order of the parts from the directory alone: the coded
            // frame has no table of offsets.
            if (extent.bytes > 0 && seen.insert(extent.offset).second) {
                payloads.push_back({c, extent});
            }
        }
    }
    return payloads;
}

std::uint64_t headBytesOf(const FrameView& frame) {
    return sizeof(FrameHeader) + frame.header().directoryBytes;
}

void zeroPadding(std::span<std::byte> frame, std::uint64_t end) {
    const std::uint64_t next = std::min<std::uint64_t>(alignUp(end), frame.size());
    // Padding is not transferred. Unused bytes are 0, so that equal frames have equal bytes
    // (docs/formats/frame.md).
    std::memset(frame.data() + end, 0, next - end);
}

Result<CodedHeader> headerOf(std::span<const std::byte> coded) {
    CodedHeader header;
    if (coded.size() < sizeof header) {
        return damaged("cut off");
    }
    std::memcpy(&header, coded.data(), sizeof header);
    if (header.magic != kCodedMagic) {
        return damaged("the magic number is wrong");
    }
    if (header.version != kCodedVersion || header.headerBytes != sizeof header) {
        return damaged("of another version");
    }
    if (header.totalBytes != coded.size() ||
        (header.parts == 0 && header.frameBytes != coded.size() - sizeof header) ||
        header.parts > (coded.size() - sizeof header) / sizeof(CodedPart)) {
        return damaged("cut off, or with an impossible number of parts");
    }
    if (header.frameBytes % kPayloadAlignment != 0 || header.headBytes > header.frameBytes ||
        header.headBytes < sizeof(FrameHeader)) {
        return damaged("its frame has an impossible size");
    }
    return header;
}

Result<std::uint64_t> boundedBytes(const CodedHeader& header, std::uint64_t mostBytes) {
    if (header.frameBytes > mostBytes) {
        return damaged(
            strCat("its frame has ", header.frameBytes, " bytes, more than ", mostBytes));
    }
    return header.frameBytes;
}

Status checkPlace(const CodedHeader& header, std::span<const std::byte> memory) {
    if (memory.size() != header.frameBytes ||
        reinterpret_cast<std::uintptr_t>(memory.data()) % kPayloadAlignment != 0) {
        return invalidArgument("coded frame: the memory given is not ", header.frameBytes,
                               " bytes, aligned to ", kPayloadAlignment);
    }
    return okStatus();
}

Status checked(std::span<const std::byte> frame, CheckLevel level) {
    const char* wrong = checkFrame(frame.data(), frame.size(), level);
    return wrong == nullptr ? okStatus() : damaged(wrong);
}

Result<CodedHeader> checkedHeader(std::span<const std::byte> coded) {
    ASSIGN_OR_RETURN(const CodedHeader header, headerOf(coded));
    if (header.checksum != checksumOf(coded)) {
        return damaged("the checksum does not hold");
    }
    return header;
}

}  // namespace

std::string CodecChoice::text() const {
    switch (codec) {
        case Codec::kLz4:
            return "lz4";
        case Codec::kZstd:
            return strCat("zstd:", level);
        case Codec::kNone:
            break;
    }
    return "none";
}

Result<CodecChoice> CodecChoice::parse(std::string_view text) {
    if (text == "none") {
        return CodecChoice{};
    }
    if (text == "lz4") {
        return CodecChoice{Codec::kLz4, 0};
    }
    CodecChoice choice{Codec::kZstd, 0};
    const std::string_view level = text.substr(std::min<std::size_t>(5, text.size()));
    const auto [end, error] =
        std::from_chars(level.data(), level.data() + level.size(), choice.level);
    if (!text.starts_with("zstd:") || error != std::errc() || end != level.data() + level.size() ||
        choice.level < ZSTD_minCLevel() || choice.level > ZSTD_maxCLevel()) {
        return invalidArgument("codec '", text, "': none, lz4 or zstd:LEVEL with a level of zstd");
    }
    return choice;
}

struct CodecContext::Contexts {
    ZSTD_CCtx* const encoder = ZSTD_createCCtx();
    ZSTD_DCtx* const decoder = ZSTD_createDCtx();
    ~Contexts() {
        ZSTD_freeCCtx(encoder);
        ZSTD_freeDCtx(decoder);
    }
};

CodecContext::CodecContext() : contexts_(std::make_unique<Contexts>()) {}
CodecContext::~CodecContext() = default;
CodecContext::CodecContext(CodecContext&&) noexcept = default;
CodecContext& CodecContext::operator=(CodecContext&&) noexcept = default;

std::size_t CodecContext::mostBytes(CodecChoice choice, std::size_t bytes) {
    std::size_t bound = bytes;
    if (choice.codec == Codec::kZstd) {
        bound = ZSTD_compressBound(bytes);
    } else if (choice.codec == Codec::kLz4 && bytes <= LZ4_MAX_INPUT_SIZE) {
        bound = static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(bytes)));
    }
    // At least the plain bytes, because encode() falls back to them.
    return std::max(bound, bytes);
}

CodecContext::Encoded CodecContext::encode(CodecChoice choice, std::span<const std::byte> from,
                                           std::span<std::byte> to) {
    std::size_t bytes = 0;
    if (choice.codec == Codec::kZstd) {
        bytes = ZSTD_compressCCtx(contexts_->encoder, to.data(), to.size(), from.data(),
                                  from.size(), choice.level);
        bytes = ZSTD_isError(bytes) != 0 ? 0 : bytes;
    } else if (choice.codec == Codec::kLz4 && from.size() <= LZ4_MAX_INPUT_SIZE) {
        const auto room = static_cast<int>(std::min<std::size_t>(to.size(), INT_MAX));
        bytes = static_cast<std::size_t>(LZ4_compress_default(
            reinterpret_cast<const char*>(from.data()), reinterpret_cast<char*>(to.data()),
            static_cast<int>(from.size()), room));
    }
    // Also after an error of the codec: stored plain, a payload is always right.
    if (bytes == 0 || bytes >= from.size()) {
        std::memcpy(to.data(), from.data(), from.size());
        return {Codec::kNone, from.size()};
    }
    return {choice.codec, bytes};
}

bool CodecContext::decode(Codec codec, std::span<const std::byte> from, std::span<std::byte> to) {
    switch (codec) {
        case Codec::kNone:
            if (from.size() != to.size()) {
                return false;
            }
            std::memcpy(to.data(), from.data(), from.size());
            return true;
        case Codec::kZstd:
            return ZSTD_decompressDCtx(contexts_->decoder, to.data(), to.size(), from.data(),
                                       from.size()) == to.size();
        case Codec::kLz4:
            return from.size() <= INT_MAX && to.size() <= INT_MAX &&
                   LZ4_decompress_safe(reinterpret_cast<const char*>(from.data()),
                                       reinterpret_cast<char*>(to.data()),
                                       static_cast<int>(from.size()),
                                       static_cast<int>(to.size())) == static_cast<int>(to.size());
    }
    return false;
}

CodecChoice FrameEncoder::choiceOf(std::size_t column) const {
    return plan_.empty() ? CodecChoice{} : plan_[column];
}

Result<std::size_t> FrameEncoder::mostBytes(const FrameView& frame) const {
    if (!plan_.empty() && plan_.size() != frame.numColumns()) {
        return invalidArgument("coded frame: ", plan_.size(), " codecs for ", frame.numColumns(),
                               " columns");
    }
    const std::vector<Payload> payloads = payloadsOf(frame.bytes().data());
    std::size_t most = sizeof(CodedHeader) + (payloads.size() + 1) * sizeof(CodedPart);
    most += CodecContext::mostBytes(kHeadChoice, headBytesOf(frame));
    for (const Payload& payload : payloads) {
        most += CodecContext::mostBytes(choiceOf(payload.column), payload.extent.bytes);
    }
    return most;
}

Status FrameEncoder::encode(const FrameView& frame, std::vector<std::byte>& out) {
    ASSIGN_OR_RETURN(const std::size_t most, mostBytes(frame));
    out.resize(most);
    out.resize(encode(frame, std::span(out)));
    return okStatus();
}

std::size_t FrameEncoder::encode(const FrameView& frame, std::span<std::byte> out) {
    const std::span<const std::byte> bytes = frame.bytes();
    const std::vector<Payload> payloads = payloadsOf(bytes.data());
    CodedHeader header{};
    header.magic = kCodedMagic;
    header.version = kCodedVersion;
    header.headerBytes = sizeof header;
    header.frameBytes = bytes.size();
    header.parts = static_cast<std::uint32_t>(payloads.size() + 1);
    header.headBytes = headBytesOf(frame);
    std::vector<CodedPart> parts;
    std::size_t at = sizeof header + header.parts * sizeof(CodedPart);
    const auto add = [&](CodecChoice choice, std::span<const std::byte> from) {
        const CodecContext::Encoded coded = context_.encode(choice, from, out.subspan(at));
        parts.push_back({coded.codec, {}, coded.bytes});
        at += coded.bytes;
    };
    add(kHeadChoice, bytes.first(header.headBytes));
    for (const Payload& payload : payloads) {
        add(choiceOf(payload.column), bytes.subspan(payload.extent.offset, payload.extent.bytes));
    }
    header.totalBytes = at;
    std::memcpy(out.data(), &header, sizeof header);
    std::memcpy(out.data() + sizeof header, parts.data(), parts.size() * sizeof(CodedPart));
    header.checksum = checksumOf(out.first(at));
    std::memcpy(out.data(), &header, sizeof header);
    return at;
}

void FrameEncoder::wrap(std::span<std::byte> out, bool isSummed) {
    CodedHeader header{};
    header.magic = kCodedMagic;
    header.version = kCodedVersion;
    header.headerBytes = sizeof header;
    header.totalBytes = out.size();
    header.frameBytes = header.headBytes = out.size() - kPlainHead;
    std::memcpy(out.data(), &header, sizeof header);
    if (isSummed) {
        header.checksum = checksumOf(out);
        std::memcpy(out.data(), &header, sizeof header);
    }
}

Result<std::uint64_t> FrameDecoder::frameBytes(std::span<const std::byte> coded,
                                               std::uint64_t mostBytes) {
    ASSIGN_OR_RETURN(const CodedHeader header, checkedHeader(coded));
    return boundedBytes(header, mostBytes);
}

Result<std::uint64_t> FrameDecoder::sharedBytes(std::span<const std::byte> coded,
                                                std::uint64_t mostBytes) {
    ASSIGN_OR_RETURN(const CodedHeader header, headerOf(coded));
    return boundedBytes(header, mostBytes);
}

Status FrameDecoder::decode(std::span<const std::byte> coded, std::span<std::byte> memory) {
    RETURN_IF_ERROR(checkedHeader(coded).status());
    return decodeSummed(coded, memory);
}

Status FrameDecoder::decodeSummed(std::span<const std::byte> coded, std::span<std::byte> memory) {
    ASSIGN_OR_RETURN(const CodedHeader header, headerOf(coded));
    RETURN_IF_ERROR(checkPlace(header, memory));
    RETURN_IF_ERROR(decodeParts(header, coded, memory));
    // A payload may overlap the head of a forged directory, so everything is checked again.
    return checked(memory, CheckLevel::kFull);
}

std::optional<std::span<const std::byte>> FrameDecoder::plainFrame(
    std::span<const std::byte> coded) {
    const Result<CodedHeader> header = headerOf(coded);
    return header.ok() && header->parts == 0 ? std::optional(coded.subspan(sizeof(CodedHeader)))
                                             : std::nullopt;
}

Status FrameDecoder::decodeShared(std::span<const std::byte> coded, std::span<std::byte> memory) {
    ASSIGN_OR_RETURN(const CodedHeader header, headerOf(coded));
    RETURN_IF_ERROR(checkPlace(header, memory));
    RETURN_IF_ERROR(decodeParts(header, coded, memory));
    return checked(memory, CheckLevel::kDirectory);
}

Status FrameDecoder::decodeParts(const CodedHeader& header, std::span<const std::byte> coded,
                                 std::span<std::byte> memory) {
    if (header.parts == 0) {
        std::memcpy(memory.data(), coded.data() + sizeof header, memory.size());
        return okStatus();
    }
    std::vector<CodedPart> parts(header.parts);
    std::memcpy(parts.data(), coded.data() + sizeof header, parts.size() * sizeof(CodedPart));
    std::size_t at = sizeof header + parts.size() * sizeof(CodedPart);
    const auto take = [&](const CodedPart& part, std::span<std::byte> to) {
        if (part.bytes > coded.size() - at) {
            return false;
        }
        const auto from = coded.subspan(at, part.bytes);
        at += part.bytes;
        return context_.decode(part.codec, from, to);
    };
    // The head first: its directory says where the payloads go. It is checked before it is used,
    // since the bytes may be forged (shared memory has no checksum).
    if (!take(parts[0], memory.first(header.headBytes))) {
        return damaged("its head cannot be decoded");
    }
    zeroPadding(memory, header.headBytes);
    RETURN_IF_ERROR(checked(memory, CheckLevel::kDirectory));
    const std::vector<Payload> payloads = payloadsOf(memory.data());
    if (payloads.size() + 1 != parts.size()) {
        return damaged("its parts are not those of its directory");
    }
    for (std::size_t p = 0; p < payloads.size(); ++p) {
        const Extent& extent = payloads[p].extent;
        if (!take(parts[p + 1], memory.subspan(extent.offset, extent.bytes))) {
            return damaged(strCat("part ", p + 1, " cannot be decoded"));
        }
        zeroPadding(memory, extent.offset + extent.bytes);
    }
    if (at != coded.size()) {
        return damaged("bytes behind its last part");
    }
    return okStatus();
}

}  // namespace millrace::frame

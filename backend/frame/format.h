#pragma once
// The byte format of a frame: header, column directory, payloads (docs/formats/frame.md).
//
// Plain structs without dependencies, shared by FrameView, FrameWriter and the C library. All
// numbers are little-endian; little-endian machines copy the structs unchanged.
#include <cstddef>
#include <cstdint>

namespace millrace::frame {

inline constexpr std::uint32_t kFrameMagic = 0x4d52464dU;  // "MFRM"
inline constexpr std::uint16_t kFrameVersion = 2;
inline constexpr std::size_t kPayloadAlignment = 64;
inline constexpr std::uint32_t kMaxColumns = 65536;
inline constexpr std::uint32_t kMaxRows = 1U << 28;

enum class Role : std::uint8_t {
    kRowFile = 1,    ///< uint32: index of the row's file in the plan
    kRowNumber = 2,  ///< uint64: row within that file
    kDense = 3,      ///< float32 [rows, width], row-major: all dense features in one block
    kVector = 4,     ///< float32 [rows, width]: one vector feature
    kId = 5,         ///< int64 [rows]
    kList = 6,       ///< int64 values, int64 offsets [items + 1]
    kWeighted = 7,   ///< as kList, with one float32 weight per value
    kSequence = 8,   ///< list columns of one group share one offsets buffer
    kLabel = 9,      ///< float32 [rows]; one per head, with its name
    kWeight = 10,    ///< float32 [rows]; label weight x row weight
    kMask = 11,      ///< uint8 [rows]; 1 if the label is not null. For carried columns:
                     ///< carry_mask.h
    kCarry = 12,     ///< any type, [rows] or lists; passed through
    kInverse = 13,   ///< uint32 [rows]: the stored item of each row, for columns flagged kDedup
};

enum class DType : std::uint8_t {
    kUint8 = 1,
    kInt8 = 2,
    kUint16 = 3,
    kInt16 = 4,
    kUint32 = 5,
    kInt32 = 6,
    kUint64 = 7,
    kInt64 = 8,
    kFloat32 = 9,
    kFloat64 = 10,
    kString = 11,  ///< bytes with offsets: always Encoding::kLists
};

enum class Encoding : std::uint8_t {
    kFixed = 0,  ///< items x width values
    kLists = 1,  ///< values and offsets
};

/// Column flags.
inline constexpr std::uint16_t kDedup = 1;  ///< items are requests; the inverse column maps rows

/// Header flags.
inline constexpr std::uint32_t kSealed = 1;  ///< `checksum` is valid

struct FrameHeader {
    std::uint32_t magic;
    std::uint16_t version;
    std::uint16_t headerBytes;  ///< 128
    std::uint64_t totalBytes;   ///< multiple of 64
    std::uint32_t rows;
    std::uint32_t columns;
    std::uint32_t epoch;
    std::uint32_t flags;
    std::uint64_t segment;
    std::uint32_t index;     ///< within the segment
    std::uint32_t requests;  ///< stored items of kDedup columns; 0 without them
    std::uint8_t streamHash[16];
    std::uint64_t checksum;        ///< XXH3-64 of the frame with this field 0
    std::uint64_t directoryBytes;  ///< entries and names, from headerBytes on
    std::uint8_t reserved[48];     ///< 0
};
static_assert(sizeof(FrameHeader) == 128);

struct Extent {
    /// Offset from the frame's first byte; 0 with bytes 0: absent. A multiple of 64 or, for
    /// isPacked() columns, of the size of its own type.
    std::uint64_t offset;
    std::uint64_t bytes;  ///< stored bytes, without padding
};

struct ColumnEntry {
    Role role;
    DType dtype;
    Encoding encoding;
    std::uint8_t codec;  ///< 0: none. Other values only between machines
    std::uint16_t flags;
    std::uint16_t group;       ///< sequences: columns of one group share offsets; else 0
    std::uint32_t width;       ///< values per item for kFixed; 1 for kLists
    std::uint32_t nameOffset;  ///< from the end of the entries
    std::uint32_t nameBytes;
    std::uint32_t items;  ///< rows, or requests for kDedup
    std::uint64_t values;
    Extent data;
    Extent offsets;             ///< int64 [items + 1], first 0, last `values`, never decreasing
    Extent weights;             ///< float32 [values], kWeighted only
    std::uint8_t reserved[48];  ///< 0
};
static_assert(sizeof(ColumnEntry) == 128);

constexpr std::size_t sizeOf(DType type) {
    switch (type) {
        case DType::kUint8:
        case DType::kInt8:
        case DType::kString:
            return 1;
        case DType::kUint16:
        case DType::kInt16:
            return 2;
        case DType::kUint32:
        case DType::kInt32:
        case DType::kFloat32:
            return 4;
        case DType::kUint64:
        case DType::kInt64:
        case DType::kFloat64:
            return 8;
    }
    return 0;
}

/// Values of columns with these roles are contiguous in the order of the columns, and so are their
/// weights: ids for many embedding tables form one tensor.
constexpr bool isPacked(Role role) {
    return role == Role::kId || role == Role::kList || role == Role::kWeighted;
}

constexpr std::uint64_t alignUp(std::uint64_t bytes) {
    return (bytes + kPayloadAlignment - 1) & ~std::uint64_t{kPayloadAlignment - 1};
}

/// Extent of checks: kDirectory for frames that stay in one machine's memory, kFull for frames from
/// elsewhere (also checks offsets, inverse indices, and the checksum if there is one).
enum class CheckLevel { kDirectory, kFull };

/// Null if the bytes are a frame that can be read without leaving them, else what is wrong (a
/// static sentence). `bytes` must be 8-byte aligned. Never reads beyond `size`.
const char* checkFrame(const void* bytes, std::size_t size, CheckLevel level);

/// XXH3-64 of a checked frame, with its checksum field as 0.
std::uint64_t frameChecksum(const void* bytes, std::size_t size);

}  // namespace millrace::frame

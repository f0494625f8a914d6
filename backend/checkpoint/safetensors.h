#pragma once
// The header of a safetensors file: which tensors lie where, and texts that go with them
// (https://huggingface.co/docs/safetensors).
//
// Such a file is the length of the header (u64, little-endian), the header (JSON), and the tensors'
// values, row-major, one behind the other to the last byte. Taken is only what is beyond doubt: no
// hole and no overlap, every length what its type and shape make, no name twice, nothing that is
// not known. Threads: any. Failure: kDataLoss, as damaged() makes it.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"

namespace millrace::checkpoint {

/// Bytes of a header, at most: readers elsewhere take no longer one.
inline constexpr std::uint64_t kSafetensorsHeaderMax = 100'000'000;
/// Where the header begins, and what it is a multiple of together with its length before it.
inline constexpr std::uint64_t kSafetensorsAlignment = 8;

enum class DType : std::uint8_t {
    kFloat32 = 1,
    kFloat64 = 2,
    kInt64 = 3,
    kInt32 = 4,
    kBFloat16 = 5,
    kFloat16 = 6,
    kUint8 = 7
};
std::int64_t bytesOf(DType type);              ///< of one value
std::string_view nameOf(DType type);           ///< "float32"
std::string_view safetensorsName(DType type);  ///< "F32"

/// A tensor and its place behind the header.
struct SafetensorsEntry {
    std::string name;
    DType type = DType::kFloat32;
    std::vector<std::int64_t> shape;
    std::uint64_t begin = 0, end = 0;
    bool operator==(const SafetensorsEntry&) const = default;
};

struct SafetensorsHeader {
    std::map<std::string, std::string> metadata;
    std::vector<SafetensorsEntry> tensors;  ///< as they lie
};

/// kDataLoss "checkpoint PLACE: WHY; it cannot be used".
Status damaged(const std::string& place, std::string_view why);

/// Reads the header `json` of a file with `dataBytes` behind it; `place` begins the message.
Result<SafetensorsHeader> parseSafetensors(std::string_view json, std::uint64_t dataBytes,
                                           const std::string& place);

}  // namespace millrace::checkpoint

#pragma once
// The header of a safetensors file: positions of its tensors, and accompanying texts
// (https://huggingface.co/docs/safetensors).
//
// Such a file has the length of the header (u64, little-endian), the header (JSON), and the
// tensors' values, row-major and contiguous up to the last byte. Parsing is strict: no gaps, no
// overlaps, every length as type and shape require, no duplicate names, nothing unknown.
// Threads: any. Failure: kDataLoss, as made by damaged().
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"

namespace millrace::checkpoint {

/// Limit of a header's bytes: other readers accept no longer header.
inline constexpr std::uint64_t kSafetensorsHeaderMax = 100'000'000;
/// Start of the header; the header and the length before it together have a multiple of this size.
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

/// A tensor and its position after the header.
struct SafetensorsEntry {
    std::string name;
    DType type = DType::kFloat32;
    std::vector<std::int64_t> shape;
    std::uint64_t begin = 0, end = 0;
    bool operator==(const SafetensorsEntry&) const = default;
};

struct SafetensorsHeader {
    std::map<std::string, std::string> metadata;
    std::vector<SafetensorsEntry> tensors;  ///< in file order
};

/// kDataLoss "checkpoint PLACE: WHY; it cannot be used".
template <class... P>
Status damaged(const std::string& place, const P&... why) {
    return dataLoss("checkpoint ", place, ": ", strCat(why...), "; it cannot be used");
}

/// Reads the header `json` of a file with `dataBytes` after it; `place` begins the message.
Result<SafetensorsHeader> parseSafetensors(std::string_view json, std::uint64_t dataBytes,
                                           const std::string& place);

}  // namespace millrace::checkpoint

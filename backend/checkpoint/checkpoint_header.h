#pragma once
// How the header of a checkpoint file begins, and its checksum; for this room and its tests.
#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::checkpoint {

/// Its version can be read without anything of the rest, and the checksum has a fixed place.
inline constexpr std::string_view kFormatStem =
    R"({"__metadata__":{"format":"millrace-checkpoint-)";
inline constexpr std::string_view kFormatBeginning =
    R"({"__metadata__":{"format":"millrace-checkpoint-2","checksum":")";
inline constexpr std::size_t kChecksumDigits = 32;

/// XXH3-128 of the header and its length, with zeros for the checksum's own digits. `header` begins
/// with kFormatBeginning.
std::string headerChecksum(std::string_view header);

}  // namespace millrace::checkpoint

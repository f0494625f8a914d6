#pragma once
// The fixed beginning of a checkpoint file's header, and its checksum; for checkpoint and its
// tests.
#include <string>
#include <string_view>

namespace millrace::checkpoint {

/// The version is readable without the rest of the header, and the checksum has a fixed position.
inline constexpr std::string_view kFormatStem =
    R"({"__metadata__":{"format":"millrace-checkpoint-)";
inline constexpr std::string_view kFormatBeginning =
    R"({"__metadata__":{"format":"millrace-checkpoint-2","checksum":")";
inline constexpr std::size_t kChecksumDigits = 32;

/// XXH3-128 of the header and its length, with zeros for the checksum's own digits. `header` must
/// begin with kFormatBeginning.
std::string headerChecksum(std::string_view header);

}  // namespace millrace::checkpoint

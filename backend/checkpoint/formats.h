#pragma once
// How each version of the checkpoint file is read; for this room alone. `watch` null: the header
// only, the values and their checksums are not looked at.
#include <cstdint>
#include <string>
#include <string_view>

#include "backend/checkpoint/checkpoint_file.h"

namespace millrace::checkpoint {

/// Format 1 begins so; anything else is a later one or none.
inline constexpr std::string_view kFormat1Magic = "MLRCKPT\n";

Result<CheckpointContent> readFormat1(const FileBytes& file, const ReadWatch* watch);
Result<CheckpointContent> readFormat2(const FileBytes& file, const ReadWatch* watch);

/// All of the facts but the hash.
CheckpointFacts factsOf(const Json& meta, const FileBytes& file);

/// The header of format 2 begins so: its version can be read without anything of the rest, and the
/// checksum has a fixed place.
inline constexpr std::string_view kFormat2Stem =
    R"({"__metadata__":{"format":"millrace-checkpoint-)";
inline constexpr std::string_view kFormat2Beginning =
    R"({"__metadata__":{"format":"millrace-checkpoint-2","checksum":")";
inline constexpr std::size_t kChecksumDigits = 32;

/// XXH3-128 of the header and its length, with zeros for the checksum's own digits. `header` begins
/// with kFormat2Beginning.
std::string headerChecksum(std::string_view header);

/// Lines that were not acknowledged, where they are too many for a header: a tensor of UTF-8.
inline constexpr std::string_view kLinesTensor = "unacked";
/// Members of `meta` that stand as they are in the metadata; of the others it is their JSON.
bool isPlainText(std::string_view member);

}  // namespace millrace::checkpoint

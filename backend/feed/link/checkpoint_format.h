#pragma once
// Format constants and checksum that the C library's reader and writer of checkpoint files share.
// The format is that of backend/checkpoint, which this library cannot link
// (docs/formats/checkpoint.md).
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace millrace::ring {

inline constexpr std::string_view kCheckpointStem =
    R"({"__metadata__":{"format":"millrace-checkpoint-)";
inline constexpr std::string_view kCheckpointBeginning =
    R"({"__metadata__":{"format":"millrace-checkpoint-2","checksum":")";
/// The header's length precedes the header. In the header, the hex digits of its checksum follow
/// kCheckpointBeginning.
inline constexpr std::uint64_t kLengthBytes = 8, kChecksumDigits = 32, kHeaderMax = 100'000'000;
inline constexpr std::size_t kCheckpointPiece = std::size_t{1} << 20;  ///< bytes read at once
/// Names of byte tensors: a script's content, and lines that are too many for the header.
inline constexpr std::string_view kContent = "content", kLines = "unacked";

/// XXH3-128 of the added bytes, as 32 hex digits.
class CheckpointHash {
 public:
    CheckpointHash();
    CheckpointHash(const CheckpointHash&) = delete;
    CheckpointHash& operator=(const CheckpointHash&) = delete;
    ~CheckpointHash();
    void add(const void* data, std::size_t bytes);
    std::string hex() const;

 private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Checksum of the header with its length, computed with zeros as the checksum's own digits.
std::string headerChecksum(std::string_view header);

}  // namespace millrace::ring

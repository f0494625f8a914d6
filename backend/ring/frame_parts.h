#pragma once
// The payload of a ring entry of kind kParts: a frame as a list of parts, each a reference to rows
// of a frame that a data worker holds, or a whole frame inline. The relay that reads it joins them.
//
// Bytes, little-endian: u32 number of parts, u32 0, the records (96 bytes each), then the inline
// frames, each at a multiple of 64. Only a leading feed and its relays, which are of one build,
// exchange such entries. Threads: values. Failure: kDataLoss for bytes that are not such a payload.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/core/status.h"
#include "backend/frame/frame.h"
#include "backend/stream/frame_part.h"

namespace millrace::ring {

/// One of the two.
struct RingPart {
    stream::FramePart reference;         ///< worker 0: it is inline
    std::span<const std::byte> frame{};  ///< inline
    bool isInline() const { return reference.worker == 0; }
};

/// Bytes of the payload.
std::uint64_t partsBytes(std::span<const RingPart> parts);
/// `to`: at least partsBytes().
void writeParts(std::span<const RingPart> parts, std::span<std::byte> to);
/// The inline frames are in `payload`, which is aligned to 64 bytes.
Result<std::vector<RingPart>> readParts(std::span<const std::byte> payload);

/// Joins row ranges of frames into one frame, named after the first of them; returns its bytes.
/// `to`: at least the bytes of all frames together.
Result<std::uint64_t> joinFrames(const frame::FrameLayout& layout,
                                 std::span<const frame::RowRange> ranges, std::span<std::byte> to);

}  // namespace millrace::ring

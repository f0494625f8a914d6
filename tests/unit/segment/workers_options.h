#pragma once
// How many data workers a test has, and how they fail.
#include <cstdint>
#include <functional>
#include <optional>

#include "backend/frame/codec.h"
#include "backend/segment/sequence/remote_frames.h"

namespace millrace::segment {

using FetchSource = std::function<std::optional<CodedFrame>(const stream::FramePart&)>;

struct WorkersOptions {
    int workers = 2, threads = 1;
    std::uint64_t seed = 1;
    /// Probability at each event, in percent, that a worker loses all that it has and restarts.
    int lost = 0;
    /// Likewise: an order goes to a second worker; a segment is left to the stream's own threads;
    /// these may begin segments, or no longer; a byte of a frame changes.
    int again = 0, here = 0, toggled = 0, damaged = 0;
    bool computesHere = false;
    std::int64_t heldBytesMax = std::int64_t{1} << 30, poolBytes = 0;
    frame::CodecPlan codecs;
    /// Set by the workers: the frame of a reference, as a reader elsewhere fetches it. Null: none.
    FetchSource* fetched = nullptr;
};

}  // namespace millrace::segment

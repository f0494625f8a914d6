#include "backend/segment/sequence/local_frames.h"

namespace millrace::segment {

Result<std::uint64_t> LocalFrames::measure(const FrameRows& rows, FrameTools& tools) const {
    return tools.gatherer.measure(output_, rows.first, rows.rows);
}

Status LocalFrames::write(const FrameRows&, FrameTools& tools, std::span<std::byte> memory,
                          const frame::FrameId& id) const {
    return tools.gatherer.write(memory, id);
}

BatchMix LocalFrames::mix(const FrameRows&, FrameTools& tools) const {
    return tools.gatherer.mix();
}

FrameKeys LocalFrames::keys(const FrameRows&, FrameTools& tools) const {
    return {tools.gatherer.keys(&Chunk::requestKeys), tools.gatherer.keys(&Chunk::userKeys)};
}

Sum128 LocalFrames::rowIds(const FrameRows& rows, FrameTools& tools) const {
    return tools.gatherer.rowIdsHash(output_, rows.first, rows.rows);
}

}  // namespace millrace::segment

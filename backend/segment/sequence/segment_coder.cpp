#include "backend/segment/sequence/segment_coder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backend/stream/state/order_hash.h"

namespace millrace::segment {
namespace {

// A frame stays in the memory where it was coded unless more than 1/kWasteShare of it is unused.
constexpr std::int64_t kWasteShare = 4;

}  // namespace

SegmentCoder::SegmentCoder(const StreamShape& shape, BufferPool& pool, StageCounters& counters,
                           Options options)
    : shape_(shape),
      pool_(pool),
      counters_(counters),
      tools_(shape.layout, &counters),
      options_(std::move(options)),
      encoder_(options_.codecs) {}

Result<CodedSegment> SegmentCoder::code(const LocalFrames& segment,
                                        const stream::SegmentOrder& order) {
    CodedSegment coded;
    coded.facts.counts = segment.counts();
    const std::int64_t kept = segment.rowsHeld();
    const std::int64_t rows = shape_.microRows;
    const bool isTailOnly = order.lastRows > 0;
    const std::int64_t full = isTailOnly ? 0 : kept / rows;
    frame::FrameId id{order.name.epoch, static_cast<std::uint64_t>(order.name.segment), 0};
    for (std::int64_t f = 0; f < full; ++f, ++id.index) {
        FrameReport& facts = coded.facts.frames.emplace_back();
        RETURN_IF_ERROR(codeFrame(segment, {f, f * rows, rows}, id, facts, coded));
    }
    coded.facts.tailRows = isTailOnly ? std::min(order.lastRows, kept) : kept % rows;
    if (coded.facts.tailRows > 0) {
        id.index = 0;
        const FrameRows tail{FrameRows::kTail, kept - coded.facts.tailRows, coded.facts.tailRows};
        RETURN_IF_ERROR(codeFrame(segment, tail, id, coded.facts.tail, coded));
        FrameKeys keys = segment.keys(tail, tools_);
        coded.facts.tailRequestKeys = std::move(keys.requests);
        coded.facts.tailUserKeys = std::move(keys.users);
    }
    return coded;
}

// Without codecs, the frame is gathered straight into the memory where it stays.
Status SegmentCoder::codeFrame(const LocalFrames& segment, const FrameRows& rows,
                               const frame::FrameId& id, FrameReport& facts, CodedSegment& into) {
    StageTimer timer(counters_);
    ASSIGN_OR_RETURN(facts.bytes, segment.measure(rows, tools_));
    const auto bytes = static_cast<std::int64_t>(facts.bytes);
    if (options_.codecs.empty()) {
        ASSIGN_OR_RETURN(FrameArena::Room room,
                         roomFor(bytes + std::int64_t{frame::FrameEncoder::kPlainHead}));
        RETURN_IF_ERROR(
            gather(segment, rows, id, facts, room.bytes.subspan(frame::FrameEncoder::kPlainHead))
                .status());
        timer.stop(Stage::kCollate, rows.rows, bytes);
        frame::FrameEncoder::wrap(room.bytes, options_.arena == nullptr);
        facts.codedBytes = room.bytes.size();
        into.bytes += static_cast<std::int64_t>(room.bytes.size());
        into.frames.push_back({std::move(room.owner), room.bytes, std::move(room.place)});
        timer.stop(Stage::kSink, rows.rows, bytes);
        return okStatus();
    }
    if (scratch_.size() < bytes) {
        scratch_ = PooledBuffer();
        ASSIGN_OR_RETURN(scratch_, PooledBuffer::allocate(pool_, bytes));
    }
    ASSIGN_OR_RETURN(const frame::FrameView view,
                     gather(segment, rows, id, facts, scratch_.bytes().first(facts.bytes)));
    timer.stop(Stage::kCollate, rows.rows, bytes);
    std::size_t codedBytes = 0;
    ASSIGN_OR_RETURN(PooledBuffer buffer, encoded(view, codedBytes));
    facts.codedBytes = codedBytes;
    timer.stop(Stage::kSink, rows.rows, static_cast<std::int64_t>(codedBytes));
    auto owner = std::make_shared<const PooledBuffer>(std::move(buffer));
    into.bytes += owner->size();
    const std::span<const std::byte> held = owner->bytes().first(codedBytes);
    into.frames.push_back({std::move(owner), held, {}});
    return okStatus();
}

Result<frame::FrameView> SegmentCoder::gather(const LocalFrames& segment, const FrameRows& rows,
                                              const frame::FrameId& id, FrameReport& facts,
                                              std::span<std::byte> memory) {
    RETURN_IF_ERROR(segment.write(rows, tools_, memory, id));
    facts.setMix(segment.mix(rows, tools_));
    ASSIGN_OR_RETURN(frame::FrameView view,
                     frame::FrameView::open(memory, frame::CheckLevel::kDirectory));
    facts.rowIds = stream::rowIdsHash(view.rowFiles(), view.rowNumbers());
    if (options_.look) {
        options_.look(view);
    }
    return view;
}

Result<FrameArena::Room> SegmentCoder::roomFor(std::int64_t bytes) {
    if (options_.arena != nullptr) {
        return options_.arena->cut(bytes);
    }
    ASSIGN_OR_RETURN(PooledBuffer buffer, PooledBuffer::allocate(pool_, bytes));
    auto owner = std::make_shared<const PooledBuffer>(std::move(buffer));
    const std::span<std::byte> room = owner->bytes();
    return FrameArena::Room{std::move(owner), room, {}};
}

Result<PooledBuffer> SegmentCoder::encoded(const frame::FrameView& view, std::size_t& bytes) {
    ASSIGN_OR_RETURN(const std::size_t most, encoder_.mostBytes(view));
    ASSIGN_OR_RETURN(PooledBuffer room,
                     PooledBuffer::allocate(pool_, static_cast<std::int64_t>(most)));
    bytes = encoder_.encode(view, room.bytes());
    const auto used = static_cast<std::int64_t>(bytes);
    if (room.size() - used <= room.size() / kWasteShare) {
        return room;
    }
    ASSIGN_OR_RETURN(PooledBuffer exact, PooledBuffer::allocate(pool_, used));
    std::memcpy(exact.data(), room.data(), bytes);
    return exact;
}

}  // namespace millrace::segment

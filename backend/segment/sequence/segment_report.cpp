#include "backend/segment/sequence/segment_report.h"

#include <algorithm>

#include "backend/stream/state/segment_record.h"

namespace millrace::segment {
namespace {

// Bytes of one frame; far above any machine's memory.
constexpr std::uint64_t kMostFrameBytes = std::uint64_t{1} << 40;

bool isCount(std::int64_t count) {
    return count >= 0 && count <= stream::kMaxCount;
}

bool isStep(const recipe::StepCount& step) {
    return isCount(step.rowsIn) && isCount(step.rowsOut) &&
           std::ranges::all_of(step.reasons, isCount);
}

bool isVocabulary(const recipe::IdCount& count) {
    return isCount(count.ids) && isCount(count.unknown);
}

bool isGaps(const recipe::LabelGaps& gaps) {
    return isCount(gaps.nulls) && isCount(gaps.nans);
}

const char* wrongCounts(const RowCounts& counts, const StreamShape& shape) {
    if (!isCount(counts.rowsScanned) || !isCount(counts.rowsPruned) || !isCount(counts.rowsKept)) {
        return "impossible numbers of rows";
    }
    if (counts.steps.size() != shape.stepNames.size() ||
        !std::ranges::all_of(counts.steps, isStep)) {
        return "counts of other steps";
    }
    if (counts.vocabularies.size() != shape.vocabularies.size() ||
        !std::ranges::all_of(counts.vocabularies, isVocabulary)) {
        return "counts of other vocabularies";
    }
    if (counts.labels.size() != shape.heads.size() || !std::ranges::all_of(counts.labels, isGaps)) {
        return "counts of other labels";
    }
    return nullptr;
}

bool isFrame(const FrameReport& frame, std::int64_t rows) {
    return frame.bytes > 0 && frame.bytes <= kMostFrameBytes && frame.codedBytes > 0 &&
           frame.codedBytes <= kMostFrameBytes && frame.requests >= 0 && frame.requests <= rows &&
           frame.userRows >= 0 && frame.userRows <= rows;
}

const char* wrongFrames(const SegmentReport& facts, const stream::SegmentOrder& order,
                        std::int64_t microRows) {
    const std::int64_t kept = facts.counts.rowsKept;
    const bool isTailOnly = order.lastRows > 0;
    const std::int64_t tail = isTailOnly ? std::min(order.lastRows, kept) : kept % microRows;
    const std::int64_t full = isTailOnly ? 0 : kept / microRows;
    if (std::ssize(facts.frames) != full || facts.tailRows != tail) {
        return "frames of another number of rows";
    }
    const bool areFrames = std::ranges::all_of(
        facts.frames, [microRows](const FrameReport& frame) { return isFrame(frame, microRows); });
    if (!areFrames || (tail > 0 && !isFrame(facts.tail, tail))) {
        return "a frame of an impossible size";
    }
    for (const auto* keys : {&facts.tailRequestKeys, &facts.tailUserKeys}) {
        if (!keys->empty() && std::ssize(*keys) != tail) {
            return "keys of another number of rows";
        }
    }
    return nullptr;
}

}  // namespace

std::uint64_t SegmentReport::frameBytes() const {
    std::uint64_t bytes = tail.bytes;
    for (const FrameReport& frame : frames) {
        bytes += frame.bytes;
    }
    return bytes;
}

BatchMix FrameReport::mix(std::int64_t rows) const {
    BatchMix mix;
    if (requests == 0 && userRows == 0) {
        return mix;
    }
    mix.batches = 1;
    mix.rows = rows;
    mix.requests = mix.fewestRequests = requests;
    mix.userRows = userRows;
    mix.mostUserShare = static_cast<double>(userRows) / static_cast<double>(rows);
    return mix;
}

void FrameReport::setMix(const BatchMix& mix) {
    requests = mix.requests;
    userRows = mix.userRows;
}

Status checkFacts(const SegmentReport& facts, const stream::SegmentOrder& order,
                  const StreamShape& shape) {
    const char* wrong = wrongCounts(facts.counts, shape);
    if (wrong == nullptr) {
        wrong = wrongFrames(facts, order, shape.microRows);
    }
    return wrong == nullptr ? okStatus()
                            : dataLoss("segment ", order.name.segment, " of epoch ",
                                       order.name.epoch, ", computed elsewhere: ", wrong);
}

}  // namespace millrace::segment

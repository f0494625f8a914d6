#pragma once
// Random streams: the rows of their segments, how ranks share them, and the state that is expected
// at the end of each step.
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/feed/feed_progress.h"
#include "backend/stream/micro_batch_count.h"
#include "tests/unit/ring/feed_fixture.h"

namespace millrace::ring {

using stream::SegmentRecord;
using stream::StepMark;
using stream::StreamState;

/// One stream: kept rows of each segment, and how ranks share them.
struct Plan {
    std::int64_t microRows = 1, perStep = 1;
    int worldSize = 1;
    std::uint32_t epochs = 1;
    std::vector<std::int64_t> kept, partitionStart;
    std::int64_t headBatches = 0;  ///< of the first segment, given before its record
    stream::LastStep last = stream::LastStep::kKeep;
    std::set<int> joined;    ///< ranks
    std::set<int> fetching;  ///< ranks that take references

    static Plan random(std::mt19937_64& random) {
        const auto upTo = [&](std::uint64_t most) {
            return static_cast<std::int64_t>(random() % (most + 1));
        };
        Plan plan;
        plan.microRows = 1 + upTo(5);
        plan.worldSize = static_cast<int>(1 + upTo(15));
        plan.perStep = plan.worldSize * (1 + upTo(2));
        plan.epochs = static_cast<std::uint32_t>(1 + upTo(1));
        const std::uint64_t most = random() % 3 == 0 ? 5 : 60;
        const bool hasPartitions = random() % 4 == 0;
        for (std::int64_t s = upTo(7); s >= 0; --s) {
            const auto index = static_cast<std::int64_t>(plan.kept.size());
            plan.kept.push_back(random() % 3 == 0 ? 0 : upTo(most));
            const bool isStart = index == 0 || (hasPartitions && random() % 3 == 0);
            plan.partitionStart.push_back(isStart ? index : plan.partitionStart.back());
        }
        plan.headBatches = random() % 3 == 0 ? upTo(4) : 0;
        plan.last = random() % 2 == 0 ? stream::LastStep::kDrop : stream::LastStep::kKeep;
        const std::uint64_t joins = random() % 3;  // none, all, some
        for (int rank = 0; rank < plan.worldSize; ++rank) {
            if (joins == 1 || (joins == 2 && random() % 2 == 0)) {
                plan.joined.insert(rank);
            }
        }
        const std::uint64_t fetches = random() % 3;
        for (int rank = 0; rank < plan.worldSize; ++rank) {
            if (fetches == 1 || (fetches == 2 && random() % 2 == 0)) {
                plan.fetching.insert(rank);
            }
        }
        return plan;
    }
};

/// One call of the sequencer: a batch, a segment's record or the end of an epoch.
struct Piece {
    enum class Kind { kBatch, kSegment, kEpochEnd } kind = Kind::kBatch;
    std::uint32_t epoch = 0;
    std::int64_t number = 0;  ///< of the batch; the epoch's total
    std::int64_t rows = 0;
    SegmentRecord record;
};

inline SegmentRecord recordOf(const Plan& plan, std::uint32_t epoch,
                              const stream::SegmentShare& share) {
    const std::int64_t kept = plan.kept[static_cast<std::size_t>(share.segment)];
    SegmentRecord record{epoch,         share.segment,  share.first,
                         share.count(), share.tailRows, {1, kept + 3, 1, kept, {{kept + 2, kept}}}};
    record.sums.counts = {{"ids/x", kept + share.segment}};
    return record;
}

/// The sequence from a cursor to the end.
inline std::vector<Piece> sequenceOf(const Plan& plan, const stream::Cursor& from) {
    std::vector<Piece> pieces;
    stream::MicroBatchCount rest(plan.microRows, from);
    std::int64_t segment = from.segment;
    const bool hasHead = from.segment == 0 && from.offset == 0 && from.rest.empty();
    for (std::uint32_t epoch = from.epoch; epoch < plan.epochs; ++epoch) {
        for (; segment < static_cast<std::int64_t>(plan.kept.size()); ++segment) {
            const auto at = static_cast<std::size_t>(segment);
            const stream::SegmentShare share =
                rest.add(segment, plan.kept[at], plan.partitionStart[at]);
            const bool isFirst = hasHead && epoch == from.epoch && segment == 0;
            const std::int64_t head = isFirst ? std::min(plan.headBatches, share.full) : 0;
            const auto give = [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i) {
                    if (epoch > from.epoch || share.first + i >= from.next) {
                        pieces.push_back(
                            {Piece::Kind::kBatch, epoch, share.first + i, plan.microRows, {}});
                    }
                }
            };
            give(0, head);
            pieces.push_back({Piece::Kind::kSegment, epoch, 0, 0, recordOf(plan, epoch, share)});
            give(head, share.count());
        }
        if (const auto joined = rest.finish(segment);
            joined && (epoch > from.epoch || joined->number >= from.next)) {
            pieces.push_back({Piece::Kind::kBatch, epoch, joined->number, joined->rows, {}});
        }
        pieces.push_back({Piece::Kind::kEpochEnd, epoch, rest.next(), 0, {}});
        rest.startEpoch();
        segment = 0;
    }
    return pieces;
}

inline StreamState startState() {
    StreamState state;
    state.cursor = stream::Cursor::start(kStream, kPlan);
    return state;
}

/// The state at each step's end, counted from the whole sequence; and the steps' rows.
struct Expected {
    std::map<FeedProgress::Place, std::string> hashes;
    std::vector<std::int64_t> rows, batches;
    std::vector<bool> isLeftOut;
};
inline Expected expectedOf(const Plan& plan) {
    Expected expected;
    stream::OrderHash hash, ofStep;
    std::int64_t rows = 0, batches = 0, allRows = 0, leftOut = 0;
    const auto end = [&](std::uint32_t epoch, std::int64_t number) {
        const bool isPartial = rows < plan.perStep * plan.microRows;
        const bool isLeftOut = plan.last == stream::LastStep::kDrop && isPartial && rows > 0;
        (isLeftOut ? leftOut : allRows) += rows;
        if (!isLeftOut) {
            hash.add(ofStep);
        }
        ofStep = {};
        expected.isLeftOut.push_back(isLeftOut);
        expected.hashes[{epoch, number}] = strCat(hash.hex(), "/", allRows, "/", leftOut);
        expected.rows.push_back(std::exchange(rows, 0));
        expected.batches.push_back(std::exchange(batches, 0));
    };
    for (const Piece& p : sequenceOf(plan, startState().cursor)) {
        if (p.kind == Piece::Kind::kBatch) {
            if (p.number > 0 && p.number % plan.perStep == 0) {
                end(p.epoch, p.number);
            }
            const auto number = static_cast<std::uint64_t>(p.number);
            ofStep.add(stream::OrderHash(stream::batchHash(
                p.epoch, number, idsOf(p.epoch, number, static_cast<std::uint32_t>(p.rows)))));
            rows += p.rows;
            ++batches;
        } else if (p.kind == Piece::Kind::kEpochEnd) {
            end(p.epoch, p.number);
        }
    }
    return expected;
}

/// The batches from a place on, one line each.
inline std::vector<std::string> batchesFrom(const std::vector<Piece>& pieces, std::uint32_t epoch,
                                            std::int64_t number) {
    std::vector<std::string> lines;
    for (const Piece& p : pieces) {
        if (p.kind == Piece::Kind::kBatch &&
            std::tie(p.epoch, p.number) >= std::tie(epoch, number)) {
            lines.push_back(strCat(p.epoch, "/", p.number, ": ", p.rows));
        }
    }
    return lines;
}

}  // namespace millrace::ring

#include "backend/stream/micro_batch_count.h"

#include <utility>

#include "backend/core/status.h"

namespace millrace::stream {

MicroBatchCount::MicroBatchCount(std::int64_t microRows) : microRows_(microRows) {
    INVARIANT(microRows >= 1, "a micro-batch has a row");
}

MicroBatchCount::MicroBatchCount(std::int64_t microRows, const Cursor& cursor)
    : MicroBatchCount(microRows) {
    next_ = cursor.segmentFirst();
    for (const RestPart& part : cursor.rest) {
        pieces_.push_back({part.segment, Piece::kFromEnd, part.rows});
        rows_ += part.rows;
    }
    INVARIANT(rows_ < microRows_, "the cursor was checked");
}

SegmentShare MicroBatchCount::add(std::int64_t segment, std::int64_t rows,
                                  std::int64_t partitionStart) {
    INVARIANT(rows >= 0, "rows are counted");
    SegmentShare share;
    share.segment = segment;
    share.first = next_;
    if (isOfEarlier(partitionStart) && rows_ + rows >= microRows_) {
        share.lead = microRows_ - rows_;
        share.joined = JoinedBatch{next_++, segment, 0, microRows_, std::exchange(pieces_, {})};
        share.joined->pieces.push_back({segment, 0, share.lead});
        rows_ = 0;
    }
    share.full = (rows - share.lead) / microRows_;
    share.tailRows = (rows - share.lead) % microRows_;
    next_ += share.full;
    if (share.tailRows == 0) {
        return share;
    }
    Piece tail{segment, share.lead + share.full * microRows_, share.tailRows};
    if (rows_ + tail.rows < microRows_) {
        pieces_.push_back(tail);
        rows_ += tail.rows;
        return share;
    }
    // The rest was below a micro-batch, so only the end of this tail remains open.
    const std::int64_t taken = microRows_ - rows_;
    JoinedBatch joined{next_++, segment, share.full, microRows_, std::exchange(pieces_, {})};
    joined.pieces.push_back({segment, tail.from, taken});
    share.joined = std::move(joined);
    rows_ = tail.rows - taken;
    if (rows_ > 0) {
        pieces_.push_back({segment, tail.from + taken, rows_});
    }
    return share;
}

std::optional<JoinedBatch> MicroBatchCount::finish(std::int64_t numSegments) {
    if (rows_ == 0) {
        return std::nullopt;
    }
    return JoinedBatch{next_++, numSegments, 0, std::exchange(rows_, 0),
                       std::exchange(pieces_, {})};
}

void MicroBatchCount::startEpoch() {
    INVARIANT(rows_ == 0, "nothing crosses an epoch");
    next_ = 0;
}

std::vector<RestPart> MicroBatchCount::parts() const {
    std::vector<RestPart> parts;
    parts.reserve(pieces_.size());
    for (const Piece& piece : pieces_) {
        parts.push_back({piece.segment, piece.rows});
    }
    return parts;
}

}  // namespace millrace::stream

#include "backend/ring/feed_progress.h"

#include <algorithm>
#include <tuple>

namespace millrace::ring {
namespace {

using stream::SegmentRecord;
using stream::StreamState;

constexpr std::size_t kMaxKept = std::size_t{1} << 16;

}  // namespace

void FeedProgress::begin(StreamState start, std::int64_t microRows) {
    *this = FeedProgress();
    base_ = std::move(start);
    microRows_ = microRows;
    nextEpoch_ = base_.cursor.epoch;
    nextSegment_ = base_.cursor.segment;
    nextFirst_ = base_.cursor.segmentFirst();
    for (const auto& [name, value] : base_.sums.counts) {
        indexOf(name);
    }
}

/// The index of a name in names_; kMaxRecordCounts when there is no room for one more.
std::uint32_t FeedProgress::indexOf(const std::string& name) {
    const auto known = indices_.find(name);
    if (known != indices_.end() || names_.size() == stream::kMaxRecordCounts) {
        return known != indices_.end() ? known->second : stream::kMaxRecordCounts;
    }
    names_.push_back(name);
    return indices_.emplace(name, static_cast<std::uint32_t>(names_.size() - 1)).first->second;
}

bool FeedProgress::keepCounts(KeptRecord& kept) {
    for (const auto& [name, value] : kept.record.sums.counts) {
        kept.counts.emplace_back(indexOf(name), value);
        if (kept.counts.back().first == stream::kMaxRecordCounts) {
            return false;
        }
    }
    kept.record.sums.counts.clear();
    return true;
}

void FeedProgress::addSums(const KeptRecord& kept, stream::SegmentSums& sums) const {
    sums.add(kept.record.sums);
    for (const auto& [index, value] : kept.counts) {
        sums.addCount(names_[index], value);
    }
}

const char* FeedProgress::addRecord(SegmentRecord record) {
    const auto key = std::tie(record.epoch, record.segment);
    if (key < std::tie(nextEpoch_, nextSegment_)) {
        for (const auto& [known, counts] : records_) {
            if (std::tie(known.epoch, known.segment) == key) {
                const bool same = known.first == record.first && known.count == record.count &&
                                  known.tailRows == record.tailRows;
                return same ? nullptr : "a segment's record changed when it came again";
            }
        }
        return "the record of a segment that was done";
    }
    if (key != std::tie(nextEpoch_, nextSegment_) || record.first != nextFirst_ ||
        record.tailRows >= microRows_) {
        return "a segment's record does not follow the one before";
    }
    KeptRecord kept{std::move(record), {}};
    if (!keepCounts(kept)) {
        return "the segments' records have too many names of counts";
    }
    ++nextSegment_;
    nextFirst_ += kept.record.count;
    records_.push_back(std::move(kept));
    return nullptr;
}

const char* FeedProgress::endEpoch(std::uint32_t epoch, std::int64_t total) {
    if (const Ended* known = endedEpoch(epoch)) {
        return known->total == total ? nullptr : "an epoch's total changed when it came again";
    }
    if (epoch != nextEpoch_ || total < nextFirst_ || total > nextFirst_ + 1) {
        return "an epoch's total is not what its segments' records add up to";
    }
    ended_.push_back({epoch, total});
    expectEpoch(epoch + 1);
    return nullptr;
}

void FeedProgress::expectEpoch(std::uint32_t epoch) {
    nextEpoch_ = epoch;
    nextSegment_ = 0;
    nextFirst_ = 0;
}

void FeedProgress::addBatch(std::uint32_t epoch, std::int64_t number, const Sum128& hash,
                            std::int64_t rows) {
    batches_.push_back({epoch, number, hash, rows});
    if (batches_.size() > kMaxKept) {
        // Nobody asks for states: what lies far back can no longer be asked for.
        const Batch middle = batches_[kMaxKept / 2];
        StreamState ignored;
        advance(middle.epoch, middle.number, ignored);
    }
}

const FeedProgress::Ended* FeedProgress::endedEpoch(std::uint32_t epoch) const {
    for (const Ended& ended : ended_) {
        if (ended.epoch == epoch) {
            return &ended;
        }
    }
    return nullptr;
}

void FeedProgress::joinRest(std::vector<stream::RestPart>& rest, std::int64_t segment,
                            std::int64_t rows) const {
    if (rows == 0) {
        return;
    }
    std::int64_t total = rows;
    for (const stream::RestPart& part : rest) {
        total = std::min(total + part.rows, stream::kMaxCount);
    }
    if (total < microRows_) {
        rest.push_back({segment, rows});
        return;
    }
    rest.clear();
    if (total > microRows_) {
        rest.push_back({segment, total - microRows_});
    }
}

/// Moves `state`, within its epoch, over the records of segments that lie wholly before `next`. It
/// stops before empty segments, so that the cursor does not depend on how many records have
/// arrived: two runs that resume at one micro-batch write equal checkpoints.
void FeedProgress::walk(StreamState& state, std::int64_t next) const {
    stream::Cursor& at = state.cursor;
    std::int64_t first = at.segmentFirst();
    for (const KeptRecord& kept : records_) {
        const SegmentRecord& record = kept.record;
        if (record.epoch != at.epoch || record.segment != at.segment) {
            continue;
        }
        if (next <= first || next < first + record.count) {
            break;
        }
        first += record.count;
        ++at.segment;
        if ((record.sums.rowsKept - record.tailRows) % microRows_ != 0) {
            // Rows beside the tail that fill no whole micro-batch: the segment's first ones filled
            // up the rest of an earlier partition, which nothing else of the record says.
            at.rest.clear();
        }
        joinRest(at.rest, record.segment, record.tailRows);
        addSums(kept, state.sums);
    }
    at.next = next;
    at.offset = next - first;
}

const char* FeedProgress::stateAt(std::uint32_t epoch, std::int64_t next, StreamState& out) const {
    if (const Ended* ended = endedEpoch(epoch); ended != nullptr && ended->total == next &&
                                                base_.cursor.epoch == epoch + 1 &&
                                                base_.cursor.next == 0) {
        out = base_;
        return nullptr;
    }
    if (std::tie(epoch, next) < std::tie(base_.cursor.epoch, base_.cursor.next)) {
        return "a state before one that was given out, or too far back";
    }
    out = base_;
    stream::Cursor& at = out.cursor;
    while (at.epoch < epoch || (endedEpoch(epoch) != nullptr && at.epoch == epoch &&
                                next == endedEpoch(epoch)->total)) {
        const Ended* ended = endedEpoch(at.epoch);
        if (ended == nullptr) {
            return "a state beyond what was delivered";
        }
        for (const KeptRecord& kept : records_) {
            if (kept.record.epoch == at.epoch) {
                addSums(kept, out.sums);
            }
        }
        ++at.epoch;
        at.next = at.segment = at.offset = 0;
        at.rest.clear();
    }
    if (at.epoch == epoch) {
        if (const Ended* ended = endedEpoch(epoch); ended != nullptr && next > ended->total) {
            return "a state beyond the end of its epoch";
        }
        if (next != at.next) {
            walk(out, next);
        }
    }
    for (const Batch& batch : batches_) {
        if (std::tie(batch.epoch, batch.number) < std::tie(at.epoch, at.next)) {
            out.orderHash.add(stream::OrderHash(batch.hash));
            out.rowsDelivered = std::min(out.rowsDelivered + batch.rows, stream::kMaxCount);
        }
    }
    return nullptr;
}

void FeedProgress::forgetBefore(const StreamState& state) {
    base_ = state;
    while (!batches_.empty() && std::tie(batches_.front().epoch, batches_.front().number) <
                                    std::tie(base_.cursor.epoch, base_.cursor.next)) {
        batches_.pop_front();
    }
    const stream::Cursor& at = base_.cursor;
    while (!records_.empty() &&
           std::tie(records_.front().record.epoch, records_.front().record.segment) <
               std::tie(at.epoch, at.segment)) {
        records_.pop_front();
    }
    while (!ended_.empty() && ended_.front().epoch + 1 < at.epoch) {
        ended_.pop_front();
    }
}

const char* FeedProgress::advance(std::uint32_t epoch, std::int64_t next, StreamState& out) {
    if (const char* wrong = stateAt(epoch, next, out)) {
        return wrong;
    }
    forgetBefore(out);
    return nullptr;
}

StreamState FeedProgress::newest() const {
    StreamState state = base_;
    if (nextEpoch_ > base_.cursor.epoch &&
        (batches_.empty() || batches_.back().epoch < nextEpoch_)) {
        stateAt(nextEpoch_, 0, state);
    } else if (!batches_.empty()) {
        stateAt(batches_.back().epoch, batches_.back().number + 1, state);
    }
    return state;
}

}  // namespace millrace::ring

#include "backend/feed/feed_progress.h"

#include <algorithm>
#include <tuple>

namespace millrace::ring {
namespace {

using stream::SegmentRecord;
using stream::StepMark;
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
    wanted_ = basePlace();
    for (const auto& [name, value] : base_.sums.counts) {
        indexOf(name);
    }
}

/// The index of a name in names_; kMaxRecordCounts if there is no room for another name.
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
        for (const KeptRecord& kept : records_) {
            const SegmentRecord& known = kept.record;
            if (std::tie(known.epoch, known.segment) == key) {
                const bool same = known.first == record.first && known.count == record.count &&
                                  known.tailRows == record.tailRows;
                return same ? nullptr : "a segment's record changed when it came again";
            }
        }
        // A segment wholly before the last returned state: sent again if another rank has to go
        // back further.
        return key < std::tie(base_.cursor.epoch, base_.cursor.segment)
                   ? nullptr
                   : "the record of a segment that was done";
    }
    if (key != std::tie(nextEpoch_, nextSegment_) || record.first != nextFirst_ ||
        record.tailRows >= microRows_) {
        return "a segment's record does not follow the one before";
    }
    KeptRecord kept{std::move(record), {}, lastPlace()};
    if (!keepCounts(kept)) {
        return "the segments' records have too many names of counts";
    }
    ++nextSegment_;
    nextFirst_ += kept.record.count;
    records_.push_back(std::move(kept));
    return nullptr;
}

const char* FeedProgress::addBatch(Place place, const Sum128& hash, std::int64_t rows) {
    if (place.epoch != wanted_.epoch || place.number < wanted_.number) {
        return "a micro-batch came that does not follow the ones before";
    }
    wanted_.number = place.number + 1;
    ++open_.batches;
    open_.rows += rows;
    open_.hash += hash;
    return nullptr;
}

/// Position of a consumer that has taken everything before the mark.
FeedProgress::Place FeedProgress::placeOf(const StepMark& mark) {
    return mark.isLast ? Place{mark.epoch + 1, 0} : Place{mark.epoch, mark.number};
}

/// Returns null if `place` has none.
const StepMark* FeedProgress::markAt(Place place) const {
    const auto found =
        std::lower_bound(marks_.begin(), marks_.end(), place,
                         [](const StepMark& mark, Place wanted) { return placeOf(mark) < wanted; });
    return found != marks_.end() && placeOf(*found) == place ? &*found : nullptr;
}

const char* FeedProgress::checkMark(const StepMark& mark) const {
    const Place last = lastPlace();
    if (mark.epoch != last.epoch || mark.number < wanted_.number ||
        mark.number - mark.batches != last.number || (mark.batches == 0 && !mark.isLast) ||
        (mark.isLeftOut && !mark.isLast)) {
        return "a step's mark does not follow the one before";
    }
    if (mark.own != open_) {
        return "this rank's micro-batches of a step are not those that its mark tells of";
    }
    const bool isWhole =
        mark.epoch == nextEpoch_ && mark.number >= nextFirst_ && mark.number <= nextFirst_ + 1;
    return mark.isLast && !isWhole ? "an epoch's total is not what its segments' records add up to"
                                   : nullptr;
}

const char* FeedProgress::addMark(const StepMark& mark, bool& isNew) {
    isNew = false;
    if (placeOf(mark) <= lastPlace()) {
        const StepMark* known = markAt(placeOf(mark));
        return known == nullptr || known->isSameStep(mark)
                   ? nullptr
                   : "a step's mark changed when it came again";
    }
    if (const char* wrong = checkMark(mark)) {
        return wrong;
    }
    isNew = true;
    open_ = {};
    wanted_ = placeOf(mark);
    marks_.push_back(mark);
    if (mark.isLast) {
        ended_.push_back({mark.epoch, mark.number});
        nextEpoch_ = mark.epoch + 1;
        nextSegment_ = nextFirst_ = 0;
    }
    if (marks_.size() > kMaxKept) {
        // The caller takes no states: forgets old ones, which can then no longer be taken.
        StreamState ignored;
        return advance(placeOf(marks_[kMaxKept / 2]), ignored);
    }
    return nullptr;
}

const char* FeedProgress::endEpoch(std::uint32_t epoch, std::int64_t total) const {
    const Ended* known = endedEpoch(epoch);
    if (known == nullptr) {
        return epoch < base_.cursor.epoch ? nullptr : "an epoch ended before its last step";
    }
    return known->total == total ? nullptr : "an epoch's total is not the total that its mark told";
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

/// Moves `state`, within its epoch, over the records of segments that end before `next`. It stops
/// before empty segments, so that the cursor does not depend on how many records have arrived: two
/// runs that resume at one micro-batch write equal checkpoints.
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
            // Rows beside the tail that fill no whole micro-batch: the segment's first rows filled
            // up the rest of an earlier partition. Nothing else in the record shows that.
            at.rest.clear();
        }
        joinRest(at.rest, record.segment, record.tailRows);
        addSums(kept, state.sums);
    }
    at.next = next;
    at.offset = next - first;
}

/// Moves to the start of the next epoch: all records of this one have arrived.
void FeedProgress::endRecords(StreamState& state) const {
    stream::Cursor& at = state.cursor;
    for (const KeptRecord& kept : records_) {
        if (kept.record.epoch == at.epoch && kept.record.segment >= at.segment) {
            addSums(kept, state.sums);
        }
    }
    ++at.epoch;
    at.next = at.segment = at.offset = 0;
    at.rest.clear();
}

/// Sums the whole segment that the state is inside. Leaves out a record that arrived behind the
/// mark: it has that place in every ring, and the state must be the same text in every rank at any
/// time.
void FeedProgress::open(StreamState& state, Place mark) const {
    const stream::Cursor& at = state.cursor;
    state.opened = {};
    for (const KeptRecord& kept : records_) {
        if (at.offset > 0 && kept.record.epoch == at.epoch && kept.record.segment == at.segment &&
            kept.behind < mark) {
            addSums(kept, state.opened);
        }
    }
}

const char* FeedProgress::stateAt(Place place, StreamState& out) const {
    if (const Ended* ended = endedEpoch(place.epoch);
        ended != nullptr && ended->total == place.number) {
        place = {place.epoch + 1, 0};
    }
    if (place < basePlace()) {
        return "a state before one that was given out, or too far back";
    }
    out = base_;
    if (place == basePlace()) {
        return nullptr;
    }
    const StepMark* mark = markAt(place);
    if (mark == nullptr) {
        return "not at the end of a step that was read";
    }
    while (out.cursor.epoch < place.epoch) {
        endRecords(out);
    }
    if (out.cursor.next != place.number) {
        walk(out, place.number);
    }
    open(out, place);
    out.orderHash = mark->orderHash;
    out.rowsDelivered = mark->rowsDelivered;
    out.rowsLeftOut = mark->rowsLeftOut;
    return nullptr;
}

void FeedProgress::forgetBefore(const StreamState& state) {
    base_ = state;
    while (!marks_.empty() && placeOf(marks_.front()) <= basePlace()) {
        marks_.pop_front();
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

const char* FeedProgress::advance(Place place, StreamState& out) {
    if (const char* wrong = stateAt(place, out)) {
        return wrong;
    }
    forgetBefore(out);
    return nullptr;
}

StreamState FeedProgress::newest() const {
    StreamState state;
    static_cast<void>(stateAt(lastPlace(), state));  // there is a mark, or it is the base
    return state;
}

}  // namespace millrace::ring

#pragma once
// What a reader knows of its position: kept from records, batches and the marks of steps, given out
// as a state.
//
// The states are stream::StreamState's; how a cursor moves over segments is stream::OpenRest's rule
// seen from the other side: the writer knows which rows join, the reader only how many were left.
// A test holds the two together. There is a state at each mark, and it says the same in every rank:
// it comes from the records before the mark, which are the same in all rings, and from the mark.
// Threads: one owner. Failure: what does not follow is refused with a static sentence.
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backend/stream/state/step_mark.h"
#include "backend/stream/state/stream_state.h"

namespace millrace::ring {

class FeedProgress {
 public:
    /// A micro-batch's place; as an end, the first one behind it.
    struct Place {
        std::uint32_t epoch = 0;
        std::int64_t number = 0;
        auto operator<=>(const Place&) const = default;
    };

    /// `start` as at hello; microRows as the feed said.
    void begin(stream::StreamState start, std::int64_t microRows);

    /// Null, or what is wrong. What came before (after a reopen) must be the same.
    const char* addRecord(stream::SegmentRecord record);
    /// Of this rank's, in the order of their numbers; `hash`: stream::batchHash().
    const char* addBatch(Place place, const Sum128& hash, std::int64_t rows);
    /// `isNew`: it was not there before.
    const char* addMark(const stream::StepMark& mark, bool& isNew);
    const char* endEpoch(std::uint32_t epoch, std::int64_t total) const;
    /// The least place that a batch or mark to come may have.
    Place wanted() const { return wanted_; }

    /// The state at the mark at `next` of `epoch`, or at the place where this began. An epoch's
    /// total is the start of the next epoch. Null or what is wrong.
    const char* stateAt(Place place, stream::StreamState& out) const;
    /// As stateAt, and forgets what lies before.
    const char* advance(Place place, stream::StreamState& out);
    /// At the last mark: where a reopened feed may begin.
    stream::StreamState newest() const;
    const stream::StreamState& base() const { return base_; }

 private:
    /// A record with its counts aside, by their names' indices in names_.
    struct KeptRecord {
        stream::SegmentRecord record;
        std::vector<std::pair<std::uint32_t, std::int64_t>> counts;
        Place behind;  ///< where the last mark before it stands
    };
    struct Ended {
        std::uint32_t epoch;
        std::int64_t total;
    };
    std::uint32_t indexOf(const std::string& name);
    bool keepCounts(KeptRecord& kept);
    void addSums(const KeptRecord& kept, stream::SegmentSums& sums) const;
    const Ended* endedEpoch(std::uint32_t epoch) const;
    Place basePlace() const { return {base_.cursor.epoch, base_.cursor.next}; }
    static Place placeOf(const stream::StepMark& mark);
    const stream::StepMark* markAt(Place place) const;
    Place lastPlace() const { return marks_.empty() ? basePlace() : placeOf(marks_.back()); }
    const char* checkMark(const stream::StepMark& mark) const;
    void endRecords(stream::StreamState& at) const;
    void open(stream::StreamState& at, Place mark) const;
    void walk(stream::StreamState& at, std::int64_t next) const;
    void forgetBefore(const stream::StreamState& state);
    void joinRest(std::vector<stream::RestPart>& rest, std::int64_t segment,
                  std::int64_t rows) const;

    stream::StreamState base_;
    std::int64_t microRows_ = 1;
    std::deque<KeptRecord> records_;      ///< those not wholly before base_
    std::deque<stream::StepMark> marks_;  ///< those behind base_
    std::deque<Ended> ended_;             ///< from the epoch before base_'s on
    Place wanted_;
    stream::StepMark::Share open_;  ///< of this rank's batches behind the last mark
    /// Of all counts so far. Records are many: each name stands here once.
    std::vector<std::string> names_;
    std::map<std::string, std::uint32_t, std::less<>> indices_;  ///< in names_
    std::uint32_t nextEpoch_ = 0;                                ///< of the record that is to come
    std::int64_t nextSegment_ = 0, nextFirst_ = 0;
};

}  // namespace millrace::ring

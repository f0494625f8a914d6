#pragma once
// A reader's knowledge of its position: updated from records, batches and the marks of steps, and
// returned as a state.
//
// The states are stream::StreamState's. The cursor moves over segments by stream::MicroBatchCount's
// rule seen from the other side: the writer knows which rows are joined, the reader only how many
// were left over. A test checks that both agree. There is a state at each mark, and it is equal in
// every rank. It depends only on the mark and on the records before it, which are the same in all
// rings. Threads: one owner. Failure: an entry that does not follow is rejected with a static
// message.
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
    /// A micro-batch's position; as an end, the first one behind it.
    struct Place {
        std::uint32_t epoch = 0;
        std::int64_t number = 0;
        auto operator<=>(const Place&) const = default;
    };

    /// `start` as at hello; `microRows` as the feed answered.
    void begin(stream::StreamState start, std::int64_t microRows);

    /// Returns null or the error. A record that was seen before (after a reopen) must be equal.
    const char* addRecord(stream::SegmentRecord record);
    /// A batch of this rank, in the order of their numbers; `hash`: stream::batchHash().
    const char* addBatch(Place place, const Sum128& hash, std::int64_t rows);
    /// `isNew`: the mark was not known before.
    const char* addMark(const stream::StepMark& mark, bool& isNew);
    const char* endEpoch(std::uint32_t epoch, std::int64_t total) const;
    /// The lowest place that a future batch or mark may have.
    Place wanted() const { return wanted_; }

    /// The state at the mark at `next` of `epoch`, or at the place where this began. An epoch's
    /// total is the start of the next epoch. Returns null or the error.
    const char* stateAt(Place place, stream::StreamState& out) const;
    /// Like stateAt(), and forgets everything before that place.
    const char* advance(Place place, stream::StreamState& out);
    /// The state at the last mark: where a reopened feed may begin.
    stream::StreamState newest() const;
    const stream::StreamState& base() const { return base_; }

 private:
    /// A record with its counts kept separately, by their names' indices in names_.
    struct KeptRecord {
        stream::SegmentRecord record;
        std::vector<std::pair<std::uint32_t, std::int64_t>> counts;
        Place behind;  ///< place of the last mark before it
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
    /// Names of all counts so far. Records are many; each name is stored once.
    std::vector<std::string> names_;
    std::map<std::string, std::uint32_t, std::less<>> indices_;  ///< in names_
    std::uint32_t nextEpoch_ = 0;                                ///< of the next record
    std::int64_t nextSegment_ = 0, nextFirst_ = 0;
};

}  // namespace millrace::ring

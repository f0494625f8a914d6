#pragma once
// What a reader knows of its position: kept from records and deliveries, given out as a state.
//
// The states are stream::StreamState's; how a cursor moves over segments is stream::OpenRest's rule
// seen from the other side: the writer knows which rows join, the reader only how many were left.
// A test holds the two together. Threads: one owner. Failure: records that do not follow each other
// are refused with a static sentence.
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backend/stream/state/stream_state.h"

namespace millrace::ring {

class FeedProgress {
 public:
    /// `start` as at hello; microRows as the feed said.
    void begin(stream::StreamState start, std::int64_t microRows);

    /// Null, or what is wrong. A record that came before (after a reopen) must be the same.
    const char* addRecord(stream::SegmentRecord record);
    const char* endEpoch(std::uint32_t epoch, std::int64_t total);
    void addBatch(std::uint32_t epoch, std::int64_t number, const Sum128& hash, std::int64_t rows);

    /// The state of a consumer of everything below (epoch, next); null or what is wrong.
    const char* stateAt(std::uint32_t epoch, std::int64_t next, stream::StreamState& out) const;
    /// As stateAt, and forgets what lies before.
    const char* advance(std::uint32_t epoch, std::int64_t next, stream::StreamState& out);
    /// The furthest state that the records allow: where a reopened feed may begin.
    stream::StreamState newest() const;
    const stream::StreamState& base() const { return base_; }

 private:
    /// A record with its counts aside, by their names' indices in names_.
    struct KeptRecord {
        stream::SegmentRecord record;
        std::vector<std::pair<std::uint32_t, std::int64_t>> counts;
    };
    struct Batch {
        std::uint32_t epoch;
        std::int64_t number;
        Sum128 hash;
        std::int64_t rows;
    };
    struct Ended {
        std::uint32_t epoch;
        std::int64_t total;
    };
    void expectEpoch(std::uint32_t epoch);
    std::uint32_t indexOf(const std::string& name);
    bool keepCounts(KeptRecord& kept);
    void addSums(const KeptRecord& kept, stream::SegmentSums& sums) const;
    const Ended* endedEpoch(std::uint32_t epoch) const;
    void walk(stream::StreamState& at, std::int64_t next) const;
    void forgetBefore(const stream::StreamState& state);
    void joinRest(std::vector<stream::RestPart>& rest, std::int64_t segment,
                  std::int64_t rows) const;

    stream::StreamState base_;
    std::int64_t microRows_ = 1;
    std::deque<KeptRecord> records_;  ///< those not wholly before base_
    std::deque<Batch> batches_;       ///< those not before base_
    std::deque<Ended> ended_;         ///< from base_'s epoch on
    /// Of all counts so far. Records are many: each name stands here once.
    std::vector<std::string> names_;
    std::map<std::string, std::uint32_t, std::less<>> indices_;  ///< in names_
    std::uint32_t nextEpoch_ = 0;                                ///< of the record that is to come
    std::int64_t nextSegment_ = 0, nextFirst_ = 0;
};

}  // namespace millrace::ring

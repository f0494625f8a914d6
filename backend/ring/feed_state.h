#pragma once
// What a reader knows of its place: kept from records and deliveries, given out as text.
//
// The text is stream::StreamState's (docs/formats/cursor.md); this room may not use that one, as
// the C library has no dependencies; a test holds them together. Threads: one owner. Failure:
// records that do not follow each other are refused with a static sentence.
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::ring {

struct StateRest {
    std::uint64_t segment, rows;
    bool operator==(const StateRest&) const = default;
};

struct StateSums {
    std::uint64_t segments = 0, rowsScanned = 0, rowsPruned = 0, rowsKept = 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> steps;
    std::map<std::string, std::uint64_t> counts{};  ///< at most kMaxRecordCounts
    /// False: some of the segments were summed up by a program that knew no counts. There are none.
    bool hasCounts = true;
    void add(const StateSums& other);
};

struct FeedState {
    std::string streamHash, planHash;
    std::uint32_t epoch = 0;
    std::uint64_t next = 0, segment = 0, offset = 0;
    std::vector<StateRest> rest;
    std::uint64_t hashLow = 0, hashHigh = 0;
    std::uint64_t rowsDelivered = 0;
    StateSums sums;

    std::string toText() const;
    static bool fromText(std::string_view text, FeedState& out);
    void addHash(std::uint64_t low, std::uint64_t high);
    bool isSameCursor(const FeedState& other) const;
};

/// A segment's record as it came from the ring.
struct StateRecord {
    std::uint32_t epoch = 0;
    std::uint64_t segment = 0, first = 0, count = 0, tailRows = 0;
    StateSums sums;  ///< of this segment
};

class FeedProgress {
 public:
    /// `start` as at hello; microRows as the feed said.
    void begin(FeedState start, std::uint64_t microRows);

    /// Null, or what is wrong. A record that came before (after a reopen) must be the same.
    const char* addRecord(StateRecord record);
    const char* endEpoch(std::uint32_t epoch, std::uint64_t total);
    void addBatch(std::uint32_t epoch, std::uint64_t number, std::uint64_t hashLow,
                  std::uint64_t hashHigh, std::uint64_t rows);

    /// The state of a consumer of everything below (epoch, next); null or what is wrong.
    const char* stateAt(std::uint32_t epoch, std::uint64_t next, FeedState& out) const;
    /// As stateAt, and forgets what lies before.
    const char* advance(std::uint32_t epoch, std::uint64_t next, FeedState& out);
    /// The furthest state that the records allow: where a reopened feed may begin.
    FeedState newest() const;
    const FeedState& base() const { return base_; }

 private:
    /// Its counts by their names' places in names_: sums.counts is empty.
    struct KeptRecord : StateRecord {
        std::vector<std::pair<std::uint32_t, std::uint64_t>> counts;
    };
    struct Batch {
        std::uint32_t epoch;
        std::uint64_t number, hashLow, hashHigh, rows;
    };
    struct Ended {
        std::uint32_t epoch;
        std::uint64_t total;
    };
    void expectEpoch(std::uint32_t epoch);
    std::uint32_t placeOf(const std::string& name);
    bool keepCounts(KeptRecord& record);
    void addSums(const KeptRecord& record, StateSums& sums) const;
    const Ended* endedEpoch(std::uint32_t epoch) const;
    void walk(FeedState& at, std::uint64_t next) const;
    void forgetBefore(const FeedState& state);
    void joinRest(std::vector<StateRest>& rest, std::uint64_t segment, std::uint64_t rows) const;

    FeedState base_;
    std::uint64_t microRows_ = 1;
    std::deque<KeptRecord> records_;  ///< those not wholly before base_
    std::deque<Batch> batches_;       ///< those not before base_
    std::deque<Ended> ended_;         ///< from base_'s epoch on
    /// Of all counts so far. Records are many: each name stands here once.
    std::vector<std::string> names_;
    std::map<std::string, std::uint32_t, std::less<>> places_;  ///< in names_
    std::uint32_t nextEpoch_ = 0;                               ///< of the record that is to come
    std::uint64_t nextSegment_ = 0, nextFirst_ = 0;
};

}  // namespace millrace::ring

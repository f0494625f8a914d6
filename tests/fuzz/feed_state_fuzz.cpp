// libFuzzer target: what the C library reads from a ring and from a checkpoint: a segment record's
// bytes, and the text of a state. What was read is bounded, and writes itself as it was read.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "backend/ring/feed_state.h"
#include "backend/ring/record_limits.h"
#include "backend/ring/record_payload.h"

namespace {

using millrace::ring::FeedState;
using millrace::ring::StateRecord;
using millrace::ring::StateSums;

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

void checkSums(const StateSums& sums) {
    require(sums.steps.size() <= millrace::ring::kMaxRecordSteps);
    require(sums.counts.size() <= millrace::ring::kMaxRecordCounts);
    for (const auto& [name, value] : sums.counts) {
        require(!name.empty() && name.size() <= millrace::ring::kMaxCountNameBytes);
    }
}

void checkText(const FeedState& state) {
    FeedState again;
    require(FeedState::fromText(state.toText(), again));
    require(again.toText() == state.toText() && again.isSameCursor(state));
    require(again.sums.counts == state.sums.counts);
}

/// Counts that a text may hold: the sums of a stream stay below.
bool isOfATruth(const StateSums& sums) {
    constexpr std::uint64_t kMost = UINT64_MAX >> 2;
    return sums.rowsScanned <= kMost && sums.rowsPruned <= kMost && sums.rowsKept <= kMost &&
           std::all_of(
               sums.steps.begin(), sums.steps.end(),
               [](const auto& rows) { return rows.first <= kMost && rows.second <= kMost; }) &&
           std::all_of(sums.counts.begin(), sums.counts.end(),
                       [](const auto& count) { return count.second <= kMost; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    StateRecord record;
    if (millrace::ring::readSegmentPayload(data, size, record) == nullptr) {
        checkSums(record.sums);
        if (isOfATruth(record.sums)) {
            FeedState state;
            state.streamHash = state.planHash = std::string(32, 'a');
            state.sums = record.sums;
            checkText(state);
        }
    }
    FeedState state;
    if (FeedState::fromText({reinterpret_cast<const char*>(data), size}, state)) {
        checkSums(state.sums);
        checkText(state);
    }
    return 0;
}

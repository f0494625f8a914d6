#pragma once
// A producer for feeds whose readers may leave in the middle.
#include <gtest/gtest.h>

#include "tests/unit/ring/feed_fixture.h"

namespace millrace::ring {

/// Whether a feed may go on: a reader may leave at any time, any other failure fails the test.
inline bool isGiven(const Status& status) {
    EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kUnavailable) << status;
    return status.ok();
}

/// Gives one rank `total` micro-batches in steps of four, as one segment, and then the ends of the
/// epoch and of the stream.
inline Feed::Producer wholeEpoch(std::uint64_t total, std::uint64_t values = 16) {
    return [=](const FeedHello& hello, RingWriter& w, std::stop_token stop) {
        RingSink sink = sinkOf(w, 4, hello);
        for (std::uint64_t n = 0; n < total; ++n) {
            if (!isGiven(writeFrame(sink, n, stop, 8, values))) {
                return;
            }
        }
        stream::SegmentRecord record;
        record.count = static_cast<std::int64_t>(total);
        record.sums.rowsScanned = record.sums.rowsKept = record.count * 8;
        if (isGiven(sink.segment(record, stop)) &&
            isGiven(sink.endOfEpoch(0, record.count, stop))) {
            isGiven(sink.endOfStream(stop));
        }
    };
}

}  // namespace millrace::ring

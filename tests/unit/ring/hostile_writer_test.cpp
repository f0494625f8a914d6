// A malicious writer: whatever the ring contains, the library reads it or reports what is wrong.
#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/ring/whole_epoch.h"

namespace millrace::ring {
namespace {

class Ill {
 public:
    Ill(std::uint64_t seed, RingWriter& ring, std::stop_token stop)
        : random_(seed), ring_(ring), stop_(std::move(stop)) {}

    /// Writes one mostly valid entry; returns false if the reader is gone.
    bool write() {
        switch (random_() % 6) {
            case 0:
                return isGiven(ring_.columns(damaged(makeFrame(0, 0, few(), 0)), stop_));
            case 1:
                return mark();
            default:
                return frame();
        }
    }

 private:
    std::uint32_t few() { return static_cast<std::uint32_t>(random_() % 20); }
    std::int64_t number() {
        return static_cast<std::int64_t>(random_() % 8 == 0 ? random_() / 2 : random_() % 4);
    }
    std::span<const std::byte> damaged(frame::FrameBuffer frame) {
        frame_ = std::move(frame);
        const std::size_t directory = sizeof(frame::FrameHeader) + 5 * sizeof(frame::ColumnEntry);
        for (std::uint64_t k = random_() % 8 / 6; k > 0; --k) {
            frame_.bytes()[random_() % directory] = static_cast<std::byte>(random_());
        }
        return random_() % 16 == 0 ? frame_.bytes().first(random_() % frame_.size())
                                   : frame_.bytes();
    }
    bool frame() {
        const std::span<const std::byte> bytes = damaged(makeFrame(0, 0, few() + 1, few()));
        const Result<FrameSlot> slot = ring_.reserve(bytes.size(), 0, 0, stop_);
        if (!isGiven(slot.status())) {
            return false;
        }
        std::copy(bytes.begin(), bytes.end(), slot->bytes.begin());
        const bool isAlone = random_() % 4 != 0;
        const FrameNumbers of{few() == 0 ? 1U : 0U, next_, number(), isAlone ? 1 : number()};
        next_ = random_() % 8 == 0 ? number() : next_ + 1;
        return isGiven(ring_.commitJoined(*slot, of, bytes.size()));
    }
    bool mark() {
        const Result<FrameSlot> slot = ring_.reserveStep(stop_);
        if (!isGiven(slot.status())) {
            return false;
        }
        stream::StepMark mark;
        mark.number = mark.batches = next_;
        mark.rows = number();
        mark.own.batches = number();
        mark.isLast = random_() % 4 == 0;
        mark.isLeftOut = random_() % 4 == 0;
        return isGiven(ring_.commitStep(*slot, mark));
    }

    std::mt19937_64 random_;
    RingWriter& ring_;
    const std::stop_token stop_;
    frame::FrameBuffer frame_;
    std::int64_t next_ = 0;
};

TEST(HostileWriter, WhatStandsInTheRingIsReadOrRefused) {
    int refused = 0, batches = 0;
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    std::atomic<std::uint64_t> seed{0};
    Feed feed(serverOptions(path), [&](const FeedHello&, RingWriter& w, std::stop_token stop) {
        Ill ill(seed, w, stop);
        for (int i = 0; i < 12 && ill.write(); ++i) {
        }
        isGiven(w.endOfStream(stop));
    });
    for (; seed < 1'000; ++seed) {
        Reader reader;
        ASSERT_EQ(reader.open(path), 0) << reader.error;
        std::size_t count = 0;
        static_cast<void>(millrace_feed_schema(reader.feed(), nullptr, 0, &count));
        int result = 0;
        while ((result = reader.nextEvent()) >= 0 && result != MILLRACE_FEED_END_OF_STREAM) {
            if (result == MILLRACE_FEED_BATCH) {
                ++batches;
                std::vector<millrace_column> columns(8);
                columns[0].struct_size = sizeof columns[0];
                EXPECT_EQ(millrace_batch_all_columns(reader.event.batch, columns.data(), 8, &count),
                          0);
                millrace_batch_release(reader.event.batch);
            }
        }
        refused += result == MILLRACE_FEED_CORRUPT ? 1 : 0;
        EXPECT_TRUE(result == MILLRACE_FEED_CORRUPT || result == MILLRACE_FEED_END_OF_STREAM)
            << result << ": " << reader.error << ", seed " << seed;
        EXPECT_FALSE(result == MILLRACE_FEED_CORRUPT && reader.error.empty());
    }
    EXPECT_GT(refused, 500);
    EXPECT_GT(batches, 500);
}

}  // namespace
}  // namespace millrace::ring

// A reader whose connection is closed connects again from its own thread, whatever its caller does.
#include <atomic>
#include <chrono>
#include <future>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "backend/core/mutex.h"
#include "tests/support/poll.h"
#include "tests/unit/ring/whole_epoch.h"

namespace millrace::ring {
namespace {

constexpr std::uint64_t kWhole = 60;
constexpr std::int64_t kStepBatches = 4;

FeedServerOptions roomyOptions(const std::string& path) {
    FeedServerOptions options = serverOptions(path);
    options.ring.ringBytes = 1 << 20;
    return options;
}

/// A feed of one rank whose ring has the whole stream. The test makes it close connections; it
/// counts hellos.
class HangingUp {
 public:
    explicit HangingUp(const std::string& path)
        : feed_(roomyOptions(path), [this](const FeedHello& hello, RingWriter& writer,
                                           std::stop_token stop) { serve(hello, writer, stop); }) {}

    void hangUp() {
        MutexLock lock(mutex_);
        writer_->hangUp();
        writer_ = nullptr;
    }
    /// The hello with that number, counted from 1.
    FeedHello await(std::size_t number) {
        EXPECT_TRUE(test::eventually([&] { return count() >= number; })) << count() << " hellos";
        MutexLock lock(mutex_);
        return hellos_.size() >= number ? hellos_[number - 1] : FeedHello{};
    }
    std::size_t count() {
        MutexLock lock(mutex_);
        return hellos_.size();
    }

 private:
    void serve(const FeedHello& hello, RingWriter& writer, const std::stop_token& stop) {
        RingSink sink = sinkOf(writer, kStepBatches, hello);
        const std::int64_t from = hello.state ? hello.state->cursor.next : 0;
        for (auto n = static_cast<std::uint64_t>(from); n < kWhole; ++n) {
            const auto number = static_cast<std::int64_t>(n);
            const Status given = sink.wants(0, number)
                                     ? writeFrame(sink, n, stop)
                                     : sink.leftOut(0, number, 8, idsOf(0, n, 8), stop);
            if (!isGiven(given)) {
                return;
            }
        }
        stream::SegmentRecord record;
        record.count = kWhole;
        record.sums.rowsScanned = record.sums.rowsKept = record.count * 8;
        if (isGiven(sink.segment(record, stop)) &&
            isGiven(sink.endOfEpoch(0, record.count, stop))) {
            isGiven(sink.endOfStream(stop));
        }
        MutexLock lock(mutex_);
        writer_ = &writer;
        hellos_.push_back(hello);
        said_.notifyAll();
        while (writer_ == &writer && !stop.stop_requested()) {
            said_.waitFor(mutex_, std::chrono::milliseconds(20));
        }
    }

    Mutex mutex_;
    CondVar said_;
    RingWriter* writer_ MR_GUARDED_BY(mutex_) = nullptr;
    std::vector<FeedHello> hellos_ MR_GUARDED_BY(mutex_);
    Feed feed_;
};

/// The next event; the reader may look before its thread has the feed's answer.
int nextOf(Reader& reader) {
    int result = reader.next();
    while (result == MILLRACE_FEED_LOST && millrace_feed_reopen(reader.feed(), 20'000) == 0) {
        result = reader.next();
    }
    return result;
}

void readTo(Reader& reader, std::uint64_t& n, std::uint64_t end) {
    for (; n < end; ++n) {
        ASSERT_EQ(nextOf(reader), MILLRACE_FEED_BATCH) << n << ": " << reader.error;
        ASSERT_TRUE(isFrame(reader.event.batch, n)) << n;
        millrace_batch_release(reader.event.batch);
    }
}

TEST(ComeAgain, ARankThatIsHungUpOnComesAgainWhileItsRingHoldsTheRestOfTheStream) {
    tests::TempDir folder;
    HangingUp feed(folder / "feed.sock");
    std::string undisturbed;
    {
        Reader reader;
        ASSERT_EQ(reader.open(folder / "feed.sock"), 0) << reader.error;
        std::uint64_t n = 0;
        readTo(reader, n, kWhole);
        ASSERT_EQ(reader.next(), MILLRACE_FEED_END_OF_EPOCH);
        undisturbed = reader.state(0, kWhole);
    }
    Reader reader;
    ASSERT_EQ(reader.open(folder / "feed.sock"), 0) << reader.error;
    std::uint64_t n = 0;
    std::size_t hellos = 2;
    for (const std::uint64_t place : {5U, 6U, 20U, 31U}) {
        readTo(reader, n, place);
        feed.await(hellos);
        feed.hangUp();
        // The caller asks for nothing meanwhile, as during an all-reduce.
        const FeedHello hello = feed.await(++hellos);
        ASSERT_TRUE(hello.next.has_value());
        EXPECT_EQ(hello.next->number, static_cast<std::int64_t>(place));
    }
    readTo(reader, n, kWhole);
    EXPECT_EQ(nextOf(reader), MILLRACE_FEED_END_OF_EPOCH) << reader.error;
    EXPECT_EQ(reader.steps, static_cast<int>(kWhole) / kStepBatches);
    EXPECT_EQ(reader.state(0, kWhole), undisturbed);
    EXPECT_EQ(reader.next(), MILLRACE_FEED_END_OF_STREAM);
}

TEST(ComeAgain, AConnectionThatIsLostBeforeItsReaderLooksIsMadeAgain) {
    tests::TempDir folder;
    HangingUp feed(folder / "feed.sock");
    Reader reader;
    ASSERT_EQ(reader.open(folder / "feed.sock"), 0) << reader.error;
    std::uint64_t n = 0;
    readTo(reader, n, 9);
    for (std::size_t hellos = 1; hellos < 4; ++hellos) {
        feed.await(hellos);
        feed.hangUp();
    }
    feed.await(4);
    readTo(reader, n, kWhole);
    EXPECT_EQ(nextOf(reader), MILLRACE_FEED_END_OF_EPOCH) << reader.error;
}

// The link's thread reports the position while the reader's thread moves it.
TEST(ComeAgain, HangingUpAtAnyMomentCostsNoBatch) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 40; ++round) {
        tests::TempDir folder;
        HangingUp feed(folder / "feed.sock");
        std::jthread hand([&feed, seed = random()](const std::stop_token& stop) {
            std::mt19937_64 chance(seed);
            for (std::size_t served = 0; !stop.stop_requested();) {
                if (const std::size_t now = feed.count(); now > served) {
                    served = now;
                    for (std::uint64_t spins = chance() % 20'000; spins > 0; --spins) {
                        std::atomic_signal_fence(std::memory_order_seq_cst);
                    }
                    feed.hangUp();
                }
                std::this_thread::yield();
            }
        });
        Reader reader;
        ASSERT_EQ(reader.open(folder / "feed.sock"), 0) << reader.error;
        std::uint64_t n = 0;
        readTo(reader, n, kWhole);
        EXPECT_EQ(nextOf(reader), MILLRACE_FEED_END_OF_EPOCH) << reader.error;
    }
}

TEST(ComeAgain, AReaderThatALaterOneReplacedLeavesTheFeedToIt) {
    tests::TempDir folder;
    HangingUp feed(folder / "feed.sock");
    Reader first, second;
    ASSERT_EQ(first.open(folder / "feed.sock"), 0) << first.error;
    std::uint64_t n = 0, m = 0;
    readTo(first, n, 3);
    feed.await(1);
    ASSERT_EQ(second.open(folder / "feed.sock"), 0) << second.error;
    readTo(first, n, kWhole);  // it has what was in its ring
    readTo(second, m, kWhole);
    EXPECT_EQ(nextOf(second), MILLRACE_FEED_END_OF_EPOCH) << second.error;
    feed.await(2);
    EXPECT_EQ(feed.count(), 2U);
}

// Another rank may be at its end and would not connect to the next feed.
TEST(ComeAgain, ARingThatHoldsTheRestOfTheStreamIsReadToItsEndWhenTheFeedDies) {
    tests::TempDir folder;
    Reader reader;
    {
        HangingUp feed(folder / "feed.sock");
        ASSERT_EQ(reader.open(folder / "feed.sock"), 0) << reader.error;
        feed.await(1);
    }
    HangingUp next(folder / "feed.sock");
    std::uint64_t n = 0;
    readTo(reader, n, kWhole);
    EXPECT_EQ(reader.next(), MILLRACE_FEED_END_OF_EPOCH) << reader.error;
    EXPECT_EQ(reader.next(), MILLRACE_FEED_END_OF_STREAM) << reader.error;
    EXPECT_EQ(next.count(), 0U);
}

TEST(ComeAgain, ClosingAReaderEndsItsTriesForAFeedThatIsGone) {
    tests::TempDir folder;
    auto reader = std::make_unique<Reader>();
    {
        Feed feed(roomyOptions(folder / "feed.sock"),
                  [](const FeedHello& hello, RingWriter& writer, std::stop_token stop) {
                      RingSink sink = sinkOf(writer, kStepBatches, hello);
                      for (std::uint64_t n = 0; n < 8; ++n) {
                          ASSERT_TRUE(writeFrame(sink, n, stop).ok());
                      }
                  });
        ASSERT_EQ(reader->open(folder / "feed.sock"), 0) << reader->error;
        std::uint64_t n = 0;
        readTo(*reader, n, 3);
    }
    std::uint64_t n = 3;
    readTo(*reader, n, 8);  // the batches of its ring, because nobody was told its position
    auto closed = std::async(std::launch::async, [&] { reader.reset(); });
    EXPECT_EQ(closed.wait_for(std::chrono::seconds(10)), std::future_status::ready);
}

}  // namespace
}  // namespace millrace::ring

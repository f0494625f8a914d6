// Batches that are kept: they never change, a ring that is full of them is replaced as long as
// there is memory, and code that pins rings is told of each ring before it is unmapped.
#include <algorithm>
#include <future>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "backend/core/mutex.h"
#include "backend/feed/ring_layout.h"
#include "tests/unit/ring/whole_epoch.h"

namespace millrace::ring {
namespace {

FeedServerOptions hastyOptions(const std::string& path) {
    FeedServerOptions options = serverOptions(path);
    options.ring.heldReplace = std::chrono::milliseconds(5);
    return options;
}

TEST(KeptBatches, SlicesOfTwoHundredReleasedInAnyOrderReadTheirOwnRows) {
    constexpr std::uint64_t kTotal = 200, kValues = 1400;  // about four to a ring of 64 KiB
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        std::mt19937_64 random(seed);
        tests::TempDir folder;
        FeedServerOptions options = hastyOptions(folder / "feed.sock");
        MemoryBudget budget(64 << 20);
        options.ring.budget = &budget;
        Feed feed(options, wholeEpoch(kTotal, kValues));
        Reader reader;
        ASSERT_EQ(reader.open(options.socketPath), 0) << reader.error;
        std::map<std::uint64_t, millrace_batch*> kept;
        const auto releaseOne = [&] {
            auto it = kept.begin();
            std::advance(it, random() % kept.size());
            EXPECT_TRUE(isFrame(it->second, it->first)) << it->first;
            millrace_batch_release(it->second);
            kept.erase(it);
        };
        std::uint64_t got = 0;
        int notices = 0, result = 0;
        while ((result = reader.next()) == MILLRACE_FEED_BATCH || result == MILLRACE_FEED_NOTICE) {
            if (result == MILLRACE_FEED_NOTICE) {
                ++notices;
                EXPECT_EQ(reader.event.batch, nullptr);
                EXPECT_NE(reader.error.find("rank 0 keeps "), std::string::npos) << reader.error;
                continue;
            }
            kept[reader.event.number] = reader.event.batch;
            ++got;
            while (!kept.empty() && random() % 4 != 0) {
                releaseOne();
            }
        }
        EXPECT_EQ(result, MILLRACE_FEED_END_OF_EPOCH) << reader.error;
        EXPECT_EQ(got, kTotal);
        while (!kept.empty()) {
            releaseOne();
        }
    }
}

TEST(KeptBatches, OneThatIsKeptForEverDoesNotStopTheStream) {
    constexpr std::uint64_t kTotal = 2'000;
    tests::TempDir folder;
    FeedServerOptions options = hastyOptions(folder / "feed.sock");
    MemoryBudget budget(64 << 20);
    options.ring.budget = &budget;
    Feed feed(options, wholeEpoch(kTotal));
    Reader reader;
    ASSERT_EQ(reader.open(options.socketPath), 0) << reader.error;
    ASSERT_EQ(reader.next(), MILLRACE_FEED_BATCH) << reader.error;
    millrace_batch* const first = reader.event.batch;
    std::vector<std::string> notices;
    std::uint64_t got = 1;
    int result = 0;
    while ((result = reader.next()) == MILLRACE_FEED_BATCH || result == MILLRACE_FEED_NOTICE) {
        if (result == MILLRACE_FEED_NOTICE) {
            notices.push_back(reader.error);
        } else {
            ++got;
            millrace_batch_release(reader.event.batch);
        }
    }
    EXPECT_EQ(result, MILLRACE_FEED_END_OF_EPOCH) << reader.error;
    EXPECT_EQ(got, kTotal);
    ASSERT_EQ(notices.size(), 1U) << "the new ring has nobody's batches in it";
    EXPECT_EQ(notices[0],
              "rank 0 keeps 1 batch and so the memory behind; the feed goes on in another ring of "
              "1 MB, as far as its memory limit allows: release batches, or copy what is to be "
              "kept");
    EXPECT_TRUE(isFrame(first, 0));
    millrace_batch_release(first);
}

/// All entries of the ring but one hold something small behind a batch that is kept.
TEST(KeptBatches, ARingThatIsOutOfEntriesIsReplacedAsWell) {
    constexpr std::uint64_t kTotal = 2 * kNumEntries;
    tests::TempDir folder;
    FeedServerOptions options = hastyOptions(folder / "feed.sock");
    options.ring.ringBytes = 16 << 20;
    Feed feed(options, wholeEpoch(kTotal, 0));
    Reader reader;
    ASSERT_EQ(reader.open(options.socketPath), 0) << reader.error;
    ASSERT_EQ(reader.next(), MILLRACE_FEED_BATCH) << reader.error;
    millrace_batch* const first = reader.event.batch;
    std::uint64_t got = 1;
    int result = 0, notices = 0;
    while ((result = reader.next()) == MILLRACE_FEED_BATCH || result == MILLRACE_FEED_NOTICE) {
        if (result == MILLRACE_FEED_BATCH) {
            ++got;
            millrace_batch_release(reader.event.batch);
        } else {
            ++notices;
        }
    }
    EXPECT_EQ(result, MILLRACE_FEED_END_OF_EPOCH) << reader.error;
    EXPECT_EQ(got, kTotal);
    EXPECT_EQ(notices, 1);
    EXPECT_TRUE(isFrame(first, 0));
    millrace_batch_release(first);
}

TEST(KeptBatches, WithoutMemoryForAnotherRingTheStreamEndsWithASentence) {
    tests::TempDir folder;
    FeedServerOptions options = hastyOptions(folder / "feed.sock");
    MemoryBudget budget(kDataOffset + (64 << 10) + 4096);
    options.ring.budget = &budget;
    options.ring.heldWarning = std::chrono::milliseconds(20);
    options.ring.heldError = std::chrono::milliseconds(60);
    options.ring.warn = [](std::string_view) {};
    std::promise<Status> ended;
    Feed feed(options, [&](const FeedHello&, RingWriter& w, std::stop_token stop) {
        Status status;
        for (std::uint64_t n = 0; status.ok(); ++n) {
            status = writeFrame(w, n, stop);
        }
        ended.set_value(status);
    });
    Reader reader;
    ASSERT_EQ(reader.open(options.socketPath), 0) << reader.error;
    std::vector<millrace_batch*> kept;
    while (reader.next(500) == MILLRACE_FEED_BATCH) {
        kept.push_back(reader.event.batch);
    }
    const Status status = ended.get_future().get();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    for (millrace_batch* batch : kept) {
        millrace_batch_release(batch);
    }
}

/// Records notices about rings: which are mapped now, and that no notice comes twice.
struct Pins {
    Mutex mutex;
    std::map<void*, std::uint64_t> mapped;
    int wrong = 0, told = 0;
    millrace_batch* toRelease = nullptr;  ///< by the callback, when something is unmapped

    static void callback(void* context, void* address, std::uint64_t bytes, std::int32_t isMapped) {
        auto& pins = *static_cast<Pins*>(context);
        {
            MutexLock lock(pins.mutex);
            ++pins.told;
            if (isMapped != 0) {
                pins.wrong += pins.mapped.emplace(address, bytes).second ? 0 : 1;
            } else {
                const auto found = pins.mapped.find(address);
                pins.wrong += found != pins.mapped.end() && found->second == bytes ? 0 : 1;
                pins.mapped.erase(address);
            }
            // It is readable in both.
            pins.wrong += *static_cast<std::uint32_t*>(address) == kRingMagic ? 0 : 1;
        }
        if (isMapped == 0) {
            millrace_batch_release(std::exchange(pins.toRelease, nullptr));
        }
    }
    bool covers(const void* at) {
        MutexLock lock(mutex);
        return std::any_of(mapped.begin(), mapped.end(), [&](const auto& ring) {
            const auto* from = static_cast<const char*>(ring.first);
            return at >= from && at < from + ring.second;
        });
    }
    std::size_t size() {
        MutexLock lock(mutex);
        return mapped.size();
    }
};

TEST(KeptBatches, RingsAreToldOfBeforeTheyAreUsedAndBeforeTheyAreUnmapped) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    Feed feed(serverOptions(path), [](const FeedHello&, RingWriter& w, std::stop_token stop) {
        for (std::uint64_t n = 0; n < 12; ++n) {
            ASSERT_TRUE(writeFrame(w, n, stop, 8, 16ULL << n).ok());
        }
    });
    Pins pins, others;
    std::vector<millrace_batch*> kept;
    {
        Reader reader;
        ASSERT_EQ(reader.open(path), 0) << reader.error;
        ASSERT_EQ(millrace_feed_on_ring(reader.feed(), &Pins::callback, &pins), 0);
        EXPECT_EQ(pins.size(), 1U) << "of those that are, at once";
        for (std::uint64_t n = 0; n < 12; ++n) {
            ASSERT_EQ(reader.next(), MILLRACE_FEED_BATCH) << reader.error;
            millrace_column id{};
            id.struct_size = sizeof id;
            ASSERT_EQ(millrace_batch_column(reader.event.batch, 2, &id), 0);
            EXPECT_TRUE(pins.covers(id.data));
            if (n == 0 || n == 9) {
                kept.push_back(reader.event.batch);
            } else {
                millrace_batch_release(reader.event.batch);
            }
        }
        EXPECT_GE(pins.size(), 2U);
        ASSERT_EQ(millrace_feed_on_ring(reader.feed(), &Pins::callback, &others), 0);
        EXPECT_EQ(pins.size(), 0U) << "the one before hears that it is over";
        EXPECT_GE(others.size(), 2U);
        EXPECT_TRUE(isFrame(kept[0], 0));
    }
    // The feed is closed; a kept batch still causes a notice when it is released, on the thread
    // that releases it.
    const int before = others.told;
    others.toRelease = kept[1];
    std::jthread([&] { millrace_batch_release(kept[0]); }).join();
    EXPECT_EQ(others.size(), 0U);
    EXPECT_EQ(others.told, before + 2) << "one batch was let go within the callback";
    EXPECT_EQ(pins.wrong + others.wrong, 0);
}

}  // namespace
}  // namespace millrace::ring

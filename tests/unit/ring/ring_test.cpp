#include <atomic>
#include <cstring>
#include <functional>
#include <future>
#include <thread>

#include <sys/eventfd.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include "backend/core/mutex.h"
#include "backend/system/unix_socket.h"
#include "tests/support/poll.h"
#include "tests/unit/ring/whole_epoch.h"

namespace millrace::ring {
namespace {

/// Writes one segment with all batches, then the end of the epoch.
Status endEpoch(FrameSink& sink, std::uint64_t total, std::stop_token stop) {
    stream::SegmentRecord record;
    record.count = static_cast<std::int64_t>(total);
    record.sums.rowsScanned = record.sums.rowsKept = record.count * 8;
    RETURN_IF_ERROR(sink.segment(record, stop));
    return sink.endOfEpoch(0, record.count, stop);
}

TEST(Ring, DeliversFramesAndRecordsInOrder) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    Feed feed(serverOptions(path), [](const FeedHello&, RingWriter& w, std::stop_token stop) {
        RingSink sink = sinkOf(w);
        for (std::uint64_t n = 0; n < 500; ++n) {
            ASSERT_TRUE(writeFrame(sink, n, stop).ok());
        }
        ASSERT_TRUE(endEpoch(sink, 500, stop).ok());
        ASSERT_TRUE(w.endOfStream(stop).ok());
    });
    Reader reader;
    ASSERT_EQ(reader.open(path), 0) << reader.error;
    for (std::uint64_t n = 0; n < 500; ++n) {
        ASSERT_EQ(reader.next(), MILLRACE_FEED_BATCH) << reader.error;
        EXPECT_TRUE(isFrame(reader.event.batch, n));
        millrace_batch_release(reader.event.batch);
    }
    ASSERT_EQ(reader.next(), MILLRACE_FEED_END_OF_EPOCH);
    EXPECT_EQ(reader.event.number, 500U);
    EXPECT_EQ(reader.steps, 125);
    EXPECT_EQ(reader.next(), MILLRACE_FEED_END_OF_STREAM);
    EXPECT_EQ(reader.next(), MILLRACE_FEED_END_OF_STREAM);
    millrace_feed_stats stats{};
    stats.struct_size = sizeof stats;
    millrace_feed_get_stats(reader.feed(), &stats);
    EXPECT_EQ(stats.batches, 500U);
    EXPECT_EQ(stats.rows, 4000U);
    EXPECT_EQ(stats.held_batches, 0U);
}

TEST(Ring, GrowsByAContinueRecordAndKeepsOldBatchesValid) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    MemoryBudget budget(64 << 20);
    FeedServerOptions options = serverOptions(path);
    options.ring.budget = &budget;
    std::promise<std::int64_t> usedAtEnd;
    Feed feed(options, [&](const FeedHello&, RingWriter& w, std::stop_token stop) {
        RingSink sink = sinkOf(w);
        for (std::uint64_t n = 0; n < 12; ++n) {
            ASSERT_TRUE(writeFrame(sink, n, stop, 8, 16ULL << n).ok());
        }
        ASSERT_TRUE(endEpoch(sink, 12, stop).ok());
        ASSERT_TRUE(w.endOfStream(stop).ok());
        EXPECT_GT(w.stats().rings, 1U);
        ASSERT_TRUE(w.drain(stop).ok());
        while (w.stats().releasedFrames < 12 && !stop.stop_requested()) {
            std::this_thread::yield();
        }
        usedAtEnd.set_value(budget.usedBytes());
    });
    Reader reader;
    ASSERT_EQ(reader.open(path), 0) << reader.error;
    std::vector<millrace_batch*> kept;
    for (std::uint64_t n = 0; n < 12; ++n) {
        ASSERT_EQ(reader.next(), MILLRACE_FEED_BATCH) << reader.error;
        kept.push_back(reader.event.batch);
        if (n >= 7) {  // the larger batches do not all fit together
            EXPECT_TRUE(isFrame(kept.back(), n));
            millrace_batch_release(kept.back());
            kept.pop_back();
        }
    }
    EXPECT_EQ(reader.next(), MILLRACE_FEED_END_OF_EPOCH) << reader.error;
    EXPECT_EQ(reader.next(), MILLRACE_FEED_END_OF_STREAM);
    for (std::uint64_t n = 0; n < kept.size(); ++n) {
        EXPECT_TRUE(isFrame(kept[n], n));
        millrace_batch_release(kept[n]);
    }
    millrace_feed_stats stats{};
    stats.struct_size = sizeof stats;
    millrace_feed_get_stats(reader.feed(), &stats);
    EXPECT_LT(usedAtEnd.get_future().get(), static_cast<std::int64_t>(stats.ring_bytes + (1 << 20)))
        << "only the newest ring is left";
}

TEST(Ring, RefusesARingOverTheBudget) {
    MemoryBudget budget(1 << 20);
    RingWriterOptions options;
    options.ringBytes = 64 << 10;
    options.budget = &budget;
    auto writer = RingWriter::open(options, [](int, std::uint64_t) { return okStatus(); });
    ASSERT_TRUE(writer.ok()) << writer.status();
    const Result<FrameSlot> slot = (*writer)->reserve(2 << 20, 0, 0, {});
    EXPECT_EQ(slot.status().code(), absl::StatusCode::kResourceExhausted) << slot.status();
}

TEST(Ring, AWiderRingTakesNothingFromOthersAndNothingOnceItsReaderIsGone) {
    MemoryBudget budget(4 << 20), spare(4 << 20);
    RingWriterOptions options;
    options.ringBytes = 64 << 10;
    options.budget = &budget;
    options.spare = &spare;
    auto writer = RingWriter::open(options, [](int, std::uint64_t) { return okStatus(); });
    ASSERT_TRUE(writer.ok()) << writer.status();
    const std::int64_t first = budget.usedBytes();
    EXPECT_GT(first, 64 << 10);
    ASSERT_TRUE((*writer)->reserve(20 << 10, 0, 0, {}).ok());
    EXPECT_EQ((*writer)->stats().rings, 2U) << "there is room for four such frames now";
    EXPECT_EQ(budget.usedBytes(), first);
    EXPECT_GT(spare.usedBytes(), 0);
    ASSERT_TRUE((*writer)->reserve(200 << 10, 0, 1, {}).ok());
    (*writer)->peerGone();
    EXPECT_EQ(budget.usedBytes() + spare.usedBytes(), 0);
}

TEST(Ring, AFullRingHeldByItsReaderIsAWarningThenAnError) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    FeedServerOptions options = serverOptions(path);
    Mutex mutex;
    std::vector<std::string> warnings;
    options.ring.heldWarning = std::chrono::milliseconds(20);
    options.ring.heldError = std::chrono::milliseconds(80);
    options.ring.maxRingBytes = options.ring.ringBytes;  // no other ring takes over
    options.ring.warn = [&](std::string_view text) {
        MutexLock lock(mutex);
        warnings.emplace_back(text);
    };
    std::promise<Status> ended;
    Feed feed(options, [&](const FeedHello&, RingWriter& w, std::stop_token stop) {
        Status status;
        for (std::uint64_t n = 0; status.ok(); ++n) {
            status = writeFrame(w, n, stop);
        }
        ended.set_value(status);
    });
    Reader reader;
    ASSERT_EQ(reader.open(path), 0) << reader.error;
    std::vector<millrace_batch*> kept;
    while (reader.next(200) == MILLRACE_FEED_BATCH) {
        kept.push_back(reader.event.batch);
    }
    const Status status = ended.get_future().get();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_NE(messageOf(status).find(strCat("keeps ", kept.size(), " batches")),
              std::string_view::npos)
        << status;
    MutexLock lock(mutex);
    EXPECT_EQ(warnings.size(), 1U);
    for (millrace_batch* batch : kept) {
        millrace_batch_release(batch);
    }
}

TEST(Ring, AStopTokenEndsABlockedWriter) {
    RingWriterOptions options;
    options.ringBytes = 8192;
    auto writer = RingWriter::open(options, [](int, std::uint64_t) { return okStatus(); });
    ASSERT_TRUE(writer.ok());
    std::promise<Status> ended;
    std::jthread thread([&](std::stop_token stop) {
        Status status;
        while (status.ok()) {
            status = (*writer)->reserve(4096, 0, 0, stop).status();
        }
        ended.set_value(status);
    });
    thread.request_stop();
    EXPECT_EQ(ended.get_future().get().code(), absl::StatusCode::kCancelled);
}

TEST(Ring, CommitsInAnyOrderAreSeenInOrder) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    Feed feed(serverOptions(path), [](const FeedHello&, RingWriter& w, std::stop_token stop) {
        RingSink sink = sinkOf(w);
        std::vector<FrameSlot> slots;
        for (std::int64_t n = 0; n < 6; ++n) {
            const frame::FrameBuffer frame = makeFrame(0, static_cast<std::uint64_t>(n), 8, 16);
            slots.push_back(*sink.reserve(frame.size(), 0, n, stop));
            std::memcpy(slots.back().bytes.data(), frame.bytes().data(), frame.size());
        }
        for (const std::uint64_t n : {5, 1, 0, 3, 4, 2}) {
            ASSERT_TRUE(sink.commit(slots[n], 0, static_cast<std::int64_t>(n)).ok());
        }
        EXPECT_FALSE(w.commit(slots[2], 0, 2).ok()) << "twice";
        isGiven(endEpoch(sink, 6, stop));  // the last mark already tells the reader of the end
    });
    Reader reader;
    ASSERT_EQ(reader.open(path), 0) << reader.error;
    for (std::uint64_t n = 0; n < 6; ++n) {
        ASSERT_EQ(reader.next(), MILLRACE_FEED_BATCH) << reader.error;
        EXPECT_TRUE(isFrame(reader.event.batch, n));
        millrace_batch_release(reader.event.batch);
    }
    EXPECT_EQ(reader.next(), MILLRACE_FEED_END_OF_EPOCH);
}

TEST(Ring, PlantedWrongOrderIsRefusedByTheReader) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    Feed feed(serverOptions(path), [](const FeedHello&, RingWriter& w, std::stop_token stop) {
        ASSERT_TRUE(writeFrame(w, 2, stop).ok());
        ASSERT_TRUE(writeFrame(w, 1, stop).ok());
    });
    Reader reader;
    ASSERT_EQ(reader.open(path), 0);
    ASSERT_EQ(reader.next(), MILLRACE_FEED_BATCH);
    millrace_batch_release(reader.event.batch);
    EXPECT_EQ(reader.next(), MILLRACE_FEED_CORRUPT);
    EXPECT_NE(reader.error.find("micro-batch 1"), std::string::npos) << reader.error;
}

TEST(Ring, ADamagedFrameIsRefusedByTheReader) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    Feed feed(serverOptions(path), [](const FeedHello&, RingWriter& w, std::stop_token stop) {
        frame::FrameBuffer frame = makeFrame(0, 0, 8, 16);
        frame.bytes()[0] = std::byte{0};
        ASSERT_TRUE(putFrame(w, 0, frame.bytes(), stop).ok());
    });
    Reader reader;
    ASSERT_EQ(reader.open(path), 0);
    EXPECT_EQ(reader.next(), MILLRACE_FEED_CORRUPT);
    EXPECT_NE(reader.error.find("magic"), std::string::npos) << reader.error;
}

TEST(Ring, AnErrorRecordIsTheLastThingAReaderSees) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    Feed feed(serverOptions(path), [](const FeedHello&, RingWriter& w, std::stop_token stop) {
        ASSERT_TRUE(w.error(invalidArgument("a.csv: line 7: a quote is not closed"), stop).ok());
    });
    Reader reader;
    ASSERT_EQ(reader.open(path), 0);
    EXPECT_EQ(reader.next(), MILLRACE_FEED_FAILED);
    EXPECT_EQ(reader.error, "a.csv: line 7: a quote is not closed");
    EXPECT_EQ(reader.next(), MILLRACE_FEED_FAILED);
}

TEST(Ring, WaitsEndByTimeoutAbortCallAndAbortFd) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    Feed feed(serverOptions(path), [](const FeedHello&, RingWriter&, std::stop_token) {});
    Reader reader;
    ASSERT_EQ(reader.open(path), 0);
    EXPECT_EQ(reader.next(0), MILLRACE_FEED_TIMEOUT);
    EXPECT_EQ(reader.next(5), MILLRACE_FEED_TIMEOUT);
    std::jthread aborter([&] { millrace_feed_abort(reader.feed()); });
    EXPECT_EQ(reader.next(), MILLRACE_FEED_ABORTED);
    EXPECT_EQ(millrace_feed_reopen(reader.feed(), 5'000), MILLRACE_FEED_ABORTED)
        << "what was aborted stays so";
    EXPECT_EQ(reader.next(5), MILLRACE_FEED_ABORTED);

    const int event = ::eventfd(0, EFD_CLOEXEC);
    Reader other;
    ASSERT_EQ(other.open(path, nullptr, "train", 0, 1, event), 0) << other.error;
    std::jthread signaller([&] {
        const std::uint64_t one = 1;
        ASSERT_EQ(::write(event, &one, sizeof one), 8);
    });
    EXPECT_EQ(other.next(), MILLRACE_FEED_ABORTED);
    signaller.join();
    ::close(event);
}

TEST(FeedServer, RefusesWrongHellosWithASentence) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    Feed feed(serverOptions(path), [](const FeedHello&, RingWriter&, std::stop_token) {});
    const auto refused = [&](const char* state, const char* stream, int rank, int world,
                             std::int64_t attempt, const char* expected) {
        Reader reader;
        EXPECT_EQ(reader.open(path, state, stream, rank, world, -1, attempt),
                  MILLRACE_FEED_INVALID);
        EXPECT_NE(reader.error.find(expected), std::string::npos) << reader.error;
    };
    refused(nullptr, "train", 0, 2, 1, "this feed serves 1");
    refused(nullptr, "train", 0, 1, 2, "attempt 2");
    refused(nullptr, "other", 0, 1, 1, "train or eval");
    refused("nonsense", "train", 0, 1, 1, "not the text of a state");
    std::string state;
    {
        Reader reader;
        ASSERT_EQ(reader.open(path), 0);
        state = reader.state(0, 0);
        ASSERT_FALSE(state.empty()) << millrace_feed_error(reader.feed());
    }
    Reader again;
    EXPECT_EQ(again.open(path, state.c_str()), 0) << again.error;
    refused(state.c_str(), "eval", 0, 1, 1, "beginning");
    const auto changed = [&](char from, char to) {
        std::string other = state;
        other.replace(other.find(std::string(32, from)), 32, std::string(32, to));
        return other;
    };
    refused(changed('a', 'c').c_str(), "train", 0, 1, 1, "seed, ...) were changed");
    refused(changed('b', 'c').c_str(), "train", 0, 1, 1,
            "files, a side table or a counted vocabulary were changed");
    state = changed('a', 'c');
    refused(changed('b', 'c').c_str(), "train", 0, 1, 1,
            "keys that shape the stream (dataset, recipe, labels, features, seed, ...) or the "
            "dataset's files were changed");
}

TEST(FeedServer, SurvivesGarbageAndEachRankGetsItsOwnRing) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    FeedServerOptions options = serverOptions(path);
    options.worldSize = 2;
    Feed feed(options, [](const FeedHello& hello, RingWriter& w, std::stop_token stop) {
        RingSink sink = sinkOf(w, 4, hello);
        for (std::uint64_t n = 0; n < 7; ++n) {
            const auto number = static_cast<std::int64_t>(n);
            ASSERT_TRUE((sink.wants(0, number) ? writeFrame(sink, n, stop)
                                               : sink.leftOut(0, number, 8, idsOf(0, n, 8), stop))
                            .ok());
        }
        isGiven(endEpoch(sink, 7, stop));
    });
    for (const char* garbage : {"\n", "{}\n", "[1,2]\n", "{\"version\":1,\"rank\":-5}\n"}) {
        const Result<UniqueFd> socket = connectUnix(path);
        ASSERT_TRUE(socket.ok());
        ASSERT_GT(::write(socket->get(), garbage, std::strlen(garbage)), 0);
        char answer[512] = "";
        EXPECT_GT(::read(socket->get(), answer, sizeof answer - 1), 0);
        EXPECT_NE(std::string(answer).find("\"error\""), std::string::npos) << answer;
    }
    for (int rank = 0; rank < 2; ++rank) {
        Reader reader;
        ASSERT_EQ(reader.open(path, nullptr, "train", rank, 2), 0) << reader.error;
        for (auto n = static_cast<std::uint64_t>(rank); n < 7; n += 2) {
            ASSERT_EQ(reader.next(), MILLRACE_FEED_BATCH) << reader.error;
            EXPECT_TRUE(isFrame(reader.event.batch, n));
            millrace_batch_release(reader.event.batch);
        }
        EXPECT_EQ(reader.next(), MILLRACE_FEED_END_OF_EPOCH);
    }
}

TEST(FeedServer, ALaterReaderOfARankReplacesTheEarlierOne) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    Feed feed(serverOptions(path), [](const FeedHello&, RingWriter& w, std::stop_token stop) {
        ASSERT_TRUE(writeFrame(w, 0, stop).ok());
    });
    Reader first, second;
    ASSERT_EQ(first.open(path), 0);
    EXPECT_EQ(first.next(), MILLRACE_FEED_BATCH);
    ASSERT_EQ(second.open(path), 0);
    millrace_batch_release(first.event.batch);
    EXPECT_EQ(first.next(), MILLRACE_FEED_LOST);
    EXPECT_EQ(second.next(), MILLRACE_FEED_BATCH);
    millrace_batch_release(second.event.batch);
}

TEST(FeedReader, RefusesMissingArguments) {
    millrace_feed* feed = nullptr;
    millrace_feed_options options{};
    char text[8] = "";
    EXPECT_EQ(millrace_feed_open("x", &options, &feed, text, sizeof text), MILLRACE_FEED_INVALID);
    EXPECT_EQ(std::string(text), "millrac") << "cut to the caller's room";
    millrace_batch_release(nullptr);
    millrace_feed_close(nullptr);
}

TEST(FeedServer, ANestedHelloIsRefusedAndTheFeedGoesOn) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    Feed feed(serverOptions(path), [](const FeedHello&, RingWriter&, std::stop_token) {});
    const Result<UniqueFd> socket = connectUnix(path);
    ASSERT_TRUE(socket.ok());
    constexpr std::size_t kDepth = 1'000'000;
    const std::string hello =
        R"({"version":1,"attempt":1,"rank":0,"world_size":1,"stream":"train","state":{"a":)" +
        std::string(kDepth, '[') + std::string(kDepth, ']') + "}}\n";
    ASSERT_TRUE(sendWithFds(socket->get(), hello, {}).ok());
    char answer[512] = "";
    EXPECT_GT(::read(socket->get(), answer, sizeof answer - 1), 0);
    EXPECT_NE(std::string(answer).find("nested too deep"), std::string::npos) << answer;
    Reader reader;
    EXPECT_EQ(reader.open(path), 0) << reader.error;
}

TEST(FeedServer, AConnectionWithoutAHelloIsDroppedInTime) {
    tests::TempDir folder;
    FeedServerOptions options = serverOptions(folder / "feed.sock");
    options.helloLimit = std::chrono::milliseconds(30);
    Feed feed(options, [](const FeedHello&, RingWriter&, std::stop_token) {});
    const Result<UniqueFd> socket = connectUnix(options.socketPath);
    ASSERT_TRUE(socket.ok());
    char answer[512] = "";
    EXPECT_GT(::read(socket->get(), answer, sizeof answer - 1), 0);
    EXPECT_NE(std::string(answer).find("none in time"), std::string::npos) << answer;
    EXPECT_EQ(::read(socket->get(), answer, sizeof answer), 0);
}

TEST(FeedServer, SoManyConnectionsAreLetInAndTheNextIsTurnedAway) {
    tests::TempDir folder;
    FeedServerOptions options = serverOptions(folder / "feed.sock");
    options.maxConnections = 2;
    options.helloLimit = std::chrono::hours(1);
    Feed feed(options, [](const FeedHello&, RingWriter&, std::stop_token) {});
    std::vector<UniqueFd> let;
    for (int i = 0; i < 2; ++i) {
        let.push_back(std::move(connectUnix(options.socketPath).value()));
    }
    const UniqueFd tooMany = std::move(connectUnix(options.socketPath).value());
    char c = 0;
    EXPECT_EQ(::read(tooMany.get(), &c, 1), 0) << "closed without an answer";
    let.pop_back();
    Reader reader;
    EXPECT_TRUE(test::eventually([&] { return reader.open(options.socketPath) == 0; }))
        << "there is room again: " << reader.error;
}

TEST(Ring, AnErrorRecordCarriesTheKindOfTheError) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    Feed feed(serverOptions(path), [](const FeedHello&, RingWriter& w, std::stop_token stop) {
        ASSERT_TRUE(w.error(resourceExhausted("/tmp: no space left"), stop).ok());
    });
    Reader reader;
    ASSERT_EQ(reader.open(path), 0);
    EXPECT_EQ(reader.next(), MILLRACE_FEED_FAILED);
    EXPECT_EQ(reader.event.number, 6U) << "a full disk, not bad input";
    EXPECT_EQ(reader.error, "/tmp: no space left");
    EXPECT_EQ(reader.next(), MILLRACE_FEED_FAILED);
    EXPECT_EQ(reader.event.number, 6U);
}

TEST(Ring, ASlowProducerIsNotTakenForAReaderThatKeepsBatches) {
    RingWriterOptions options;
    options.ringBytes = 8192;
    options.heldWarning = std::chrono::milliseconds(5);
    options.heldError = std::chrono::milliseconds(20);
    std::atomic<int> numWarnings{0};
    options.warn = [&](std::string_view) { ++numWarnings; };
    auto writer = RingWriter::open(options, [](int, std::uint64_t) { return okStatus(); });
    ASSERT_TRUE(writer.ok());
    std::promise<Status> promise;
    std::future<Status> ended = promise.get_future();
    // All slots are reserved and none is committed, so the reader has received nothing.
    std::jthread producers([&](std::stop_token stop) {
        Status status;
        while (status.ok()) {
            status = (*writer)->reserve(4096, 0, 0, stop).status();
        }
        promise.set_value(status);
    });
    EXPECT_EQ(ended.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
    producers.request_stop();
    EXPECT_EQ(ended.get().code(), absl::StatusCode::kCancelled);
    EXPECT_EQ(numWarnings, 0);
}

// A stopped feed: it accepts the connection and never answers.
TEST(FeedReader, AnAbortEndsTheWaitForTheFeedsAnswer) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    const Result<UniqueFd> listener = listenUnix(path);
    ASSERT_TRUE(listener.ok());
    const UniqueFd event(::eventfd(1, EFD_CLOEXEC));
    Reader reader;
    EXPECT_EQ(reader.open(path, nullptr, "train", 0, 1, event.get()), MILLRACE_FEED_ABORTED)
        << reader.error;
}

TEST(FeedReader, AFeedThatTakesNoConnectionsIsLostWithinTheTimeout) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    const Result<UniqueFd> listener = listenUnix(path, 1);
    std::vector<UniqueFd> waiting;
    for (Result<UniqueFd> one = connectUnixNonBlocking(path); one.ok();
         one = connectUnixNonBlocking(path)) {
        waiting.push_back(std::move(*one));
    }
    millrace_feed_options options{};
    options.struct_size = sizeof options;
    options.world_size = 1;
    options.abort_fd = options.numa_node = -1;
    options.stream = "train";
    options.connect_timeout_ms = 30;
    millrace_feed* feed = nullptr;
    char error[256] = "";
    EXPECT_EQ(millrace_feed_open(path.c_str(), &options, &feed, error, sizeof error),
              MILLRACE_FEED_LOST);
}

TEST(FeedReader, AVeryLongTimeoutIsAWaitAndNotAnOverflow) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    std::promise<void> waits;
    const std::shared_future<void> waited = waits.get_future().share();
    Feed feed(serverOptions(path), [&](const FeedHello&, RingWriter& w, std::stop_token stop) {
        waited.wait();
        static_cast<void>(writeFrame(w, 0, stop));
    });
    Reader reader;
    ASSERT_EQ(reader.open(path), 0);
    std::jthread later([&] { waits.set_value(); });
    EXPECT_EQ(reader.next(INT64_MAX), MILLRACE_FEED_BATCH) << reader.error;
    millrace_batch_release(reader.event.batch);
    EXPECT_EQ(millrace_feed_reopen(reader.feed(), INT64_MAX), 0);
}

TEST(FeedReader, AnAbortWhileTheNextRingIsAwaitedIsAnAbort) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    const Result<UniqueFd> listener = listenUnix(path);
    ASSERT_TRUE(listener.ok());
    std::unique_ptr<RingWriter> writer;
    UniqueFd peer;
    int rings = 0;
    // A feed that answers "continue" and never passes the ring.
    std::jthread served([&] {
        peer.reset(::accept(listener->get(), nullptr, nullptr));
        char hello[4096];
        ASSERT_GT(::read(peer.get(), hello, sizeof hello), 0);
        RingWriterOptions options;
        options.ringBytes = 64 << 10;
        auto made = RingWriter::open(options, [&](int fd, std::uint64_t) {
            const std::string answer =
                R"({"version":2,"micro_rows":8,"step_batches":4,"stream_hash":")" + kStream +
                R"(","plan_hash":")" + kPlan + "\"}\n";
            return ++rings == 1 ? sendWithFds(peer.get(), answer, {fd}) : okStatus();
        });
        ASSERT_TRUE(made.ok()) << made.status();
        writer = *std::move(made);
        EXPECT_TRUE(writer->reserve(256 << 10, 0, 0, {}).ok());
    });
    Reader reader;
    ASSERT_EQ(reader.open(path), 0) << reader.error;
    served.join();
    EXPECT_EQ(rings, 2);
    std::jthread aborter([&] { millrace_feed_abort(reader.feed()); });
    EXPECT_EQ(reader.next(), MILLRACE_FEED_ABORTED) << reader.error;
}

TEST(FeedReader, WhatWasCheckedIsWhatIsReadLater) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    std::promise<std::span<std::byte>> written;
    Feed feed(serverOptions(path), [&](const FeedHello&, RingWriter& w, std::stop_token stop) {
        const frame::FrameBuffer frame = makeFrame(0, 0, 8, 16);
        const Result<FrameSlot> slot = w.reserve(frame.size(), 0, 0, stop);
        ASSERT_TRUE(slot.ok());
        std::memcpy(slot->bytes.data(), frame.bytes().data(), frame.size());
        ASSERT_TRUE(w.commit(*slot, 0, 0).ok());
        written.set_value(slot->bytes);
    });
    Reader reader;
    ASSERT_EQ(reader.open(path), 0) << reader.error;
    ASSERT_EQ(reader.next(), MILLRACE_FEED_BATCH) << reader.error;
    // A faulty writer overwrites the header and the directory of a frame that was delivered.
    const std::span<std::byte> bytes = written.get_future().get();
    std::memset(bytes.data(), 0xff, sizeof(frame::FrameHeader) + 2 * sizeof(frame::ColumnEntry));
    EXPECT_EQ(millrace_batch_rows(reader.event.batch), 8U);
    EXPECT_EQ(millrace_batch_columns(reader.event.batch), 5U);
    EXPECT_TRUE(isFrame(reader.event.batch, 0));
    millrace_batch_release(reader.event.batch);
}

}  // namespace
}  // namespace millrace::ring

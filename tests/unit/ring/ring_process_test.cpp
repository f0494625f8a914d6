// The ring between two real processes. The child is the feed; it ends with _exit.
#include <csignal>
#include <functional>
#include <random>
#include <thread>

#include <sys/wait.h>

#include <gtest/gtest.h>

#include "backend/core/bounded_queue.h"
#include "backend/stream/read_state.h"
#include "tests/unit/ring/feed_fixture.h"

#if defined(__SANITIZE_THREAD__)
#define MILLRACE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MILLRACE_TSAN 1
#endif
#endif
#if defined(MILLRACE_TSAN)
/// The children are forked and start threads of their own.
extern "C" const char* __tsan_default_options() {
    return "die_after_fork=0";
}
#endif

namespace millrace::ring {
namespace {

using Producer = std::function<Status(const FeedHello&, RingWriter&)>;

/// A feed in a child process: serves one reader, then leaves.
class ChildFeed {
 public:
    ChildFeed(FeedServerOptions options, const Producer& producer) {
        pid_ = ::fork();
        if (pid_ == 0) {
            ::_exit(serve(std::move(options), producer));
        }
    }
    ~ChildFeed() { wait(SIGKILL); }
    void kill() { wait(SIGKILL); }
    int wait(int signal = 0) {
        int status = 0;
        if (pid_ > 0) {
            if (signal != 0) {
                ::kill(pid_, signal);
            }
            ::waitpid(pid_, &status, 0);
            pid_ = -1;
        }
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

 private:
    static int serve(FeedServerOptions options, const Producer& producer) {
        BoundedQueue<std::pair<FeedHello, std::shared_ptr<RingWriter>>> readers(4);
        auto server = FeedServer::start(
            std::move(options), [&](const FeedHello& hello, std::shared_ptr<RingWriter> writer) {
                readers.push({hello, std::move(writer)});
                return okStatus();
            });
        if (!server.ok()) {
            return 9;
        }
        const auto reader = readers.pop();
        const Status status = producer(reader->first, *reader->second);
        return status.ok() ? (reader->second->drain({}).ok() ? 0 : 8)
                           : static_cast<int>(status.code()) + 10;
    }
    pid_t pid_ = -1;
};

constexpr std::int64_t kPerStep = 2;

/// The sequence of the tests: steps of 2 micro-batches, segments of 3, 8 rows each; record after
/// its frames.
Status produce(const FeedHello& hello, RingWriter& w, std::uint64_t total, std::uint64_t dieAt,
               std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uint64_t from = 0, begun = 0;
    if (hello.state) {
        from = static_cast<std::uint64_t>(hello.state->cursor.segmentFirst());
        begun = static_cast<std::uint64_t>(hello.state->cursor.next);
    }
    RingSink sink = sinkOf(w, kPerStep, hello);
    for (std::uint64_t n = from; n < total; ++n) {
        if (n == dieAt) {
            RETURN_IF_ERROR(w.drain({}));  // so that the reader has been welcomed
            ::raise(SIGKILL);
        }
        if (sink.wants(0, static_cast<std::int64_t>(n))) {
            const frame::FrameBuffer frame = makeFrame(0, n, 8, random() % 1500);
            RETURN_IF_ERROR(putFrame(sink, n, frame.bytes(), {}));
        } else if (n >= begun) {
            RETURN_IF_ERROR(sink.leftOut(0, static_cast<std::int64_t>(n), 8, idsOf(0, n, 8), {}));
        }
        if (n % 3 == 2) {
            const auto number = static_cast<std::int64_t>(n);
            stream::SegmentRecord record{0, number / 3, number - 2, 3, 0, {1, 100, 10, 24, {}}};
            record.sums.steps = {{90, 50}, {50, 24}};
            record.sums.counts = {{"step/0/false", 40}, {"ids/x", 20}, {"unknown/x", number % 2}};
            if (n == 5) {
                record.sums.counts["step/1/no partner"] = 26;
            }
            RETURN_IF_ERROR(sink.segment(record, {}));
        }
    }
    RETURN_IF_ERROR(sink.endOfEpoch(0, static_cast<std::int64_t>(total), {}));
    return sink.endOfStream({});
}

TEST(RingProcess, RandomSizesReleasedOutOfOrder) {
    for (const std::uint64_t seed : {1, 2, 3}) {
        tests::TempDir folder;
        const std::string path = folder / "feed.sock";
        ChildFeed child(serverOptions(path), [&](const FeedHello& hello, RingWriter& w) {
            return produce(hello, w, 1500, ~0ULL, seed);
        });
        Reader reader;
        ASSERT_EQ(reader.open(path), 0) << reader.error;
        std::mt19937_64 random(seed + 100);
        std::vector<std::pair<std::uint64_t, millrace_batch*>> kept;
        std::uint64_t n = 0;
        int result = 0;
        const auto next = [&] {
            // Space returns with the released prefix: a full ring needs its oldest batch back.
            int found = reader.next(kept.empty() ? 20'000 : 20);
            while (found == MILLRACE_FEED_TIMEOUT && !kept.empty()) {
                millrace_batch_release(kept.front().second);
                kept.erase(kept.begin());
                found = reader.next(kept.empty() ? 20'000 : 20);
            }
            return found;
        };
        while ((result = next()) == MILLRACE_FEED_BATCH) {
            kept.emplace_back(n++, reader.event.batch);
            while (kept.size() > random() % 5) {
                const std::size_t i = random() % kept.size();
                ASSERT_TRUE(isFrame(kept[i].second, kept[i].first));
                millrace_batch_release(kept[i].second);
                kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
            }
        }
        EXPECT_EQ(result, MILLRACE_FEED_END_OF_EPOCH) << reader.error;
        EXPECT_EQ(n, 1500U);
        EXPECT_EQ(reader.next(), MILLRACE_FEED_END_OF_STREAM);
        EXPECT_EQ(child.wait(), 0);
        for (auto& [number, batch] : kept) {
            EXPECT_TRUE(isFrame(batch, number)) << "valid after the feed's end";
            millrace_batch_release(batch);
        }
    }
}

TEST(RingProcess, ADeadWriterIsSeenAfterWhatItPublished) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    ChildFeed child(serverOptions(path), [&](const FeedHello& hello, RingWriter& w) {
        return produce(hello, w, 100, 5, 1);
    });
    Reader reader;
    ASSERT_EQ(reader.open(path), 0) << reader.error;
    for (std::uint64_t n = 0; n < 5; ++n) {
        ASSERT_EQ(reader.next(), MILLRACE_FEED_BATCH) << n << reader.error;
        EXPECT_TRUE(isFrame(reader.event.batch, n));
        millrace_batch_release(reader.event.batch);
    }
    EXPECT_EQ(reader.next(), MILLRACE_FEED_LOST);
}

TEST(RingProcess, ADeadReaderEndsABlockedWriter) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    ChildFeed child(serverOptions(path), [&](const FeedHello& hello, RingWriter& w) {
        return produce(hello, w, 1'000'000, ~0ULL, 1);
    });
    const pid_t pid = ::fork();
    if (pid == 0) {
        Reader reader;
        if (reader.open(path) == 0) {
            reader.next();
        }
        ::raise(SIGKILL);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(child.wait(), static_cast<int>(absl::StatusCode::kUnavailable) + 10);
}

TEST(RingProcess, AReplacedFeedGoesOnWithoutLossOrRepetition) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    constexpr std::uint64_t kTotal = 60;
    std::string whole;
    {
        ChildFeed child(serverOptions(path), [&](const FeedHello& hello, RingWriter& w) {
            return produce(hello, w, kTotal, ~0ULL, 7);
        });
        Reader reader;
        ASSERT_EQ(reader.open(path), 0) << reader.error;
        while (reader.next() == MILLRACE_FEED_BATCH) {
            millrace_batch_release(reader.event.batch);
        }
        whole = reader.state(0, kTotal);
    }
    std::mt19937_64 random(3);
    Reader reader;
    auto child = std::make_unique<ChildFeed>(
        serverOptions(path),
        [&](const FeedHello& hello, RingWriter& w) { return produce(hello, w, kTotal, 4, 7); });
    ASSERT_EQ(reader.open(path), 0) << reader.error;
    std::uint64_t n = 0, step = 0;
    int result = 0, lost = 0;
    while ((result = reader.nextEvent()) != MILLRACE_FEED_END_OF_EPOCH) {
        if (result == MILLRACE_FEED_STEP) {
            ASSERT_EQ(reader.event.number, n);
            step = n;
            continue;
        }
        if (result == MILLRACE_FEED_BATCH) {
            ASSERT_TRUE(isFrame(reader.event.batch, n++));
            millrace_batch_release(reader.event.batch);
            continue;
        }
        ASSERT_EQ(result, MILLRACE_FEED_LOST) << reader.error;
        ++lost;
        child.reset();
        const std::uint64_t dieAt = n + 1 + random() % 9;
        child = std::make_unique<ChildFeed>(serverOptions(path),
                                            [&, dieAt](const FeedHello& hello, RingWriter& w) {
                                                return produce(hello, w, kTotal, dieAt, 7);
                                            });
        ASSERT_EQ(millrace_feed_reopen(reader.feed(), 5000), 0)
            << millrace_feed_error(reader.feed());
        if (n % 4 < 2) {
            ASSERT_FALSE(reader.state(0, step).empty()) << "the last step's end";
        }
    }
    EXPECT_EQ(n, kTotal);
    EXPECT_EQ(reader.steps, static_cast<int>(kTotal) / kPerStep);
    EXPECT_GT(lost, 3);
    EXPECT_EQ(reader.state(0, kTotal), whole) << "order hash, sums and cursor as undisturbed";
}

TEST(RingProcess, ResumedFromAnyStateEndsInTheSameState) {
    constexpr std::uint64_t kTotal = 15;
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    std::vector<std::pair<std::uint64_t, std::string>> states;
    std::string last;
    const auto run = [&](const char* state, std::uint64_t from, bool keep) {
        ChildFeed child(serverOptions(path), [&](const FeedHello& hello, RingWriter& w) {
            return produce(hello, w, kTotal, ~0ULL, 7);
        });
        Reader reader;
        ASSERT_EQ(reader.open(path, state), 0) << reader.error;
        std::uint64_t n = from;
        for (int result = 0; (result = reader.nextEvent()) == MILLRACE_FEED_BATCH ||
                             result == MILLRACE_FEED_STEP;) {
            if (result == MILLRACE_FEED_BATCH) {
                ASSERT_TRUE(isFrame(reader.event.batch, n++));
                millrace_batch_release(reader.event.batch);
            } else if (keep) {
                states.emplace_back(reader.event.number, reader.state(0, reader.event.number));
            }
        }
        ASSERT_EQ(n, kTotal) << reader.error;
        last = reader.state(0, kTotal);
    };
    run(nullptr, 0, true);
    const std::string whole = last;
    ASSERT_EQ(states.size(), 8U);
    EXPECT_EQ(states.back().second, whole) << "the last step's end is the epoch's";
    states.pop_back();
    for (const auto& [n, text] : states) {
        run(text.c_str(), n, false);
        EXPECT_EQ(last, whole) << "from " << n;
    }
    const auto state = stream::readState(whole);
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_EQ(state->cursor.epoch, 1U);
    EXPECT_EQ(state->rowsDelivered, 8 * 15);
    EXPECT_EQ(
        state->sums,
        (stream::SegmentSums{
            5,
            500,
            50,
            120,
            {{450, 250}, {250, 120}},
            {{"ids/x", 100}, {"step/0/false", 200}, {"step/1/no partner", 26}, {"unknown/x", 2}}}));
    stream::OrderHash expected;
    for (std::uint64_t n = 0; n < kTotal; ++n) {
        const frame::FrameBuffer frame = makeFrame(0, n, 8, 5);
        const auto view = frame::FrameView::open(frame.bytes());
        expected.add(0, n, view->rowFiles(), view->rowNumbers());
    }
    EXPECT_EQ(state->orderHash, expected);
}

/// Runs `body` in a forked child; returns the child's exit code.
int exitOfChild(const std::function<int()>& body) {
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::signal(SIGSEGV, SIG_DFL);  // without the sanitizer's handler
        ::_exit(body());
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

// DataLoader workers fork a process that holds batches; releasing them in the child must not affect
// the parent.
TEST(RingProcess, AForkedChildTouchesNothingOfItsParents) {
    constexpr std::uint64_t kTotal = 400;
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    FeedServerOptions options = serverOptions(path);
    options.ring.maxRingBytes = options.ring.ringBytes;  // no other ring takes over
    ChildFeed child(options, [&](const FeedHello& hello, RingWriter& w) {
        return produce(hello, w, kTotal, ~0ULL, 5);
    });
    Reader reader;
    ASSERT_EQ(reader.open(path), 0) << reader.error;
    millrace_batch* held[2] = {};
    for (millrace_batch*& batch : held) {
        ASSERT_EQ(reader.next(), MILLRACE_FEED_BATCH);
        batch = reader.event.batch;
    }
    const std::string sentence =
        "the feed belongs to the process that opened it: a forked child opens one of its own";
    EXPECT_EQ(exitOfChild([&] {
                  millrace_batch_release(held[1]);
                  millrace_batch_release(held[0]);
                  millrace_feed_abort(reader.feed());
                  int wrong = reader.next() == MILLRACE_FEED_INVALID ? 0 : 1;
                  wrong += reader.error == sentence ? 0 : 2;
                  wrong += reader.state(0, 0).empty() ? 0 : 4;
                  wrong += millrace_feed_reopen(reader.feed(), 10) == MILLRACE_FEED_INVALID ? 0 : 8;
                  std::size_t count = 0;
                  const int schema = millrace_feed_schema(reader.feed(), nullptr, 0, &count);
                  wrong += schema == MILLRACE_FEED_INVALID ? 0 : 16;
                  wrong += millrace_feed_state_at(reader.feed(), 0, 0) == nullptr ? 0 : 32;
                  const int told = millrace_feed_on_ring(reader.feed(), nullptr, nullptr);
                  wrong += told == MILLRACE_FEED_INVALID ? 0 : 64;
                  millrace_feed_close(reader.feed());
                  return wrong;
              }),
              0);
    EXPECT_EQ(exitOfChild([&] { return isFrame(held[0], 0) ? 0 : 1; }), -SIGSEGV);
    // The feed fills the ring and waits: no batch was released.
    std::uint64_t n = 2;
    for (int result = 0; (result = reader.next(200)) == MILLRACE_FEED_BATCH; ++n) {
        millrace_batch_release(reader.event.batch);
    }
    EXPECT_LT(n, kTotal) << "the held batches keep their place";
    EXPECT_TRUE(isFrame(held[0], 0));
    EXPECT_TRUE(isFrame(held[1], 1));
    millrace_batch_release(held[0]);
    millrace_batch_release(held[1]);
    for (; reader.next() == MILLRACE_FEED_BATCH; ++n) {
        millrace_batch_release(reader.event.batch);
    }
    EXPECT_EQ(n, kTotal) << reader.error;
}

}  // namespace
}  // namespace millrace::ring

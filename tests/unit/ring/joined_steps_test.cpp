// Steps that a rank gets as one frame, and last steps that no rank gets, through rings and sockets.
// step_marks_test.cpp tests random streams.
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "backend/core/bounded_queue.h"
#include "backend/core/mutex.h"
#include "tests/unit/ring/feed_fixture.h"
#include "tests/unit/ring/random_stream.h"

namespace millrace::ring {
namespace {

/// A feed whose ranks have all connected.
class RankedFeed {
 public:
    explicit RankedFeed(FeedServerOptions options) : options_(std::move(options)) {
        auto server = FeedServer::start(
            options_, [this](const FeedHello& hello, std::shared_ptr<RingWriter> writer) {
                MutexLock lock(mutex_);
                last_ = hello.last;
                ranks_.push_back({hello.rank, std::move(writer), hello.next, hello.join});
                changed_.notifyAll();
                return okStatus();
            });
        EXPECT_TRUE(server.ok()) << server.status();
        server_ = *std::move(server);
    }
    /// The sink that deals frames to the ranks; waits until all are connected.
    std::unique_ptr<RingSink> sink(RingSink::Options dealing) {
        MutexLock lock(mutex_);
        while (ranks_.size() < static_cast<std::size_t>(options_.worldSize)) {
            changed_.wait(mutex_);
        }
        dealing.worldSize = options_.worldSize;
        dealing.perStep = options_.stepBatches;
        dealing.microRows = options_.microRows;
        dealing.last = last_;
        dealing.layout = &testLayout();
        return std::make_unique<RingSink>(ranks_, dealing);
    }

 private:
    const FeedServerOptions options_;
    Mutex mutex_;
    CondVar changed_;
    std::vector<RingSink::Rank> ranks_ MR_GUARDED_BY(mutex_);
    stream::LastStep last_ MR_GUARDED_BY(mutex_) = stream::LastStep::kKeep;
    std::unique_ptr<FeedServer> server_;
};

/// Delivers all micro-batches of one epoch from several threads: one reserves, others fill.
Status deliver(RingSink& sink, const Plan& plan, int fillers) {
    struct Slot {
        FrameSlot at;
        std::int64_t number, rows;
    };
    BoundedQueue<Slot> slots(16);
    Mutex mutex;
    Status failed;
    const auto note = [&](const Status& status) {
        MutexLock lock(mutex);
        failed = failed.ok() ? status : failed;
    };
    const auto frameOf = [](std::int64_t number, std::int64_t rows) {
        return makeFrame(0, static_cast<std::uint64_t>(number), static_cast<std::uint32_t>(rows),
                         static_cast<std::uint64_t>(number % 7) * 8);
    };
    std::vector<std::jthread> threads;
    for (int t = 0; t < fillers; ++t) {
        threads.emplace_back([&] {
            while (const auto slot = slots.pop()) {
                const frame::FrameBuffer frame = frameOf(slot->number, slot->rows);
                std::memcpy(slot->at.bytes.data(), frame.bytes().data(), frame.size());
                note(sink.commit(slot->at, 0, slot->number));
            }
        });
    }
    std::int64_t total = 0;
    for (const Piece& p : sequenceOf(plan, startState().cursor)) {
        if (p.kind == Piece::Kind::kSegment) {
            note(sink.segment(p.record, {}));
        } else if (p.kind == Piece::Kind::kBatch) {
            const auto at = sink.reserve(frameOf(p.number, p.rows).size(), 0, p.number, {});
            if (!at.ok()) {
                note(at.status());
                break;
            }
            slots.push({*at, p.number, p.rows});
        } else {
            total = p.number;
        }
    }
    note(sink.endOfEpoch(0, total, {}));
    note(sink.endOfStream({}));
    slots.close();
    threads.clear();
    MutexLock lock(mutex);
    return failed;
}

/// What a rank received: the row numbers of each batch, and its states.
struct Read {
    std::vector<std::vector<std::uint64_t>> batches;
    std::vector<std::uint64_t> numbers;
    std::map<std::uint64_t, std::string> states;
    std::vector<std::uint64_t> leftOut;  ///< rows of steps that say so
    std::string wrong;
};

Read readAll(Reader& reader, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Read read;
    int result = 0;
    while ((result = reader.nextEvent()) >= 0 && result != MILLRACE_FEED_END_OF_STREAM) {
        if (result == MILLRACE_FEED_BATCH) {
            millrace_column rows{};
            rows.struct_size = sizeof rows;
            millrace_batch_column(reader.event.batch, 1, &rows);
            const auto* from = static_cast<const std::uint64_t*>(rows.data);
            read.batches.emplace_back(from, from + rows.num_values);
            read.numbers.push_back(millrace_batch_number(reader.event.batch));
            millrace_batch_release(reader.event.batch);
        } else if (result == MILLRACE_FEED_STEP) {
            read.states[reader.event.number] = reader.state(0, reader.event.number);
            if (reader.event.is_left_out != 0) {
                read.leftOut.push_back(reader.event.rows);
            }
        }
        if (random() % 3 == 0) {
            std::this_thread::yield();
        }
    }
    read.wrong = result == MILLRACE_FEED_END_OF_STREAM ? "" : reader.error;
    return read;
}

Plan planOf(std::int64_t rows, int worldSize, std::int64_t perStep) {
    Plan plan;
    plan.microRows = 8;
    plan.worldSize = worldSize;
    plan.perStep = perStep;
    plan.kept = {rows / 3, 0, rows - rows / 3};
    plan.partitionStart = {0, 0, 0};
    return plan;
}

/// A rank's rows of each step in the sequence.
std::vector<std::vector<std::uint64_t>> stepsOf(const Plan& plan, int rank, bool isJoined) {
    std::vector<std::vector<std::uint64_t>> steps;
    std::int64_t step = -1;
    for (const Piece& p : sequenceOf(plan, startState().cursor)) {
        if (p.kind != Piece::Kind::kBatch || p.number % plan.worldSize != rank) {
            continue;
        }
        if (!isJoined || p.number / plan.perStep != step) {
            steps.emplace_back();
        }
        step = p.number / plan.perStep;
        for (std::int64_t i = 0; i < p.rows; ++i) {
            steps.back().push_back(static_cast<std::uint64_t>(p.number * 1000 + i));
        }
    }
    return steps;
}

TEST(JoinedSteps, ARanksRowsOfAStepComeInTheOrderOfItsMicroBatches) {
    for (const int last : {MILLRACE_LAST_KEEP, MILLRACE_LAST_DROP}) {
        tests::TempDir folder;
        FeedServerOptions options = serverOptions(folder / "feed.sock");
        options.worldSize = 2;
        options.stepBatches = 8;
        MemoryBudget budget(16 << 20);
        options.ring.budget = &budget;
        RankedFeed feed(options);
        const Plan plan = planOf(15 * 8 - 3, 2, 8);  // a step of 8 micro-batches, one of 7
        Read reads[2];
        {
            Reader readers[2];
            std::vector<std::jthread> threads;
            for (int r = 0; r < 2; ++r) {
                readers[r].join = r == 0 ? 1 : 0;
                readers[r].last = last;
                ASSERT_EQ(readers[r].open(options.socketPath, nullptr, "train", r, 2), 0)
                    << readers[r].error;
                threads.emplace_back([&, r] { reads[r] = readAll(readers[r], 1); });
            }
            const auto sink = feed.sink({.budget = &budget});
            ASSERT_TRUE(deliver(*sink, plan, 2).ok());
        }
        const bool isDropped = last == MILLRACE_LAST_DROP;
        auto joined = stepsOf(plan, 0, true);
        ASSERT_EQ(joined.size(), 2U);
        EXPECT_EQ(joined[0].size(), 32U);
        if (isDropped) {
            joined.pop_back();
        }
        for (const Read& read : reads) {
            EXPECT_EQ(read.wrong, "");
            EXPECT_EQ(read.leftOut, isDropped ? std::vector<std::uint64_t>{7 * 8 - 3}
                                              : std::vector<std::uint64_t>{});
            EXPECT_EQ(read.states.size(), 2U);
        }
        EXPECT_EQ(reads[0].batches, joined);
        EXPECT_EQ(reads[0].numbers,
                  isDropped ? std::vector<std::uint64_t>{0} : (std::vector<std::uint64_t>{0, 8}));
        EXPECT_EQ(reads[1].batches, stepsOf(plan, 1, false)) << "one that is not joined gets it";
        EXPECT_EQ(reads[0].states, reads[1].states);
        StreamState end;
        ASSERT_EQ(end.read(reads[0].states.at(15)), "");
        EXPECT_EQ(end.rowsDelivered, isDropped ? 64 : 117);
        EXPECT_EQ(end.rowsLeftOut, isDropped ? 53 : 0);
        EXPECT_EQ(end.cursor.epoch, 1U);
        EXPECT_EQ(reads[0].states.at(15).find("rows_left_out") != std::string::npos, isDropped)
            << reads[0].states.at(15);
    }
}

/// Many threads at once: small rings, memory for a few steps, readers that wait for each other only
/// through the feed.
TEST(JoinedSteps, ManyRanksAndThreadsEndInOneState) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        std::mt19937_64 random(seed);
        const int world = static_cast<int>(1 + random() % 4);
        const auto perStep = static_cast<std::int64_t>(world * (1 + random() % 4));
        const bool isDropped = random() % 2 == 0;
        tests::TempDir folder;
        FeedServerOptions options = serverOptions(folder / "feed.sock");
        options.worldSize = world;
        options.stepBatches = perStep;
        options.ring.ringBytes = 24 << 10;
        RankedFeed feed(options);
        const Plan plan = planOf(static_cast<std::int64_t>(300 + random() % 1500), world, perStep);
        // Every micro-batch has fewer than 2 KiB.
        MemoryBudget memory(perStep * 2 * 2304);
        std::vector<Reader> readers(static_cast<std::size_t>(world));
        std::vector<Read> reads(readers.size());
        std::vector<bool> isJoined;
        {
            std::vector<std::jthread> threads;
            for (int r = 0; r < world; ++r) {
                Reader& reader = readers[static_cast<std::size_t>(r)];
                isJoined.push_back(random() % 4 != 0);
                reader.join = isJoined.back() ? 1 : 0;
                reader.last = isDropped ? MILLRACE_LAST_DROP : MILLRACE_LAST_KEEP;
                ASSERT_EQ(reader.open(options.socketPath, nullptr, "train", r, world), 0)
                    << reader.error;
                threads.emplace_back([&, r, seed] {
                    reads[static_cast<std::size_t>(r)] =
                        readAll(readers[static_cast<std::size_t>(r)], seed);
                });
            }
            const auto sink = feed.sink({.budget = &memory});
            const Status done = deliver(*sink, plan, 3);
            ASSERT_TRUE(done.ok()) << done << ", seed " << seed;
        }
        for (std::size_t r = 0; r < reads.size(); ++r) {
            SCOPED_TRACE(strCat("seed ", seed, ", rank ", r));
            EXPECT_EQ(reads[r].wrong, "");
            EXPECT_EQ(reads[r].states, reads[0].states);
            auto wanted = stepsOf(plan, static_cast<int>(r), isJoined[r]);
            if (isJoined[r] && !reads[r].leftOut.empty() &&
                wanted.size() > reads[r].batches.size()) {
                wanted.pop_back();
            }
            EXPECT_EQ(reads[r].batches, wanted);
        }
    }
}

/// If a ring's share of a step is one micro-batch, nothing is assembled and no memory beside the
/// ring is needed.
TEST(JoinedSteps, AShareOfOneMicroBatchIsFilledInTheRing) {
    for (const int last : {MILLRACE_LAST_KEEP, MILLRACE_LAST_DROP}) {
        tests::TempDir folder;
        FeedServerOptions options = serverOptions(folder / "feed.sock");
        options.worldSize = 2;
        options.stepBatches = 2;
        RankedFeed feed(options);
        MemoryBudget nothing(0);
        const Plan plan = planOf(37 * 8 + 2, 2, 2);
        Read reads[2];
        {
            Reader readers[2];
            std::vector<std::jthread> threads;
            for (int r = 0; r < 2; ++r) {
                readers[r].join = 1;
                readers[r].last = last;
                ASSERT_EQ(readers[r].open(options.socketPath, nullptr, "train", r, 2), 0);
                threads.emplace_back([&, r] { reads[r] = readAll(readers[r], 1); });
            }
            const auto sink = feed.sink({.budget = &nothing});
            ASSERT_TRUE(deliver(*sink, plan, 2).ok());
        }
        for (int r = 0; r < 2; ++r) {
            auto wanted = stepsOf(plan, r, true);
            if (last == MILLRACE_LAST_DROP) {
                wanted.pop_back();
            }
            EXPECT_EQ(reads[r].wrong, "");
            EXPECT_EQ(reads[r].batches, wanted);
        }
        EXPECT_EQ(reads[0].states, reads[1].states);
    }
}

TEST(JoinedSteps, AStepThatTheBudgetDoesNotHoldEndsTheStreamWithASentence) {
    tests::TempDir folder;
    FeedServerOptions options = serverOptions(folder / "feed.sock");
    options.stepBatches = 8;
    RankedFeed feed(options);
    Reader reader;
    reader.join = 1;
    ASSERT_EQ(reader.open(options.socketPath), 0) << reader.error;
    MemoryBudget small(3 * 2048);
    const auto sink = feed.sink({.budget = &small});
    Status status;
    for (std::uint64_t n = 0; n < 8 && status.ok(); ++n) {
        status = putFrame(*sink, n, makeFrame(0, n, 8, 8).bytes(), {});
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    EXPECT_NE(messageOf(status).find("micro-batches of a step that are joined"),
              std::string_view::npos)
        << status;
}

/// The reader keeps all batches in its ring, and the next entry depends on other ranks: the ring is
/// replaced nevertheless.
TEST(JoinedSteps, AKeptBatchDoesNotStopAStepThatIsStillOpen) {
    tests::TempDir folder;
    FeedServerOptions options = serverOptions(folder / "feed.sock");
    options.worldSize = 2;
    options.stepBatches = 2;
    options.ring.ringBytes = 8 << 10;
    options.ring.heldReplace = std::chrono::milliseconds(5);
    RankedFeed feed(options);
    const Plan plan = planOf(60 * 8, 2, 2);
    std::vector<millrace_batch*> kept;
    Read other;
    {
        Reader keeper, reader;
        keeper.join = reader.join = 1;
        keeper.last = reader.last = MILLRACE_LAST_DROP;
        ASSERT_EQ(keeper.open(options.socketPath, nullptr, "train", 0, 2), 0);
        ASSERT_EQ(reader.open(options.socketPath, nullptr, "train", 1, 2), 0);
        std::jthread second([&] { other = readAll(reader, 1); });
        std::jthread first([&] {
            int result = 0;
            while ((result = keeper.nextEvent()) != MILLRACE_FEED_END_OF_STREAM && result >= 0) {
                if (result == MILLRACE_FEED_BATCH) {
                    kept.push_back(keeper.event.batch);
                }
            }
            EXPECT_EQ(result, MILLRACE_FEED_END_OF_STREAM) << keeper.error;
        });
        const auto sink = feed.sink({});
        ASSERT_TRUE(deliver(*sink, plan, 1).ok());
    }
    EXPECT_EQ(kept.size(), 30U);
    EXPECT_EQ(other.batches.size(), 30U);
    for (std::size_t i = 0; i < kept.size(); ++i) {
        EXPECT_TRUE(isFrame(kept[i], 2 * i));
        millrace_batch_release(kept[i]);
    }
}

/// The micro-batches that an entry names are checked against the frame's rows.
TEST(JoinedSteps, AFrameThatDoesNotHoldItsMicroBatchesIsRefused) {
    const FrameNumbers wrong[] = {
        {0, 0, 1, 3}, {0, 0, 1, 2}, {0, 0, 0, 2}, {0, 0, std::int64_t{1} << 61, 2}};
    for (std::size_t i = 0; i < std::size(wrong); ++i) {
        tests::TempDir folder;
        const std::string path = folder / "feed.sock";
        Feed feed(serverOptions(path), [&](const FeedHello&, RingWriter& w, std::stop_token stop) {
            // With 8 rows per micro-batch, 17 to 24 rows are three micro-batches, 9 to 16 rows are
            // two.
            const std::uint32_t rows = i == 0 ? 16 : i == 1 ? 17 : 16;
            const frame::FrameBuffer frame = makeFrame(0, 0, rows, 4);
            const auto slot = w.reserve(frame.size(), 0, 0, stop);
            ASSERT_TRUE(slot.ok());
            std::memcpy(slot->bytes.data(), frame.bytes().data(), frame.size());
            ASSERT_TRUE(w.commitJoined(*slot, wrong[i], frame.size()).ok());
        });
        Reader reader;
        ASSERT_EQ(reader.open(path), 0) << reader.error;
        EXPECT_EQ(reader.next(), MILLRACE_FEED_CORRUPT) << i;
        EXPECT_EQ(reader.error,
                  "micro-batch 0 of epoch 0: its rows are not those of the micro-batches that its "
                  "entry tells of");
    }
}

}  // namespace
}  // namespace millrace::ring

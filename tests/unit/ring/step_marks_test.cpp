// Marks of steps over random streams: all ranks of all feeds see the same steps and have the same
// state at each, and the rest of the stream can begin from that state. Steps may be joined for a
// rank, and an incomplete last step of an epoch may be dropped.
#include <map>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/ring/test_rank.h"

namespace millrace::ring {
namespace {

/// All ranks, distributed to feeds at random.
std::vector<std::vector<TestFeed::Reader>> feedsOf(const Plan& plan, std::mt19937_64& random) {
    std::vector<std::vector<TestFeed::Reader>> feeds(1 + random() % 3);
    for (int rank = 0; rank < plan.worldSize; ++rank) {
        feeds[random() % feeds.size()].push_back({rank, std::nullopt});
    }
    std::erase_if(feeds, [](const auto& feed) { return feed.empty(); });
    return feeds;
}

/// Checks the hashes of all states, and for some of them that the rest of the stream can begin
/// there.
void checkStates(const Plan& plan, const Expected& expected,
                 const std::map<FeedProgress::Place, std::string>& states,
                 std::mt19937_64& random) {
    const std::vector<Piece> whole = sequenceOf(plan, startState().cursor);
    ASSERT_EQ(states.size(), expected.hashes.size());
    for (const auto& [place, text] : states) {
        StreamState state;
        ASSERT_EQ(state.read(text), "");
        ASSERT_TRUE(expected.hashes.count(place)) << place.epoch << "/" << place.number;
        EXPECT_EQ(strCat(state.orderHash.hex(), "/", state.rowsDelivered, "/", state.rowsLeftOut),
                  expected.hashes.at(place));
        const stream::Cursor& at = state.cursor;
        if (random() % states.size() > 1) {
            continue;
        }
        EXPECT_EQ(batchesFrom(sequenceOf(plan, at), at.epoch, at.next),
                  batchesFrom(whole, place.epoch, place.number))
            << text;
    }
}

TEST(StepMarks, AllRanksOfARandomStreamSeeTheSameStepsAndKnowTheSame) {
    for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
        std::mt19937_64 random(seed);
        const Plan plan = Plan::random(random);
        SCOPED_TRACE(strCat("seed ", seed));
        const std::vector<Piece> pieces = sequenceOf(plan, startState().cursor);
        const Expected expected = expectedOf(plan);
        std::map<FeedProgress::Place, std::string> first;
        for (const auto& readers : feedsOf(plan, random)) {
            TestFeed feed(plan, startState(), readers);
            ASSERT_TRUE(feed.give(pieces, pieces.size(), random));
            for (auto& [rank, ring] : feed.rings) {
                TestRank reader;
                reader.begin(plan);
                ASSERT_EQ(reader.read(*ring, ring->entries.size()), "") << "rank " << rank;
                ASSERT_EQ(reader.marks.size(), expected.rows.size());
                for (std::size_t i = 0; i < reader.marks.size(); ++i) {
                    ASSERT_EQ(reader.marks[i].rows, expected.rows[i]);
                    ASSERT_EQ(reader.marks[i].batches, expected.batches[i]);
                    ASSERT_EQ(reader.marks[i].isLeftOut, expected.isLeftOut[i]);
                    if (plan.joined.count(rank) > 0) {
                        const bool hasRows = reader.marks[i].own.rows > 0;
                        ASSERT_EQ(reader.frames[i], hasRows ? 1 : 0) << "rank " << rank;
                        ASSERT_FALSE(hasRows && expected.isLeftOut[i]);
                    }
                }
                // Asked again after everything was read, the library gives the same texts.
                for (const auto& [place, text] : reader.states) {
                    StreamState late;
                    if (random() % reader.states.size() == 0) {
                        ASSERT_EQ(reader.progress.stateAt(place, late), nullptr);
                        ASSERT_EQ(late.toText(), text);
                    }
                }
                first = first.empty() ? reader.states : first;
                ASSERT_EQ(reader.states, first) << "rank " << rank;
            }
        }
        checkStates(plan, expected, first, random);
        ASSERT_FALSE(HasFailure());
    }
}

/// The ranks have read different amounts when the feed dies. The next feed begins at the earliest
/// position, and may die again.
TEST(StepMarks, RanksThatComeBackAfterALostFeedEndAsUndisturbed) {
    for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
        std::mt19937_64 random(seed);
        const Plan plan = Plan::random(random);
        SCOPED_TRACE(strCat("seed ", seed));
        const Expected expected = expectedOf(plan);
        std::vector<TestRank> ranks(static_cast<std::size_t>(plan.worldSize));
        for (TestRank& rank : ranks) {
            rank.begin(plan);
        }
        for (int attempt = 0; attempt < 4; ++attempt) {
            StreamState start = ranks[0].progress.newest();
            std::vector<TestFeed::Reader> readers;
            for (std::size_t r = 0; r < ranks.size(); ++r) {
                const StreamState newest = ranks[r].progress.newest();
                if (std::tie(newest.cursor.epoch, newest.cursor.next) <
                    std::tie(start.cursor.epoch, start.cursor.next)) {
                    start = newest;
                }
                const FeedProgress::Place wanted = ranks[r].progress.wanted();
                readers.push_back({static_cast<int>(r), FeedPosition{wanted.epoch, wanted.number}});
            }
            const bool isLast = attempt == 3;
            const std::vector<Piece> pieces = sequenceOf(plan, start.cursor);
            TestFeed feed(plan, start, readers);
            ASSERT_TRUE(
                feed.give(pieces, isLast ? pieces.size() : random() % (pieces.size() + 1), random));
            for (std::size_t r = 0; r < ranks.size(); ++r) {
                EntryRing& ring = *feed.rings[static_cast<int>(r)];
                const std::size_t all = ring.entries.size();
                ASSERT_EQ(ranks[r].read(ring, isLast ? all : random() % (all + 1), !isLast), "")
                    << "rank " << r << ", attempt " << attempt;
                if (StreamState state; random() % 4 == 0 && !ranks[r].marks.empty()) {
                    const StepMark& mark = ranks[r].marks.back();
                    ASSERT_EQ(ranks[r].progress.advance({mark.epoch, mark.number}, state), nullptr);
                }
            }
        }
        for (const TestRank& rank : ranks) {
            ASSERT_EQ(rank.states, ranks[0].states);
        }
        checkStates(plan, expected, ranks[0].states, random);
        ASSERT_FALSE(HasFailure());
    }
}

/// All micro-batches of a segment are other ranks': what a rank knows of it does not depend on how
/// much the rank has read.
TEST(StepMarks, ASegmentThatARankGetsNothingOfIsKnownToIt) {
    Plan plan;
    plan.microRows = 1;
    plan.worldSize = 4;
    plan.perStep = 4;
    plan.kept = {9, 1, 5};
    plan.partitionStart = {0, 0, 0};
    std::mt19937_64 random(1);
    const std::vector<Piece> pieces = sequenceOf(plan, startState().cursor);
    TestFeed feed(plan, startState(), {{0, {}}, {1, {}}, {2, {}}, {3, {}}});
    ASSERT_TRUE(feed.give(pieces, pieces.size(), random));
    std::set<std::string> texts;
    for (auto& [rank, ring] : feed.rings) {
        TestRank reader;
        reader.begin(plan);
        ASSERT_EQ(reader.read(*ring, ring->entries.size()), "");
        texts.insert(reader.states.at({0, 12}));
    }
    EXPECT_EQ(texts.size(), 1U);
    StreamState state;
    ASSERT_EQ(state.read(*texts.begin()), "");
    EXPECT_EQ(state.cursor.segment, 2);
    EXPECT_EQ(state.cursor.offset, 2);
}

// Only the ring names the micro-batches of a rank, so a missing one shows at the step's end.
TEST(StepMarks, AMissingMicroBatchIsSeenAtTheStepsMark) {
    tests::TempDir folder;
    const std::string path = folder / "feed.sock";
    Feed feed(serverOptions(path), [](const FeedHello&, RingWriter& w, std::stop_token stop) {
        ASSERT_TRUE(writeFrame(w, 0, stop).ok());
        ASSERT_TRUE(writeFrame(w, 2, stop).ok());
        const Result<FrameSlot> slot = w.reserveStep(stop);
        ASSERT_TRUE(slot.ok());
        stream::StepMark mark;
        mark.number = mark.batches = mark.own.batches = 3;
        mark.rows = mark.own.rows = mark.rowsDelivered = 24;
        ASSERT_TRUE(w.commitStep(*slot, mark).ok());
    });
    Reader reader;
    ASSERT_EQ(reader.open(path), 0);
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(reader.next(), MILLRACE_FEED_BATCH);
        millrace_batch_release(reader.event.batch);
    }
    EXPECT_EQ(reader.next(), MILLRACE_FEED_CORRUPT);
    EXPECT_EQ(reader.error,
              "the step before micro-batch 3 of epoch 0: this rank's micro-batches of a step are "
              "not those that its mark tells of");
}

/// Through rings and sockets: 15 micro-batches, steps of 8, two ranks; the second rank has its
/// share of the last step before the first has.
TEST(StepMarks, TwoRanksEndAnEpochThatFillsNoStep) {
    tests::TempDir folder;
    FeedServerOptions options = serverOptions(folder / "feed.sock");
    options.worldSize = 2;
    Mutex mutex;
    CondVar changed;
    std::vector<RingSink::Rank> ranks;
    auto server =
        FeedServer::start(options, [&](const FeedHello& hello, std::shared_ptr<RingWriter> writer) {
            MutexLock lock(mutex);
            ranks.push_back({hello.rank, std::move(writer), hello.next});
            changed.notifyAll();
            return okStatus();
        });
    ASSERT_TRUE(server.ok());
    Reader readers[2];
    for (int r = 0; r < 2; ++r) {
        ASSERT_EQ(readers[r].open(options.socketPath, nullptr, "train", r, 2), 0)
            << readers[r].error;
    }
    Plan plan;
    plan.microRows = 8;
    plan.worldSize = 2;
    plan.perStep = 8;
    plan.kept = {120};
    plan.partitionStart = {0};
    MutexLock lock(mutex);
    while (ranks.size() < 2) {
        changed.wait(mutex);
    }
    RingSink sink(ranks, {plan.worldSize, plan.perStep});
    for (const Piece& p : sequenceOf(plan, startState().cursor)) {
        if (p.kind == Piece::Kind::kSegment) {
            ASSERT_TRUE(sink.segment(p.record, {}).ok());
        } else if (p.kind == Piece::Kind::kEpochEnd) {
            ASSERT_TRUE(sink.endOfEpoch(p.epoch, p.number, {}).ok());
        } else {
            const auto n = static_cast<std::uint64_t>(p.number);
            ASSERT_TRUE(putFrame(sink, n, makeFrame(0, n, 8, 4).bytes(), {}).ok());
        }
    }
    ASSERT_TRUE(sink.endOfStream({}).ok());
    std::string states[2];
    for (int r = 0; r < 2; ++r) {
        int batches = 0, result = 0;
        while ((result = readers[r].nextEvent()) == MILLRACE_FEED_BATCH ||
               result == MILLRACE_FEED_STEP) {
            if (result == MILLRACE_FEED_BATCH) {
                ++batches;
                millrace_batch_release(readers[r].event.batch);
            } else {
                EXPECT_EQ(readers[r].event.batches, readers[r].event.is_last != 0 ? 7U : 8U);
                EXPECT_EQ(readers[r].event.rows, readers[r].event.is_last != 0 ? 56U : 64U);
            }
        }
        EXPECT_EQ(result, MILLRACE_FEED_END_OF_EPOCH) << readers[r].error;
        EXPECT_EQ(readers[r].event.number, 15U);
        EXPECT_EQ(batches, r == 0 ? 8 : 7);
        EXPECT_EQ(readers[r].steps, 2);
        states[r] = readers[r].state(0, 15);
    }
    EXPECT_FALSE(states[0].empty());
    EXPECT_EQ(states[0], states[1]);
}

}  // namespace
}  // namespace millrace::ring

// Marks of steps over random streams: every rank of every feed sees the same steps and, at each of
// them, knows the same; and what it knows is where the rest of the stream begins.
#include <deque>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "backend/ring/feed_progress.h"
#include "backend/ring/ring_layout.h"
#include "backend/stream/open_rest.h"
#include "tests/unit/ring/feed_fixture.h"

namespace millrace::ring {
namespace {

using stream::SegmentRecord;
using stream::StepMark;
using stream::StreamState;

/// A ring without memory: entries in the order in which they were asked for.
class EntryRing final : public StepSink {
 public:
    struct Entry {
        EntryKind kind{};
        std::uint32_t epoch = 0;
        std::int64_t number = 0;
        frame::FrameBuffer frame{0};
        SegmentRecord record;
        StepMark mark;
        FrameNumbers numbers;
        std::uint64_t bytes = 0;
        bool isCommitted = false, isParked = false;
    };

    Result<FrameSlot> reserve(std::uint64_t bytes, std::uint32_t, std::int64_t,
                              std::stop_token) override {
        Entry& entry = add(EntryKind::kFrame);
        entry.frame = frame::FrameBuffer(bytes);
        return FrameSlot{entry.frame.bytes().first(bytes), entries.size() - 1};
    }
    Status commit(const FrameSlot& slot, std::uint32_t epoch, std::int64_t number) override {
        Entry& entry = entries[slot.ticket];
        entry.epoch = epoch;
        entry.number = number;
        entry.isCommitted = true;
        return okStatus();
    }
    Result<FrameSlot> reserveStep(std::stop_token) override {
        add(EntryKind::kStep);
        return FrameSlot{{}, entries.size() - 1};
    }
    Status commitStep(const FrameSlot& slot, const StepMark& mark) override {
        entries[slot.ticket].mark = mark;
        entries[slot.ticket].isCommitted = true;
        return okStatus();
    }
    Status segment(const SegmentRecord& record, std::stop_token) override {
        Entry& entry = add(EntryKind::kSegment);
        entry.record = record;
        entry.isCommitted = true;
        return okStatus();
    }
    Status endOfEpoch(std::uint32_t epoch, std::int64_t total, std::stop_token) override {
        Entry& entry = add(EntryKind::kEndOfEpoch);
        entry.epoch = epoch;
        entry.number = total;
        entry.isCommitted = true;
        return okStatus();
    }
    Status endOfStream(std::stop_token) override { return okStatus(); }
    Status error(const Status&, std::stop_token) override { return okStatus(); }
    Status columns(std::span<const std::byte>, std::stop_token) override {
        add(EntryKind::kColumns).isCommitted = true;
        return okStatus();
    }
    Status commitJoined(const FrameSlot& slot, const FrameNumbers& of,
                        std::uint64_t bytes) override {
        Entry& entry = entries[slot.ticket];
        EXPECT_LE(bytes, slot.bytes.size());
        entry.bytes = bytes;
        entry.numbers = of;
        return commit(slot, of.epoch, of.first);
    }
    Status commitNothing(const FrameSlot& slot) override {
        entries[slot.ticket].kind = EntryKind::kNothing;
        entries[slot.ticket].isCommitted = true;
        return okStatus();
    }
    Status park(const FrameSlot& slot) override {
        entries[slot.ticket].isParked = true;
        return okStatus();
    }

    std::deque<Entry> entries;

 private:
    Entry& add(EntryKind kind) {
        entries.emplace_back().kind = kind;
        return entries.back();
    }
};

/// One stream: rows kept by segment, and how it is dealt.
struct Plan {
    std::int64_t microRows = 1, perStep = 1;
    int worldSize = 1;
    std::uint32_t epochs = 1;
    std::vector<std::int64_t> kept, partitionStart;
    std::int64_t headBatches = 0;  ///< of the first segment, given before its record

    static Plan random(std::mt19937_64& random) {
        const auto upTo = [&](std::uint64_t most) {
            return static_cast<std::int64_t>(random() % (most + 1));
        };
        Plan plan;
        plan.microRows = 1 + upTo(5);
        plan.worldSize = static_cast<int>(1 + upTo(15));
        plan.perStep = plan.worldSize * (1 + upTo(2));
        plan.epochs = static_cast<std::uint32_t>(1 + upTo(1));
        const std::uint64_t most = random() % 3 == 0 ? 5 : 60;
        const bool hasPartitions = random() % 4 == 0;
        for (std::int64_t s = upTo(7); s >= 0; --s) {
            const auto index = static_cast<std::int64_t>(plan.kept.size());
            plan.kept.push_back(random() % 3 == 0 ? 0 : upTo(most));
            const bool isStart = index == 0 || (hasPartitions && random() % 3 == 0);
            plan.partitionStart.push_back(isStart ? index : plan.partitionStart.back());
        }
        plan.headBatches = random() % 3 == 0 ? upTo(4) : 0;
        return plan;
    }
};

/// What comes in a sequence, one after the other, as the sequencer tells it.
struct Piece {
    enum class Kind { kBatch, kSegment, kEpochEnd } kind = Kind::kBatch;
    std::uint32_t epoch = 0;
    std::int64_t number = 0;  ///< of the batch; the epoch's total
    std::int64_t rows = 0;
    SegmentRecord record;
};

SegmentRecord recordOf(const Plan& plan, std::uint32_t epoch, const stream::SegmentShare& share) {
    const std::int64_t kept = plan.kept[static_cast<std::size_t>(share.segment)];
    SegmentRecord record{epoch,         share.segment,  share.first,
                         share.count(), share.tailRows, {1, kept + 3, 1, kept, {{kept + 2, kept}}}};
    record.sums.counts = {{"ids/x", kept + share.segment}};
    return record;
}

/// From a cursor to the end.
std::vector<Piece> sequenceOf(const Plan& plan, const stream::Cursor& from) {
    std::vector<Piece> pieces;
    stream::OpenRest rest(plan.microRows, from);
    std::int64_t segment = from.segment;
    const bool hasHead = from.segment == 0 && from.offset == 0 && from.rest.empty();
    for (std::uint32_t epoch = from.epoch; epoch < plan.epochs; ++epoch) {
        for (; segment < static_cast<std::int64_t>(plan.kept.size()); ++segment) {
            const auto at = static_cast<std::size_t>(segment);
            const stream::SegmentShare share =
                rest.add(segment, plan.kept[at], plan.partitionStart[at]);
            const bool isFirst = hasHead && epoch == from.epoch && segment == 0;
            const std::int64_t head = isFirst ? std::min(plan.headBatches, share.full) : 0;
            const auto give = [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i) {
                    if (epoch > from.epoch || share.first + i >= from.next) {
                        pieces.push_back(
                            {Piece::Kind::kBatch, epoch, share.first + i, plan.microRows, {}});
                    }
                }
            };
            give(0, head);
            pieces.push_back({Piece::Kind::kSegment, epoch, 0, 0, recordOf(plan, epoch, share)});
            give(head, share.count());
        }
        if (const auto joined = rest.finish(segment);
            joined && (epoch > from.epoch || joined->number >= from.next)) {
            pieces.push_back({Piece::Kind::kBatch, epoch, joined->number, joined->rows, {}});
        }
        pieces.push_back({Piece::Kind::kEpochEnd, epoch, rest.next(), 0, {}});
        rest.startEpoch();
        segment = 0;
    }
    return pieces;
}

/// A feed that serves some of the ranks. Frames are committed in any order.
class TestFeed {
 public:
    struct Reader {
        int rank;
        std::optional<FeedPosition> next;
    };
    TestFeed(const Plan& plan, const StreamState& start, const std::vector<Reader>& readers) {
        RingSink::Options options{plan.worldSize, plan.perStep, start.orderHash,
                                  start.rowsDelivered};
        std::vector<RingSink::Rank> ranks;
        for (const Reader& reader : readers) {
            rings[reader.rank] = std::make_shared<EntryRing>();
            ranks.push_back({reader.rank, rings[reader.rank], reader.next});
        }
        sink_ = std::make_unique<RingSink>(std::move(ranks), options);
    }

    /// False: the sink refused something.
    bool give(const std::vector<Piece>& pieces, std::size_t most, std::mt19937_64& random) {
        bool isFine = true;
        for (std::size_t i = 0; i < std::min(most, pieces.size()); ++i) {
            const Piece& p = pieces[i];
            if (p.kind == Piece::Kind::kSegment) {
                isFine = isFine && sink_->segment(p.record, {}).ok();
            } else if (p.kind == Piece::Kind::kEpochEnd) {
                isFine = isFine && sink_->endOfEpoch(p.epoch, p.number, {}).ok();
            } else if (sink_->wants(p.epoch, p.number)) {
                isFine = isFine && reserve(p);
            } else {
                const auto number = static_cast<std::uint64_t>(p.number);
                const Sum128 ids = idsOf(p.epoch, number, static_cast<std::uint32_t>(p.rows));
                isFine = isFine && sink_->leftOut(p.epoch, p.number, p.rows, ids, {}).ok();
            }
            while (!open_.empty() && random() % 3 != 0) {
                isFine = isFine && commit(random() % open_.size());
            }
        }
        while (!open_.empty()) {
            isFine = isFine && commit(random() % open_.size());
        }
        return isFine;
    }

    std::map<int, std::shared_ptr<EntryRing>> rings;

 private:
    struct Open {
        FrameSlot slot;
        std::uint32_t epoch;
        std::int64_t number;
    };
    bool reserve(const Piece& p) {
        const frame::FrameBuffer frame = makeFrame(p.epoch, static_cast<std::uint64_t>(p.number),
                                                   static_cast<std::uint32_t>(p.rows), 0);
        auto slot = sink_->reserve(frame.size(), p.epoch, p.number, {});
        if (!slot.ok()) {
            return false;
        }
        std::memcpy(slot->bytes.data(), frame.bytes().data(), frame.size());
        open_.push_back({*slot, p.epoch, p.number});
        return true;
    }
    bool commit(std::size_t i) {
        const Open open = open_[i];
        open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
        return sink_->commit(open.slot, open.epoch, open.number).ok();
    }

    std::unique_ptr<RingSink> sink_;
    std::vector<Open> open_;
};

/// A rank: what the C library does with the entries, without a ring.
struct TestRank {
    FeedProgress progress;
    std::map<FeedProgress::Place, std::string> states;  ///< at each mark, asked at once
    std::vector<StepMark> marks;
    StepMark lastMark;  ///< of this ring
    SegmentRecord lastRecord;

    /// Reads what may be read, at most so many entries; what is wrong, or "".
    std::string read(EntryRing& ring, std::size_t most) {
        lastMark = {};
        lastRecord = {};
        for (std::size_t i = 0; i < std::min(most, ring.entries.size()); ++i) {
            const EntryRing::Entry& entry = ring.entries[i];
            if (!entry.isCommitted) {
                return "an entry was left without content";
            }
            if (const char* wrong = take(entry)) {
                return wrong;
            }
        }
        return "";
    }
    const char* take(const EntryRing::Entry& entry) {
        switch (entry.kind) {
            case EntryKind::kFrame: {
                const auto view = frame::FrameView::open(entry.frame.bytes());
                const Sum128 ids = stream::rowIdsHash(view->rowFiles(), view->rowNumbers());
                return progress.addBatch(
                    {entry.epoch, entry.number},
                    stream::batchHash(entry.epoch, static_cast<std::uint64_t>(entry.number), ids),
                    view->rows());
            }
            case EntryKind::kSegment:
                return takeRecord(entry.record);
            case EntryKind::kStep:
                return takeMark(entry.mark);
            default:
                return progress.endEpoch(entry.epoch, entry.number);
        }
    }
    /// Where a mark stands among the records; the first segment's may follow some of its frames.
    const char* takeRecord(const SegmentRecord& record) {
        if (record.count > 0) {
            if (record.segment > 0 && record.epoch == lastMark.epoch &&
                record.first < lastMark.number) {
                return "a record stands behind a mark that it belongs before";
            }
            lastRecord = record;
        }
        return progress.addRecord(record);
    }
    const char* takeMark(const StepMark& mark) {
        if (lastRecord.epoch == mark.epoch && lastRecord.first >= mark.number &&
            lastRecord.count > 0) {
            return "a mark stands behind a record that it belongs before";
        }
        lastMark = mark;
        bool isNew = false;
        const char* wrong = progress.addMark(mark, isNew);
        if (wrong == nullptr && isNew) {
            StreamState state;
            const FeedProgress::Place place{mark.epoch, mark.number};
            wrong = progress.stateAt(place, state);
            states[place] = state.toText();
            marks.push_back(mark);
        }
        return wrong;
    }
};

StreamState startState() {
    StreamState state;
    state.cursor = stream::Cursor::start(kStream, kPlan);
    return state;
}

/// The state at each step's end, counted from the whole sequence; and the steps' rows.
struct Expected {
    std::map<FeedProgress::Place, std::string> hashes;
    std::vector<std::int64_t> rows, batches;
};
Expected expectedOf(const Plan& plan) {
    Expected expected;
    stream::OrderHash hash;
    std::int64_t rows = 0, batches = 0, allRows = 0;
    const auto end = [&](std::uint32_t epoch, std::int64_t number) {
        expected.hashes[{epoch, number}] = strCat(hash.hex(), "/", allRows);
        expected.rows.push_back(std::exchange(rows, 0));
        expected.batches.push_back(std::exchange(batches, 0));
    };
    for (const Piece& p : sequenceOf(plan, startState().cursor)) {
        if (p.kind == Piece::Kind::kBatch) {
            if (p.number > 0 && p.number % plan.perStep == 0) {
                end(p.epoch, p.number);
            }
            const auto number = static_cast<std::uint64_t>(p.number);
            hash.add(stream::OrderHash(stream::batchHash(
                p.epoch, number, idsOf(p.epoch, number, static_cast<std::uint32_t>(p.rows)))));
            rows += p.rows;
            allRows += p.rows;
            ++batches;
        } else if (p.kind == Piece::Kind::kEpochEnd) {
            end(p.epoch, p.number);
        }
    }
    return expected;
}

/// What comes behind a place, one line a batch.
std::vector<std::string> batchesFrom(const std::vector<Piece>& pieces, std::uint32_t epoch,
                                     std::int64_t number) {
    std::vector<std::string> lines;
    for (const Piece& p : pieces) {
        if (p.kind == Piece::Kind::kBatch &&
            std::tie(p.epoch, p.number) >= std::tie(epoch, number)) {
            lines.push_back(strCat(p.epoch, "/", p.number, ": ", p.rows));
        }
    }
    return lines;
}

/// All ranks, dealt to feeds at random.
std::vector<std::vector<TestFeed::Reader>> feedsOf(const Plan& plan, std::mt19937_64& random) {
    std::vector<std::vector<TestFeed::Reader>> feeds(1 + random() % 3);
    for (int rank = 0; rank < plan.worldSize; ++rank) {
        feeds[random() % feeds.size()].push_back({rank, std::nullopt});
    }
    std::erase_if(feeds, [](const auto& feed) { return feed.empty(); });
    return feeds;
}

/// All of their hashes; of some, that the rest of the stream begins there.
void checkStates(const Plan& plan, const Expected& expected,
                 const std::map<FeedProgress::Place, std::string>& states,
                 std::mt19937_64& random) {
    const std::vector<Piece> whole = sequenceOf(plan, startState().cursor);
    ASSERT_EQ(states.size(), expected.hashes.size());
    for (const auto& [place, text] : states) {
        StreamState state;
        ASSERT_EQ(state.read(text), "");
        ASSERT_TRUE(expected.hashes.count(place)) << place.epoch << "/" << place.number;
        EXPECT_EQ(strCat(state.orderHash.hex(), "/", state.rowsDelivered),
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
                reader.progress.begin(startState(), plan.microRows);
                ASSERT_EQ(reader.read(*ring, ring->entries.size()), "") << "rank " << rank;
                ASSERT_EQ(reader.marks.size(), expected.rows.size());
                for (std::size_t i = 0; i < reader.marks.size(); ++i) {
                    ASSERT_EQ(reader.marks[i].rows, expected.rows[i]);
                    ASSERT_EQ(reader.marks[i].batches, expected.batches[i]);
                }
                // Asked again when everything has been read: the same texts.
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

/// The ranks have read different amounts when the feed goes away; the next one begins where all
/// have been, and may serve them again and again.
TEST(StepMarks, RanksThatComeBackAfterALostFeedEndAsUndisturbed) {
    for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
        std::mt19937_64 random(seed);
        const Plan plan = Plan::random(random);
        SCOPED_TRACE(strCat("seed ", seed));
        const Expected expected = expectedOf(plan);
        std::vector<TestRank> ranks(static_cast<std::size_t>(plan.worldSize));
        for (TestRank& rank : ranks) {
            rank.progress.begin(startState(), plan.microRows);
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
                ASSERT_EQ(ranks[r].read(ring, isLast ? all : random() % (all + 1)), "")
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

/// A segment that lies wholly in other ranks' numbers: what a rank knows of it does not hang on how
/// much it has read.
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
        reader.progress.begin(startState(), plan.microRows);
        ASSERT_EQ(reader.read(*ring, ring->entries.size()), "");
        texts.insert(reader.states.at({0, 12}));
    }
    EXPECT_EQ(texts.size(), 1U);
    StreamState state;
    ASSERT_EQ(state.read(*texts.begin()), "");
    EXPECT_EQ(state.cursor.segment, 2);
    EXPECT_EQ(state.cursor.offset, 2);
}

// Which numbers a rank gets, only the ring says: that one is missing shows at the step's end.
TEST(StepMarks, AMissingMicroBatchIsSeenAtTheStepsMark) {
    TempFolder folder;
    const std::string path = folder.file("feed.sock");
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

/// Through rings and sockets: 15 micro-batches, steps of 8, two ranks; the second has its share of
/// the last step before the first.
TEST(StepMarks, TwoRanksEndAnEpochThatFillsNoStep) {
    TempFolder folder;
    FeedServerOptions options = serverOptions(folder.file("feed.sock"));
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

// A data worker's engine alone: orders, room, memory, withdrawals.
#include "backend/segment/sequence/segment_server.h"

#include "tests/unit/segment/stream_fixture.h"

namespace millrace::segment {
namespace {

class ServerTest : public StreamTest {
 protected:
    void SetUp() override {
        writeCsv();
        input_ = open(specText(batchText("rows")));
    }

    std::unique_ptr<SegmentServer> serve(const SegmentServerOptions& options, BufferPool& pool) {
        return std::make_unique<SegmentServer>(
            input_, options, pool, counters_,
            [this](const stream::SegmentOrder& order) { note(strCat("begun ", textOf(order))); },
            [this](SegmentDone done) {
                const char* what = done.isGivenUp     ? "given up "
                                   : done.status.ok() ? "done "
                                                      : "failed ";
                const std::string text = strCat(what, textOf(done.order));
                {
                    MutexLock lock(mutex_);
                    done_.push_back(std::move(done));
                }
                note(text);
            });
    }
    static std::string textOf(const stream::SegmentOrder& order) {
        return strCat(order.name.segment, "/", order.generation);
    }
    stream::SegmentOrder orderOf(std::int64_t segment, std::uint32_t generation = 0) const {
        stream::SegmentOrder order;
        order.name = {0, segment};
        order.generation = generation;
        order.decodedBytes = input_->decodedBytes(0, segment);
        return order;
    }
    void note(const std::string& what) {
        MutexLock lock(mutex_);
        notes_.push_back(what);
        changed_.notifyAll();
    }
    /// All notes so far, once the last of them is this one.
    std::vector<std::string> notesUntil(const std::string& last) {
        MutexLock lock(mutex_);
        while (std::find(notes_.begin(), notes_.end(), last) == notes_.end()) {
            changed_.wait(mutex_);
        }
        return notes_;
    }

    std::shared_ptr<const StreamInput> input_;
    Mutex mutex_;
    CondVar changed_;
    std::vector<std::string> notes_ MR_GUARDED_BY(mutex_);
    std::vector<SegmentDone> done_ MR_GUARDED_BY(mutex_);
};

using Notes = std::vector<std::string>;

TEST_F(ServerTest, AnOrderBeforeWhatIsHeldTakesItsRoomAndALaterOneWaits) {
    SegmentServerOptions options;
    options.heldBytesMax = 1;  // room for one segment
    const auto server = serve(options, pool_);
    server->order(orderOf(5));
    notesUntil("done 5/0");
    server->order(orderOf(7));
    server->order(orderOf(3));
    EXPECT_EQ(notesUntil("done 3/0"),
              (Notes{"begun 5/0", "done 5/0", "given up 5/0", "begun 3/0", "done 3/0"}));
    EXPECT_FALSE(server->frame(orderOf(5), 0));
    EXPECT_TRUE(server->frame(orderOf(3), 0));
    EXPECT_FALSE(server->frame(orderOf(3, 1), 0)) << "another generation";
    server->withdraw(orderOf(3));
    EXPECT_EQ(notesUntil("done 7/0").back(), "done 7/0");
    EXPECT_FALSE(server->frame(orderOf(3), 0));
    EXPECT_TRUE(server->frame(orderOf(7), 0));
}

// A frame that is read in place is overwritten only after its reader has withdrawn it.
TEST_F(ServerTest, WhatAFeedMayReadStaysUntilItIsWithdrawnByName) {
    SegmentServerOptions options;
    options.heldBytesMax = 1;
    options.arena =
        std::make_shared<FrameArena>(pool_, 1 << 20, [](const FrameSlab&) { return okStatus(); });
    const auto server = serve(options, pool_);
    server->order(orderOf(5));
    notesUntil("done 5/0");
    const auto frame = server->frame(orderOf(5), 0);
    ASSERT_TRUE(frame && frame->isShared());
    const std::vector<std::byte> bytes(frame->bytes.begin(), frame->bytes.end());
    const SlabPlace place = frame->place;
    server->order(orderOf(3));
    notesUntil("given up 5/0");
    server->withdrawUnread(orderOf(5));
    EXPECT_TRUE(server->frame(orderOf(5), 0)) << "it was read";
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), frame->bytes.begin()));
    EXPECT_TRUE(place.isStill());
    server->withdraw(orderOf(5));
    EXPECT_EQ(notesUntil("done 3/0"),
              (Notes{"begun 5/0", "done 5/0", "given up 5/0", "begun 3/0", "done 3/0"}));
    EXPECT_FALSE(server->frame(orderOf(5), 0));
    server->withdrawUnread(orderOf(3));
    EXPECT_FALSE(server->frame(orderOf(3), 0)) << "nobody read it";
}

TEST_F(ServerTest, FramesAreHeldUntilTheyAreWithdrawnAndTheirMemoryComesBack) {
    BufferPool pool(std::int64_t{1} << 30);
    const auto server = serve({}, pool);
    server->order(orderOf(1));
    notesUntil("done 1/0");
    std::int64_t frameBytes = 0;
    {
        MutexLock lock(mutex_);
        const SegmentReport& facts = done_.back().facts;
        const auto numFull = std::ssize(facts.frames);
        ASSERT_GT(facts.tailRows, 0);
        EXPECT_TRUE(server->frame(orderOf(1), numFull)) << "the tail";
        EXPECT_FALSE(server->frame(orderOf(1), numFull + 1));
        EXPECT_FALSE(server->frame(orderOf(1), -1));
        for (std::int64_t i = 0; i <= numFull; ++i) {
            frameBytes += std::ssize(server->frame(orderOf(1), i)->bytes);
        }
    }
    ASSERT_GT(frameBytes, 0);
    const std::int64_t held = pool.bytes_allocated();
    server->withdraw(orderOf(1));
    EXPECT_LE(pool.bytes_allocated(), held - frameBytes);
    EXPECT_FALSE(server->frame(orderOf(1), 0));
}

TEST_F(ServerTest, ASegmentThatDoesNotFitIsNamedWithTheLimit) {
    BufferPool pool(20'000);
    SegmentServerOptions options;
    options.threads = 2;
    const auto server = serve(options, pool);
    server->order(orderOf(2));
    EXPECT_EQ(notesUntil("failed 2/0").back(), "failed 2/0");
    MutexLock lock(mutex_);
    EXPECT_EQ(done_.back().status.code(), absl::StatusCode::kResourceExhausted);
    const std::string text(messageOf(done_.back().status));
    EXPECT_NE(text.find("segment 2 of epoch 0 (part-"), std::string::npos) << text;
    EXPECT_NE(text.find("memory limit of the data worker (20.0 kB)"), std::string::npos) << text;
}

TEST_F(ServerTest, FactsThatCannotBeTheOrdersAreRefused) {
    const auto server = serve({}, pool_);
    server->order(orderOf(4));
    notesUntil("done 4/0");
    SegmentReport facts;
    {
        MutexLock lock(mutex_);
        facts = done_.back().facts;
    }
    const StreamShape& shape = input_->shape();
    EXPECT_TRUE(checkFacts(facts, orderOf(4), shape).ok());
    const auto isRefused = [&](const std::function<void(SegmentReport&)>& change) {
        SegmentReport wrong = facts;
        change(wrong);
        return checkFacts(wrong, orderOf(4), shape).code() == absl::StatusCode::kDataLoss;
    };
    EXPECT_TRUE(isRefused([](SegmentReport& f) { ++f.counts.rowsKept; }));
    EXPECT_TRUE(isRefused([](SegmentReport& f) { f.counts.rowsPruned = -1; }));
    EXPECT_TRUE(isRefused([](SegmentReport& f) { f.counts.steps.pop_back(); }));
    EXPECT_TRUE(isRefused([](SegmentReport& f) { f.counts.steps[0].reasons[1] = -7; }));
    EXPECT_TRUE(isRefused([](SegmentReport& f) { f.counts.vocabularies.emplace_back(); }));
    EXPECT_TRUE(isRefused([](SegmentReport& f) { f.counts.labels.emplace_back(); }));
    EXPECT_TRUE(isRefused([](SegmentReport& f) { f.counts.labels.at(0).nans = -1; }));
    EXPECT_TRUE(isRefused([](SegmentReport& f) { f.frames.pop_back(); }));
    EXPECT_TRUE(isRefused([](SegmentReport& f) { f.frames[0].codedBytes = 0; }));
    EXPECT_TRUE(isRefused([](SegmentReport& f) { f.frames[0].userRows = 17; }));
    EXPECT_TRUE(isRefused([](SegmentReport& f) { ++f.tailRows; }));
    EXPECT_TRUE(isRefused([](SegmentReport& f) { f.tail.bytes = std::uint64_t{1} << 50; }));
    EXPECT_TRUE(isRefused([](SegmentReport& f) { f.tailUserKeys.resize(99); }));
    stream::SegmentOrder tailOnly = orderOf(4);
    tailOnly.lastRows = 5;
    EXPECT_FALSE(checkFacts(facts, tailOnly, shape).ok());
}

/// Records its requests.
class IdleHolder final : public FrameHolder {
 public:
    void take(const stream::SegmentOrder&, const FrameSpan& span,
              const std::shared_ptr<RemoteFrames>&) override {
        numAsked += span.count;
    }
    void release(const stream::SegmentOrder&) override { ++numReleased; }
    std::int64_t numAsked = 0, numReleased = 0;
};

TEST_F(ServerTest, FramesThatNobodyAskedForOrThatAreOthersAreRefused) {
    const auto server = serve({}, pool_);
    server->order(orderOf(4));
    notesUntil("done 4/0");
    SegmentReport facts;
    {
        MutexLock lock(mutex_);
        facts = done_.back().facts;
    }
    const auto holder = std::make_shared<IdleHolder>();
    auto frames = *RemoteFrames::make(input_->shape(), orderOf(4), facts, holder);
    const CodedFrame first = *server->frame(orderOf(4), 0);
    EXPECT_NE(frames->came(0, first).message().find("nobody asked for it"), std::string::npos);
    frames->ask({0, 1});
    EXPECT_EQ(holder->numAsked, 1);
    EXPECT_FALSE(frames->came(1, *server->frame(orderOf(4), 1)).ok()) << "beyond what was asked";
    EXPECT_FALSE(frames->came(0, {first.owner, first.bytes.first(10)}).ok());
    std::vector<std::byte> bytes(first.bytes.begin(), first.bytes.end());
    bytes[bytes.size() / 2] ^= std::byte{1};
    const auto owner = std::make_shared<int>(0);
    const Status damaged = frames->came(0, {owner, bytes});
    EXPECT_NE(damaged.message().find("frame 0 of segment 4 of epoch 0: coded frame: the checksum"),
              std::string::npos)
        << damaged;
    EXPECT_FALSE(frames->isAtHand(0));
    ASSERT_TRUE(frames->came(0, first).ok());
    EXPECT_TRUE(frames->isAtHand(0));
    FrameTools tools(input_->layout());
    const FrameRows rows{0, 0, input_->microRows()};
    frame::FrameBuffer place(*frames->measure(rows, tools));
    EXPECT_FALSE(frames->write(rows, tools, place.bytes(), {0, 5, 0}).ok()) << "another's name";
    EXPECT_TRUE(frames->write(rows, tools, place.bytes(), {0, 4, 0}).ok());
    frames.reset();
    EXPECT_EQ(holder->numReleased, 1);
}

}  // namespace
}  // namespace millrace::segment

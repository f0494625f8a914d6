// A relay fetches frames from data workers over real connections: what it takes, and what it
// refuses in whose name.
#include <fcntl.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/core/mutex.h"
#include "backend/feed/reader_ring.h"
#include "backend/frame/codec.h"
#include "backend/stream/state/order_hash.h"
#include "daemon/worker/data/frame_sender.h"
#include "daemon/worker/relay/frame_fetcher.h"
#include "daemon/worker/relay/parts_filler.h"
#include "daemon/worker/wire/order_name.h"
#include "tests/support/poll.h"

namespace millrace::data {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kWorker = 0xfeed'0000'0000'0007;
constexpr std::uint32_t kRows = 32;

const frame::FrameLayout& layout() {
    static const frame::FrameLayout layout = *frame::FrameLayout::make(
        {frame::ColumnSpec::fixed(frame::Role::kId, frame::DType::kInt64, "id"),
         frame::ColumnSpec::list(frame::Role::kList, frame::DType::kInt64, "list")},
        std::string(32, 'a'));
    return layout;
}

frame::FrameBuffer frameOf(std::int64_t number, std::uint32_t rows = kRows) {
    frame::FrameWriter writer(layout());
    frame::FrameBuffer buffer(*writer.declare(rows, std::vector<std::uint64_t>{0, 0, 0, rows}));
    EXPECT_TRUE(writer.bind(buffer.bytes(), {0, 3, static_cast<std::uint32_t>(number)}).ok());
    for (std::uint32_t r = 0; r < rows; ++r) {
        writer.values<std::uint32_t>(0)[r] = 1;
        writer.values<std::uint64_t>(1)[r] = static_cast<std::uint64_t>(number * 1000 + r);
        writer.values<std::int64_t>(2)[r] = number;
        writer.offsets(3)[r] = r;
        writer.values<std::int64_t>(3)[r] = number + r;
    }
    return buffer;
}

segment::CodedFrame codedOf(std::int64_t number) {
    const frame::FrameBuffer frame = frameOf(number);
    auto bytes = std::make_shared<std::vector<std::byte>>();
    EXPECT_TRUE(
        frame::FrameEncoder({}).encode(*frame::FrameView::open(frame.bytes()), *bytes).ok());
    return {bytes, *bytes};
}

/// A frame of whose columns none is coded.
segment::CodedFrame plainOf(const frame::FrameBuffer& frame) {
    auto bytes = std::make_shared<std::vector<std::byte>>(frame::FrameEncoder::kPlainHead);
    bytes->insert(bytes->end(), frame.bytes().begin(), frame.bytes().end());
    frame::FrameEncoder::wrap(*bytes, true);
    return {bytes, *bytes};
}

stream::FramePart partOf(std::int64_t number) {
    const frame::FrameBuffer frame = frameOf(number);
    const auto view = frame::FrameView::open(frame.bytes());
    stream::FramePart part;
    part.worker = kWorker;
    part.name = {0, 3};
    part.generation = 5;
    part.frame = number;
    part.rows = part.to = kRows;
    part.bytes = frame.size();
    part.codedBytes = codedOf(number).bytes.size();
    part.rowIds = stream::rowIdsHash(view->rowFiles(), view->rowNumbers());
    return part;
}

stream::FramePart plainPartOf(std::int64_t number) {
    stream::FramePart part = partOf(number);
    part.codedBytes = part.bytes + frame::FrameEncoder::kPlainHead;
    return part;
}

class FetchTest : public ::testing::Test {
 protected:
    void SetUp() override {
        auto writer = ring::RingWriter::open({}, [this](int fd, std::uint64_t) {
            std::string wrong;
            ring_ = ring::ReaderRing::map(::fcntl(fd, F_DUPFD_CLOEXEC, 3), nullptr, wrong);
            return ring_ != nullptr ? okStatus() : internalError(wrong);
        });
        ASSERT_TRUE(writer.ok()) << writer.status();
        writer_ = *std::move(writer);
        auto fetcher = relay::FrameFetcher::start("127.0.0.1");
        ASSERT_TRUE(fetcher.ok()) << fetcher.status();
        fetcher_ = *std::move(fetcher);
        filler_ = std::make_unique<relay::PartsFiller>(
            *writer_, fetcher_.get(),
            relay::PartsFiller::Handlers{[this](std::uint64_t frames) {
                                             MutexLock lock(mutex_);
                                             numWritten_ = frames;
                                         },
                                         [this](std::uint64_t worker, std::uint32_t connection) {
                                             MutexLock lock(mutex_);
                                             lost_ = worker;
                                             lostConnection_ = connection;
                                         },
                                         [this](const Status& why, std::uint64_t worker) {
                                             MutexLock lock(mutex_);
                                             broken_ = why;
                                             whose_ = worker;
                                         }});
        ASSERT_TRUE(filler_->setColumns(frameOf(0, 0).bytes()).ok());
    }
    /// A worker that answers with `frameOf`.
    void connect(FrameSender::FrameOf frameOf, std::uint64_t worker = kWorker) {
        std::atomic<bool> isOpen{false};
        sender_ =
            std::make_unique<FrameSender>(std::move(frameOf), [] {}, [&isOpen] { isOpen = true; });
        const auto file = transport::JoinFile::fromText(fetcher_->join(), "the relay's");
        ASSERT_TRUE(file.ok()) << file.status();
        sender_->start(*transport::openChannel(*file), wire::WorkerConnection{worker, 3}.text());
        ASSERT_TRUE(test::eventually([&] { return isOpen.load(); }));
    }
    std::uint64_t awaitLost() {
        EXPECT_TRUE(test::eventually([&] {
            MutexLock lock(mutex_);
            return lost_ != 0;
        }));
        MutexLock lock(mutex_);
        return std::exchange(lost_, 0);
    }
    std::uint32_t lostConnection() {
        MutexLock lock(mutex_);
        return lostConnection_;
    }
    void awaitWritten(std::uint64_t frames) {
        EXPECT_TRUE(test::eventually([&] {
            MutexLock lock(mutex_);
            return numWritten_ == frames;
        }));
    }
    void add(std::vector<ring::RingPart> parts, std::int64_t number) {
        const auto slot = writer_->reserve(relay::PartsFiller::framesBytes(parts), 0, number, {});
        ASSERT_TRUE(slot.ok());
        const auto count = static_cast<std::int64_t>(parts.size());
        ASSERT_TRUE(filler_->add(*slot, {0, number, 1, count}, std::move(parts), {}).ok());
    }
    Status awaitBroken() {
        EXPECT_TRUE(test::eventually([&] {
            MutexLock lock(mutex_);
            return !broken_.ok();
        }));
        MutexLock lock(mutex_);
        return broken_;
    }
    std::uint64_t whose() {
        MutexLock lock(mutex_);
        return whose_;
    }

    std::shared_ptr<ring::ReaderRing> ring_;
    std::unique_ptr<ring::RingWriter> writer_;
    std::unique_ptr<relay::FrameFetcher> fetcher_;
    std::unique_ptr<relay::PartsFiller> filler_;
    std::unique_ptr<FrameSender> sender_;
    Mutex mutex_;
    std::uint64_t numWritten_ MR_GUARDED_BY(mutex_) = 0, whose_ MR_GUARDED_BY(mutex_) = 0;
    std::uint64_t lost_ MR_GUARDED_BY(mutex_) = 0;
    std::uint32_t lostConnection_ MR_GUARDED_BY(mutex_) = 0;
    Status broken_ MR_GUARDED_BY(mutex_);
};

TEST_F(FetchTest, WritesFramesInTheirOrderAndJoinsParts) {
    connect([](const stream::SegmentOrder& order, std::int64_t frame) {
        EXPECT_EQ(order.generation, 5U);
        return codedOf(frame);
    });
    add({{partOf(4), {}}}, 4);
    const frame::FrameBuffer inlined = frameOf(6);
    add({{partOf(5), {}}, {{}, inlined.bytes()}, {partOf(7), {}}}, 5);
    stream::FramePart rows = partOf(8);
    rows.from = 10;
    rows.to = 13;
    add({{rows, {}}}, 8);
    awaitWritten(4);
    const std::vector<std::vector<std::int64_t>> expected = {{4}, {5, 6, 7}, {8}};
    for (const std::vector<std::int64_t>& numbers : expected) {
        ring::RingEntry entry;
        unsigned char* payload = nullptr;
        std::uint64_t index = 0;
        ASSERT_TRUE(ring_->hasNext());
        ASSERT_EQ(ring_->take(entry, payload, index), nullptr);
        const auto view =
            frame::FrameView::open({reinterpret_cast<const std::byte*>(payload), entry.bytes});
        ASSERT_TRUE(view.ok()) << view.status();
        std::vector<std::uint64_t> ids;
        for (const std::int64_t number : numbers) {
            const std::uint32_t from = number == 8 ? 10 : 0, to = number == 8 ? 13 : kRows;
            for (std::uint32_t r = from; r < to; ++r) {
                ids.push_back(static_cast<std::uint64_t>(number * 1000 + r));
            }
        }
        EXPECT_TRUE(std::ranges::equal(view->rowNumbers(), ids));
        EXPECT_EQ(entry.number, static_cast<std::uint64_t>(numbers.front()));
        ring_->release(index);
    }
}

TEST_F(FetchTest, RefusesOtherRowsAndNamesTheWorker) {
    // A sound frame, of the announced size, with other rows.
    connect([](const stream::SegmentOrder&, std::int64_t) { return codedOf(9); });
    add({{partOf(4), {}}}, 4);
    const Status why = awaitBroken();
    EXPECT_EQ(why.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(messageOf(why)), HasSubstr(std::to_string(kWorker)));
    EXPECT_THAT(std::string(messageOf(why)), HasSubstr("other rows"));
    EXPECT_EQ(whose(), kWorker);
    EXPECT_FALSE(ring_->hasNext());
}

// Parts that are not coded are joined from the bytes that arrived.
TEST_F(FetchTest, JoinsPartsThatAreNotCoded) {
    connect(
        [](const stream::SegmentOrder&, std::int64_t frame) { return plainOf(frameOf(frame)); });
    add({{plainPartOf(4), {}}, {plainPartOf(5), {}}}, 4);
    ASSERT_TRUE(test::eventually([&] { return ring_->hasNext(); }));
    ring::RingEntry entry;
    unsigned char* payload = nullptr;
    std::uint64_t index = 0;
    ASSERT_EQ(ring_->take(entry, payload, index), nullptr);
    const auto view =
        frame::FrameView::open({reinterpret_cast<const std::byte*>(payload), entry.bytes});
    ASSERT_TRUE(view.ok()) << view.status();
    ASSERT_EQ(view->rows(), 2 * kRows);
    for (std::uint32_t r = 0; r < kRows; ++r) {
        EXPECT_EQ(view->rowNumbers()[r], 4000U + r);
        EXPECT_EQ(view->rowNumbers()[kRows + r], 5000U + r);
        EXPECT_EQ(view->values<std::int64_t>(3)[kRows + r], 5 + r);
    }
    ring_->release(index);
}

// The checksum holds, but the offsets of its list do not; nothing is read through them.
TEST_F(FetchTest, RefusesAPartWhoseListsAreWrong) {
    connect([](const stream::SegmentOrder&, std::int64_t number) {
        frame::FrameBuffer frame = frameOf(number);
        const auto view = frame::FrameView::open(frame.bytes());
        const auto offsets = view->offsets(3);
        const_cast<std::int64_t&>(offsets[2]) = std::int64_t{1} << 40;
        return plainOf(frame);
    });
    add({{plainPartOf(4), {}}, {plainPartOf(5), {}}}, 4);
    EXPECT_EQ(awaitBroken().code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(whose(), kWorker);
    EXPECT_FALSE(ring_->hasNext());
}

TEST_F(FetchTest, RefusesAChangedByte) {
    connect([](const stream::SegmentOrder&, std::int64_t frame) {
        const segment::CodedFrame sound = codedOf(frame);
        auto bytes =
            std::make_shared<std::vector<std::byte>>(sound.bytes.begin(), sound.bytes.end());
        bytes->back() ^= std::byte{1};
        return segment::CodedFrame{bytes, *bytes};
    });
    add({{partOf(4), {}}}, 4);
    EXPECT_EQ(awaitBroken().code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(whose(), kWorker);
}

TEST_F(FetchTest, HearsThatAFrameIsGone) {
    connect([](const stream::SegmentOrder&, std::int64_t frame) {
        return frame == 4 ? std::optional(codedOf(frame)) : std::nullopt;
    });
    add({{partOf(4), {}}}, 4);
    add({{partOf(5), {}}}, 5);
    EXPECT_EQ(awaitBroken().code(), absl::StatusCode::kNotFound);
    EXPECT_TRUE(ring_->hasNext());
}

// Frames whose worker loses its connection are requested again when it has another one.
TEST_F(FetchTest, AsksAgainWhenTheWorkerConnectsAgain) {
    std::atomic<int> numAsked{0};
    connect([&](const stream::SegmentOrder&, std::int64_t frame) {
        ++numAsked;
        return frame == 4 ? std::optional(codedOf(frame)) : std::nullopt;
    });
    add({{partOf(4), {}}}, 4);
    awaitWritten(1);
    sender_.reset();
    add({{partOf(5), {}}}, 5);
    add({{partOf(6), {}}, {partOf(7), {}}}, 6);
    EXPECT_EQ(awaitLost(), kWorker);
    EXPECT_EQ(lostConnection(), 3U);
    connect([](const stream::SegmentOrder&, std::int64_t frame) { return codedOf(frame); });
    awaitWritten(4);
    EXPECT_EQ(numAsked, 1);
}

// Frames of a lost worker come from another worker: those that are awaited, and those of
// references that come later.
TEST_F(FetchTest, FollowsFramesToAnotherWorker) {
    constexpr std::uint64_t kSecond = 11, kThird = 12;
    add({{partOf(4), {}}}, 4);
    EXPECT_EQ(awaitLost(), kWorker);
    const auto move = [&](std::uint64_t from, std::uint32_t generation, std::uint64_t to) {
        v1::MovedFrames moved;
        moved.set_worker(from);
        moved.mutable_name()->set_segment(3);
        moved.mutable_name()->set_generation(generation);
        moved.set_to_worker(to);
        moved.set_to_generation(generation + 1);
        for (const std::int64_t frame : {4, 5}) {
            v1::MovedFrame& one = *moved.add_frames();
            one.set_frame(static_cast<std::uint64_t>(frame));
            one.set_coded_bytes(codedOf(frame).bytes.size());
        }
        fetcher_->moved(moved);
    };
    move(kWorker, 5, kSecond);
    EXPECT_EQ(awaitLost(), kSecond);  // it is not connected either
    move(kSecond, 6, kThird);
    EXPECT_EQ(awaitLost(), kThird);
    connect(
        [](const stream::SegmentOrder& order, std::int64_t frame) {
            EXPECT_EQ(order.generation, 7U);
            return codedOf(frame);
        },
        kThird);
    awaitWritten(1);
    add({{partOf(5), {}}}, 5);
    awaitWritten(2);
    add({{partOf(6), {}}}, 6);  // this frame did not move
    EXPECT_EQ(awaitLost(), kWorker);
}

// Another token opens no connection.
TEST_F(FetchTest, ServesOnlyWorkersOfItsFile) {
    transport::JoinFile file = *transport::JoinFile::fromText(fetcher_->join(), "the relay's");
    EXPECT_TRUE(file.certificate.keyPem.empty());
    file.token.back() = static_cast<char>(file.token.back() ^ 1);
    std::atomic<bool> isOpen{false}, isClosed{false};
    FrameSender stranger([](const stream::SegmentOrder&, std::int64_t) { return codedOf(0); },
                         [&] { isClosed = true; }, [&] { isOpen = true; });
    stranger.start(*transport::openChannel(file), wire::WorkerConnection{kWorker, 1}.text());
    EXPECT_TRUE(test::eventually([&] { return isClosed.load(); }));
    EXPECT_FALSE(isOpen);
    add({{partOf(4), {}}}, 4);
    EXPECT_EQ(awaitLost(), kWorker);
}

}  // namespace
}  // namespace millrace::data

// References to frames in rings: what is owed, for how long, and what a relay reads.
#include "backend/ring/frame_ledger.h"

#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "backend/core/thread.h"
#include "tests/unit/ring/entry_ring.h"

namespace millrace::ring {
namespace {

stream::FramePart partOf(std::uint64_t worker, std::uint64_t bytes) {
    stream::FramePart part;
    part.worker = worker;
    part.name = {2, 9};
    part.generation = 4;
    part.frame = 17;
    part.from = 1;
    part.to = 5;
    part.rows = 8;
    part.bytes = bytes;
    part.codedBytes = bytes / 2;
    part.rowIds = {11, 12};
    return part;
}

FrameLedger::RingEvents noEvents() {
    return {[] {}, [](const FrameLedger::Moved&) {}};
}

TEST(FrameParts, AreReadAsTheyWereWritten) {
    const frame::FrameBuffer frame = makeFrame(0, 5, 8, 16);
    const std::vector<RingPart> parts = {
        {partOf(1, 100), {}}, {{}, frame.bytes()}, {partOf(3, 64), {}}, {{}, frame.bytes()}};
    frame::FrameBuffer payload(partsBytes(parts));
    writeParts(parts, payload.bytes());
    const auto read = readParts(payload.bytes());
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_EQ(read->size(), parts.size());
    for (std::size_t p = 0; p < parts.size(); ++p) {
        EXPECT_EQ((*read)[p].isInline(), parts[p].isInline());
        EXPECT_EQ((*read)[p].reference, parts[p].reference);
        EXPECT_TRUE(std::ranges::equal((*read)[p].frame, parts[p].frame));
    }
}

// Any bytes give parts inside of the payload, or an error.
TEST(FrameParts, OfOtherBytesAreAnError) {
    const frame::FrameBuffer frame = makeFrame(0, 5, 8, 16);
    const std::vector<RingPart> parts = {{partOf(1, 100), {}}, {{}, frame.bytes()}};
    frame::FrameBuffer payload(partsBytes(parts));
    std::mt19937_64 random(5);
    int refused = 0;
    for (int round = 0; round < 4000; ++round) {
        writeParts(parts, payload.bytes());
        for (int changes = 0; changes < 3; ++changes) {
            payload.bytes()[random() % 256] = static_cast<std::byte>(random());
        }
        const std::span<const std::byte> cut =
            payload.bytes().first(random() % 4 == 0 ? random() % payload.size() : payload.size());
        const auto read = readParts(cut);
        refused += read.ok() ? 0 : 1;
        for (const RingPart& part : read.ok() ? *read : std::vector<RingPart>()) {
            if (part.isInline()) {
                EXPECT_GE(part.frame.data(), cut.data());
                EXPECT_LE(part.frame.data() + part.frame.size(), cut.data() + cut.size());
            } else {
                EXPECT_LE(part.reference.from, part.reference.to);
                EXPECT_LE(part.reference.to, part.reference.rows);
            }
        }
    }
    EXPECT_GT(refused, 100);
}

// A frame stays at its worker until its relay has written it, or its ring has ended.
TEST(FrameLedger, KeepsAFrameUntilItIsAcknowledged) {
    FrameLedger ledger;
    const auto ring = ledger.open(3, noEvents());
    EXPECT_FALSE(ledger.mayRefer(ring, 7));
    for (const bool isNew : {true, false}) {
        ledger.setReached(7, {{3, 1}, {4, 1}});
        EXPECT_EQ(ledger.takeChange(), isNew);
    }
    EXPECT_TRUE(ledger.mayRefer(ring, 7));
    std::vector<std::weak_ptr<const void>> frames;
    for (int f = 0; f < 4; ++f) {
        const auto owner = std::make_shared<int>(f);
        frames.push_back(owner);
        auto debt = ledger.owe(ring, partOf(7, 10), owner, 0, {});
        ASSERT_TRUE(debt.ok()) << debt.status();
        if (f != 1) {  // that one is not given
            (*debt)->keep();
        }
    }
    EXPECT_TRUE(frames[1].expired());
    EXPECT_TRUE(ledger.acknowledged(ring, 2).ok());
    EXPECT_TRUE(frames[0].expired() && frames[2].expired());
    EXPECT_FALSE(frames[3].expired());
    EXPECT_FALSE(ledger.acknowledged(ring, 1).ok());
    EXPECT_FALSE(ledger.acknowledged(ring, 4).ok());
    ledger.close(ring);
    EXPECT_TRUE(frames[3].expired());
    EXPECT_EQ(ledger.owe(ring, partOf(7, 10), nullptr, 0, {}).status().code(),
              absl::StatusCode::kUnavailable);
    EXPECT_EQ(ledger.totals().frames, 2U);
    EXPECT_EQ(ledger.totals().bytes, 20U);
}

TEST(FrameLedger, ABlockedConnectionCountsOnceTheWorkerConnectsAgain) {
    FrameLedger ledger;
    const auto ring = ledger.open(3, noEvents());
    ledger.setReached(7, {{3, 1}});
    ledger.owe(ring, partOf(7, 10), nullptr, 0, {}).value()->keep();
    ledger.block(7, ring, 1, 0);
    EXPECT_FALSE(ledger.mayRefer(ring, 7));
    ledger.setReached(7, {{3, 1}});  // its report was on its way
    EXPECT_FALSE(ledger.mayRefer(ring, 7));
    ledger.setReached(7, {{3, 2}});
    ledger.block(7, ring, 1, 0);  // it was on its way
    EXPECT_TRUE(ledger.mayRefer(ring, 7));
}

/// A ring that records what its pump would be told.
struct RecordedRing {
    int lost = 0;
    std::vector<FrameLedger::Moved> moves;
    FrameLedger::RingId id = 0;
    RecordedRing(FrameLedger& ledger, std::uint64_t relay)
        : id(ledger.open(relay,
                         {[this] { ++lost; },
                          [this](const FrameLedger::Moved& moved) { moves.push_back(moved); }})) {}
};

// Another worker computes the segment of a lost one again, and its relay gets the owed frames from
// there. Other rings notice nothing.
TEST(FrameLedger, MovesWhatALostWorkerOwesToAnother) {
    FrameLedger ledger;
    RecordedRing owed(ledger, 3), other(ledger, 3);
    ledger.setReached(7, {{3, 1}});
    ledger.setReached(8, {{3, 1}});
    const auto lostFrames = std::make_shared<int>(7), newFrames = std::make_shared<int>(8);
    ledger.owe(owed.id, partOf(7, 10), lostFrames, 0, {}).value()->keep();
    ledger.owe(other.id, partOf(8, 10), nullptr, 0, {}).value()->keep();
    EXPECT_TRUE(ledger.orphans().empty());
    ledger.lose(7);
    EXPECT_EQ(lostFrames.use_count(), 1);
    const stream::SegmentName name{2, 9};
    EXPECT_EQ(ledger.orphans(), std::set{name});
    stream::FramePart again = partOf(8, 10);
    again.generation = 6;
    again.codedBytes = 4;
    EXPECT_TRUE(ledger.replace(name, [&](std::int64_t) { return again; }, newFrames));
    ASSERT_EQ(owed.moves.size(), 1U);
    const FrameLedger::Moved& moved = owed.moves.front();
    EXPECT_EQ(moved.worker, 7U);
    EXPECT_EQ(moved.generation, 4U);
    EXPECT_EQ(moved.toWorker, 8U);
    EXPECT_EQ(moved.toGeneration, 6U);
    EXPECT_EQ(moved.codedBytes, (std::map<std::int64_t, std::uint64_t>{{17, 4}}));
    EXPECT_EQ(owed.lost, 0);
    EXPECT_TRUE(other.moves.empty());
    EXPECT_EQ(other.lost, 0);
    EXPECT_EQ(newFrames.use_count(), 2);
    EXPECT_TRUE(ledger.acknowledged(owed.id, 1).ok());
    EXPECT_EQ(newFrames.use_count(), 1);
    EXPECT_TRUE(ledger.orphans().empty());
}

// Frames with other rows are never passed off as those of the reference.
TEST(FrameLedger, EndsARingRatherThanGiveItOtherRows) {
    FrameLedger ledger;
    RecordedRing ring(ledger, 3);
    ledger.setReached(7, {{3, 1}});
    ledger.setReached(8, {{3, 1}});
    ledger.owe(ring.id, partOf(7, 10), nullptr, 0, {}).value()->keep();
    ledger.lose(7);
    stream::FramePart other = partOf(8, 10);
    other.rowIds = {11, 13};
    EXPECT_FALSE(ledger.replace({2, 9}, [&](std::int64_t) { return other; }, nullptr));
    EXPECT_EQ(ring.lost, 1);
    EXPECT_TRUE(ring.moves.empty());
    ledger.giveUp({2, 8});
    EXPECT_EQ(ring.lost, 1);
    ledger.giveUp({2, 9});
    EXPECT_EQ(ring.lost, 2);
}

// A worker may be lost, or out of reach, while a frame of it waits for credit.
TEST(FrameLedger, OwesNothingOfAWorkerThatTheRelayCannotReach) {
    FrameLedger ledger;
    RecordedRing ring(ledger, 3);
    const auto owed = ledger.owe(ring.id, partOf(7, 10), nullptr, 0, {});
    ASSERT_TRUE(owed.ok()) << owed.status();
    EXPECT_FALSE(owed->has_value());
    EXPECT_TRUE(ledger.orphans().empty());
}

// A worker that drops a segment for an earlier one still lives; others get its frames elsewhere.
TEST(FrameLedger, ASegmentThatItsWorkerDropsHasOrphans) {
    FrameLedger ledger;
    RecordedRing ring(ledger, 3);
    ledger.setReached(7, {{3, 1}});
    ledger.owe(ring.id, partOf(7, 10), nullptr, 0, {}).value()->keep();
    ledger.drop(7, {2, 8});
    EXPECT_TRUE(ledger.orphans().empty());
    ledger.drop(7, {2, 9});
    EXPECT_EQ(ledger.orphans().size(), 1U);
    EXPECT_TRUE(ledger.mayRefer(ring.id, 7));
}

// A relay that lacks a worker waits for it to connect again, but not for ever.
TEST(FrameLedger, EndsARingThatWaitsForAWorkerOutOfReach) {
    constexpr std::int64_t kPatience = stream::FrameBook::kOutOfReachNs;
    for (const bool connectsAgain : {false, true}) {
        FrameLedger ledger;
        RecordedRing ring(ledger, 3), idle(ledger, 3);
        ledger.setReached(7, {{3, 1}});
        ledger.owe(ring.id, partOf(7, 10), nullptr, 0, {}).value()->keep();
        ledger.block(7, ring.id, 1, 1000);
        ledger.block(7, idle.id, 1, 1000);
        ledger.endOverdue(1000 + kPatience - 1);
        EXPECT_EQ(ring.lost, 0);
        ledger.setReached(7, {{3, connectsAgain ? 2U : 1U}});
        ledger.endOverdue(1000 + kPatience);
        EXPECT_EQ(ring.lost, connectsAgain ? 0 : 1);
        EXPECT_EQ(idle.lost, 0);  // nothing is owed to it
    }
}

// A slow rank holds at most its credit; a step whose parts are still collected may pass it.
TEST(FrameLedger, WaitsForCredit) {
    FrameLedger ledger(100);
    const auto ring = ledger.open(3, noEvents());
    ledger.setReached(7, {{3, 1}});
    for (int f = 0; f < 3; ++f) {
        ledger.owe(ring, partOf(7, 50), nullptr, static_cast<std::size_t>(f), {}).value()->keep();
    }
    std::atomic<bool> isOwed{false};
    std::jthread waiting = startThread("waiting", [&](const std::stop_token& stop) {
        auto debt = ledger.owe(ring, partOf(7, 50), nullptr, 0, stop);
        isOwed = debt.ok() && debt->has_value();
        if (isOwed) {
            (*debt)->keep();
        }
    });
    EXPECT_TRUE(ledger.acknowledged(ring, 1).ok());
    EXPECT_FALSE(isOwed);  // 100 bytes are owed
    EXPECT_TRUE(ledger.acknowledged(ring, 2).ok());
    waiting.join();
    EXPECT_TRUE(isOwed);
    std::jthread stopped = startThread("stopped", [&](const std::stop_token& stop) {
        EXPECT_EQ(ledger.owe(ring, partOf(7, 500), nullptr, 0, stop).status().code(),
                  absl::StatusCode::kCancelled);
    });
    stopped.request_stop();
}

// Frames of a step that is left out are not owed.
TEST(FrameLedger, OwesNothingOfASequenceThatIsLeftOut) {
    std::mt19937_64 random(8);
    std::size_t given = 0, dropped = 0;
    for (int round = 0; round < 300; ++round) {
        Plan plan = Plan::random(random);
        plan.fetching.clear();
        for (int rank = 0; rank < plan.worldSize; ++rank) {
            plan.fetching.insert(rank);
            plan.joined.insert(rank);
        }
        std::vector<TestFeed::Reader> readers;
        for (int rank = 0; rank < plan.worldSize; ++rank) {
            readers.push_back({rank, {}});
        }
        TestFeed feed(plan, startState(), readers);
        const auto pieces = sequenceOf(plan, startState().cursor);
        ASSERT_TRUE(feed.give(pieces, pieces.size(), random));
        std::size_t inRings = 0;
        for (const auto& [rank, ring] : feed.rings) {
            inRings += ring->numReferences;
        }
        EXPECT_EQ(feed.numKept(), inRings);
        given += feed.numGiven;
        dropped += feed.numGiven - inRings;
    }
    EXPECT_GT(given, 1000U);
    EXPECT_GT(dropped, 50U);
}

TEST(FrameLedger, CountsWhatEachWorkerAndTheFeedSendToEachRelay) {
    FrameLedger ledger;
    const auto ring = ledger.open(3, noEvents()), other = ledger.open(4, noEvents());
    ledger.setReached(7, {{3, 1}, {4, 1}});
    const std::stop_source stop;
    for (const auto to : {ring, ring, other}) {
        auto debt = ledger.owe(to, partOf(7, 100), nullptr, 0, stop.get_token());
        ASSERT_TRUE(debt.ok()) << debt.status();
        (*debt)->keep();
    }
    ledger.carried(other, 30);
    ASSERT_TRUE(ledger.acknowledged(ring, 2).ok());
    const auto traffic = ledger.takeTraffic();
    ASSERT_EQ(traffic.size(), 2U) << "the frame for relay 4 is not written yet";
    EXPECT_EQ(traffic.at({7, 3}).bytes, 200U);
    EXPECT_EQ(traffic.at({7, 3}).codedBytes, 100U);
    EXPECT_EQ(traffic.at({stream::FrameBook::kFeed, 4}).bytes, 30U);
    EXPECT_TRUE(ledger.takeTraffic().empty());
    EXPECT_EQ(ledger.totals().bytes, 200U);
    EXPECT_EQ(ledger.totals().carriedBytes, 30U);
}

}  // namespace
}  // namespace millrace::ring

// Turns a ring's entries into events of the C interface.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "backend/feed/feed_batch.h"
#include "backend/feed/feed_handle.h"
#include "backend/frame/format.h"
#include "backend/stream/state/record_bytes.h"
#include "backend/stream/state/step_mark.h"

namespace millrace::ring {
namespace {

/// Waits until an entry can be taken. Costs no system call if there is one.
int waitForEntry(millrace_feed& feed, std::int64_t timeoutMs) {
    FeedLink& link = *feed.link;
    if (!link.isAborted() && link.ring().hasNext()) {
        return 0;
    }
    const std::int64_t start = steadyNs();
    const std::int64_t end = timeoutMs < 0 ? INT64_MAX : steadyAfter(timeoutMs);
    const FeedLink::Wait found = link.waitForEntry(end);
    feed.stats.wait_ns += static_cast<std::uint64_t>(steadyNs() - start);
    switch (found) {
        case FeedLink::Wait::kAborted:
            return feed.fail(MILLRACE_FEED_ABORTED, "aborted");
        case FeedLink::Wait::kLost:
            return feed.fail(MILLRACE_FEED_LOST, "the feed is gone");
        case FeedLink::Wait::kTimeout:
            return MILLRACE_FEED_TIMEOUT;
        case FeedLink::Wait::kEntry:
            break;
    }
    return 0;
}

const char* readRecord(millrace_feed& feed, const RingEntry& entry, const unsigned char* payload)
    MR_REQUIRES(feed.position) {
    stream::SegmentRecord record;
    record.epoch = entry.epoch;
    if (const char* wrong = stream::readRecord(payload, entry.bytes, record)) {
        return wrong;
    }
    return feed.progress.addRecord(std::move(record));
}

/// Adds the micro-batches of a frame: cut every micro_rows rows, with the numbers in its entry.
/// They are added one by one, so that the sums are those of the sequence.
const char* addBatches(millrace_feed& feed, const RingEntry& entry, const millrace_batch& batch)
    MR_REQUIRES(feed.position) {
    const auto idsAt = [&batch](std::size_t column) {
        return batch.bytes + batch.directory.entries()[column].data.offset;
    };
    const auto* files = reinterpret_cast<const std::uint32_t*>(idsAt(0));
    const auto* numbers = reinterpret_cast<const std::uint64_t*>(idsAt(1));
    const std::uint64_t rows = batch.directory.header().rows;
    const std::uint64_t count = std::max<std::uint64_t>(entry.count, 1);
    const std::uint64_t most = entry.count == 0 ? rows : static_cast<std::uint64_t>(feed.microRows);
    constexpr auto kMost = static_cast<std::uint64_t>(stream::kMaxCount);
    const bool isPossible =
        entry.number <= kMost &&
        (entry.count == 0 || (count <= rows && rows > (count - 1) * most && rows <= count * most &&
                              entry.stride >= 1 && entry.stride <= kMost / count / 2));
    if (!isPossible) {
        return "its rows are not those of the micro-batches that its entry tells of";
    }
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t number = entry.number + i * entry.stride;
        const std::uint64_t from = i * most, size = std::min(most, rows - from);
        const Sum128 hash = stream::batchHash(
            entry.epoch, number, stream::rowIdsHash({files + from, size}, {numbers + from, size}));
        const FeedProgress::Place place{entry.epoch, static_cast<std::int64_t>(number)};
        if (const char* wrong =
                feed.progress.addBatch(place, hash, static_cast<std::int64_t>(size))) {
            return wrong;
        }
    }
    return nullptr;
}

int takeFrame(millrace_feed& feed, const RingEntry& entry, unsigned char* payload,
              std::uint64_t index, millrace_feed_event& event) MR_REQUIRES(feed.position) {
    auto batch = std::make_unique<millrace_batch>();
    if (const char* wrong = batch->directory.copy(payload, entry.bytes)) {
        return feed.finish(MILLRACE_FEED_CORRUPT,
                           "micro-batch " + std::to_string(entry.number) + ": " + wrong);
    }
    batch->ring = feed.link->sharedRing();
    batch->held = feed.held;
    batch->index = index;
    batch->bytes = payload;
    batch->size = entry.bytes;
    batch->number = entry.number;
    batch->epoch = entry.epoch;
    if (const char* wrong = addBatches(feed, entry, *batch)) {
        return feed.finish(MILLRACE_FEED_CORRUPT, "micro-batch " + std::to_string(entry.number) +
                                                      " of epoch " + std::to_string(entry.epoch) +
                                                      ": " + wrong);
    }
    ++feed.stats.batches;
    feed.stats.rows += batch->directory.header().rows;
    feed.stats.bytes += entry.bytes;
    feed.held->fetch_add(1);
    event.rows = batch->directory.header().rows;
    event.batch = batch.release();
    event.epoch = entry.epoch;
    event.number = entry.number;
    return MILLRACE_FEED_BATCH;
}

int takeMark(millrace_feed& feed, const RingEntry& entry, const unsigned char* payload,
             millrace_feed_event& event) MR_REQUIRES(feed.position) {
    stream::StepMark mark;
    bool isNew = false;
    mark.epoch = entry.epoch;
    mark.number = static_cast<std::int64_t>(entry.number);
    const char* wrong = entry.number > static_cast<std::uint64_t>(stream::kMaxCount)
                            ? "a step's mark holds an impossible number"
                            : stream::readMark(payload, entry.bytes, mark);
    wrong = wrong != nullptr ? wrong : feed.progress.addMark(mark, isNew);
    if (wrong != nullptr) {
        return feed.finish(MILLRACE_FEED_CORRUPT, "the step before micro-batch " +
                                                      std::to_string(entry.number) + " of epoch " +
                                                      std::to_string(entry.epoch) + ": " + wrong);
    }
    if (!isNew) {
        return kGoOn;  // sent again after a reopen
    }
    if (mark.isLast) {
        feed.isAtEpochEnd = true;
        feed.endedEpoch = entry.epoch;
        feed.endedTotal = entry.number;
    }
    event.epoch = entry.epoch;
    event.number = entry.number;
    event.batches = static_cast<std::uint64_t>(mark.batches);
    event.rows = static_cast<std::uint64_t>(mark.rows);
    event.is_last = mark.isLast ? 1 : 0;
    event.is_left_out = mark.isLeftOut ? 1 : 0;
    return mark.batches > 0 ? MILLRACE_FEED_STEP : kGoOn;
}

/// `notGivenBack`: unreleased frames for which the ring was replaced; 0: a frame was too large.
int takeContinue(millrace_feed& feed, std::uint64_t notGivenBack) {
    if (const std::string wrong = feed.link->nextRing(); !wrong.empty()) {
        return feed.link->isAborted() ? feed.fail(MILLRACE_FEED_ABORTED, "aborted")
                                      : feed.fail(MILLRACE_FEED_LOST, wrong);
    }
    if (notGivenBack == 0) {
        return kGoOn;
    }
    const std::uint64_t held = std::max<std::uint64_t>(feed.held->load(), 1);
    constexpr std::uint64_t kBytesPerMb = 1'000'000;
    return feed.fail(
        MILLRACE_FEED_NOTICE,
        "rank " + std::to_string(feed.rank) + " keeps " + std::to_string(held) +
            (held == 1 ? " batch" : " batches") +
            " and so the memory behind; the feed goes on in another ring of " +
            std::to_string((feed.link->ring().dataBytes() + kBytesPerMb - 1) / kBytesPerMb) +
            " MB, as far as its memory limit allows: release batches, or copy what is to be kept");
}

int takeRecord(millrace_feed& feed, const RingEntry& entry, const unsigned char* payload,
               millrace_feed_event& event) MR_REQUIRES(feed.position) {
    const char* wrong = nullptr;
    switch (static_cast<EntryKind>(entry.kind)) {
        case EntryKind::kSegment:
            wrong = readRecord(feed, entry, payload);
            return wrong == nullptr ? kGoOn : feed.finish(MILLRACE_FEED_CORRUPT, wrong);
        case EntryKind::kStep:
            return takeMark(feed, entry, payload, event);
        case EntryKind::kEndOfEpoch:
            // The last step's mark announced it, and the caller gets the event from there, also if
            // the feed was lost in between.
            wrong = feed.progress.endEpoch(entry.epoch, static_cast<std::int64_t>(entry.number));
            return wrong == nullptr ? kGoOn : feed.finish(MILLRACE_FEED_CORRUPT, wrong);
        case EntryKind::kEndOfStream:
            feed.finished = MILLRACE_FEED_END_OF_STREAM;
            return feed.finished;
        case EntryKind::kError:
            feed.failedWith = entry.number;
            event.number = entry.number;
            return feed.finish(MILLRACE_FEED_FAILED,
                               std::string(reinterpret_cast<const char*>(payload), entry.bytes));
        case EntryKind::kContinue:
            event.number = entry.number;
            return kNextRing;
        case EntryKind::kNothing:
            return kGoOn;
        case EntryKind::kColumns: {
            FrameDirectory told;
            wrong = told.copy(payload, entry.bytes);
            if (wrong == nullptr && !feed.columns.isEmpty() && !(told == feed.columns)) {
                wrong = "the feed came back with other columns";
            }
            if (feed.columns.isEmpty()) {
                feed.columns = std::move(told);
            }
            return wrong == nullptr ? kGoOn : feed.finish(MILLRACE_FEED_CORRUPT, wrong);
        }
        default:
            return feed.finish(MILLRACE_FEED_CORRUPT, "a ring entry of an unknown kind");
    }
}

/// The end of the epoch that the last mark announced.
int endOfEpoch(millrace_feed& feed, millrace_feed_event& event) {
    feed.isAtEpochEnd = false;
    event = millrace_feed_event{};
    event.epoch = feed.endedEpoch;
    event.number = feed.endedTotal;
    return MILLRACE_FEED_END_OF_EPOCH;
}

/// Takes an entry that is ready.
int takeEntryLocked(millrace_feed& feed, millrace_feed_event& event) MR_REQUIRES(feed.position) {
    const std::shared_ptr<ReaderRing> from = feed.link->sharedRing();
    RingEntry entry;
    unsigned char* payload = nullptr;
    std::uint64_t index = 0;
    if (const char* wrong = from->take(entry, payload, index)) {
        return feed.finish(MILLRACE_FEED_CORRUPT, wrong);
    }
    if (entry.kind == static_cast<std::uint32_t>(EntryKind::kFrame)) {
        return takeFrame(feed, entry, payload, index, event);
    }
    const int result = takeRecord(feed, entry, payload, event);
    from->release(index);
    return result;
}

/// Like takeEntryLocked(), unless the position behind the entry was already sent in a hello: then
/// what follows arrives on that connection.
int takeEntry(millrace_feed& feed, millrace_feed_event& event) {
    int result = MILLRACE_FEED_LOST;
    {
        const MutexLock lock(feed.position);
        if (!feed.isPositionSaid) {
            result = takeEntryLocked(feed, event);
            feed.isOver = feed.finished != MILLRACE_FEED_BATCH;
        }
    }
    if (result == kNextRing) {
        return takeContinue(feed, std::exchange(event.number, 0));
    }
    return result == MILLRACE_FEED_LOST ? feed.fail(result, "the feed is gone") : result;
}

/// Switches to the next connection as soon as there is one.
int followIfLost(millrace_feed& feed) {
    const int result = feed.link->isLost() ? follow(feed, 0) : 0;
    return result == MILLRACE_FEED_LOST && feed.link != nullptr ? 0 : result;
}

}  // namespace

int nextEvent(millrace_feed& feed, std::int64_t timeoutMs, millrace_feed_event& event) {
    int result = kGoOn;
    while (result == kGoOn) {
        if (feed.isAtEpochEnd) {
            return endOfEpoch(feed, event);
        }
        if (const int failed = followIfLost(feed)) {
            return failed;
        }
        if (const int waited = waitForEntry(feed, timeoutMs)) {
            return waited;
        }
        result = takeEntry(feed, event);
    }
    return result;
}

int takeColumns(millrace_feed& feed) {
    if (!feed.columns.isEmpty()) {
        return 0;
    }
    if (feed.finished != MILLRACE_FEED_BATCH) {
        return feed.finished < 0 ? feed.finished : MILLRACE_FEED_TIMEOUT;
    }
    if (const int failed = feed.link == nullptr ? 0 : followIfLost(feed)) {
        return failed;
    }
    const bool isLost = feed.link == nullptr || feed.link->isLost();
    if (feed.link != nullptr && feed.link->isAborted()) {
        return feed.fail(MILLRACE_FEED_ABORTED, "aborted");
    }
    if (feed.link == nullptr || !feed.link->ring().hasNext()) {
        return isLost ? feed.fail(MILLRACE_FEED_LOST, "the feed is gone") : MILLRACE_FEED_TIMEOUT;
    }
    const auto kind = static_cast<EntryKind>(feed.link->ring().nextKind());
    if (kind != EntryKind::kColumns && kind != EntryKind::kError && kind != EntryKind::kContinue) {
        return feed.fail(MILLRACE_FEED_INVALID, "the feed did not tell its columns");
    }
    millrace_feed_event none{};
    const int result = takeEntry(feed, none);
    return result == kGoOn ? takeColumns(feed) : result;
}

}  // namespace millrace::ring

#include "daemon/worker/relay/ring_pump.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include "backend/core/log.h"
#include "backend/core/thread.h"
#include "backend/ring/feed_hello.h"
#include "daemon/transport/raw_buffer.h"
#include "daemon/transport/transport.h"

namespace millrace::relay {
namespace {

// Most bytes of one message; a single entry may be larger.
constexpr std::uint64_t kMessageBytes = 1 << 20;
constexpr std::size_t kMessageEntries = 256;
// One message is with the connection, one waits for it.
constexpr std::size_t kMessagesAhead = 2;
// How often a pump that waits for its relay looks whether the feed has hung up.
constexpr std::chrono::milliseconds kLook{200};
constexpr std::int64_t kFeedTimeNs = 10'000'000'000;

std::span<const std::byte> bytesOf(const unsigned char* payload, std::uint64_t bytes) {
    return {reinterpret_cast<const std::byte*>(payload), bytes};
}

Status notOfARing(const char* wrong) {
    return dataLoss("ring: ", wrong);
}

}  // namespace

RingPump::RingPump(PumpOptions options)
    : options_(std::move(options)), abort_(::eventfd(0, EFD_CLOEXEC)), writer_(options_.isHashed) {}

std::shared_ptr<RingPump> RingPump::start(PumpOptions options) {
    std::shared_ptr<RingPump> pump(new RingPump(std::move(options)));
    const std::weak_ptr<RingPump> self = pump;  // the call outlives it for a moment
    pump->call_ = RingCall::start({[self](grpc::ByteBuffer& buffer) {
                                       if (const auto pump = self.lock()) {
                                           pump->heard(buffer);
                                       }
                                   },
                                   [self] {
                                       if (const auto pump = self.lock()) {
                                           pump->ended();
                                       }
                                   },
                                   [self] {
                                       if (const auto pump = self.lock()) {
                                           MutexLock lock(pump->mutex_);
                                           pump->setSendingLocked(pump->call_->numWaiting() > 0);
                                           pump->changed_.notifyAll();
                                       }
                                   }});
    pump->call_->readNext();
    return pump;
}

RingPump::~RingPump() = default;

void RingPump::finish() {
    close({grpc::StatusCode::UNAVAILABLE, "the feed ends"});
    std::jthread ending;  // begin() starts no other one after close()
    {
        MutexLock lock(mutex_);
        ending.swap(thread_);
    }
}

void RingPump::close(const grpc::Status& status) {
    ended();
    call_->close(status);
}

/// The call's end wakes the thread, wherever it waits.
void RingPump::ended() {
    {
        MutexLock lock(mutex_);
        isClosed_ = true;
        setSendingLocked(false);
        isOver_ = isOver_ || !isBegun_;
        changed_.notifyAll();
    }
    const std::uint64_t one = 1;
    static_cast<void>(!::write(abort_.get(), &one, sizeof one));
}

void RingPump::heard(const grpc::ByteBuffer& buffer) {
    v1::RingWord word;
    Status status = transport::readBuffer(buffer, word)
                        ? okStatus()
                        : invalidArgument("ring: a word of no relay of this build");
    if (status.ok()) {
        status = word.has_join() ? begin(word) : heardOfFrames(word);
    }
    if (!status.ok()) {
        close(transport::toGrpc(status));
        return;
    }
    if (word.is_end_taken()) {
        MutexLock lock(mutex_);
        isEndTaken_ = true;
        changed_.notifyAll();
    }
    call_->readNext();
}

Status RingPump::heardOfFrames(const v1::RingWord& word) {
    if (ledgerRing_ == 0) {
        return okStatus();
    }
    if (word.written_frames() > 0) {
        RETURN_IF_ERROR(options_.ledger->acknowledged(ledgerRing_, word.written_frames()));
    }
    if (word.lost_worker() == 0) {
        return okStatus();
    }
    options_.ledger->block(word.lost_worker(), ledgerRing_, word.lost_connection(),
                           ring::steadyNs());
    if (word.bad_frame().empty()) {
        return okStatus();
    }
    options_.badFrame(word.lost_worker(), word.bad_frame());
    return unavailable("the relay cannot use a frame of its data worker");
}

/// Tells the feed that this ring takes references, if its relay can fetch frames.
Status RingPump::openLedger(const v1::RingWord& word) {
    ASSIGN_OR_RETURN(ring::FeedHello hello, ring::parseHello(word.hello()));
    const std::optional<std::uint64_t> relay =
        options_.ledger != nullptr ? options_.relayOf(word.join().relay()) : std::optional(0UL);
    if (!relay) {
        // A feed that replaces another one may get the ring's call before that of its relay.
        return unavailable("the relay does not follow this feed yet");
    }
    if (*relay != 0 && hello.stream == "train") {
        relay_ = *relay;
        ledgerRing_ = options_.ledger->open(
            *relay,
            {[self = weak_from_this()] {
                 if (const auto pump = self.lock()) {
                     pump->close(
                         {grpc::StatusCode::UNAVAILABLE,
                          "a data worker that owes frames to this ring is gone or out of reach"});
                 }
             },
             [relay = *relay, moved = options_.moved](const ring::FrameLedger::Moved& frames) {
                 moved(relay, frames);
             }});
    }
    hello.ledgerRing = ledgerRing_;
    hello_ = ring::helloLine(hello);
    return okStatus();
}

Status RingPump::begin(const v1::RingWord& word) {
    RETURN_IF_ERROR(options_.admits(word.join()));
    MutexLock lock(mutex_);
    if (isBegun_ || isClosed_) {
        return invalidArgument("ring: a second hello on one call");
    }
    RETURN_IF_ERROR(openLedger(word));
    sending_ = options_.sendingOf(word.join().relay());
    isBegun_ = true;
    thread_ = startThread("ring-pump", [this](std::stop_token) {
        const Status status = pump();
        link_.reset();  // the feed sees the rank's end
        if (ledgerRing_ != 0) {
            options_.ledger->close(ledgerRing_);
        }
        call_->close(transport::toGrpc(status));
        isOver_ = true;
    });
    return okStatus();
}

Status RingPump::openLink() {
    ring::FeedLink::Opened opened = ring::FeedLink::open(
        {options_.feedSocket, hello_, -1, abort_.get(), ring::steadyNs() + kFeedTimeNs, nullptr});
    link_ = std::move(opened.link);
    if (link_ != nullptr) {
        const std::string wrong = link_->begin();
        return wrong.empty() ? okStatus() : unavailable(wrong);
    }
    return opened.failure == ring::FeedLink::Failure::kRefused ? failedPrecondition(opened.error)
                                                               : unavailable(opened.error);
}

Status RingPump::pump() {
    RETURN_IF_ERROR(openLink());
    for (;;) {
        if (!link_->ring().hasNext()) {
            // Nothing waits in the ring: what is collected is sent now, however little it is.
            RETURN_IF_ERROR(flush());
            if (link_->waitForEntry(INT64_MAX) != ring::FeedLink::Wait::kEntry) {
                return unavailable("the feed hung up");
            }
        }
        const auto kind = static_cast<ring::EntryKind>(link_->ring().nextKind());
        if (kind == ring::EntryKind::kEndOfStream || kind == ring::EntryKind::kError) {
            return sendEnd();
        }
        RETURN_IF_ERROR(takeEntry());
    }
}

Status RingPump::takeEntry() {
    const std::shared_ptr<ring::ReaderRing> from = link_->sharedRing();
    ring::RingEntry entry{};
    unsigned char* payload = nullptr;
    std::uint64_t index = 0;
    if (const char* wrong = from->take(entry, payload, index)) {
        return notOfARing(wrong);
    }
    // gRPC sends the ring's own memory and drops the last reference when it is sent: until then the
    // slot is taken, and a slow connection so stops the feed.
    const std::shared_ptr<const void> taken(from.get(),
                                            [from, index](const void*) { from->release(index); });
    const auto kind = static_cast<ring::EntryKind>(entry.kind);
    if (kind == ring::EntryKind::kContinue) {
        const std::string wrong = link_->nextRing();
        return wrong.empty() ? okStatus() : unavailable(wrong);
    }
    return kind == ring::EntryKind::kNothing ? okStatus()
                                             : put(entry, bytesOf(payload, entry.bytes), taken);
}

Status RingPump::put(const ring::RingEntry& entry, std::span<const std::byte> payload,
                     const std::shared_ptr<const void>& owner) {
    // A loop that also runs for an empty payload: marks have none.
    std::uint64_t offset = 0;
    do {
        const std::uint64_t piece = std::min(kPieceBytesMost, payload.size() - offset);
        if (!writer_.isEmpty() && writer_.bytes() + piece > kMessageBytes) {
            RETURN_IF_ERROR(flush());
        }
        writer_.add(entry, offset, payload.subspan(offset, piece), owner);
        offset += piece;
    } while (offset < payload.size());
    return writer_.numEntries() < kMessageEntries ? okStatus() : flush();
}

Status RingPump::flush() {
    if (writer_.isEmpty()) {
        return okStatus();
    }
    MutexLock lock(mutex_);
    // Backpressure: the pump waits here, so the ring fills, so the feed waits.
    while (!isClosed_ && !link_->isLost() && call_->numWaiting() >= kMessagesAhead) {
        changed_.waitFor(mutex_, kLook);
    }
    RETURN_IF_ERROR(whyOverLocked());
    // Under the lock: a message that is sent meanwhile must not stop the clock for this one.
    setSendingLocked(true);
    call_->send(writer_.take());
    return okStatus();
}

/// Not OK: neither side of the ring is served any more. The feed hangs up when all ranks must come
/// again, also while the relay takes nothing.
Status RingPump::whyOverLocked() const {
    return isClosed_         ? cancelled("the relay closed the ring")
           : link_->isLost() ? unavailable("the feed hung up")
                             : okStatus();
}

void RingPump::setSendingLocked(bool isSending) {
    isSending = isSending && !isClosed_;
    if (sending_ != nullptr && std::exchange(isSending_, isSending) != isSending) {
        isSending ? sending_->begin() : sending_->end();
    }
}

/// Sends the end before taking it: for the feed, a rank that leaves now has not come to the end.
Status RingPump::sendEnd() {
    const std::shared_ptr<ring::ReaderRing> from = link_->sharedRing();
    ring::RingEntry entry{};
    unsigned char* payload = nullptr;
    std::uint64_t index = 0;
    if (const char* wrong = from->look(entry, payload)) {
        return notOfARing(wrong);
    }
    RETURN_IF_ERROR(put(entry, bytesOf(payload, entry.bytes), from));
    RETURN_IF_ERROR(flush());
    {
        MutexLock lock(mutex_);
        while (!isClosed_ && !isEndTaken_ && !link_->isLost()) {
            changed_.waitFor(mutex_, kLook);
        }
        if (!isEndTaken_) {
            RETURN_IF_ERROR(whyOverLocked());
        }
    }
    if (const char* wrong = from->take(entry, payload, index)) {
        return notOfARing(wrong);
    }
    from->release(index);
    call_->send(transport::bufferOf(v1::RingEntries()));
    MutexLock lock(mutex_);
    while (!isClosed_) {
        changed_.wait(mutex_);
    }
    return okStatus();
}

}  // namespace millrace::relay

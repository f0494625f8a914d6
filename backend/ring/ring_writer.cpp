#include "backend/ring/ring_writer.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <list>
#include <optional>

#include "backend/core/clock.h"
#include "backend/core/exit_codes.h"
#include "backend/core/log.h"
#include "backend/core/mutex.h"
#include "backend/ring/writer_ring.h"
#include "backend/stream/state/record_bytes.h"

namespace millrace::ring {
namespace {

constexpr std::size_t kMaxErrorBytes = 4096;
// A ticket: the ring's number above the entry's index. 2^40 entries outlast any stream; 2^24 rings
// outlast their doubling.
constexpr int kIndexBits = 40;
constexpr std::uint64_t kIndexMask = (std::uint64_t{1} << kIndexBits) - 1;

/// Measures how long the reader holds a full ring: nothing was released since `since_`, and the
/// reader is the cause (WriterRing::isHeld).
class HeldWatch {
 public:
    explicit HeldWatch(const RingWriterOptions& options) : options_(options) {}

    /// Returns true if another ring should be tried.
    Result<bool> check(const WriterRing& ring, std::int64_t nowNs) {
        if (!ring.isHeld() || ring.released() != released_) {
            released_ = ring.released();
            since_ = nowNs;
            warned_ = false;
            return false;
        }
        const std::chrono::nanoseconds held(nowNs - since_);
        if (held >= options_.heldReplace && nowNs >= nextTry_) {
            nextTry_ = nowNs + std::chrono::nanoseconds(options_.heldReplace).count();
            return true;
        }
        if (held >= options_.heldError) {
            return failedPrecondition(sentence(ring, held), "; release batches, or keep fewer");
        }
        if (held >= options_.heldWarning && !warned_) {
            warned_ = true;
            const std::string text = sentence(ring, held);
            if (options_.warn) {
                options_.warn(text);
            } else {
                logWarn("ring: held", {{"what", text}});
            }
        }
        return false;
    }

 private:
    static std::string sentence(const WriterRing& ring, std::chrono::nanoseconds held) {
        return strCat("ring: full; the reader keeps ", ring.heldFrames(),
                      " batches and has given none back for ",
                      formatDuration(std::chrono::duration<double>(held).count()));
    }

    const RingWriterOptions& options_;
    std::uint64_t released_ = ~std::uint64_t{0};
    std::int64_t since_ = 0, nextTry_ = 0;
    bool warned_ = false;
};

class SwitchingWriter final : public RingWriter {
 public:
    SwitchingWriter(RingWriterOptions options, PassRing pass)
        : options_(std::move(options)), pass_(std::move(pass)) {}

    Status openFirst() {
        ASSIGN_OR_RETURN(std::unique_ptr<WriterRing> ring,
                         WriterRing::make(options_.ringBytes, options_.budget, options_.numaNode));
        return install(std::move(ring));
    }

    Result<FrameSlot> reserve(std::uint64_t bytes, std::uint32_t, std::int64_t,
                              std::stop_token stop) override {
        return reserve(bytes, std::move(stop));
    }

    Status commit(const FrameSlot& slot, std::uint32_t epoch, std::int64_t number) override {
        return commit(slot, {EntryKind::kFrame, epoch, static_cast<std::uint64_t>(number),
                             slot.bytes.size()});
    }

    Status columns(std::span<const std::byte> frame, std::stop_token stop) override {
        return record(EntryKind::kColumns, 0, 0, frame, std::move(stop));
    }

    Status commitJoined(const FrameSlot& slot, const FrameNumbers& of,
                        std::uint64_t bytes) override {
        return commit(slot, contentOf(EntryKind::kFrame, of, bytes));
    }

    Status commitParts(const FrameSlot& slot, const FrameNumbers& of,
                       std::uint64_t bytes) override {
        return commit(slot, contentOf(EntryKind::kParts, of, bytes));
    }

    Status commitNothing(const FrameSlot& slot) override { return commit(slot, {}); }

    Status park(const FrameSlot& slot) override {
        MutexLock lock(mutex_);
        ASSIGN_OR_RETURN(WriterRing* const ring, ringOfSlotLocked(slot));
        ring->park(slot.ticket & kIndexMask);
        return okStatus();
    }

    Result<FrameSlot> reserveStep(std::stop_token stop) override {
        return reserve(stream::kStepMarkBytes, std::move(stop));
    }

    Status commitStep(const FrameSlot& slot, const stream::StepMark& mark) override {
        const auto bytes = stream::markBytes(mark);
        std::memcpy(slot.bytes.data(), bytes.data(), bytes.size());
        return commit(slot, {EntryKind::kStep, mark.epoch, static_cast<std::uint64_t>(mark.number),
                             bytes.size()});
    }

    Status segment(const stream::SegmentRecord& of, std::stop_token stop) override {
        if (const char* wrong = stream::checkRecord(of)) {
            return invalidArgument("ring: ", wrong);
        }
        return record(EntryKind::kSegment, of.epoch, of.segment, stream::recordBytes(of),
                      std::move(stop));
    }

    Status endOfEpoch(std::uint32_t epoch, std::int64_t total, std::stop_token stop) override {
        return record(EntryKind::kEndOfEpoch, epoch, total, {}, std::move(stop));
    }

    Status endOfStream(std::stop_token stop) override {
        RETURN_IF_ERROR(record(EntryKind::kEndOfStream, 0, 0, {}, std::move(stop)));
        endGiven();
        return okStatus();
    }

    /// The last entry of a ring: the status's message, cut at 4096 bytes, and its exit code
    /// (core/exit_codes.h), so that a rank can tell bad input from a full disk.
    Status error(const Status& why, std::stop_token stop) override {
        const std::string_view text = messageOf(why).substr(0, kMaxErrorBytes);
        RETURN_IF_ERROR(record(EntryKind::kError, 0, workerExitOf(why),
                               std::as_bytes(std::span(text.data(), text.size())),
                               std::move(stop)));
        endGiven();
        return okStatus();
    }

    Status commitAs(const FrameSlot& slot, const RingEntry& as) override {
        const auto kind = static_cast<EntryKind>(as.kind);
        RETURN_IF_ERROR(
            commit(slot, {kind, as.epoch, as.number, slot.bytes.size(), as.stride, as.count}));
        if (kind == EntryKind::kEndOfStream || kind == EntryKind::kError) {
            endGiven();
        }
        return okStatus();
    }

    Status drain(std::stop_token stop) override {
        return waitUntil(kWaitsForTake, stop, nullptr, [this]() -> Result<bool> {
            MutexLock lock(mutex_);
            if (gone_) {
                return goneStatus();
            }
            RETURN_IF_ERROR(refreshLocked());
            return current_->ring->isDrained();
        });
    }

    void peerGone() override {
        MutexLock lock(mutex_);
        gone_ = true;
        for (const Numbered& r : rings_) {
            r.ring->releaseBudget();
        }
        if (current_ != nullptr) {
            futexWake(current_->ring->readerPage().writerWake);
        }
    }

    bool isPeerGone() const override {
        MutexLock lock(mutex_);
        return gone_;
    }

    void hangUp() override {
        if (options_.hangUp) {
            options_.hangUp();
        }
    }

    bool hasTakenEnd() override {
        MutexLock lock(mutex_);
        return hasEnd_ && refreshLocked().ok() && current_->ring->isDrained();
    }

    RingWriterStats stats() override {
        MutexLock lock(mutex_);
        if (!gone_) {
            static_cast<void>(refreshLocked());  // a wrong word is reported by the next reserve
        }
        RingWriterStats s;
        s.releasedFrames = dropped_;
        for (const Numbered& r : rings_) {
            s.releasedFrames += r.ring->releasedFrames();
        }
        s.rings = nextNumber_;
        return s;
    }

 private:
    static WriterRing::Content contentOf(EntryKind kind, const FrameNumbers& of,
                                         std::uint64_t bytes) {
        WriterRing::Content content{kind, of.epoch, static_cast<std::uint64_t>(of.first), bytes};
        if (of.count > 1) {
            content.stride = static_cast<std::uint64_t>(of.stride);
            content.count = static_cast<std::uint64_t>(of.count);
        }
        return content;
    }
    struct Numbered {
        std::uint64_t number;
        std::unique_ptr<WriterRing> ring;
    };

    Result<FrameSlot> reserve(std::uint64_t bytes, std::stop_token stop) {
        RETURN_IF_ERROR(growFor(bytes));
        HeldWatch watch(options_);
        for (;;) {
            std::optional<FrameSlot> slot;
            RETURN_IF_ERROR(waitForSlot(bytes, stop, watch, slot));
            if (slot) {
                return *slot;
            }
            RETURN_IF_ERROR(replaceHeld());
        }
    }

    Status commit(const FrameSlot& slot, const WriterRing::Content& content) {
        MutexLock lock(mutex_);
        ASSIGN_OR_RETURN(WriterRing* const ring, ringOfSlotLocked(slot));
        return ring->commit(slot.ticket & kIndexMask, content);
    }

    Status record(EntryKind kind, std::uint32_t epoch, std::int64_t number,
                  std::span<const std::byte> payload, std::stop_token stop) {
        ASSIGN_OR_RETURN(const FrameSlot at, reserve(payload.size(), stop));
        if (!payload.empty()) {
            std::memcpy(at.bytes.data(), payload.data(), payload.size());
        }
        return commit(at, {kind, epoch, static_cast<std::uint64_t>(number), payload.size()});
    }

    void endGiven() {
        MutexLock lock(mutex_);
        hasEnd_ = true;
    }

    MemoryBudget* spare() const {
        return options_.spare != nullptr ? options_.spare : options_.budget;
    }
    static Status goneStatus() { return unavailable("ring: the reader is gone"); }

    Status install(std::unique_ptr<WriterRing> ring) {
        const int fd = ring->fd();
        const std::uint64_t bytes = ring->totalBytes();
        RETURN_IF_ERROR(pass_(fd, bytes));
        MutexLock lock(mutex_);
        rings_.push_back({nextNumber_++, std::move(ring)});
        current_ = &rings_.back();
        return okStatus();
    }

    /// For a frame that does not fit: switches to a ring at least twice as large. If fewer than
    /// four such frames fit: switches to a wider ring if there is memory. A loop holds a batch
    /// while it waits for the next, and there must be room behind both.
    Status growFor(std::uint64_t bytes) {
        std::uint64_t size = 0;
        bool isNeeded = false;
        {
            MutexLock lock(mutex_);
            size = current_->ring->dataBytes();
            isNeeded = !current_->ring->fits(bytes);
        }
        if (size / 4 < alignData(bytes) && size != narrowBytes_) {
            const std::uint64_t wide = std::bit_ceil(4 * alignData(bytes));
            if (wide <= options_.maxRingBytes) {
                auto next = WriterRing::make(wide, spare(), options_.numaNode);
                if (next.ok()) {
                    return goOver(std::move(*next), 0);
                }
            }
            narrowBytes_ = size;
        }
        if (!isNeeded) {
            return okStatus();
        }
        while (size / 2 < alignData(bytes)) {
            size *= 2;
            if (size > options_.maxRingBytes) {
                return resourceExhausted("ring: a frame of ", bytes,
                                         " bytes needs a ring over the limit of ",
                                         options_.maxRingBytes, "; lower batch.micro_rows");
            }
        }
        ASSIGN_OR_RETURN(std::unique_ptr<WriterRing> next,
                         WriterRing::make(size, options_.budget, options_.numaNode));
        return goOver(std::move(next), 0);
    }

    /// The reader holds frames of the ring and has taken all others: switches to another ring,
    /// twice as large if allowed. Does nothing if memory is short.
    Status replaceHeld() {
        std::uint64_t size = 0, all = 0, held = 0;
        {
            MutexLock lock(mutex_);
            size = current_->ring->dataBytes();
            for (const Numbered& r : rings_) {
                all += r.ring->dataBytes();
                held += r.ring->heldFrames();
            }
        }
        for (const std::uint64_t bytes : {2 * size, size}) {
            if (all + bytes > options_.maxRingBytes) {
                continue;
            }
            auto next = WriterRing::make(bytes, spare(), options_.numaNode);
            if (next.ok()) {
                logWarn("ring: the reader keeps batches, going on in another ring",
                        {{"frames", held}, {"bytes", bytes}});
                return goOver(*std::move(next), held);
            }
            if (next.status().code() != absl::StatusCode::kResourceExhausted) {
                return next.status();
            }
        }
        return okStatus();
    }

    /// Reserves the continue record's slot in the old ring before current_ changes, so that it is
    /// the last there. The reader has the new memfd (pass_) before it can read the record.
    Status goOver(std::unique_ptr<WriterRing> next, std::uint64_t heldBatches) {
        FrameSlot last;
        {
            MutexLock lock(mutex_);
            const std::optional<std::uint64_t> index = current_->ring->reserveLast();
            INVARIANT(index, "a ring keeps a place for its last entry");
            last.ticket = current_->number << kIndexBits | *index;
        }
        RETURN_IF_ERROR(install(std::move(next)));
        return commit(last, {EntryKind::kContinue, 0, heldBatches});
    }

    Status waitForSlot(std::uint64_t bytes, std::stop_token stop, HeldWatch& watch,
                       std::optional<FrameSlot>& found) {
        const auto attempt = [&]() -> Result<bool> {
            MutexLock lock(mutex_);
            if (gone_) {
                return goneStatus();
            }
            // The reader's words are in its own cache lines: read only when there is no room.
            std::optional<std::uint64_t> index = current_->ring->reserve(bytes);
            if (!index) {
                RETURN_IF_ERROR(refreshLocked());
                index = current_->ring->reserve(bytes);
            }
            if (!index) {
                return false;
            }
            found =
                FrameSlot{current_->ring->payload(*index), current_->number << kIndexBits | *index};
            return true;
        };
        return waitUntil(kWaitsForRelease, stop, &watch, attempt);
    }

    /// Sleeps on the reader's word until `attempt` is true or `watch` requests another ring. Costs
    /// nothing if `attempt` is true at once.
    ///
    /// No wake-up is lost. The order is: read the word's value, set the waiting flag, run the
    /// attempt, sleep on the value that was read. A reader that releases something after the
    /// attempt sees the flag and raises the word, so the sleep ends at once or never begins.
    /// `current_` does not change meanwhile: reserve() and drain() belong to the one thread that
    /// calls this.
    template <class Attempt>
    Status waitUntil(std::uint32_t waitFor, std::stop_token& stop, HeldWatch* watch,
                     Attempt attempt) {
        ASSIGN_OR_RETURN(bool done, attempt());
        if (done) {
            return okStatus();
        }
        WriterRing& ring = currentRing();
        std::atomic<std::uint32_t>& word = ring.readerPage().writerWake;
        const std::stop_callback wake(stop, [&word] { futexWake(word); });
        Status status;
        bool isHeld = false;
        while (!done && !isHeld && status.ok()) {
            const std::uint32_t seen = word.load(std::memory_order_seq_cst);
            ring.writerPage().writerWaiting.store(waitFor, std::memory_order_seq_cst);
            const Result<bool> again = attempt();
            status = again.status();
            done = again.ok() && *again;
            if (status.ok() && !done && stop.stop_requested()) {
                status = cancelled("ring: stopped");
            }
            if (status.ok() && !done && watch != nullptr) {
                MutexLock lock(mutex_);
                const Result<bool> asked = watch->check(ring, steadyNs());
                status = asked.status();
                isHeld = asked.ok() && *asked;
            }
            if (status.ok() && !done && !isHeld) {
                futexWait(word, seen, sleepNs());
            }
        }
        ring.writerPage().writerWaiting.store(0, std::memory_order_seq_cst);
        return status;
    }

    /// A held ring is detected by polling, so a sleep ends in time for the next threshold.
    std::int64_t sleepNs() const {
        const auto shortest =
            std::min({options_.heldReplace, options_.heldWarning, options_.heldError}) / 4;
        const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(shortest).count();
        return std::clamp<std::int64_t>(ns, 1'000'000, 1'000'000'000);
    }

    WriterRing& currentRing() {
        MutexLock lock(mutex_);
        return *current_->ring;
    }

    Result<WriterRing*> ringOfSlotLocked(const FrameSlot& slot) MR_REQUIRES(mutex_) {
        if (gone_) {
            return goneStatus();
        }
        for (Numbered& r : rings_) {
            if (r.number == slot.ticket >> kIndexBits) {
                return r.ring.get();
            }
        }
        return invalidArgument("ring: a slot of a ring that is gone");
    }

    Status refreshLocked() MR_REQUIRES(mutex_) {
        for (auto it = rings_.begin(); it != rings_.end();) {
            RETURN_IF_ERROR(it->ring->refresh());
            // Frames of an older ring that a rank holds stay mapped here until it releases them.
            if (&*it != current_ && it->ring->isAllReleased()) {
                dropped_ += it->ring->releasedFrames();
                it = rings_.erase(it);
            } else {
                ++it;
            }
        }
        return okStatus();
    }

    const RingWriterOptions options_;
    const PassRing pass_;
    mutable Mutex mutex_;
    std::list<Numbered> rings_ MR_GUARDED_BY(mutex_);
    Numbered* current_ MR_GUARDED_BY(mutex_) = nullptr;
    std::uint64_t nextNumber_ MR_GUARDED_BY(mutex_) = 0;
    std::uint64_t dropped_ MR_GUARDED_BY(mutex_) = 0;  ///< frames of rings that are gone
    std::uint64_t narrowBytes_ = 0;  ///< a ring of this size could not be widened: not tried again
    bool gone_ MR_GUARDED_BY(mutex_) = false;
    bool hasEnd_ MR_GUARDED_BY(mutex_) = false;
};

}  // namespace

Result<std::unique_ptr<RingWriter>> RingWriter::open(RingWriterOptions options, PassRing pass) {
    auto writer = std::make_unique<SwitchingWriter>(std::move(options), std::move(pass));
    RETURN_IF_ERROR(writer->openFirst());
    return writer;
}

}  // namespace millrace::ring

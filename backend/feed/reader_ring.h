#pragma once
// The reader's side of one memfd: takes entries in order, releases them in any order.
//
// Threads: take() and waiting belong to one thread; release() and wake() to any. Owns: the mapping;
// batches keep it by shared_ptr. Failure: values from the writer are copied and checked; a wrong
// one is an error message. No dependencies.
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "backend/feed/mapped_rings.h"
#include "backend/feed/ring_layout.h"

namespace millrace::ring {

class ReaderRing {
 public:
    /// Maps the memfd and closes it. Null with `wrong` set if it is not a ring. `rings` (may be
    /// null) is notified of it, and before it is unmapped.
    static std::shared_ptr<ReaderRing> map(int fd, std::shared_ptr<MappedRings> rings,
                                           std::string& wrong);
    ~ReaderRing();
    ReaderRing(const ReaderRing&) = delete;
    ReaderRing& operator=(const ReaderRing&) = delete;

    bool hasNext() const { return writer_->published.load(std::memory_order_seq_cst) > taken_; }
    /// Kind of the next entry (requires hasNext()); take() reads it again.
    std::uint32_t nextKind() const { return kindAt(taken_); }
    /// Whether nothing follows the published entries: the stream's end, or its error. From any
    /// thread.
    bool holdsEnd() const;
    /// The next entry (requires hasNext()) and its payload; it stays the next one.
    const char* look(RingEntry& entry, unsigned char*& payload);
    /// Takes the next entry (requires hasNext()) with its payload and its index for release().
    const char* take(RingEntry& entry, unsigned char*& payload, std::uint64_t& index);
    void release(std::uint64_t index);

    /// Call these around a wait. beginWait() returns the wake word's value for sleep(); check for
    /// an entry in between.
    std::uint32_t beginWait();
    void sleep(std::uint32_t seen, std::int64_t ns) { futexWait(writer_->readerWake, seen, ns); }
    void endWait() { reader_->readerWaiting.store(0, std::memory_order_seq_cst); }
    /// Wakes the sleeping thread of this process.
    void wake() { futexWake(writer_->readerWake); }
    std::uint64_t dataBytes() const { return header_.dataBytes; }
    /// False in a forked child: it lacks the mapping, and the words are the parent's.
    bool isOwn() const { return ::getpid() == owner_; }

 private:
    ReaderRing() = default;
    std::uint32_t kindAt(std::uint64_t index) const;
    void wakeWriter(std::uint32_t atLeast);

    const pid_t owner_ = ::getpid();
    std::shared_ptr<MappedRings> rings_;
    unsigned char* memory_ = nullptr;
    RingHeader header_{};
    WriterPage* writer_ = nullptr;
    ReaderPage* reader_ = nullptr;
    std::uint64_t taken_ = 0;
    std::uint64_t nextPosition_ = 0;
    std::mutex mutex_;
    std::deque<bool> isReleased_;  ///< entries [released_, taken_), guarded by mutex_
    std::uint64_t released_ = 0;   ///< guarded by mutex_
};

}  // namespace millrace::ring

#pragma once
// One memfd as its reader sees it: takes entries in order, gives them back in any order.
//
// Threads: take() and waiting belong to one thread; release() and wake() to any. Owns: the mapping;
// batches keep it by shared_ptr. Failure: what the writer wrote is copied and checked; a wrong
// value is a sentence. No dependencies.
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "backend/ring/mapped_rings.h"
#include "backend/ring/ring_layout.h"

namespace millrace::ring {

class ReaderRing {
 public:
    /// Maps the memfd and closes it. Null with `wrong` set when it is not a ring. `rings` (may be
    /// null) hears of it, and before it is unmapped.
    static std::shared_ptr<ReaderRing> map(int fd, std::shared_ptr<MappedRings> rings,
                                           std::string& wrong);
    ~ReaderRing();
    ReaderRing(const ReaderRing&) = delete;
    ReaderRing& operator=(const ReaderRing&) = delete;

    bool hasNext() const { return writer_->published.load(std::memory_order_seq_cst) > taken_; }
    /// Of the next entry (hasNext()); take() looks at it anew.
    std::uint32_t nextKind() const { return kindAt(taken_); }
    /// Whether nothing follows what is published: the stream's end, or its error. From any thread.
    bool holdsEnd() const;
    /// The next entry (hasNext()) and its payload; it stays the next one.
    const char* look(RingEntry& entry, unsigned char*& payload);
    /// The next entry (hasNext()) with its payload and its index for release().
    const char* take(RingEntry& entry, unsigned char*& payload, std::uint64_t& index);
    void release(std::uint64_t index);

    /// Around a wait: the word's value before the last look, then sleep.
    std::uint32_t beginWait();
    void sleep(std::uint32_t seen, std::int64_t ns) { futexWait(writer_->readerWake, seen, ns); }
    void endWait() { reader_->readerWaiting.store(0, std::memory_order_seq_cst); }
    /// Wakes the sleeper of this process.
    void wake() { futexWake(writer_->readerWake); }
    std::uint64_t dataBytes() const { return header_.dataBytes; }
    /// False in a forked child: the memory is not there, and its words are the parent's.
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

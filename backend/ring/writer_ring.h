#pragma once
// The writer's side of one memfd: tracks which entries and which bytes may be written again.
//
// Four marks move over the entries, each only forwards: released_ <= taken_ <= published_ <=
// reserved_ (docs/architecture/ring.md). Reservations are in order, commits in any order;
// published_ follows the committed prefix.
//
// Threads: the caller's lock, except for the futex words. Owns: the memfd, its mapping and its
// share of the memory budget. Failure: wrong control words of the reader are kDataLoss.
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "backend/core/memory_budget.h"
#include "backend/core/status.h"
#include "backend/core/unique_fd.h"
#include "backend/feed/ring_layout.h"

namespace millrace::ring {

class WriterRing {
 public:
    /// `dataBytes` is rounded up to pages. The memory is allocated at once, so that a lack of
    /// memory is an error here and not a signal later. `numaNode`: node for the memory; -1: any.
    static Result<std::unique_ptr<WriterRing>> make(std::uint64_t dataBytes, MemoryBudget* budget,
                                                    int numaNode = -1);
    ~WriterRing();
    WriterRing(const WriterRing&) = delete;
    WriterRing& operator=(const WriterRing&) = delete;

    /// Nobody reads it any more, and its memory goes soon: a reader that comes again gets its
    /// share.
    void releaseBudget() { budget_.release(); }

    int fd() const { return fd_.get(); }
    std::uint64_t totalBytes() const { return header_.totalBytes; }
    std::uint64_t dataBytes() const { return header_.dataBytes; }
    /// Whether the bytes always fit once everything else is released. A payload is never split, so
    /// up to its size may stay unused before the end of the data.
    bool fits(std::uint64_t bytes) const { return alignData(bytes) <= header_.dataBytes / 2; }

    /// Reads the reader's words and frees what it released.
    Status refresh();
    /// The index of a new entry; nothing when there is no room. Requires fits(bytes).
    std::optional<std::uint64_t> reserve(std::uint64_t bytes) {
        return reserveOf(bytes, kNumEntries - 1);
    }
    std::span<std::byte> payload(std::uint64_t index);
    /// Like reserve(0) for the ring's last entry, for which there is always a slot.
    std::optional<std::uint64_t> reserveLast() { return reserveOf(0, kNumEntries); }
    /// Content of an entry; `bytes` is at most the reserved bytes.
    struct Content {
        EntryKind kind = EntryKind::kNothing;
        std::uint32_t epoch = 0;
        std::uint64_t number = 0, bytes = 0;
        std::uint64_t stride = 0, count = 0;
    };
    /// Publishes the entry once all before it are committed.
    Status commit(std::uint64_t index, const Content& content);
    /// Marks a filled entry whose commit depends on entries still to be reserved.
    void park(std::uint64_t index) { liveAt(index).parked = true; }

    bool isDrained() const { return taken_ == published_ && published_ == reserved_; }
    bool isAllReleased() const { return live_.empty(); }
    /// Whether the reader has taken everything and holds some of it. False while a slot is reserved
    /// and neither committed nor parked: then others wait for the writer.
    bool isHeld() const {
        return taken_ == published_ && released_ < taken_ &&
               (published_ == reserved_ || live_[published_ - released_].parked);
    }
    std::uint64_t released() const { return released_; }
    std::uint64_t heldFrames() const;
    std::uint64_t releasedFrames() const { return releasedFrames_; }

    WriterPage& writerPage() { return *writerPage_; }
    ReaderPage& readerPage() { return *readerPage_; }

 private:
    struct Live {
        RingEntry entry;
        std::uint64_t end;
        bool committed, parked;
    };
    WriterRing() = default;
    std::optional<std::uint64_t> reserveOf(std::uint64_t bytes, std::uint64_t mostEntries);
    Live& liveAt(std::uint64_t index) { return live_[index - released_]; }

    UniqueFd fd_;
    MemoryBudget::Reservation budget_;
    std::byte* memory_ = nullptr;
    RingHeader header_{};
    WriterPage* writerPage_ = nullptr;
    ReaderPage* readerPage_ = nullptr;
    RingEntry* entries_ = nullptr;
    std::deque<Live> live_;  ///< entries [released_, reserved_)
    std::uint64_t reserved_ = 0, published_ = 0, taken_ = 0, released_ = 0;
    std::uint64_t head_ = 0, tail_ = 0;  ///< data positions
    std::uint64_t releasedFrames_ = 0;
};

}  // namespace millrace::ring

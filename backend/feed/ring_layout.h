#pragma once
// The layout of a ring's shared memory, and which side writes which word (docs/formats/ring.md).
//
// Page 0 is written once by the writer; page 1 by the writer, page 2 by the reader; then follow the
// entries, then the data. Each side copies what the other wrote and checks the copy. The two futex
// words only wake sleepers: either side may raise them, and no decision depends on them. No
// dependencies.
#include <atomic>
#include <cstdint>
#include <ctime>
#include <string_view>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace millrace::ring {

inline constexpr std::uint32_t kRingMagic = 0x4752524dU;  // "MRRG"
inline constexpr std::uint32_t kRingVersion = 5;
inline constexpr std::uint64_t kPageBytes = 4096;
inline constexpr std::uint64_t kNumEntries = 4096;
inline constexpr std::uint64_t kEntriesOffset = 3 * kPageBytes;
inline constexpr std::uint64_t kDataAlignment = 64;
/// The last line of a feed that hangs up: to a reader that a later reader of the same rank has
/// replaced, and to a reader that should reconnect.
inline constexpr std::string_view kReplacedLine = "{\"replaced\":true}\n";
inline constexpr std::string_view kAgainLine = "{\"come_again\":true}\n";

struct RingHeader {
    std::uint32_t magic;
    std::uint32_t version;
    std::uint64_t totalBytes;  ///< of the memfd
    std::uint64_t dataOffset;
    std::uint64_t dataBytes;  ///< multiple of the page size
};

struct WriterPage {
    std::atomic<std::uint64_t> published;   ///< entries that may be read
    std::atomic<std::uint32_t> readerWake;  ///< futex on which the reader sleeps
    std::atomic<std::uint32_t> writerWaiting;
};

/// Values of writerWaiting: a writer that waits for memory need not be woken when an entry is
/// taken.
inline constexpr std::uint32_t kWaitsForRelease = 1;
inline constexpr std::uint32_t kWaitsForTake = 2;

struct ReaderPage {
    std::atomic<std::uint64_t> taken;       ///< entries read
    std::atomic<std::uint64_t> released;    ///< entries whose memory may be written again
    std::atomic<std::uint32_t> writerWake;  ///< futex on which the writer sleeps
    std::atomic<std::uint32_t> readerWaiting;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

enum class EntryKind : std::uint32_t {
    kFrame = 1,
    kSegment = 2,     ///< payload: stream::recordBytes()
    kEndOfEpoch = 3,  ///< number = total
    kEndOfStream = 4,
    kError = 5,  ///< payload: text; number: the exit code of its kind
    kContinue =
        6,      ///< the next entry is in the next ring; number: frames held, if that is the cause
    kStep = 7,  ///< number = first micro-batch behind the step; payload: stream::markBytes()
    kNothing = 8,  ///< an unused place
    kColumns = 9,  ///< the first entry of a stream; payload: a frame without rows
    kParts = 10,   ///< for a relay only: a frame as parts (backend/ring/frame_parts.h)
};

struct RingEntry {
    std::uint32_t kind;
    std::uint32_t epoch;
    std::uint64_t number;
    std::uint64_t position;  ///< never wraps; the payload is at position % dataBytes, in one piece
    std::uint64_t bytes;
    std::uint64_t stride;  ///< of a frame of several micro-batches: number, number + stride, ...
    std::uint64_t count;   ///< number of micro-batches; 0: `number` alone
    std::uint64_t reserved[2];
};
static_assert(sizeof(RingEntry) == 64);

inline constexpr std::uint64_t kDataOffset =
    kEntriesOffset + ((kNumEntries * sizeof(RingEntry) + kPageBytes - 1) / kPageBytes) * kPageBytes;

inline std::uint64_t alignData(std::uint64_t bytes) {
    return (bytes + kDataAlignment - 1) & ~(kDataAlignment - 1);
}

/// Sleeps while *word == seen, at most `ns` nanoseconds. May wake up spuriously.
inline void futexWait(const std::atomic<std::uint32_t>& word, std::uint32_t seen, std::int64_t ns) {
    const timespec time{static_cast<time_t>(ns / 1'000'000'000), ns % 1'000'000'000};
    ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &time, nullptr, 0);
}

/// Raises the word and wakes all threads that sleep on it.
inline void futexWake(std::atomic<std::uint32_t>& word) {
    word.fetch_add(1, std::memory_order_seq_cst);
    ::syscall(SYS_futex, &word, FUTEX_WAKE, 1 << 30, nullptr, nullptr, 0);
}

inline std::int64_t steadyNs() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace millrace::ring

#include "backend/feed/reader_ring.h"

#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace millrace::ring {
namespace {

/// Returns "" or the error.
std::string checkRing(const RingHeader& h, std::uint64_t size) {
    if (h.magic != kRingMagic) {
        return "the feed's shared memory is not a ring";
    }
    if (h.version != kRingVersion) {
        return "the feed's ring is of version " + std::to_string(h.version) +
               ", this library reads version " + std::to_string(kRingVersion) +
               "; the loader and the reader's library must be of one version";
    }
    if (h.totalBytes != size || h.dataOffset != kDataOffset || h.dataBytes == 0 ||
        h.dataBytes % kPageBytes != 0 || h.dataBytes > size - kDataOffset) {
        return "the ring's header does not fit its size";
    }
    return "";
}

}  // namespace

std::shared_ptr<ReaderRing> ReaderRing::map(int fd, std::shared_ptr<MappedRings> rings,
                                            std::string& wrong) {
    std::shared_ptr<ReaderRing> ring(new ReaderRing());
    struct stat info{};
    const int seals = ::fcntl(fd, F_GET_SEALS);
    wrong = "the feed's shared memory cannot be mapped";
    if (::fstat(fd, &info) != 0 || seals < 0 || (seals & F_SEAL_SHRINK) == 0 ||
        static_cast<std::uint64_t>(info.st_size) <= kDataOffset) {
        ::close(fd);
        return nullptr;
    }
    const auto size = static_cast<std::uint64_t>(info.st_size);
    void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (memory == MAP_FAILED) {
        return nullptr;
    }
    // A forked child must not access this memory at all: it might release a batch, or read one that
    // the parent has released.
    if (::madvise(memory, size, MADV_DONTFORK) != 0) {
        ::munmap(memory, size);
        return nullptr;
    }
    ring->memory_ = static_cast<unsigned char*>(memory);
    std::memcpy(&ring->header_, memory, sizeof ring->header_);
    wrong = checkRing(ring->header_, size);
    if (!wrong.empty()) {
        ::munmap(memory, size);
        ring->memory_ = nullptr;
        return nullptr;
    }
    ring->writer_ = reinterpret_cast<WriterPage*>(ring->memory_ + kPageBytes);
    ring->reader_ = reinterpret_cast<ReaderPage*>(ring->memory_ + 2 * kPageBytes);
    if (rings != nullptr) {
        rings->add(ring->memory_, size);
        ring->rings_ = std::move(rings);
    }
    return ring;
}

ReaderRing::~ReaderRing() {
    if (memory_ != nullptr && isOwn()) {
        if (rings_ != nullptr) {
            rings_->remove(memory_);
        }
        ::munmap(memory_, header_.totalBytes);
    }
}

std::uint32_t ReaderRing::kindAt(std::uint64_t index) const {
    std::uint32_t kind = 0;
    std::memcpy(&kind, memory_ + kEntriesOffset + (index % kNumEntries) * sizeof(RingEntry),
                sizeof kind);
    return kind;
}

bool ReaderRing::holdsEnd() const {
    const std::uint64_t published = writer_->published.load(std::memory_order_seq_cst);
    const auto last =
        published == 0 ? EntryKind::kNothing : static_cast<EntryKind>(kindAt(published - 1));
    return last == EntryKind::kEndOfStream || last == EntryKind::kError;
}

const char* ReaderRing::look(RingEntry& entry, unsigned char*& payload) {
    const std::uint64_t published = writer_->published.load(std::memory_order_seq_cst);
    {
        // More entries in flight than a ring has: the writer overwrote unreleased ones.
        const std::lock_guard lock(mutex_);
        if (published <= taken_ || published - released_ > kNumEntries) {
            return "the ring's control words are wrong";
        }
    }
    // Copied, then checked: the writer could change it in between.
    std::memcpy(&entry, memory_ + kEntriesOffset + (taken_ % kNumEntries) * sizeof entry,
                sizeof entry);
    const std::uint64_t at = entry.position % header_.dataBytes;
    // Positions only grow, so an entry never points back into the previous one. The writer must
    // keep it off older batches that are still held.
    if (entry.position % kDataAlignment != 0 || entry.position < nextPosition_ ||
        entry.bytes > header_.dataBytes || at + entry.bytes > header_.dataBytes) {
        return "a ring entry points outside the ring";
    }
    payload = memory_ + kDataOffset + at;
    return nullptr;
}

const char* ReaderRing::take(RingEntry& entry, unsigned char*& payload, std::uint64_t& index) {
    if (const char* wrong = look(entry, payload)) {
        return wrong;
    }
    nextPosition_ = entry.position + alignData(entry.bytes);
    index = taken_++;
    {
        const std::lock_guard lock(mutex_);
        isReleased_.push_back(false);
    }
    reader_->taken.store(taken_, std::memory_order_seq_cst);
    wakeWriter(kWaitsForTake);
    return nullptr;
}

void ReaderRing::release(std::uint64_t index) {
    {
        const std::lock_guard lock(mutex_);
        isReleased_[index - released_] = true;
        if (!isReleased_.front()) {
            return;  // an earlier entry is still held: the memory is freed with it
        }
        while (!isReleased_.empty() && isReleased_.front()) {
            isReleased_.pop_front();
            ++released_;
        }
        // Under the lock: if two threads release, the later store must be the larger.
        reader_->released.store(released_, std::memory_order_seq_cst);
    }
    wakeWriter(kWaitsForRelease);
}

void ReaderRing::wakeWriter(std::uint32_t atLeast) {
    if (writer_->writerWaiting.load(std::memory_order_seq_cst) >= atLeast) {
        futexWake(reader_->writerWake);
    }
}

std::uint32_t ReaderRing::beginWait() {
    // Reads the word before setting the flag, and the caller checks for entries after it. A writer
    // that publishes after that check sees the flag and raises the word, which ends sleep(seen).
    const std::uint32_t seen = writer_->readerWake.load(std::memory_order_seq_cst);
    reader_->readerWaiting.store(1, std::memory_order_seq_cst);
    return seen;
}

}  // namespace millrace::ring

#include "backend/ring/writer_ring.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/filesystem/files.h"

namespace millrace::ring {
namespace {

/// Whether the node is the machine's only one, so that all memory is on it.
bool isOnlyNode(int node) {
    const Result<std::string> online = readFile("/sys/devices/system/node/online");
    return node == 0 && (!online.ok() || *online == "0\n");
}

/// Binds the memory of `fd` to a node, before it is allocated.
Status placeOnNode(int fd, std::uint64_t bytes, int node) {
    constexpr int kMostNodes = 1024, kWordBits = 64, kBind = 2;  // MPOL_BIND
    if (node < 0 || isOnlyNode(node)) {
        return okStatus();
    }
    if (node >= kMostNodes ||
        ::access(strCat("/sys/devices/system/node/node", node).c_str(), F_OK) != 0) {
        return invalidArgument("ring: this machine has no NUMA node ", node);
    }
    void* memory = MAP_FAILED;
    if (::ftruncate(fd, static_cast<off_t>(bytes)) == 0) {
        memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (memory == MAP_FAILED) {
        return errnoStatus(errno, "ring: map");
    }
    // The kernel keeps the policy with the file: it holds for fallocate() and for every mapping.
    std::uint64_t nodes[kMostNodes / kWordBits] = {};
    nodes[node / kWordBits] = std::uint64_t{1} << (node % kWordBits);
    const long bound = ::syscall(SYS_mbind, memory, bytes, kBind, nodes, kMostNodes + 1, 0);
    const int error = errno;
    ::munmap(memory, bytes);
    return bound == 0 ? okStatus() : errnoStatus(error, strCat("ring: NUMA node ", node));
}

Result<UniqueFd> makeMemfd(std::uint64_t bytes, int numaNode) {
    UniqueFd fd(::memfd_create("millrace-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd.isOpen()) {
        return errnoStatus(errno, "ring: memfd");
    }
    RETURN_IF_ERROR(placeOnNode(fd.get(), bytes, numaNode));
    if (const int error = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes)); error != 0) {
        return resourceExhausted("ring: no memory for ", bytes, " bytes: ", std::strerror(error));
    }
    // The size never changes: neither side can make the other's mapping fault.
    constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    if (::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) {
        return errnoStatus(errno, "ring: seal");
    }
    return fd;
}

}  // namespace

Result<std::unique_ptr<WriterRing>> WriterRing::make(std::uint64_t dataBytes, MemoryBudget* budget,
                                                     int numaNode) {
    std::unique_ptr<WriterRing> ring(new WriterRing());
    const std::uint64_t data = (dataBytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    ring->header_ = {kRingMagic, kRingVersion, kDataOffset + data, kDataOffset, data};
    const std::uint64_t total = ring->header_.totalBytes;
    if (budget != nullptr) {
        ASSIGN_OR_RETURN(ring->budget_,
                         budget->reserve(static_cast<std::int64_t>(total), "a ring of frames"));
    }
    ASSIGN_OR_RETURN(ring->fd_, makeMemfd(total, numaNode));
    void* memory = ::mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd_.get(), 0);
    if (memory == MAP_FAILED) {
        return errnoStatus(errno, "ring: map");
    }
    ring->memory_ = static_cast<std::byte*>(memory);
    std::memcpy(memory, &ring->header_, sizeof ring->header_);
    ring->writerPage_ = new (ring->memory_ + kPageBytes) WriterPage{};
    ring->readerPage_ = new (ring->memory_ + 2 * kPageBytes) ReaderPage{};
    ring->entries_ = reinterpret_cast<RingEntry*>(ring->memory_ + kEntriesOffset);
    return ring;
}

WriterRing::~WriterRing() {
    if (memory_ != nullptr) {
        ::munmap(memory_, header_.totalBytes);
    }
}

Status WriterRing::refresh() {
    // Released first: the reader raises taken before released. A pair read in this order may be
    // older than the reader's, but released is never beyond taken.
    const std::uint64_t released = readerPage_->released.load(std::memory_order_seq_cst);
    const std::uint64_t taken = readerPage_->taken.load(std::memory_order_seq_cst);
    if (released < released_ || taken < taken_ || released > taken || taken > published_) {
        return dataLoss("ring: the reader's control words are wrong (taken ", taken, ", released ",
                        released, " of ", published_, ")");
    }
    taken_ = taken;
    while (released_ < released) {
        releasedFrames_ +=
            live_.front().entry.kind == static_cast<std::uint32_t>(EntryKind::kFrame);
        tail_ = live_.front().end;
        live_.pop_front();
        ++released_;
    }
    if (live_.empty()) {
        tail_ = head_;  // frees all of the data, including what was left unused before the end
    }
    return okStatus();
}

std::optional<std::uint64_t> WriterRing::reserveOf(std::uint64_t bytes, std::uint64_t mostEntries) {
    if (reserved_ - released_ >= mostEntries) {
        return std::nullopt;
    }
    const std::uint64_t size = alignData(bytes);
    std::uint64_t position = head_;
    const std::uint64_t at = position % header_.dataBytes;
    if (at + size > header_.dataBytes) {
        position += header_.dataBytes - at;  // wraps: a payload is in one piece
    }
    if (position + size - tail_ > header_.dataBytes) {
        return std::nullopt;
    }
    head_ = position + size;
    Live live{};
    live.entry.position = position;
    live.entry.bytes = bytes;
    live.end = head_;
    live_.push_back(live);
    return reserved_++;
}

std::span<std::byte> WriterRing::payload(std::uint64_t index) {
    const RingEntry& entry = liveAt(index).entry;
    return {memory_ + kDataOffset + entry.position % header_.dataBytes, entry.bytes};
}

Status WriterRing::commit(std::uint64_t index, const Content& content) {
    const bool isOpen = index >= published_ && index < reserved_ && !liveAt(index).committed;
    if (!isOpen || content.bytes > liveAt(index).entry.bytes) {
        return invalidArgument("ring: a slot is committed twice or was never reserved");
    }
    Live& live = liveAt(index);
    live.entry.kind = static_cast<std::uint32_t>(content.kind);
    live.entry.epoch = content.epoch;
    live.entry.number = content.number;
    live.entry.bytes = content.bytes;
    live.entry.stride = content.stride;
    live.entry.count = content.count;
    live.committed = true;
    const std::uint64_t before = published_;
    while (published_ < reserved_ && liveAt(published_).committed) {
        entries_[published_ % kNumEntries] = liveAt(published_).entry;
        ++published_;
    }
    if (published_ != before) {
        // Order: the entries, then the count, then the check for a sleeping reader. The reader sets
        // its flag before its last check of the count. So one of the two sees the other.
        writerPage_->published.store(published_, std::memory_order_seq_cst);
        if (readerPage_->readerWaiting.load(std::memory_order_seq_cst) != 0) {
            futexWake(writerPage_->readerWake);
        }
    }
    return okStatus();
}

std::uint64_t WriterRing::heldFrames() const {
    std::uint64_t frames = 0;
    for (std::uint64_t i = released_; i < taken_; ++i) {
        frames += live_[i - released_].entry.kind == static_cast<std::uint32_t>(EntryKind::kFrame);
    }
    return frames;
}

}  // namespace millrace::ring

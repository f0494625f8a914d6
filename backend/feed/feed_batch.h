#pragma once
// millrace_batch inside this library: a frame in the ring's memory that the caller keeps.
//
// Threads: as in feed_reader.h. Owns: a copy of the frame's header and directory. Failure: a static
// message. No dependencies.
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/feed/feed_reader.h"
#include "backend/feed/reader_ring.h"
#include "backend/frame/format.h"

namespace millrace::ring {

/// Header and column directory of a frame, copied out of shared memory before they are checked:
/// what is used later is what was checked.
class FrameDirectory {
 public:
    /// Returns null, or the error.
    const char* copy(const unsigned char* frame, std::uint64_t bytes);
    bool isEmpty() const { return words_.empty(); }

    const frame::FrameHeader& header() const {
        return *reinterpret_cast<const frame::FrameHeader*>(words_.data());
    }
    const frame::ColumnEntry* entries() const {
        return reinterpret_cast<const frame::ColumnEntry*>(
            reinterpret_cast<const unsigned char*>(words_.data()) + sizeof(frame::FrameHeader));
    }
    const char* names() const {
        return reinterpret_cast<const char*>(entries() + header().columns);
    }
    bool operator==(const FrameDirectory&) const = default;

    /// Like millrace_batch_all_columns(); `frame` null: no addresses.
    int columns(unsigned char* frame, millrace_column* to, std::size_t max,
                std::size_t* count) const;
    millrace_column column(std::size_t index, unsigned char* frame) const;

 private:
    std::vector<std::uint64_t> words_;
    std::uint32_t inverse_ = 0;  ///< index of the inverse column; 0: none
};

}  // namespace millrace::ring

struct millrace_batch {
    std::shared_ptr<millrace::ring::ReaderRing> ring;
    std::shared_ptr<std::atomic<std::uint64_t>> held;
    std::uint64_t index = 0;
    unsigned char* bytes = nullptr;
    std::uint64_t size = 0, number = 0;
    std::uint32_t epoch = 0;
    millrace::ring::FrameDirectory directory;
    std::atomic<std::uint32_t> references = 1;  ///< the caller's, plus one per tensor
};

#pragma once
// millrace_batch as this library sees it: a frame in the ring's memory that the caller keeps.
//
// Threads: as feed_reader.h says. No dependencies.
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/frame/format.h"
#include "backend/ring/feed_reader.h"
#include "backend/ring/reader_ring.h"

struct millrace_batch {
    std::shared_ptr<millrace::ring::ReaderRing> ring;
    std::shared_ptr<std::atomic<std::uint64_t>> held;
    std::uint64_t index = 0;
    unsigned char* bytes = nullptr;
    std::uint64_t size = 0, number = 0;
    std::uint32_t epoch = 0;
    /// Header and column directory, copied out of the shared memory before they were checked: what
    /// is read later is what was checked.
    std::vector<std::uint64_t> directory;

    const millrace::frame::FrameHeader& header() const {
        return *reinterpret_cast<const millrace::frame::FrameHeader*>(directory.data());
    }
    const millrace::frame::ColumnEntry* entries() const {
        return reinterpret_cast<const millrace::frame::ColumnEntry*>(
            reinterpret_cast<const unsigned char*>(directory.data()) +
            sizeof(millrace::frame::FrameHeader));
    }
    const char* names() const {
        return reinterpret_cast<const char*>(entries() + header().columns);
    }
};

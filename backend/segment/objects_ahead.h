#pragma once
// Fetches objects of a store before their segments are computed. Decides how much memory a stream's
// read-ahead may take, and which objects a segment needs.
//
// Threads: announce() and release() from any. Owns: the read-ahead, which the stream's runners
// share.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/dataset/read_ahead.h"
#include "backend/dataset/split_reader.h"
#include "backend/segment/memory/buffer_pool.h"
#include "backend/segment/stream_input.h"

namespace millrace::segment {

class ObjectsAhead {
 public:
    /// Takes at most 1/kReadAheadShare of the pool. `input` and the pool outlive it.
    ObjectsAhead(const StreamInput& input, BufferPool& pool);

    /// Null: the stream reads no objects.
    const std::shared_ptr<dataset::ReadAhead>& readAhead() const { return readAhead_; }
    /// How many of the pool's `bytes` remain for segments.
    std::int64_t leftOf(std::int64_t bytes) const;

    /// Call when the segment will be computed soon.
    void announce(std::uint32_t epoch, std::int64_t segment) const;
    /// Call when the segment will not be computed, or was not read completely.
    void release(std::uint32_t epoch, std::int64_t segment) const;

 private:
    const StreamInput& input_;
    const std::vector<std::string> columns_;
    const std::shared_ptr<dataset::ReadAhead> readAhead_;
};

/// The splits of a segment as a reader names them.
std::vector<dataset::SplitRange> splitRangesOf(const StreamInput& input, std::uint32_t epoch,
                                               std::int64_t segment);

/// The columns whose chunks are fetched ahead; empty: the stream reads no objects.
std::vector<std::string> columnsAhead(const StreamInput& input);

}  // namespace millrace::segment

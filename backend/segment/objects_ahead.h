#pragma once
// Objects of a store that are fetched before their segments are computed: what a stream's
// read-ahead may take, and what a segment needs of it.
//
// Threads: announce() and release() from any. Owns: the read-ahead, which the stream's runners
// share.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/dataset/read_ahead.h"
#include "backend/dataset/split_reader.h"
#include "backend/segment/buffer_pool.h"
#include "backend/segment/stream_input.h"

namespace millrace::segment {

class ObjectsAhead {
 public:
    /// Takes at most one part in kReadAheadShare of the pool, which outlives it. `input` outlives
    /// it, too.
    ObjectsAhead(const StreamInput& input, BufferPool& pool);

    /// Null: the stream reads no objects.
    const std::shared_ptr<dataset::ReadAhead>& readAhead() const { return readAhead_; }
    /// What is left of so many bytes of the pool for segments.
    std::int64_t leftOf(std::int64_t bytes) const;

    /// The segment will be computed some time soon.
    void announce(std::uint32_t epoch, std::int64_t segment) const;
    /// It will not, or not all of it was read.
    void release(std::uint32_t epoch, std::int64_t segment) const;

 private:
    const StreamInput& input_;
    const std::vector<std::string> columns_;
    const std::shared_ptr<dataset::ReadAhead> readAhead_;
};

/// The splits of a segment as a reader names them.
std::vector<dataset::SplitRange> splitRangesOf(const StreamInput& input, std::uint32_t epoch,
                                               std::int64_t segment);

/// The columns whose chunks are fetched ahead; none: the stream reads no objects.
std::vector<std::string> columnsAhead(const StreamInput& input);

}  // namespace millrace::segment

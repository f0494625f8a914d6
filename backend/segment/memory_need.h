#pragma once
// What a stream must hold at once, from its spec and plan alone: known before a row is read.
//
// Sure, not tight: lists that repeat are stored once, yet counted as often as the file holds them.
// Threads: pure functions.
#include <cstdint>

#include "backend/recipe/compiled_recipe.h"
#include "backend/spec/run_spec.h"
#include "backend/stream/plan.h"

namespace millrace::segment {

/// Bytes read ahead take at most one part in so many of the memory.
inline constexpr std::int64_t kReadAheadShare = 6;

struct MemoryNeed {
    std::int64_t segment = 0;  ///< the largest one, alone, while it is computed: of the pool
    std::int64_t frame = 0;    ///< a large micro-batch
    /// Of all threads, of the pool: what expressions make. Where it is more, rows go through the
    /// recipe in shorter pieces (segment_runner.h).
    std::int64_t making = 0;
    /// Of all threads, beside the pool: the order of rows, what the allocators keep.
    std::int64_t computing = 0;
    std::int64_t busyThreads = 0;  ///< that find a segment of their own
    std::int64_t delivered = 0;    ///< all rows of an epoch, if none were dropped
};

/// `plan` has its splits and the number of them in a segment; `threads` compute.
MemoryNeed memoryNeed(const spec::RunSpec& spec, const stream::Plan& plan, recipe::Part part,
                      int threads);

/// Room for two frames of that size, as a ring of frames grows to it, with the ring before it.
std::int64_t ringNeed(std::int64_t frameBytes);

}  // namespace millrace::segment

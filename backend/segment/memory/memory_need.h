#pragma once
// Estimates the memory that a stream must hold at once, from its spec and plan alone.
//
// The estimate is an upper bound and not tight: lists that repeat are stored once, but counted as
// often as they occur in the file.
// Threads: pure functions.
#include <cstdint>

#include "backend/recipe/compiled_recipe.h"
#include "backend/spec/run_spec.h"
#include "backend/stream/plan.h"

namespace millrace::segment {

/// Read-ahead takes at most 1/kReadAheadShare of the memory.
inline constexpr std::int64_t kReadAheadShare = 6;

struct MemoryNeed {
    std::int64_t segment = 0;  ///< of the pool: the largest segment, alone, while it is computed
    std::int64_t frame = 0;    ///< a large micro-batch
    /// Bytes of the pool that columns made by expressions take, in all threads. If there is less
    /// memory, the recipe runs on shorter pieces (segment_runner.h).
    std::int64_t making = 0;
    /// Outside the pool, all threads: sorting of rows, memory that allocators keep.
    std::int64_t computing = 0;
    std::int64_t busyThreads = 0;  ///< threads that have a segment of their own
    std::int64_t delivered = 0;    ///< all rows of an epoch, if none were dropped
};

/// `plan` has its splits and the number of splits per segment; `threads` threads compute.
MemoryNeed memoryNeed(const spec::RunSpec& spec, const stream::Plan& plan, recipe::Part part,
                      int threads);

/// Bytes of a ring that has grown to hold two frames of that size, including the previous ring.
std::int64_t ringNeed(std::int64_t frameBytes);

}  // namespace millrace::segment

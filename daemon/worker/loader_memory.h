#pragma once
// How a loader's memory limit is shared: the program itself, side tables and rings, and the rest
// for segments and frames.
#include <algorithm>
#include <cstdint>
#include <memory>

#include "backend/core/memory_budget.h"
#include "backend/segment/buffer_pool.h"

namespace millrace::loader {

/// Threads: any. The pool is made once side tables are loaded.
class LoaderMemory {
 public:
    explicit LoaderMemory(std::int64_t limitMb)
        : limitBytes_(limitMb * 1'000'000),
          budget_(std::max<std::int64_t>(limitBytes_ - kProgramBytes, limitBytes_ / 4)) {}

    MemoryBudget& budget() { return budget_; }

    /// The rest of the limit, less `reserveBytes` (rings). Call once, after side tables are loaded.
    segment::BufferPool& makePool(std::int64_t reserveBytes) {
        const std::int64_t left = budget_.limitBytes() - budget_.usedBytes() - reserveBytes;
        pool_ =
            std::make_unique<segment::BufferPool>(std::max<std::int64_t>(left, kLeastPoolBytes));
        return *pool_;
    }

 private:
    /// Code, libraries, stacks and what Arrow's kernels take from their own pool.
    static constexpr std::int64_t kProgramBytes = 100'000'000;
    static constexpr std::int64_t kLeastPoolBytes = 16'000'000;
    const std::int64_t limitBytes_;
    MemoryBudget budget_;
    std::unique_ptr<segment::BufferPool> pool_;
};

}  // namespace millrace::loader

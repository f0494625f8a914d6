#pragma once
// The memory that a recipe's steps and expressions are computed in: while a split runs, the pool
// that its caller gave, so that kernels count against the loader's limit as its columns do.
// Private to the room.
//
// Threads: a scope belongs to the thread that makes it. Failure: none; a pool that has nothing left
// is Arrow's OutOfMemory where it is asked.
#include <arrow/type_fwd.h>

namespace millrace::recipe {

class PoolScope {
 public:
    /// `pool`: null for Arrow's default; outlives what is made in the scope.
    explicit PoolScope(arrow::MemoryPool* pool);
    ~PoolScope();
    PoolScope(const PoolScope&) = delete;
    PoolScope& operator=(const PoolScope&) = delete;

 private:
    arrow::MemoryPool* const before_;
};

/// This thread's pool: the innermost scope's, or Arrow's default.
arrow::MemoryPool* currentPool();

}  // namespace millrace::recipe

#pragma once
// The memory pool that the evaluations of a thread take their memory from: that of the segment
// whose rows they run over, so that what expressions make counts against its limit.
//
// A recipe's run opens a scope around its work; without one it is Arrow's default pool. A scope and
// not a parameter, because kernels are called through tables of functions that know values alone.
// Threads: a scope is of the thread that made it. Ownership: the pool outlives what was made.
namespace arrow {
class MemoryPool;
}  // namespace arrow

namespace millrace::eval {

/// Of the innermost scope of this thread; never null.
arrow::MemoryPool* evaluationPool();

class EvaluationScope {
 public:
    /// `pool`: null for Arrow's default.
    explicit EvaluationScope(arrow::MemoryPool* pool);
    ~EvaluationScope();
    EvaluationScope(const EvaluationScope&) = delete;
    EvaluationScope& operator=(const EvaluationScope&) = delete;

 private:
    arrow::MemoryPool* const outer_;
};

}  // namespace millrace::eval

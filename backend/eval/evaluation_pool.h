#pragma once
// The memory pool for evaluations in a thread: the pool of the segment whose rows they process, so
// that results of expressions count against its limit.
//
// A recipe's run opens a scope around its work; without one, Arrow's default pool is used. It is a
// scope and not a parameter, because kernels are called through function tables that take values
// only.
// Threads: a scope belongs to the thread that made it. Ownership: the pool outlives all memory from
// it.

#include <arrow/type_fwd.h>

namespace millrace::eval {

/// The pool of this thread's innermost scope; never null.
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

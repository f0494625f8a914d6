#include "backend/recipe/pool_scope.h"

#include <utility>

#include <arrow/memory_pool.h>

namespace millrace::recipe {
namespace {

thread_local arrow::MemoryPool* scopePool = nullptr;

}  // namespace

PoolScope::PoolScope(arrow::MemoryPool* pool) : before_(std::exchange(scopePool, pool)) {}

PoolScope::~PoolScope() {
    scopePool = before_;
}

arrow::MemoryPool* currentPool() {
    return scopePool != nullptr ? scopePool : arrow::default_memory_pool();
}

}  // namespace millrace::recipe

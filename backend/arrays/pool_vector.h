#pragma once
// A vector with memory from a pool: the size that a page claims counts against the loader's limit.
// Failure: throws std::bad_alloc if the pool refuses, which the decoder turns into a Status.
#include <vector>

#include <arrow/stl_allocator.h>

namespace millrace::arrays {

template <class T>
using PoolVector = std::vector<T, arrow::stl::allocator<T>>;

/// Frees the memory.
template <class T>
void release(PoolVector<T>& values) {
    PoolVector<T> none(values.get_allocator());
    values.swap(none);
}

}  // namespace millrace::arrays

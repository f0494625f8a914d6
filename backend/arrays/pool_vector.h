#pragma once
// A vector whose memory is its pool's: what a page claims to hold counts against the loader's
// limit. Failure: throws std::bad_alloc where the pool refuses, which the decoder turns into a
// Status.
#include <vector>

#include <arrow/stl_allocator.h>

namespace millrace::arrays {

template <class T>
using PoolVector = std::vector<T, arrow::stl::allocator<T>>;

/// Gives the memory back.
template <class T>
void release(PoolVector<T>& values) {
    PoolVector<T> none(values.get_allocator());
    values.swap(none);
}

}  // namespace millrace::arrays

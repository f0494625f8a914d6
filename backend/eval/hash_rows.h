#pragma once
// Hashes of rows' values: what hash01, `hash` and the ids of features are made of.
//
// Threads: pure. Failure: kInvalidArgument for values that have no hash.
#include <cstdint>
#include <vector>

#include "backend/core/status.h"
#include "backend/eval/kernels.h"

namespace millrace::eval {

/// hash01's and `hash`'s kernel: XXH3-64 of the canonical bytes of each row's values.
/// `seed` null: without a seed.
Result<std::vector<std::uint64_t>> hashRows(const std::vector<ArrayPtr>& columns, std::int64_t rows,
                                            const std::uint64_t* seed);

/// 0 for null, else 1 + XXH3-64(canonical bytes, seed) mod (buckets - 1), as int64 without nulls.
/// A list is hashed element by element; its null lists stay null. Of a dictionary of texts each is
/// hashed once. `pool`: null for Arrow's default pool.
Result<ArrayPtr> hashIds(const ArrayPtr& values, std::int64_t buckets, std::uint64_t seed,
                         arrow::MemoryPool* pool = nullptr);

}  // namespace millrace::eval

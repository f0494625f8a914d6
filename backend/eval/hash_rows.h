#pragma once
// Hashes of rows' values, for hash01, `hash` and the ids of features.
//
// Threads: pure. Failure: kInvalidArgument for values that cannot be hashed.
#include <cstdint>
#include <vector>

#include "backend/core/status.h"
#include "backend/eval/kernels.h"

namespace millrace::eval {

/// The kernel of hash01 and `hash`: XXH3-64 of the canonical bytes of each row's values. `seed`
/// null: unseeded.
Result<std::vector<std::uint64_t>> hashRows(const std::vector<ArrayPtr>& columns, std::int64_t rows,
                                            const std::uint64_t* seed);

/// 0 for null, else 1 + XXH3-64(canonical bytes, seed) mod (buckets - 1), as int64 without nulls.
/// Lists are hashed element by element; null lists stay null. Each text of a dictionary is hashed
/// once. `pool`: null for Arrow's default pool.
Result<ArrayPtr> hashIds(const ArrayPtr& values, std::int64_t buckets, std::uint64_t seed,
                         arrow::MemoryPool* pool = nullptr);

}  // namespace millrace::eval

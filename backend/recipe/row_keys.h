#pragma once
// One number per row, equal for equal values of a column; batches group rows by it.
//
// Threads: pure.
#include <cstdint>
#include <vector>

#include "backend/core/status.h"
#include "backend/eval/evaluator.h"

namespace millrace::recipe {

/// The finalizer of splitmix64 (Steele, Lea, Flood 2014): a permutation of 64-bit numbers.
inline std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
}

/// Equal values have equal keys, different values different keys (up to 64-bit chance). Each null
/// counts as a value of its own; `firstRow` tells the nulls of different splits apart.
Result<std::vector<std::uint64_t>> rowKeys(const eval::ArrayPtr& values, std::uint64_t firstRow);

}  // namespace millrace::recipe

#pragma once
// Bucket numbers of values, from ascending boundaries. Private to recipe. Threads: pure.
#include <cstdint>
#include <span>

namespace millrace::recipe {

/// 1 + the number of ascending `boundaries` at or below the value; NaN is above all. `isWide`: uses
/// the machine's vector instructions, which must exist; the results are the same.
void bucketsOf(std::span<const double> values, std::span<const double> boundaries, bool isWide,
               std::int64_t* out);
/// Uses the fastest way that the machine supports.
void bucketsOf(std::span<const double> values, std::span<const double> boundaries,
               std::int64_t* out);

}  // namespace millrace::recipe

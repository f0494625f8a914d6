#pragma once
// Numbers by the boundaries that they have reached. Private to the room. Threads: pure.
#include <cstdint>
#include <span>

namespace millrace::recipe {

/// 1 + how many of the ascending `boundaries` are not above the value; NaN is above all. `isWide`:
/// with the machine's vectors, which it must have; the results are the same.
void bucketsOf(std::span<const double> values, std::span<const double> boundaries, bool isWide,
               std::int64_t* out);
/// The same as fast as the machine can.
void bucketsOf(std::span<const double> values, std::span<const double> boundaries,
               std::int64_t* out);

}  // namespace millrace::recipe

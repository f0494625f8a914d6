#pragma once
// How much a segment's record may hold: the same for who writes it, who reads it, and the state
// that sums it up. No dependencies.
#include <cstddef>

namespace millrace::ring {

inline constexpr std::size_t kMaxRecordSteps = 64;
inline constexpr std::size_t kMaxRecordCounts = 1024;
inline constexpr std::size_t kMaxCountNameBytes = 255;

}  // namespace millrace::ring

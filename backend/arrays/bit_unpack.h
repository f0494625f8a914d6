#pragma once
// Unpacks bit-packed integers of Parquet's hybrid encoding to 32 bits each, with the widest
// instructions of the machine (chosen once, at run time; all variants give the same integers).
//
// Format: https://parquet.apache.org/docs/file-format/data-pages/encodings/ (RLE/bit-packing
// hybrid). Threads: any. Failure: none; callers must check the bounds.
#include <cstdint>

namespace millrace::arrays {

/// Unpacks the `count` values of `width` bits (0..32) that start at `bytes`; reads nothing at or
/// after `end`. `out` has room for `count`. Requires count * width <= (end - bytes) * 8.
void unpackBits(const std::uint8_t* bytes, const std::uint8_t* end, int width, std::int64_t count,
                std::uint32_t* out);

/// Variants that this machine can run, the fastest first; for tests and measurements.
enum class UnpackVariant { kAvx512Vbmi, kAvx2, kScalar };
bool canUnpack(UnpackVariant variant);
void unpackBits(UnpackVariant variant, const std::uint8_t* bytes, const std::uint8_t* end,
                int width, std::int64_t count, std::uint32_t* out);

}  // namespace millrace::arrays

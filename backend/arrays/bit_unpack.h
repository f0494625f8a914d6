#pragma once
// Bit-packed integers of Parquet's hybrid encoding to 32 bits each, with the widest instructions
// that the machine has (chosen once, at run time; all variants give the same integers).
//
// Format: https://parquet.apache.org/docs/file-format/data-pages/encodings/ (RLE/bit-packing
// hybrid). Threads: any. Failure: none; callers bound what they ask for.
#include <cstdint>

namespace millrace::arrays {

/// The `count` values of `width` bits (0..32) that start at `bytes`; nothing at or after `end` is
/// read. `out` has room for `count`. Requires count * width <= (end - bytes) * 8.
void unpackBits(const std::uint8_t* bytes, const std::uint8_t* end, int width, std::int64_t count,
                std::uint32_t* out);

/// Names of the variants that this machine can run, the fastest first; for tests and figures.
enum class UnpackVariant { kAvx512Vbmi, kAvx2, kScalar };
bool canUnpack(UnpackVariant variant);
void unpackBits(UnpackVariant variant, const std::uint8_t* bytes, const std::uint8_t* end,
                int width, std::int64_t count, std::uint32_t* out);

}  // namespace millrace::arrays

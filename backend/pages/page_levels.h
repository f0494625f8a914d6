#pragma once
// Decodes repetition and definition levels of a data page: small integers in Parquet's hybrid
// encoding of runs and packed bits.
//
// Format: https://parquet.apache.org/docs/file-format/data-pages/encodings/
// Threads: functions. They return false if the stream ends too early or has an impossible level.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "backend/arrays/hybrid_runs.h"
#include "backend/arrays/pool_vector.h"

namespace millrace::pages {

/// Eight bytes from `at`; zeros past the end.
inline std::uint64_t loadWord(arrays::ByteSpan bytes, std::int64_t at) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.begin + at,
                static_cast<std::size_t>(std::min<std::int64_t>(8, bytes.size() - at)));
    return word;
}

/// Takes a stream of levels (or of bools) from a V1 page: a length of four bytes, then the stream.
bool takeLevels(arrays::ByteSpan& page, arrays::ByteSpan& levels);

/// `isAll`: all levels equal `most`, the highest possible.
bool areAll(arrays::ByteSpan levels, int most, std::int64_t count, bool& isAll);

bool unpackLevels(arrays::ByteSpan levels, int most, std::int64_t count,
                  arrays::PoolVector<std::uint32_t>& out);

/// Levels 0 and 1 as a bitmap, and the number of ones.
bool bitmapOf(arrays::ByteSpan levels, std::int64_t count, arrays::PoolVector<std::uint64_t>& bits,
              std::int64_t& ones);

}  // namespace millrace::pages

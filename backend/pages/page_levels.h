#pragma once
// Repetition and definition levels of a data page: streams of small integers in Parquet's hybrid
// encoding of runs and packed bits.
//
// Format: https://parquet.apache.org/docs/file-format/data-pages/encodings/
// Threads: functions. False: the stream ends too early or holds a level that cannot be.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "backend/arrays/hybrid_runs.h"
#include "backend/arrays/pool_vector.h"

namespace millrace::pages {

/// Eight bytes from `at`; zeros behind the end.
inline std::uint64_t loadWord(arrays::ByteSpan bytes, std::int64_t at) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.begin + at,
                static_cast<std::size_t>(std::min<std::int64_t>(8, bytes.size() - at)));
    return word;
}

/// Takes a stream of levels (or of bools) off a V1 page: its length in four bytes, then the stream.
bool takeLevels(arrays::ByteSpan& page, arrays::ByteSpan& levels);

/// `isAll`: all levels are `most`, the greatest there is.
bool areAll(arrays::ByteSpan levels, int most, std::int64_t count, bool& isAll);

bool unpackLevels(arrays::ByteSpan levels, int most, std::int64_t count,
                  arrays::PoolVector<std::uint32_t>& out);

/// Levels 0 and 1 as a bitmap, and the number of ones.
bool bitmapOf(arrays::ByteSpan levels, std::int64_t count, arrays::PoolVector<std::uint64_t>& bits,
              std::int64_t& ones);

}  // namespace millrace::pages

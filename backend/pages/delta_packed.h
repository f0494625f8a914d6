#pragma once
// Pages of integers as packed differences, Parquet's DELTA_BINARY_PACKED, as plain words; and of
// texts whose lengths are told so ahead of their bytes, DELTA_LENGTH_BYTE_ARRAY.
//
// Format: https://parquet.apache.org/docs/file-format/data-pages/encodings/ (delta encoding):
// block size, miniblocks a block, count, first value; then for each block the least difference, a
// width in bits for each miniblock, and the differences above the least one, packed. Sums wrap
// around at the width of the words. Writers that leave out the padding behind the last value are
// read too.
// Threads: pure.
#include <cstdint>

#include "backend/arrays/hybrid_runs.h"
#include "backend/arrays/leaf_form.h"
#include "backend/arrays/pool_vector.h"

namespace millrace::pages {

/// The values of a page, at most `most`, as words of `width` bytes (4 or 8), which `words` holds.
/// False: damaged; nothing beyond the page is read.
bool unpackDeltas(arrays::ByteSpan page, std::int64_t most, int width,
                  arrays::PoolVector<std::uint64_t>& words, arrays::ByteSpan& unpacked);

/// The texts of a page, at most `most`, as arrays::TextSpan in `bytes`, a part of the page; `words`
/// holds the spans. False: damaged.
bool unpackLengths(arrays::ByteSpan page, std::int64_t most,
                   arrays::PoolVector<std::uint64_t>& words, arrays::ByteSpan& spans,
                   arrays::ByteSpan& bytes);

}  // namespace millrace::pages

#pragma once
// Unpacks pages of integers as packed differences, Parquet's DELTA_BINARY_PACKED, into plain words;
// and pages of texts that follow their lengths so packed, DELTA_LENGTH_BYTE_ARRAY.
//
// Format: https://parquet.apache.org/docs/file-format/data-pages/encodings/ (delta encoding): block
// size, miniblocks per block, count, first value; then for each block the least difference, a width
// in bits for each miniblock, and the packed differences above the least one. Sums wrap around at
// the width of the words. Pages without the padding after the last value are accepted.
// Threads: pure.
#include <cstdint>

#include "backend/arrays/hybrid_runs.h"
#include "backend/arrays/leaf_form.h"
#include "backend/arrays/pool_vector.h"

namespace millrace::pages {

/// Unpacks the values of a page, at most `most`, as words of `width` bytes (4 or 8) held by
/// `words`. Returns false for a damaged page; reads nothing beyond it.
bool unpackDeltas(arrays::ByteSpan page, std::int64_t most, int width,
                  arrays::PoolVector<std::uint64_t>& words, arrays::ByteSpan& unpacked);

/// Returns the texts of a page, at most `most`, as arrays::TextSpan in `bytes`, a part of the page;
/// `words` holds the spans. Returns false for a damaged page.
bool unpackLengths(arrays::ByteSpan page, std::int64_t most,
                   arrays::PoolVector<std::uint64_t>& words, arrays::ByteSpan& spans,
                   arrays::ByteSpan& bytes);

}  // namespace millrace::pages

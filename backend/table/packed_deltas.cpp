#include "backend/table/packed_deltas.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include <arrow/buffer_builder.h>

#include "backend/arrays/arrow_bridge.h"

namespace millrace::table {

namespace {

constexpr std::size_t kMiniblocks = 4;  // per block
constexpr std::size_t kVarintMost = 10;
template <class Word>
constexpr std::size_t kInMiniblock = 8 * sizeof(Word);
template <class Word>
constexpr std::size_t kInBlock = kMiniblocks * kInMiniblock<Word>;

void putVarint(std::uint64_t value, std::uint8_t*& at) {
    for (; value >= 0x80; value >>= 7) {
        *at++ = static_cast<std::uint8_t>(value | 0x80);
    }
    *at++ = static_cast<std::uint8_t>(value);
}

void putZigZag(std::int64_t value, std::uint8_t*& at) {
    putVarint((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63),
              at);
}

/// Packs the miniblock's values, `bits` each, the lowest first; writes up to seven bytes past their
/// end.
template <class Word>
void pack(const Word* values, int bits, std::uint8_t*& at) {
    std::uint64_t word = 0;
    int filled = 0;
    for (std::size_t i = 0; i < kInMiniblock<Word>; ++i) {
        const std::uint64_t value{values[i]};
        word |= value << filled;
        filled += bits;
        if (filled >= 64) {
            std::memcpy(at, &word, sizeof word);
            at += sizeof word;
            filled -= 64;
            word = filled == 0 ? 0 : value >> (bits - filled);
        }
    }
    std::memcpy(at, &word, sizeof word);
    at += filled / 8;
}

/// Writes the `count` values after the first of `values`.
template <class Word>
void putBlock(const Word* values, std::size_t count, std::uint8_t*& at) {
    using Signed = std::make_signed_t<Word>;
    std::array<Word, kInBlock<Word>> deltas;
    Signed least = std::numeric_limits<Signed>::max();
    for (std::size_t i = 0; i < count; ++i) {
        deltas[i] = values[i + 1] - values[i];
        least = std::min(least, static_cast<Signed>(deltas[i]));
    }
    std::fill(deltas.begin() + static_cast<std::ptrdiff_t>(count), deltas.end(),
              static_cast<Word>(least));
    putZigZag(least, at);
    std::uint8_t* const widths = at;
    at = std::fill_n(widths, kMiniblocks, std::uint8_t{0});
    for (std::size_t from = 0; from < count; from += kInMiniblock<Word>) {
        Word all = 0;
        for (std::size_t i = from; i < from + kInMiniblock<Word>; ++i) {
            deltas[i] -= static_cast<Word>(least);
            all |= deltas[i];
        }
        const int bits = std::bit_width(all);
        widths[from / kInMiniblock<Word>] = static_cast<std::uint8_t>(bits);
        if (bits > 0) {
            pack(deltas.data() + from, bits, at);
        }
    }
}

template <class Signed>
Status append(std::span<const Signed> values, arrow::BufferBuilder& out) {
    using Word = std::make_unsigned_t<Signed>;
    const std::size_t blocks = values.size() / kInBlock<Word> + 1;
    const std::size_t most = 4 * kVarintMost + sizeof(std::uint64_t) +
                             blocks * (kVarintMost + kMiniblocks + kInBlock<Word> * sizeof(Word));
    RETURN_IF_ERROR(
        arrays::fromArrow(out.Reserve(static_cast<std::int64_t>(most)), "parquet page"));
    std::uint8_t* const begin = out.mutable_data() + out.length();
    std::uint8_t* at = begin;
    putVarint(kInBlock<Word>, at);
    putVarint(kMiniblocks, at);
    putVarint(values.size(), at);
    putZigZag(values.empty() ? 0 : values.front(), at);
    const auto* const words = reinterpret_cast<const Word*>(values.data());
    for (std::size_t done = 1; done < values.size(); done += kInBlock<Word>) {
        putBlock(words + done - 1, std::min(kInBlock<Word>, values.size() - done), at);
    }
    out.UnsafeAdvance(at - begin);
    return okStatus();
}

}  // namespace

Status appendDeltas(std::span<const std::int32_t> values, arrow::BufferBuilder& out) {
    return append(values, out);
}

Status appendDeltas(std::span<const std::int64_t> values, arrow::BufferBuilder& out) {
    return append(values, out);
}

}  // namespace millrace::table

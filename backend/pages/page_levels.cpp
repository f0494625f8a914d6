#include "backend/pages/page_levels.h"

#include <bit>

#include "backend/arrays/bit_unpack.h"

namespace millrace::pages {
namespace {

int bitsFor(int most) {
    return std::bit_width(static_cast<unsigned>(most));
}

/// Sets `n` bits from bit `at` on.
void setBits(std::uint64_t* words, std::int64_t at, std::int64_t n) {
    constexpr std::uint64_t kAll = ~std::uint64_t{0};
    std::uint64_t* const first = words + (at >> 6);
    std::uint64_t* const last = words + ((at + n - 1) >> 6);
    const std::uint64_t from = kAll << (at & 63), to = kAll >> (63 - ((at + n - 1) & 63));
    if (first == last) {
        *first |= from & to;
        return;
    }
    *first |= from;
    std::fill(first + 1, last, kAll);
    *last |= to;
}

}  // namespace

bool takeLevels(arrays::ByteSpan& page, arrays::ByteSpan& levels) {
    std::uint32_t length = 0;
    if (page.size() < 4) {
        return false;
    }
    std::memcpy(&length, page.begin, 4);
    if (page.size() - 4 < static_cast<std::int64_t>(length)) {
        return false;
    }
    levels = {page.begin + 4, page.begin + 4 + length};
    page.begin += 4 + static_cast<std::ptrdiff_t>(length);
    return true;
}

bool areAll(arrays::ByteSpan levels, int most, std::int64_t count, bool& isAll) {
    isAll = true;
    return arrays::forEachRun(
        levels, bitsFor(most), count,
        [&](std::uint32_t value, std::int64_t) {
            isAll = isAll && value == static_cast<std::uint32_t>(most);
            return true;
        },
        [&](arrays::ByteSpan, std::int64_t) {
            isAll = false;
            return true;
        });
}

bool unpackLevels(arrays::ByteSpan levels, int most, std::int64_t count,
                  arrays::PoolVector<std::uint32_t>& out) {
    out.resize(static_cast<std::size_t>(count));
    std::uint32_t* at = out.data();
    const int width = bitsFor(most);
    return arrays::forEachRun(
        levels, width, count,
        [&](std::uint32_t value, std::int64_t n) {
            at = std::fill_n(at, n, value);
            return value <= static_cast<std::uint32_t>(most);
        },
        [&](arrays::ByteSpan packed, std::int64_t n) {
            arrays::unpackBits(packed.begin, packed.end, width, n, at);
            const bool isFine = std::all_of(
                at, at + n, [&](std::uint32_t v) { return v <= static_cast<std::uint32_t>(most); });
            at += n;
            return isFine;
        });
}

bool bitmapOf(arrays::ByteSpan levels, std::int64_t count, arrays::PoolVector<std::uint64_t>& bits,
              std::int64_t& ones) {
    bits.assign(static_cast<std::size_t>(count / 64 + 2), 0);
    std::int64_t at = 0;
    ones = 0;
    return arrays::forEachRun(
        levels, 1, count,
        [&](std::uint32_t value, std::int64_t n) {
            if (value != 0) {
                setBits(bits.data(), at, n);
            }
            ones += value != 0 ? n : 0;
            at += n;
            return value <= 1;
        },
        [&](arrays::ByteSpan packed, std::int64_t n) {
            for (std::int64_t i = 0; i < n; i += 64) {
                std::uint64_t word = loadWord(packed, i / 8);
                if (n - i < 64) {
                    word &= (std::uint64_t{1} << (n - i)) - 1;
                }
                ones += std::popcount(word);
                const std::int64_t bit = at + i;
                bits[static_cast<std::size_t>(bit >> 6)] |= word << (bit & 63);
                if ((bit & 63) != 0) {
                    bits[static_cast<std::size_t>(bit >> 6) + 1] |= word >> (64 - (bit & 63));
                }
            }
            at += n;
            return true;
        });
}

}  // namespace millrace::pages

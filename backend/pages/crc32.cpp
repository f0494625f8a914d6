#include "backend/pages/crc32.h"

#include <array>

#include <immintrin.h>

namespace millrace::pages {
namespace {

constexpr std::uint32_t kPolynomial = 0xedb88320;

constexpr std::array<std::array<std::uint32_t, 256>, 8> makeTables() {
    std::array<std::array<std::uint32_t, 256>, 8> tables{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t sum = i;
        for (int bit = 0; bit < 8; ++bit) {
            sum = (sum >> 1) ^ ((sum & 1) != 0 ? kPolynomial : 0);
        }
        tables[0][i] = sum;
    }
    for (std::size_t t = 1; t < 8; ++t) {
        for (std::size_t i = 0; i < 256; ++i) {
            const std::uint32_t before = tables[t - 1][i];
            tables[t][i] = (before >> 8) ^ tables[0][before & 0xff];
        }
    }
    return tables;
}

constexpr auto kTables = makeTables();

/// Handles eight bytes at a time. `sum` is the inverted sum so far.
std::uint32_t addPlain(std::uint32_t sum, const std::uint8_t* at, const std::uint8_t* end) {
    for (; end - at >= 8; at += 8) {
        sum = kTables[7][(sum ^ at[0]) & 0xff] ^ kTables[6][((sum >> 8) ^ at[1]) & 0xff] ^
              kTables[5][((sum >> 16) ^ at[2]) & 0xff] ^ kTables[4][(sum >> 24) ^ at[3]] ^
              kTables[3][at[4]] ^ kTables[2][at[5]] ^ kTables[1][at[6]] ^ kTables[0][at[7]];
    }
    for (; at < end; ++at) {
        sum = (sum >> 8) ^ kTables[0][(sum ^ *at) & 0xff];
    }
    return sum;
}

// x^n mod P, reflected, for the distances of the folds.
constexpr std::int64_t kFold512Low = 0x0154442bd4, kFold512High = 0x01c6e41596;
constexpr std::int64_t kFold128Low = 0x01751997d0, kFold128High = 0x00ccaa009e;
constexpr std::int64_t kFold64 = 0x0163cd6124;
constexpr std::int64_t kModulus = 0x01db710641, kQuotient = 0x01f7011641;

__attribute__((target("pclmul,sse4.1"))) __m128i load(const std::uint8_t* at) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

__attribute__((target("pclmul,sse4.1"))) __m128i fold(__m128i sum, __m128i keys, __m128i next) {
    const __m128i low = _mm_clmulepi64_si128(sum, keys, 0x00);
    const __m128i high = _mm_clmulepi64_si128(sum, keys, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

/// Reduces 128 bits to 32: via 64 bits, then by Barrett's method.
__attribute__((target("pclmul,sse4.1"))) std::uint32_t reduce(__m128i sum) {
    const __m128i mask = _mm_setr_epi32(~0, 0, ~0, 0);
    const __m128i keys = _mm_set_epi64x(kFold128High, kFold128Low);
    sum = _mm_xor_si128(_mm_srli_si128(sum, 8), _mm_clmulepi64_si128(sum, keys, 0x10));
    const __m128i upper = _mm_srli_si128(sum, 4);
    sum = _mm_clmulepi64_si128(_mm_and_si128(sum, mask), _mm_set_epi64x(0, kFold64), 0x00);
    sum = _mm_xor_si128(sum, upper);
    const __m128i barrett = _mm_set_epi64x(kQuotient, kModulus);
    __m128i part = _mm_clmulepi64_si128(_mm_and_si128(sum, mask), barrett, 0x10);
    part = _mm_clmulepi64_si128(_mm_and_si128(part, mask), barrett, 0x00);
    return static_cast<std::uint32_t>(_mm_extract_epi32(_mm_xor_si128(sum, part), 1));
}

/// Needs at least 64 bytes; moves `at` past the bytes that were added.
__attribute__((target("pclmul,sse4.1"))) std::uint32_t addFolded(std::uint32_t start,
                                                                 const std::uint8_t*& at,
                                                                 const std::uint8_t* end) {
    __m128i sums[4] = {load(at), load(at + 16), load(at + 32), load(at + 48)};
    sums[0] = _mm_xor_si128(sums[0], _mm_cvtsi32_si128(static_cast<int>(start)));
    at += 64;
    const __m128i far = _mm_set_epi64x(kFold512High, kFold512Low);
    for (; end - at >= 64; at += 64) {
        for (int i = 0; i < 4; ++i) {
            sums[i] = fold(sums[i], far, load(at + std::ptrdiff_t{16} * i));
        }
    }
    const __m128i near = _mm_set_epi64x(kFold128High, kFold128Low);
    __m128i sum = fold(sums[0], near, sums[1]);
    sum = fold(sum, near, sums[2]);
    sum = fold(sum, near, sums[3]);
    for (; end - at >= 16; at += 16) {
        sum = fold(sum, near, load(at));
    }
    return reduce(sum);
}

bool canFold() {
    static const bool kCan =
        __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("sse4.1") != 0;
    return kCan;
}

}  // namespace

std::uint32_t plainCrc32Of(arrays::ByteSpan bytes) {
    return ~addPlain(~0U, bytes.begin, bytes.end);
}

std::uint32_t crc32Of(arrays::ByteSpan bytes) {
    if (bytes.size() < 64 || !canFold()) {
        return plainCrc32Of(bytes);
    }
    const std::uint8_t* at = bytes.begin;
    const std::uint32_t sum = addFolded(~0U, at, bytes.end);
    return ~addPlain(sum, at, bytes.end);
}

}  // namespace millrace::pages

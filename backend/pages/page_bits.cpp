#include "backend/pages/page_bits.h"

#include <array>
#include <cstring>

#include <immintrin.h>

namespace millrace::pages {
namespace {

// For each byte of eight bits, and each lane with its bit set: the number of set bits before it.
constexpr std::array<std::array<std::uint8_t, 8>, 256> kRanks = [] {
    std::array<std::array<std::uint8_t, 8>, 256> ranks{};
    for (unsigned bits = 0; bits < 256; ++bits) {
        std::uint8_t rank = 0;
        for (unsigned lane = 0; lane < 8; ++lane) {
            ranks[bits][lane] = rank;
            rank = static_cast<std::uint8_t>(rank + ((bits >> lane) & 1));
        }
    }
    return ranks;
}();

__attribute__((target("avx2"))) __m256i ranksOf(unsigned bits) {
    std::uint64_t ranks = 0;
    std::memcpy(&ranks, kRanks[bits].data(), 8);
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(ranks)));
}

__attribute__((target("avx2"))) __m256i loadWide(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

__attribute__((target("avx2"))) void storeWide(void* to, __m256i values) {
    _mm256_storeu_si256(static_cast<__m256i*>(to), values);
}

}  // namespace

bool canSpreadWide() {
    static const bool kHasAvx2 = __builtin_cpu_supports("avx2") != 0;
    return kHasAvx2;
}

__attribute__((target("avx2"))) std::int64_t spreadWide(const std::uint64_t* valid,
                                                        std::int64_t count,
                                                        const std::uint32_t*& dense,
                                                        std::uint32_t none, std::uint32_t* out) {
    const __m256i laneBits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i nones = _mm256_set1_epi32(static_cast<int>(none));
    const std::int64_t whole = count / 64 * 64;
    for (std::int64_t i = 0; i < whole; i += 8) {
        const auto bits = static_cast<unsigned>(valid[i / 64] >> (i % 64)) & 0xff;
        const __m256i lanes = _mm256_permutevar8x32_epi32(loadWide(dense), ranksOf(bits));
        const __m256i set = _mm256_and_si256(_mm256_set1_epi32(static_cast<int>(bits)), laneBits);
        storeWide(out + i, _mm256_blendv_epi8(nones, lanes, _mm256_cmpeq_epi32(set, laneBits)));
        dense += std::popcount(bits);
    }
    return whole;
}

__attribute__((target("avx2"))) std::int64_t spreadWide(const std::uint64_t* valid,
                                                        std::int64_t count,
                                                        const std::uint64_t*& dense,
                                                        std::uint64_t none, std::uint64_t* out) {
    const __m256i laneBits = _mm256_setr_epi64x(1, 2, 4, 8);
    const __m256i nones = _mm256_set1_epi64x(static_cast<long long>(none));
    const __m256i halves = _mm256_setr_epi32(0, 1, 0, 1, 0, 1, 0, 1);
    const __m256i twice = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
    const std::int64_t whole = count / 64 * 64;
    for (std::int64_t i = 0; i < whole; i += 4) {
        const auto bits = static_cast<unsigned>(valid[i / 64] >> (i % 64)) & 0xf;
        // A value is two words of four bytes: the value of rank r is words 2 r and 2 r + 1.
        const __m256i ranks = _mm256_permutevar8x32_epi32(ranksOf(bits), twice);
        const __m256i order = _mm256_add_epi32(_mm256_add_epi32(ranks, ranks), halves);
        const __m256i lanes = _mm256_permutevar8x32_epi32(loadWide(dense), order);
        const __m256i set =
            _mm256_and_si256(_mm256_set1_epi64x(static_cast<long long>(bits)), laneBits);
        storeWide(out + i, _mm256_blendv_epi8(nones, lanes, _mm256_cmpeq_epi64(set, laneBits)));
        dense += std::popcount(bits);
    }
    return whole;
}

}  // namespace millrace::pages

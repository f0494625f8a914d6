#include "backend/arrays/bit_unpack.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <immintrin.h>

namespace millrace::arrays {
namespace {

std::uint32_t maskOf(int width) {
    return width >= 32 ? ~0U : (1U << width) - 1;
}

std::uint64_t loadUpTo8(const std::uint8_t* p, const std::uint8_t* end) {
    std::uint64_t x = 0;
    std::memcpy(&x, p, static_cast<std::size_t>(std::min<std::ptrdiff_t>(8, end - p)));
    return x;
}

void unpackScalar(const std::uint8_t* bytes, const std::uint8_t* end, int width, std::int64_t first,
                  std::int64_t count, std::uint32_t* out) {
    if (width == 0) {
        std::fill(out + first, out + count, 0U);
        return;
    }
    const std::uint32_t mask = maskOf(width);
    for (std::int64_t i = first; i < count; ++i) {
        const std::int64_t bit = i * width;
        out[i] = static_cast<std::uint32_t>(loadUpTo8(bytes + bit / 8, end) >> (bit & 7)) & mask;
    }
}

// Start byte and shift of the k-th value in a group. A group starts at a whole byte, since 8 values
// of any width are whole bytes.
struct Lanes {
    alignas(64) std::uint8_t index[64];
    alignas(64) std::uint32_t shift[16];

    constexpr Lanes() : index{}, shift{} {}
    constexpr explicit Lanes(int width) : Lanes() {
        for (int k = 0; k < 16; ++k) {
            const int bit = k * width;
            for (int b = 0; b < 4; ++b) {
                index[4 * k + b] = static_cast<std::uint8_t>(std::min(63, bit / 8 + b));
            }
            shift[k] = static_cast<std::uint32_t>(bit & 7);
        }
    }
};

constexpr int kWidestShuffled = 25;

// Tables by width, made once: runs are short (Arrow writes 504 values).
constexpr std::array<Lanes, kWidestShuffled + 1> kLanes = [] {
    std::array<Lanes, kWidestShuffled + 1> lanes;
    for (int width = 0; width <= kWidestShuffled; ++width) {
        lanes[static_cast<std::size_t>(width)] = Lanes(width);
    }
    return lanes;
}();

// 16 values at a time: one byte shuffle moves a value's 4 bytes to its lane, one variable shift and
// one mask extract it. Up to 25 bits fit into 4 bytes at any shift. (The zero-masking forms are
// equivalent; for the plain ones g++ 12 warns of its own header.)
__attribute__((target("avx512f,avx512bw,avx512vbmi"))) std::int64_t unpackVbmi(
    const std::uint8_t* bytes, const std::uint8_t* end, int width, std::int64_t count,
    std::uint32_t* out) {
    const Lanes& lanes = kLanes[static_cast<std::size_t>(width)];
    const __m512i index = _mm512_load_si512(lanes.index);
    const __m512i shift = _mm512_load_si512(lanes.shift);
    const __m512i mask = _mm512_set1_epi32(static_cast<int>(maskOf(width)));
    std::int64_t i = 0;
    for (; i + 16 <= count; i += 16) {
        const std::uint8_t* const p = bytes + i * width / 8;
        if (end - p < 64) {
            break;
        }
        const __m512i x = _mm512_maskz_permutexvar_epi8(~0ULL, index, _mm512_loadu_si512(p));
        _mm512_storeu_si512(out + i,
                            _mm512_and_si512(_mm512_maskz_srlv_epi32(0xffff, x, shift), mask));
    }
    return i;
}

// 8 values at a time, 4 in each half of the register: byte shuffles stay within 16 bytes, which
// hold 4 values of up to 25 bits.
struct HalfLanes {
    alignas(32) std::uint8_t index[32];
    alignas(32) std::uint32_t shift[8];

    constexpr HalfLanes() : index{}, shift{} {}
    constexpr explicit HalfLanes(int width) : HalfLanes() {
        const int highByte = 4 * width / 8;
        for (int k = 0; k < 8; ++k) {
            const int bit = k < 4 ? k * width : k * width - highByte * 8;
            for (int b = 0; b < 4; ++b) {
                index[4 * k + b] = static_cast<std::uint8_t>(std::min(15, bit / 8 + b));
            }
            shift[k] = static_cast<std::uint32_t>(bit & 7);
        }
    }
};

constexpr std::array<HalfLanes, kWidestShuffled + 1> kHalfLanes = [] {
    std::array<HalfLanes, kWidestShuffled + 1> lanes;
    for (int width = 0; width <= kWidestShuffled; ++width) {
        lanes[static_cast<std::size_t>(width)] = HalfLanes(width);
    }
    return lanes;
}();

__attribute__((target("avx2"))) std::int64_t unpackAvx2(const std::uint8_t* bytes,
                                                        const std::uint8_t* end, int width,
                                                        std::int64_t count, std::uint32_t* out) {
    const HalfLanes& lanes = kHalfLanes[static_cast<std::size_t>(width)];
    const int highByte = 4 * width / 8;
    const __m256i order = _mm256_load_si256(reinterpret_cast<const __m256i*>(lanes.index));
    const __m256i shifts = _mm256_load_si256(reinterpret_cast<const __m256i*>(lanes.shift));
    const __m256i mask = _mm256_set1_epi32(static_cast<int>(maskOf(width)));
    std::int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const std::uint8_t* const p = bytes + i * width / 8;
        if (end - p < highByte + 16) {
            break;
        }
        const __m256i x = _mm256_inserti128_si256(
            _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + highByte)), 1);
        const __m256i y = _mm256_srlv_epi32(_mm256_shuffle_epi8(x, order), shifts);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_and_si256(y, mask));
    }
    return i;
}

UnpackVariant fastest() {
    for (const UnpackVariant variant : {UnpackVariant::kAvx512Vbmi, UnpackVariant::kAvx2}) {
        if (canUnpack(variant)) {
            return variant;
        }
    }
    return UnpackVariant::kScalar;
}

}  // namespace

bool canUnpack(UnpackVariant variant) {
    switch (variant) {
        case UnpackVariant::kAvx512Vbmi:
            return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512vbmi");
        case UnpackVariant::kAvx2:
            return __builtin_cpu_supports("avx2");
        case UnpackVariant::kScalar:
            return true;
    }
    return false;
}

void unpackBits(UnpackVariant variant, const std::uint8_t* bytes, const std::uint8_t* end,
                int width, std::int64_t count, std::uint32_t* out) {
    std::int64_t done = 0;
    if (width > 0 && width <= kWidestShuffled) {
        if (variant == UnpackVariant::kAvx512Vbmi) {
            done = unpackVbmi(bytes, end, width, count, out);
        } else if (variant == UnpackVariant::kAvx2) {
            done = unpackAvx2(bytes, end, width, count, out);
        }
    }
    unpackScalar(bytes, end, width, done, count, out);
}

void unpackBits(const std::uint8_t* bytes, const std::uint8_t* end, int width, std::int64_t count,
                std::uint32_t* out) {
    static const UnpackVariant kVariant = fastest();
    unpackBits(kVariant, bytes, end, width, count, out);
}

}  // namespace millrace::arrays

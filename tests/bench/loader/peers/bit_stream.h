#pragma once
// The two bit streams of a Parquet page: the hybrid of runs and packed values, and packed values
// alone.
//
// Threads: no state. Failure: none; a caller hands in pages that libparquet has decompressed and
// whose ends are padded.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include <immintrin.h>

namespace limits {

// Reads a stream of runs and bit-packed values. `run(value, n)` receives a repeated value,
// `packed(bytes, n)` receives n bit-packed values.
template <class Run, class Packed>
void hybrid(const uint8_t* p, const uint8_t* end, int width, int64_t n, Run run, Packed packed) {
    while (n > 0 && p < end) {
        uint32_t h = 0;
        for (int s = 0;; s += 7) {
            h |= uint32_t(*p & 0x7f) << s;
            if (!(*p++ & 0x80))
                break;
        }
        if (h & 1) {
            const int64_t groups = h >> 1, k = std::min<int64_t>(groups * 8, n);
            packed(p, k);
            p += groups * width;
            n -= k;
        } else {
            uint32_t v = 0;
            const int bytes = (width + 7) / 8;
            for (int i = 0; i < bytes; i++)
                v |= uint32_t(*p++) << (8 * i);
            const int64_t k = std::min<int64_t>(h >> 1, n);
            run(v, k);
            n -= k;
        }
    }
}

inline uint64_t load64(const uint8_t* p) {
    uint64_t x;
    std::memcpy(&x, p, 8);
    return x;
}

// n values of `width` bits (at most 24) to 32 bits each. Reads up to 8 bytes past the end: page
// buffers are padded.
void unpack(const uint8_t* p, int width, int64_t n, uint32_t* out) {
    const uint32_t mask = width == 32 ? ~0u : (1u << width) - 1;
    int64_t i = 0;
#ifdef __AVX512VBMI__
    // 16 values at a time: they start on a byte because 16 * width bits are whole bytes. One byte
    // shuffle brings the 4 bytes that hold each value to its lane, one variable shift and one mask
    // finish it.
    if (width > 0 && width <= 24) {
        alignas(64) uint8_t index[64];
        alignas(64) uint32_t shift[16];
        for (int k = 0; k < 16; k++) {
            const int bit = k * width;
            for (int b = 0; b < 4; b++)
                index[4 * k + b] = uint8_t(std::min(63, bit / 8 + b));
            shift[k] = bit & 7;
        }
        const __m512i vi = _mm512_load_si512(index), vs = _mm512_load_si512(shift),
                      vm = _mm512_set1_epi32(int(mask));
        for (; i + 32 <= n; i += 16) {  // a load of 64 bytes stays within the padded stream
            const __m512i x = _mm512_permutexvar_epi8(vi, _mm512_loadu_si512(p + i * width / 8));
            _mm512_storeu_si512(out + i, _mm512_and_si512(_mm512_srlv_epi32(x, vs), vm));
        }
    }
#endif
    for (; i < n; i++) {
        const int64_t bit = i * width;
        out[i] = uint32_t(load64(p + bit / 8) >> (bit & 7)) & mask;
    }
}

}  // namespace limits

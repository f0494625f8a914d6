#include "backend/recipe/join/bucket_rows.h"

#include <immintrin.h>

namespace millrace::recipe {
namespace {

/// Up to this many boundaries are all compared, several values at once.
constexpr std::size_t kFew = 24;

std::int64_t bucketOf(double value, std::span<const double> boundaries) {
    if (boundaries.empty()) {
        return 1;
    }
    const double* from = boundaries.data();
    for (std::size_t left = boundaries.size(); left > 1;) {
        const std::size_t half = left / 2;
        from += value < from[half - 1] ? 0 : half;
        left -= half;
    }
    return 1 + (from - boundaries.data()) + (value < *from ? 0 : 1);
}

/// Handles four values at a time; returns the number of values done.
__attribute__((target("avx2"))) std::size_t bucketsByFour(std::span<const double> values,
                                                          std::span<const double> boundaries,
                                                          std::int64_t* out) {
    std::size_t i = 0;
    for (; i + 4 <= values.size(); i += 4) {
        const __m256d value = _mm256_loadu_pd(values.data() + i);
        __m256i count = _mm256_set1_epi64x(1);
        for (const double boundary : boundaries) {
            const __m256d isReached = _mm256_cmp_pd(value, _mm256_set1_pd(boundary), _CMP_NLT_UQ);
            count = _mm256_sub_epi64(count, _mm256_castpd_si256(isReached));
        }
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), count);
    }
    return i;
}

}  // namespace

void bucketsOf(std::span<const double> values, std::span<const double> boundaries, bool isWide,
               std::int64_t* out) {
    const bool isByFour = isWide && boundaries.size() <= kFew;
    for (std::size_t i = isByFour ? bucketsByFour(values, boundaries, out) : 0; i < values.size();
         ++i) {
        out[i] = bucketOf(values[i], boundaries);
    }
}

void bucketsOf(std::span<const double> values, std::span<const double> boundaries,
               std::int64_t* out) {
    static const bool kIsWide = __builtin_cpu_supports("avx2") != 0;
    bucketsOf(values, boundaries, kIsWide, out);
}

}  // namespace millrace::recipe

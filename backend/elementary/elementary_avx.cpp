// Elementary functions, four values at a time. Compiled with -mavx; runs only if the machine has
// it.
#include <immintrin.h>
#include <sleef.h>

#include "backend/elementary/elementary_codes.h"

namespace millrace::elementary {
namespace {

struct AvxDoubles {
    using Type = __m256d;
    static constexpr std::int64_t kLanes = 4;
    static Type load(const double* at) { return _mm256_loadu_pd(at); }
    static void store(double* at, Type values) { _mm256_storeu_pd(at, values); }
    static Type size(Type x) { return _mm256_andnot_pd(_mm256_set1_pd(-0.0), x); }
    static Type isBelow(Type x, double than) {
        return _mm256_cmp_pd(x, _mm256_set1_pd(than), _CMP_LT_OQ);
    }
    static Type isFrom(Type x, double than) {
        return _mm256_cmp_pd(x, _mm256_set1_pd(than), _CMP_GE_OQ);
    }
    static Type isNan(Type x) { return _mm256_cmp_pd(x, x, _CMP_UNORD_Q); }
    static Type all(double value) { return _mm256_set1_pd(value); }
    static Type choose(Type mask, Type then, Type other) {
        return _mm256_blendv_pd(other, then, mask);
    }
    static bool any(Type mask) { return _mm256_movemask_pd(mask) != 0; }
};

}  // namespace

constinit const ElementaryCode kAvxElementary =
    codeOf<AvxDoubles, Sleef_cinz_logd4_u10avx, Sleef_cinz_log1pd4_u10avx, Sleef_cinz_log2d4_u10avx,
           Sleef_cinz_log10d4_u10avx, Sleef_cinz_expd4_u10avx, Sleef_cinz_powd4_u10avx>("avx");

}  // namespace millrace::elementary

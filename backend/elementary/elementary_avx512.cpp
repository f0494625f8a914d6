// Elementary functions, eight values at a time. Compiled with -mavx512f; runs only if the machine
// has it.
#include <immintrin.h>
#include <sleef.h>

#include "backend/elementary/elementary_codes.h"

namespace millrace::elementary {
namespace {

struct Avx512Doubles {
    using Type = __m512d;
    static constexpr std::int64_t kLanes = 8;
    static Type load(const double* at) { return _mm512_loadu_pd(at); }
    static void store(double* at, Type values) { _mm512_storeu_pd(at, values); }
    static Type size(Type x) { return _mm512_abs_pd(x); }
    static __mmask8 isBelow(Type x, double than) {
        return _mm512_cmp_pd_mask(x, _mm512_set1_pd(than), _CMP_LT_OQ);
    }
    static __mmask8 isFrom(Type x, double than) {
        return _mm512_cmp_pd_mask(x, _mm512_set1_pd(than), _CMP_GE_OQ);
    }
    static __mmask8 isNan(Type x) { return _mm512_cmp_pd_mask(x, x, _CMP_UNORD_Q); }
    static Type all(double value) { return _mm512_set1_pd(value); }
    static Type choose(__mmask8 mask, Type then, Type other) {
        return _mm512_mask_blend_pd(mask, other, then);
    }
    static bool any(__mmask8 mask) { return mask != 0; }
};

}  // namespace

constinit const ElementaryCode kAvx512Elementary =
    codeOf<Avx512Doubles, Sleef_cinz_logd8_u10avx512fnofma, Sleef_cinz_log1pd8_u10avx512fnofma,
           Sleef_cinz_log2d8_u10avx512fnofma, Sleef_cinz_log10d8_u10avx512fnofma,
           Sleef_cinz_expd8_u10avx512fnofma, Sleef_cinz_powd8_u10avx512fnofma>("avx512");

}  // namespace millrace::elementary

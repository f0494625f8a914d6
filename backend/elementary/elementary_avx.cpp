// Elementary functions four values a turn. Compiled with -mavx; run where the machine has it.
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
};

}  // namespace

const ElementaryCode kAvxElementary = {"avx",
                                       {mapVectors<AvxDoubles, Sleef_cinz_logd4_u10avx>,
                                        mapVectors<AvxDoubles, Sleef_cinz_log1pd4_u10avx>,
                                        mapVectors<AvxDoubles, Sleef_cinz_log2d4_u10avx>,
                                        mapVectors<AvxDoubles, Sleef_cinz_log10d4_u10avx>,
                                        mapVectors<AvxDoubles, Sleef_cinz_expd4_u10avx>},
                                       zipVectors<AvxDoubles, Sleef_cinz_powd4_u10avx>};

}  // namespace millrace::elementary

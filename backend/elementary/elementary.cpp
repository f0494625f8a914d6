#include "backend/elementary/elementary.h"

#include <cmath>
#include <vector>

#include <immintrin.h>
#include <sleef.h>

#include "backend/elementary/elementary_codes.h"

namespace millrace::elementary {
namespace {

struct PlainDoubles {
    using Type = double;
    static constexpr std::int64_t kLanes = 1;
    static Type load(const double* at) { return *at; }
    static void store(double* at, Type value) { *at = value; }
    static Type size(Type x) { return std::fabs(x); }
    static bool isBelow(Type x, double than) { return x < than; }
    static bool isFrom(Type x, double than) { return x >= than; }
    static bool isNan(Type x) { return std::isnan(x); }
    static Type all(double value) { return value; }
    static Type choose(bool mask, Type then, Type other) { return mask ? then : other; }
    static bool any(bool mask) { return mask; }
};

struct Sse2Doubles {
    using Type = __m128d;
    static constexpr std::int64_t kLanes = 2;
    static Type load(const double* at) { return _mm_loadu_pd(at); }
    static void store(double* at, Type values) { _mm_storeu_pd(at, values); }
    static Type size(Type x) { return _mm_andnot_pd(_mm_set1_pd(-0.0), x); }
    static Type isBelow(Type x, double than) { return _mm_cmplt_pd(x, _mm_set1_pd(than)); }
    static Type isFrom(Type x, double than) { return _mm_cmpge_pd(x, _mm_set1_pd(than)); }
    static Type isNan(Type x) { return _mm_cmpunord_pd(x, x); }
    static Type all(double value) { return _mm_set1_pd(value); }
    static Type choose(Type mask, Type then, Type other) {
        return _mm_or_pd(_mm_and_pd(mask, then), _mm_andnot_pd(mask, other));
    }
    static bool any(Type mask) { return _mm_movemask_pd(mask) != 0; }
};

constexpr ElementaryCode kPlainElementary =
    codeOf<PlainDoubles, Sleef_cinz_logd1_u10purec, Sleef_cinz_log1pd1_u10purec,
           Sleef_cinz_log2d1_u10purec, Sleef_cinz_log10d1_u10purec, Sleef_cinz_expd1_u10purec,
           Sleef_cinz_powd1_u10purec>("plain");

constexpr ElementaryCode kSse2Elementary =
    codeOf<Sse2Doubles, Sleef_cinz_logd2_u10sse2, Sleef_cinz_log1pd2_u10sse2,
           Sleef_cinz_log2d2_u10sse2, Sleef_cinz_log10d2_u10sse2, Sleef_cinz_expd2_u10sse2,
           Sleef_cinz_powd2_u10sse2>("sse2");

std::vector<const ElementaryCode*> codesHere() {
    std::vector<const ElementaryCode*> codes = {&kPlainElementary, &kSse2Elementary};
    if (__builtin_cpu_supports("avx") != 0) {
        codes.push_back(&kAvxElementary);
    }
    if (__builtin_cpu_supports("avx512f") != 0) {
        codes.push_back(&kAvx512Elementary);
    }
    return codes;
}

constexpr std::int64_t kBlock = 512;

/// Whether C computes this power exactly rounded by a product, a quotient or the number itself.
bool isExactPower(double y) {
    return static_cast<int>(y == 2) | static_cast<int>(y == 1) | static_cast<int>(y == -1);
}

double exactPower(double x, double y) {
    return y == 2 ? x * x : y == 1 ? x : 1 / x;
}

}  // namespace

std::span<const ElementaryCode* const> elementaryCodes() {
    static const std::vector<const ElementaryCode*> kCodes = codesHere();
    return kCodes;
}

void evalElementary(const ElementaryCode& code, Elementary function, const double* x, double* out,
                    std::int64_t n) {
    code.functions[static_cast<int>(function)](x, out, n);
}

void evalPow(const ElementaryCode& code, const double* x, const double* y, double* out,
             std::int64_t n) {
    double kept[kBlock], powers[kBlock];
    for (std::int64_t begin = 0; begin < n; begin += kBlock) {
        const std::int64_t count = std::min(kBlock, n - begin);
        std::int64_t numExact = 0;
        for (std::int64_t i = 0; i < count; ++i) {
            kept[i] = x[begin + i];
            powers[i] = y[begin + i];
            numExact += isExactPower(powers[i]) ? 1 : 0;
        }
        if (numExact < count) {
            code.pow(kept, powers, out + begin, count);
        }
        for (std::int64_t i = 0; numExact > 0 && i < count; ++i) {
            if (isExactPower(powers[i])) {
                out[begin + i] = exactPower(kept[i], powers[i]);
            }
        }
    }
}

void evalElementary(Elementary function, const double* x, double* out, std::int64_t n) {
    evalElementary(*elementaryCodes().back(), function, x, out, n);
}

void evalPow(const double* x, const double* y, double* out, std::int64_t n) {
    evalPow(*elementaryCodes().back(), x, y, out, n);
}

}  // namespace millrace::elementary

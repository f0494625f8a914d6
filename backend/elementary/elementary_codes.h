#pragma once
// Loops over SLEEF's functions, for source files that are each compiled for one kind of vectors.
//
// Private to elementary. It must not include inline functions: the compiler would generate them for
// those vectors as well. Threads: pure.
#include <cstdint>

#include "backend/elementary/elementary.h"

namespace millrace::elementary {

extern const ElementaryCode kAvxElementary, kAvx512Elementary;

/// SLEEF's log1p is 0 for the smallest numbers, where the result is the number itself, and infinite
/// from 1e307 on, where ln gives the same result.
inline constexpr double kLog1pIsItself = 0x1p-54, kLog1pIsLn = 1e300;

/// log1p from SLEEF's log1p and ln. `V`: a vector with size(x) (absolute values), comparisons to
/// masks, choose(mask, then, else) and any(mask).
template <class V, const typename V::Type (*kLog1p)(typename V::Type),
          const typename V::Type (*kLn)(typename V::Type)>
const typename V::Type wholeLog1p(typename V::Type x) {
    const typename V::Type inner = kLog1p(x), size = V::size(x);
    typename V::Type value = V::choose(V::isBelow(size, kLog1pIsItself), x, inner);
    const auto large = V::isFrom(x, kLog1pIsLn);
    if (V::any(large)) {
        value = V::choose(large, kLn(x), value);
    }
    return value;
}

/// Stores every NaN as this one: the sign of SLEEF's NaN depends on the vectors.
template <class V>
void storeValues(double* at, typename V::Type values) {
    V::store(at, V::choose(V::isNan(values), V::all(__builtin_nan("")), values));
}

/// `V`: a vector of kLanes doubles with load(p), store(p), isNan(x) and all(value).
template <class V, const typename V::Type (*kFunction)(typename V::Type)>
void mapVectors(const double* x, double* out, std::int64_t n) {
    std::int64_t i = 0;
    for (; i + V::kLanes <= n; i += V::kLanes) {
        storeValues<V>(out + i, kFunction(V::load(x + i)));
    }
    if (i < n) {
        double rest[V::kLanes];
        for (std::int64_t k = 0; k < V::kLanes; ++k) {
            rest[k] = i + k < n ? x[i + k] : 1;
        }
        storeValues<V>(rest, kFunction(V::load(rest)));
        for (std::int64_t k = 0; i + k < n; ++k) {
            out[i + k] = rest[k];
        }
    }
}

template <class V, const typename V::Type (*kFunction)(typename V::Type, typename V::Type)>
void zipVectors(const double* x, const double* y, double* out, std::int64_t n) {
    std::int64_t i = 0;
    for (; i + V::kLanes <= n; i += V::kLanes) {
        storeValues<V>(out + i, kFunction(V::load(x + i), V::load(y + i)));
    }
    if (i < n) {
        double left[V::kLanes], right[V::kLanes];
        for (std::int64_t k = 0; k < V::kLanes; ++k) {
            left[k] = i + k < n ? x[i + k] : 1;
            right[k] = i + k < n ? y[i + k] : 1;
        }
        storeValues<V>(left, kFunction(V::load(left), V::load(right)));
        for (std::int64_t k = 0; i + k < n; ++k) {
            out[i + k] = left[k];
        }
    }
}

/// All of SLEEF's functions for one kind of vectors, in the order of Elementary; pow is the last.
template <class V, const typename V::Type (*kLn)(typename V::Type),
          const typename V::Type (*kLog1p)(typename V::Type),
          const typename V::Type (*kLog2)(typename V::Type),
          const typename V::Type (*kLog10)(typename V::Type),
          const typename V::Type (*kExp)(typename V::Type),
          const typename V::Type (*kPow)(typename V::Type, typename V::Type)>
constexpr ElementaryCode codeOf(const char* name) {
    return {name,
            {mapVectors<V, kLn>, mapVectors<V, wholeLog1p<V, kLog1p, kLn>>, mapVectors<V, kLog2>,
             mapVectors<V, kLog10>, mapVectors<V, kExp>},
            zipVectors<V, kPow>};
}

}  // namespace millrace::elementary

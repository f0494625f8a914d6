#pragma once
// ln, log1p, log2, log10, exp and pow over columns of doubles: the product's only implementation.
//
// SLEEF's variants without fused multiplication give the same bits on every machine, whatever its
// vectors (decision 0025). They process 1, 4 or 8 values at a time, the most that the machine
// supports. Results are within kElementaryUlp units in the last place of the exact value.
// Logarithms of 0 are -inf, of negative numbers NaN; pow as in C, with squares, reciprocals and
// first powers correctly rounded.
// Threads: pure. Values under nulls are undefined. Failure: none.
#include <cstdint>
#include <span>

namespace millrace::elementary {

inline constexpr double kElementaryUlp = 1.0;
/// For exp and pow: exact values from here on, the last billionth below the largest double, may
/// give infinity.
inline constexpr double kElementaryLargest = 1.7976931e308;

enum class Elementary { kLn, kLog1p, kLog2, kLog10, kExp };
inline constexpr int kElementaryCount = 5;

/// Evaluates `n` values; `x`, `y` and `out` may be the same.
void evalElementary(Elementary function, const double* x, double* out, std::int64_t n);
void evalPow(const double* x, const double* y, double* out, std::int64_t n);

/// One set of SLEEF's functions, including log1p's extreme values: for the functions above and for
/// tests.
struct ElementaryCode {
    const char* name;  ///< "plain", "sse2", "avx", "avx512"
    void (*functions[kElementaryCount])(const double* x, double* out, std::int64_t n);
    void (*pow)(const double* x, const double* y, double* out, std::int64_t n);
};

/// The sets that this machine can run: the plain one first, the fastest last.
std::span<const ElementaryCode* const> elementaryCodes();
/// Does the same with `code` instead of the fastest set.
void evalElementary(const ElementaryCode& code, Elementary function, const double* x, double* out,
                    std::int64_t n);
void evalPow(const ElementaryCode& code, const double* x, const double* y, double* out,
             std::int64_t n);

}  // namespace millrace::elementary

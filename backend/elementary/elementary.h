#pragma once
// ln, log1p, log2, log10, exp and pow over columns of doubles: the product's only implementation.
//
// SLEEF's variants without fused multiplication give the same bits on every machine, whatever its
// vectors (decision 0025); 1, 4 or 8 values a turn, the widest that the machine has. Within
// kElementaryUlp units in the last place of the exact value. Logarithms of 0 are -inf, of numbers
// below it NaN; pow as C's, its squares, reciprocals and first powers correctly rounded.
// Threads: pure. Values under nulls may be anything. Failure: none.
#include <cstdint>
#include <span>

namespace millrace::elementary {

inline constexpr double kElementaryUlp = 1.0;
/// Of exp and pow: exact values from here on, the last billionth below the largest double, may be
/// infinite.
inline constexpr double kElementaryLargest = 1.7976931e308;

enum class Elementary { kLn, kLog1p, kLog2, kLog10, kExp };
inline constexpr int kElementaryCount = 5;

/// `n` values; `x`, `y` and `out` may be the same.
void evalElementary(Elementary function, const double* x, double* out, std::int64_t n);
void evalPow(const double* x, const double* y, double* out, std::int64_t n);

/// One set of SLEEF's functions, log1p with its ends: for tests and for what is above.
struct ElementaryCode {
    const char* name;  ///< "plain", "sse2", "avx", "avx512"
    void (*functions[kElementaryCount])(const double* x, double* out, std::int64_t n);
    void (*pow)(const double* x, const double* y, double* out, std::int64_t n);
};

/// Those that this machine can run, the plain one first, the fastest last.
std::span<const ElementaryCode* const> elementaryCodes();
/// The same with `code` in place of the fastest.
void evalElementary(const ElementaryCode& code, Elementary function, const double* x, double* out,
                    std::int64_t n);
void evalPow(const ElementaryCode& code, const double* x, const double* y, double* out,
             std::int64_t n);

}  // namespace millrace::elementary

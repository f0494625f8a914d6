#include "backend/csv/csv_bits.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <immintrin.h>

namespace millrace::csv {
namespace {

constexpr std::size_t kWordBytes = 64;

/// One word of each bitmap, and whether any of the 64 bytes is not ASCII.
struct Word {
    std::uint64_t ends = 0, quotes = 0;
    bool hasHigh = false;
};

/// The byte for a missing mark: a line end, whose quote bits are cleared afterwards.
char byteOf(int mark) {
    return mark < 0 ? '\n' : static_cast<char>(mark);
}

Word plainWord(const char* text, const CsvMarks& marks) {
    const char delimiter = byteOf(marks.delimiter), quote = byteOf(marks.quote);
    Word word;
    for (std::size_t i = 0; i < kWordBytes; ++i) {
        const char c = text[i];
        const std::uint64_t bit = std::uint64_t{1} << i;
        word.ends |= c == delimiter || c == '\n' || c == '\r' ? bit : 0;
        word.quotes |= c == quote ? bit : 0;
        word.hasHigh |= static_cast<unsigned char>(c) >= 0x80;
    }
    return word;
}

bool plainWords(const char* text, std::size_t words, const CsvMarks& marks, const CsvBits& bits) {
    bool hasHigh = false;
    for (std::size_t w = 0; w < words; ++w) {
        const Word word = plainWord(text + w * kWordBytes, marks);
        bits.ends[w] = word.ends;
        bits.quotes[w] = word.quotes;
        hasHigh |= word.hasHigh;
    }
    return hasHigh;
}

__attribute__((target("avx2"))) std::uint64_t bitsOf(__m256i low, __m256i high) {
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(low)) |
           std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(high))} << 32;
}

__attribute__((target("avx2"))) bool avx2Words(const char* text, std::size_t words,
                                               const CsvMarks& marks, const CsvBits& bits) {
    const __m256i delimiter = _mm256_set1_epi8(byteOf(marks.delimiter));
    const __m256i quote = _mm256_set1_epi8(byteOf(marks.quote));
    const __m256i line = _mm256_set1_epi8('\n'), back = _mm256_set1_epi8('\r');
    __m256i all = _mm256_setzero_si256();
    for (std::size_t w = 0; w < words; ++w) {
        const auto* const at = reinterpret_cast<const __m256i*>(text + w * kWordBytes);
        const __m256i a = _mm256_loadu_si256(at), b = _mm256_loadu_si256(at + 1);
        const __m256i endsA = _mm256_or_si256(
            _mm256_cmpeq_epi8(a, delimiter),
            _mm256_or_si256(_mm256_cmpeq_epi8(a, line), _mm256_cmpeq_epi8(a, back)));
        const __m256i endsB = _mm256_or_si256(
            _mm256_cmpeq_epi8(b, delimiter),
            _mm256_or_si256(_mm256_cmpeq_epi8(b, line), _mm256_cmpeq_epi8(b, back)));
        bits.ends[w] = bitsOf(endsA, endsB);
        bits.quotes[w] = bitsOf(_mm256_cmpeq_epi8(a, quote), _mm256_cmpeq_epi8(b, quote));
        all = _mm256_or_si256(all, _mm256_or_si256(a, b));
    }
    return _mm256_movemask_epi8(all) != 0;
}

}  // namespace

bool canFindMarks(BitsVariant variant) {
    return variant == BitsVariant::kPlain || __builtin_cpu_supports("avx2") != 0;
}

bool findMarks(BitsVariant variant, const char* text, std::size_t size, const CsvMarks& marks,
               const CsvBits& bits) {
    const std::size_t words = size / kWordBytes, rest = size % kWordBytes;
    const auto find = variant == BitsVariant::kAvx2 ? avx2Words : plainWords;
    bool hasHigh = find(text, words, marks, bits);
    if (rest > 0) {
        // Padding zeros could match a zero delimiter: clears the bits after the text.
        std::array<char, kWordBytes> last{};
        std::memcpy(last.data(), text + words * kWordBytes, rest);
        hasHigh |= find(last.data(), 1, marks, {bits.ends + words, bits.quotes + words});
        const std::uint64_t inside = (std::uint64_t{1} << rest) - 1;
        bits.ends[words] &= inside;
        bits.quotes[words] &= inside;
    }
    if (marks.quote < 0) {
        std::fill_n(bits.quotes, words + (rest > 0 ? 1 : 0), std::uint64_t{0});
    }
    return hasHigh;
}

bool findMarks(const char* text, std::size_t size, const CsvMarks& marks, const CsvBits& bits) {
    static const BitsVariant kVariant =
        canFindMarks(BitsVariant::kAvx2) ? BitsVariant::kAvx2 : BitsVariant::kPlain;
    return findMarks(kVariant, text, size, marks, bits);
}

}  // namespace millrace::csv

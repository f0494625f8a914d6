#pragma once
// Finds the delimiters, line ends and quotes of CSV text as bitmaps, with the widest instructions
// of the machine (chosen once, at run time; all variants give the same bits). Private to csv.
//
// Threads: any. Failure: none.
#include <cstddef>
#include <cstdint>

namespace millrace::csv {

/// Bit i of a bitmap's word w is byte 64 * w + i of the text; bits after the text are 0.
struct CsvBits {
    std::uint64_t* ends = nullptr;    ///< delimiters and line ends
    std::uint64_t* quotes = nullptr;  ///< quotes
};

/// `delimiter`, `quote`: byte values, or -1 for none.
struct CsvMarks {
    int delimiter = -1, quote = -1;
};

/// Fills the bitmaps for `size` bytes of text. Returns true if any byte is not ASCII.
bool findMarks(const char* text, std::size_t size, const CsvMarks& marks, const CsvBits& bits);

/// Variants that this machine can run, the fastest first; for tests and measurements.
enum class BitsVariant { kAvx2, kPlain };
bool canFindMarks(BitsVariant variant);
bool findMarks(BitsVariant variant, const char* text, std::size_t size, const CsvMarks& marks,
               const CsvBits& bits);

}  // namespace millrace::csv

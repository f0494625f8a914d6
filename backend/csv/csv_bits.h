#pragma once
// Where the bytes lie that cut CSV text, as bitmaps: with the widest instructions that the machine
// has (chosen once, at run time; all variants give the same bits). Private to the room.
//
// Threads: any. Failure: none.
#include <cstddef>
#include <cstdint>

namespace millrace::csv {

/// Bit i of a bitmap's word w is byte 64 * w + i of the text; bits behind it are 0.
struct CsvBits {
    std::uint64_t* ends = nullptr;    ///< delimiters and line ends
    std::uint64_t* quotes = nullptr;  ///< quotes
};

/// `delimiter`, `quote`: codes of bytes, or -1 for none.
struct CsvMarks {
    int delimiter = -1, quote = -1;
};

/// Fills the words of `size` bytes of text. True when one of them is no ASCII.
bool findMarks(const char* text, std::size_t size, const CsvMarks& marks, const CsvBits& bits);

/// Variants that this machine can run, the fastest first; for tests and figures.
enum class BitsVariant { kAvx2, kPlain };
bool canFindMarks(BitsVariant variant);
bool findMarks(BitsVariant variant, const char* text, std::size_t size, const CsvMarks& marks,
               const CsvBits& bits);

}  // namespace millrace::csv

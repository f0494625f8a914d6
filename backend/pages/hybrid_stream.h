#pragma once
// Reads a hybrid stream of Parquet (runs of one value, and bit-packed groups), some values at a
// time.
//
// Format: https://parquet.apache.org/docs/file-format/data-pages/encodings/ (RLE/bit-packing
// hybrid). Threads: one. Failure: false if the stream is damaged (too short, an empty run); nothing
// beyond its end is ever read.
#include <cstdint>

#include "backend/arrays/hybrid_runs.h"

namespace millrace::pages {

class HybridStream {
 public:
    HybridStream() = default;
    /// `width`: bits per value, 0..32.
    HybridStream(arrays::ByteSpan bytes, int width)
        : at_(bytes.begin), end_(bytes.end), width_(width) {}

    /// Reads the next `count` values.
    bool read(std::int64_t count, std::uint32_t* out);
    /// Skips `count` values.
    bool skip(std::int64_t count);

 private:
    bool startRun();
    void readPacked(std::int64_t count, std::uint32_t* out);

    const std::uint8_t* at_ = nullptr;  ///< end of the current run
    const std::uint8_t* end_ = nullptr;
    int width_ = 0;
    bool isPacked_ = false;
    std::int64_t left_ = 0;                 ///< values left in the current run
    std::uint32_t value_ = 0;               ///< value of a run of one value
    const std::uint8_t* packed_ = nullptr;  ///< start of a packed run
    std::int64_t taken_ = 0;                ///< values of it already read
};

}  // namespace millrace::pages

#pragma once
// Walks a hybrid stream of Parquet (runs of one value, and bit-packed groups), never past its end.
//
// Format: https://parquet.apache.org/docs/file-format/data-pages/encodings/ (RLE/bit-packing
// hybrid).
#include <algorithm>
#include <cstdint>

namespace millrace::arrays {

struct ByteSpan {
    const std::uint8_t* begin = nullptr;
    const std::uint8_t* end = nullptr;
    std::int64_t size() const { return end - begin; }
};

/// Calls run(value, n) for a repeated value and packed(span, n) for n bit-packed ones, for `count`
/// values in total. Returns false if the stream is damaged: a run that continues past the bytes or
/// the last value, or a varint that is too long.
inline constexpr std::int64_t kMostUnits = std::int64_t{1} << 32;  ///< of a run

template <class Run, class Packed>
bool forEachRun(ByteSpan bytes, int width, std::int64_t count, Run run, Packed packed) {
    const std::uint8_t* p = bytes.begin;
    const int valueBytes = (width + 7) / 8;
    while (count > 0) {
        std::uint64_t header = 0;
        for (int shift = 0;; shift += 7) {
            if (p == bytes.end || shift > 35) {
                return false;
            }
            header |= static_cast<std::uint64_t>(*p & 0x7f) << shift;
            if ((*p++ & 0x80) == 0) {
                break;
            }
        }
        const auto units = static_cast<std::int64_t>(header >> 1);
        if (units == 0 || units > kMostUnits) {
            return false;
        }
        if ((header & 1) != 0) {
            const std::int64_t n = std::min(units * 8, count);
            // A writer may omit the padding of the last group, or pad with whole groups.
            if ((n * width + 7) / 8 > bytes.end - p || (units - 1) * width >= bytes.end - p) {
                return false;
            }
            const std::uint8_t* const next =
                p + std::min<std::int64_t>(units * width, bytes.end - p);
            if (!packed(ByteSpan{p, bytes.end}, n)) {
                return false;
            }
            p = next;
            count -= n;
        } else {
            if (bytes.end - p < valueBytes) {
                return false;
            }
            std::uint32_t value = 0;
            for (int b = 0; b < valueBytes; ++b) {
                value |= static_cast<std::uint32_t>(*p++) << (8 * b);
            }
            const std::int64_t n = units;
            if (n > count) {
                return false;  // the run continues past the last value
            }
            if (!run(value, n)) {
                return false;
            }
            count -= n;
        }
    }
    return true;
}

}  // namespace millrace::arrays

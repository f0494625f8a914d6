#include "backend/train/dropout.h"

#include <algorithm>
#include <cmath>

#include "backend/core/philox.h"

namespace millrace::train {
namespace {

constexpr double kLevels = 65536;  // levels of a draw: 16 bits
constexpr std::int64_t kDrawsAWord = 4;

std::uint64_t levelOf(double share) {
    return static_cast<std::uint64_t>(std::lround(share * kLevels));
}

/// Returns a row's next word by SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom
/// number generators", 2014).
std::uint64_t nextWord(std::uint64_t& state) {
    state += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

}  // namespace

double Dropout::scale() const {
    return kLevels / (kLevels - static_cast<double>(levelOf(share)));
}

std::vector<std::uint8_t> Dropout::kept(std::int64_t layer, std::int64_t units) const {
    const std::uint64_t level = levelOf(share);
    std::vector<std::uint8_t> out(static_cast<std::size_t>(batch->rows * units));
    std::uint8_t* to = out.data();
    std::uint32_t file = 0;
    std::uint64_t key = 0;
    for (std::int64_t r = 0; r < batch->rows; ++r) {
        const std::uint32_t own = batch->rowFiles ? batch->rowFiles[r] : 0;
        if (r == 0 || own != file) {
            file = own;
            key = CanonicalBytes()
                      .text("dropout")
                      .integer(batch->epoch)
                      .integer(layer)
                      .integer(file)
                      .hash();
        }
        const std::uint64_t row =
            batch->rowNumbers ? batch->rowNumbers[r] : static_cast<std::uint64_t>(r);
        std::uint64_t state = philox64(seed, key, row);
        for (std::int64_t u = 0; u < units; u += kDrawsAWord) {
            std::uint64_t word = nextWord(state);
            for (std::int64_t i = u; i < std::min(u + kDrawsAWord, units); ++i, word >>= 16) {
                *to++ = (word & 0xffffU) >= level ? 1 : 0;
            }
        }
    }
    return out;
}

}  // namespace millrace::train

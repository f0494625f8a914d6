#pragma once
// Small summaries of many values: the number of distinct values, and quantiles.
//
// Threads: one owner. Memory: 4 kB, up to 50 kB of individually counted values, and 8 bytes per
// kept value.
#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace millrace::profile {

/// A number as 64 well-mixed bits; texts by XXH3-64.
std::uint64_t hashOf(std::uint64_t value);
std::uint64_t hashOf(std::string_view text);

/// Counts up to kExactMax distinct values individually. Beyond that: HyperLogLog (Flajolet, Fusy,
/// Gandouet, Meunier 2007) with 2^12 registers: standard error 1.6 %. Linear counting is used below
/// 2.5 values per register, where it is much better.
class DistinctSketch {
 public:
    static constexpr int kBits = 12;
    static constexpr double kStandardError = 1.04 / 64;
    static constexpr std::size_t kExactMax = 1024;

    void add(std::uint64_t hash) {
        if (isExact_) {
            few_.insert(hash);
            if (few_.size() > kExactMax) {
                isExact_ = false;
                few_ = {};
            }
        }
        const std::size_t slot = hash >> (64 - kBits);
        const std::uint64_t rest = (hash << kBits) | (std::uint64_t{1} << (kBits - 1));
        const auto rank = static_cast<std::uint8_t>(__builtin_clzll(rest) + 1);
        if (registers_[slot] < rank) {
            registers_[slot] = rank;
        }
    }
    double estimate() const;
    /// Relative error of the estimate; 0 while values are counted individually.
    double standardError() const { return isExact_ ? 0 : kStandardError; }

 private:
    std::array<std::uint8_t, std::size_t{1} << kBits> registers_{};
    std::unordered_set<std::uint64_t> few_;
    bool isExact_ = true;
};

/// A uniform sample of fixed size (Vitter 1985, algorithm R): a quantile from it is within about 1
/// / sqrt(kept) of its rank.
class QuantileSketch {
 public:
    static constexpr std::size_t kKept = 8192;

    void add(double value) {
        ++seen_;
        if (kept_.size() < kKept) {
            kept_.push_back(value);
            return;
        }
        const std::uint64_t place = next() % seen_;
        if (place < kKept) {
            kept_[place] = value;
        }
    }
    std::uint64_t count() const { return seen_; }
    /// 0 <= q <= 1; NaN without values.
    double quantile(double q) const;
    /// Share of the values that are smaller, from 0 to 1; 0 when there is no value.
    double shareBelow(double value) const;

 private:
    std::uint64_t next() {  // SplitMix64: the same data gives the same draws
        state_ += 0x9e3779b97f4a7c15;
        return hashOf(state_);
    }
    std::vector<double> kept_;
    std::uint64_t seen_ = 0, state_ = 0;
};

}  // namespace millrace::profile

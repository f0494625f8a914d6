#pragma once
// CurveColumn: a growing column of doubles for CurveStore that never copies its content: a first
// part that it takes over whole, then chunks. Growing a hundred columns at once costs no frame.
//
// Threads: one owner. Owns: its values.
#include <cstddef>
#include <utility>
#include <vector>

namespace millrace::gui {

class CurveColumn {
 public:
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    double operator[](std::size_t i) const {
        return i < base_.size() ? base_[i]
                                : chunks_[(i - base_.size()) / kChunk][(i - base_.size()) % kChunk];
    }
    double front() const { return (*this)[0]; }
    double back() const { return (*this)[size_ - 1]; }

    void set(std::size_t i, double value) {
        if (i < base_.size()) {
            base_[i] = value;
        } else {
            chunks_[(i - base_.size()) / kChunk][(i - base_.size()) % kChunk] = value;
        }
    }
    void push(double value) {
        if ((size_ - base_.size()) % kChunk == 0) {
            chunks_.emplace_back();
            // The first chunk grows on demand: most curves are short.
            chunks_.back().reserve(chunks_.size() > 1 ? kChunk : 0);
        }
        chunks_.back().push_back(value);
        ++size_;
    }
    /// Takes ownership of the values; the column must be empty.
    void adopt(std::vector<double> values) {
        base_ = std::move(values);
        size_ = base_.size();
    }
    /// Keeps the first `size` values.
    void cut(std::size_t size) {
        if (size <= base_.size()) {
            base_.resize(size);
            chunks_.clear();
        } else {
            const std::size_t rest = size - base_.size();
            chunks_.resize((rest + kChunk - 1) / kChunk);
            chunks_.back().resize(rest - (chunks_.size() - 1) * kChunk);
        }
        size_ = size;
    }
    void clear() {
        base_ = {};
        chunks_ = {};
        size_ = 0;
    }
    /// The first index in [low, high) whose value is at or above `value` (above it, if isAbove).
    std::size_t search(std::size_t low, std::size_t high, double value,
                       bool isAbove = false) const {
        while (low < high) {
            const std::size_t middle = low + (high - low) / 2;
            const double there = (*this)[middle];
            if (there < value || (isAbove && there == value)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }
    std::size_t bytesUsed() const {
        std::size_t numValues = base_.capacity();
        for (const std::vector<double>& chunk : chunks_) {
            numValues += chunk.capacity();
        }
        return numValues * sizeof(double);
    }

 private:
    static constexpr std::size_t kChunk = 4096;
    std::vector<double> base_;
    std::vector<std::vector<double>> chunks_;
    std::size_t size_ = 0;
};

}  // namespace millrace::gui

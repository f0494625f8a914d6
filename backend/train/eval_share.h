#pragma once
// The rows of an evaluation that one rank scored, packed for rank 0, which computes the metrics.
// Threads: one owner.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/train/batch.h"
#include "backend/train/evaluation.h"

namespace millrace::train {

class EvalShare {
 public:
    explicit EvalShare(std::size_t numHeads) : heads_(numHeads) {}

    void add(const BatchView& batch, const std::vector<double>& probabilities);
    /// Encodes for addTo() of the same build. Columns follow one another, the widest values first,
    /// so that each is aligned for its type.
    std::string bytes() const;
    /// Adds the content of another rank's bytes(), aligned to 8; kInternal if it is incomplete.
    static Status addTo(std::string_view bytes, std::size_t numHeads, Evaluation& evaluation);

 private:
    struct Head {
        bool isThere = true;
        std::vector<float> labels;
        std::vector<std::uint8_t> masks;  ///< empty: every row has its label
    };
    std::vector<std::uint64_t> rows_;
    std::vector<double> probabilities_;  ///< [rows, heads]
    std::vector<std::uint32_t> files_;
    std::vector<Head> heads_;
};

}  // namespace millrace::train

#pragma once
// The rows of an evaluation that one rank scored, on their way to the rank that makes the figures.
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
    /// For addTo() of the same build. Columns one behind the other, the widest values first, so
    /// that each lies as its type wants it.
    std::string bytes() const;
    /// Adds what another rank's bytes() hold, aligned to 8; kInternal where they are not whole.
    static Status addTo(std::string_view bytes, std::size_t numHeads, Evaluation& evaluation);

 private:
    struct Head {
        bool isThere = true;
        std::vector<float> labels;
        std::vector<std::uint8_t> masks;  ///< none: all have their label
    };
    std::vector<std::uint64_t> rows_;
    std::vector<double> probabilities_;  ///< [rows, heads]
    std::vector<std::uint32_t> files_;
    std::vector<Head> heads_;
};

}  // namespace millrace::train

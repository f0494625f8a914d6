#pragma once
// An embedding table with the gradients of one step: only touched rows cost anything.
//
// A feature's row is the mean of its ids' vectors. A weighted list gives the weighted mean, or the
// zero vector if its weights cancel out; an empty list gives the zero vector. Rows are updated in
// the order in which the step first touched them and sums run in row order, so results do not
// depend on threads.
// Threads: one owner. Failure: an id outside the table is kInvalidArgument.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/train/batch.h"
#include "backend/train/checkpoint.h"
#include "backend/train/optimizer.h"

namespace millrace::train {

class EmbeddingTable {
 public:
    EmbeddingTable(std::string name, std::int64_t rows, std::int64_t dim,
                   const OptimizerOptions& optimizer, std::uint64_t seed);

    std::int64_t rows() const { return rows_; }
    std::int64_t dim() const { return dim_; }

    /// Writes the pooled vector of each row to out[row * stride ...].
    Status pool(const std::string& feature, const IdColumn& ids, std::int64_t rows, float* out,
                std::int64_t stride) const;
    /// Adds the gradients of pooled vectors to those of the rows that were pooled.
    void addGradients(const IdColumn& ids, std::int64_t rows, const float* gradients,
                      std::int64_t stride);
    /// The step's gradients as bytes, for addFrom() of the same build.
    void appendGradients(std::string& out) const;
    /// Adds the gradients at the front of `in` and removes them from it; kInternal if they are
    /// incomplete.
    Status addFrom(std::string_view& in);
    /// Updates the touched rows with gradient / weight and clears the gradients. `optimizer`: the
    /// table's own, with the current learning rate; `updates`: the number of this update of the
    /// model, from 1.
    void apply(const OptimizerOptions& optimizer, std::int64_t updates, double weight);
    /// Clears the gradients.
    void clear();

    /// Rows that any apply() has touched.
    std::int64_t numUsed() const { return numUsed_; }
    std::int64_t numTouched() const { return static_cast<std::int64_t>(touched_.size()); }
    const float* row(std::int64_t id) const {
        return &values_[static_cast<std::size_t>(id * dim_)];
    }
    /// Sum of the squares of the step's gradients.
    double squaredGradients() const {
        return sumOfSquares(gradients_.data(), static_cast<std::int64_t>(gradients_.size()));
    }
    /// The touched row's summed gradient; null if this step did not touch the row.
    const float* gradient(std::int64_t id) const;
    void appendTensors(std::vector<TensorRef>& out);

 private:
    float* gradientSlot(std::int64_t id);
    std::string name_;
    std::int64_t rows_, dim_;
    std::int64_t momentWidth_;  ///< floats per row of each kind of state
    std::vector<float> values_, first_, second_;
    std::vector<std::int32_t> slots_;  // per row: its index in gradients_, or -1
    std::vector<bool> used_;
    std::int64_t numUsed_ = 0;
    std::vector<std::int64_t> touched_;
    std::vector<float> gradients_;
};

/// Fills with uniform draws in [-bound, bound), a function of (seed, name, index) only.
void fillUniform(std::uint64_t seed, const std::string& name, float bound, std::int64_t size,
                 float* values);

}  // namespace millrace::train

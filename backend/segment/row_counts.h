#pragma once
// What became of rows on their way through a recipe: of a segment, or of all that was delivered.
//
// Threads: a value.
#include <cstdint>
#include <vector>

#include "backend/recipe/feature_batch.h"

namespace millrace::segment {

struct RowCounts {
    std::int64_t rowsScanned = 0;  ///< all rows of the splits, pruned ones included
    std::int64_t rowsPruned = 0;
    std::int64_t rowsKept = 0;
    std::vector<recipe::StepCount> steps;       ///< as CompiledRecipe::stepNames()
    std::vector<recipe::IdCount> vocabularies;  ///< as CompiledRecipe::vocabularies()
    std::vector<recipe::LabelGaps> labels;      ///< as CompiledRecipe::heads()

    /// Of the same recipe.
    void add(const RowCounts& other);
};

}  // namespace millrace::segment

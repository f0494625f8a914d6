#pragma once
// Counts of rows at each stage of a recipe, for a segment or for everything delivered.
//
// Threads: a value.
#include <cstdint>
#include <vector>

#include "backend/recipe/feature_batch.h"

namespace millrace::segment {

struct RowCounts {
    std::int64_t rowsScanned = 0;  ///< all rows of the splits, including pruned ones
    std::int64_t rowsPruned = 0;
    std::int64_t rowsKept = 0;
    std::vector<recipe::StepCount> steps;       ///< in the order of CompiledRecipe::stepNames()
    std::vector<recipe::IdCount> vocabularies;  ///< in the order of CompiledRecipe::vocabularies()
    std::vector<recipe::LabelGaps> labels;      ///< in the order of CompiledRecipe::heads()

    /// `other` is of the same recipe.
    void add(const RowCounts& other);
};

}  // namespace millrace::segment

#pragma once
// Names of a recipe's counts in a segment's record: "step/2/no partner", "label/null/liked",
// "ids/genres", "unknown/genres" (docs/formats/cursor.md, "Counts").
//
// Threads: any, once made. Failure: none. Names that are too long, and names beyond a record's
// limit, are left out; a label or vocabulary loses both of its counts. A log line reports how many.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/recipe/compiled_recipe.h"
#include "backend/segment/row_counts.h"
#include "backend/stream/state/segment_record.h"

namespace millrace::segment {

class CountNames {
 public:
    explicit CountNames(const recipe::CompiledRecipe& recipe)
        : CountNames(recipe.stepReasons(), recipe.heads(), recipe.vocabularies()) {}
    /// Takes what CompiledRecipe::stepReasons(), heads() and vocabularies() return.
    CountNames(const std::vector<std::vector<std::string>>& stepReasons,
               const std::vector<std::string>& heads, const std::vector<std::string>& vocabularies);

    /// The counts of a segment's rows for its record. Leaves out reasons and labels of 0 rows and
    /// steps beyond a record's limit; never leaves out vocabularies.
    stream::SegmentSums sumsOf(const RowCounts& counts) const;
    std::size_t numLeftOut() const { return numLeftOut_; }

 private:
    bool hasRoomFor(std::size_t more) const { return numNames_ + more <= stream::kMaxRecordCounts; }
    using Pairs = std::vector<std::pair<std::string, std::string>>;
    void addSteps(const std::vector<std::vector<std::string>>& stepReasons);
    /// Two counts per name, "FIRST/NAME" and "SECOND/NAME".
    Pairs pairsOf(const std::vector<std::string>& names, std::string_view first,
                  std::string_view second);

    std::vector<std::vector<std::string>> reasons_;  ///< by step; "" if left out
    Pairs gaps_, ids_;                               ///< null and NaN; ids and unknown; "" likewise
    std::size_t numNames_ = 0, numLeftOut_ = 0;
};

}  // namespace millrace::segment

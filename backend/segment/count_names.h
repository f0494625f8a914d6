#pragma once
// What a recipe's counts are called in a segment's record: "step/2/no partner", "label/null/liked",
// "ids/genres", "unknown/genres" (docs/formats/cursor.md, "Counts").
//
// Threads: any, once made. Failure: none. Names that are too long and what goes beyond a record's
// room are left out, a label or vocabulary with both of its counts; a log line says how many.
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
    /// As CompiledRecipe::stepReasons(), heads() and vocabularies() give them.
    CountNames(const std::vector<std::vector<std::string>>& stepReasons,
               const std::vector<std::string>& heads, const std::vector<std::string>& vocabularies);

    /// What a segment's record says of its rows. Reasons and labels of 0 rows and steps beyond a
    /// record's room are left out, vocabularies never.
    stream::SegmentSums sumsOf(const RowCounts& counts) const;
    std::size_t numLeftOut() const { return numLeftOut_; }

 private:
    bool hasRoomFor(std::size_t more) const { return numNames_ + more <= stream::kMaxRecordCounts; }
    using Pairs = std::vector<std::pair<std::string, std::string>>;
    void addSteps(const std::vector<std::vector<std::string>>& stepReasons);
    /// Two counts of each name, "FIRST/NAME" and "SECOND/NAME".
    Pairs pairsOf(const std::vector<std::string>& names, std::string_view first,
                  std::string_view second);

    std::vector<std::vector<std::string>> reasons_;  ///< by step; "" for those left out
    Pairs gaps_, ids_;                               ///< null, NaN; ids, unknown; "" likewise
    std::size_t numNames_ = 0, numLeftOut_ = 0;
};

}  // namespace millrace::segment

#pragma once
// What a recipe's counts are called in a segment's record: "step/2/no partner", "ids/genres",
// "unknown/genres" (docs/formats/cursor.md, "Counts").
//
// Threads: any, once made. Failure: none. Names that are too long and what goes beyond a record's
// room are left out, a vocabulary with both of its counts; a log line says how many.
#include <string>
#include <utility>
#include <vector>

#include "backend/segment/row_counts.h"
#include "backend/stream/state/segment_record.h"

namespace millrace::segment {

class CountNames {
 public:
    /// As CompiledRecipe::stepReasons() and vocabularies() give them.
    CountNames(const std::vector<std::vector<std::string>>& stepReasons,
               const std::vector<std::string>& vocabularies);

    /// What a segment's record says of its rows. Reasons of 0 rows and steps beyond a record's room
    /// are left out, vocabularies never.
    stream::SegmentSums sumsOf(const RowCounts& counts) const;
    std::size_t numLeftOut() const { return numLeftOut_; }

 private:
    bool hasRoomFor(std::size_t more) const { return numNames_ + more <= stream::kMaxRecordCounts; }
    void addSteps(const std::vector<std::vector<std::string>>& stepReasons);
    void addVocabularies(const std::vector<std::string>& vocabularies);

    std::vector<std::vector<std::string>> reasons_;         ///< by step; "" for those left out
    std::vector<std::pair<std::string, std::string>> ids_;  ///< ids, unknown; "" likewise
    std::size_t numNames_ = 0, numLeftOut_ = 0;
};

}  // namespace millrace::segment

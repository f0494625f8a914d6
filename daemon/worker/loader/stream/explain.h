#pragma once
// Explains where a stream's time went and what one change would save: `millrace stream --explain`.
//
// Uses only the stage counters, except for the share of decompression, which is measured on a
// sampled row group (profile::measurePages). Threads: values and pure functions.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backend/segment/stage_counters.h"
#include "backend/text/json.h"

namespace millrace::loader {

struct Explanation {
    std::int64_t threads = 1;
    double streamSeconds = 0;  ///< wall time of the pipeline
    std::int64_t rowsRead = 0;
    std::array<segment::StageCount, segment::kNumStages> stages;
    std::map<std::string, segment::ColumnCount> columns;
    std::vector<std::pair<std::string, segment::StepTime>> steps;  ///< in the recipe's order
    std::map<std::string, std::string> stepKinds;                  ///< "join", "filter", ...
    /// For steps with several expressions: nanoseconds by the column that each makes.
    std::map<std::string, std::map<std::string, std::int64_t>> expressions;
    /// How many steps share a name; their times are summed. Absent: one.
    std::map<std::string, std::int64_t> stepsOfName;
    /// Share of decompression in a column's reading, 0 to 1, if it was measured, and its codec.
    std::map<std::string, double> decompressionShare;
    std::map<std::string, std::string> codecs;
    std::string segmentsAdvice;  ///< "" if the row groups are fine
    segment::BatchMix mix;
    std::string shuffle;  ///< as resolved

    /// The savings of one change; changes() has the largest first.
    struct Change {
        std::string what;          ///< "leave out column h3"
        double cpuSeconds = 0;     ///< saved
        double ratePercent = 0;    ///< rows/s gained, if the loader is the bottleneck
        bool isOneOfMany = false;  ///< a column or an expression: each has a table of its own
    };
    std::vector<Change> changes() const;

    std::int64_t numSteps(const std::string& name) const {
        const auto found = stepsOfName.find(name);
        return found == stepsOfName.end() ? 1 : found->second;
    }
    double threadSeconds() const { return streamSeconds * static_cast<double>(threads); }
    double busySeconds() const;

    Json toJson() const;
    /// Lines of at most `width` characters; `isUtf8`: bars of block characters.
    std::string toText(int width, bool isUtf8) const;
};

/// A bar of `width` characters for `share` (0 to 1).
std::string barText(double share, int width, bool isUtf8);

}  // namespace millrace::loader

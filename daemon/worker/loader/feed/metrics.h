#pragma once
// The stage counters as metrics of a run (docs/reference/metrics.md): rates since the last call,
// the columns now and then.
//
// Threads: one owner.
#include <map>
#include <string>

#include "backend/segment/stage_counters.h"
#include "daemon/worker/loader/elsewhere.h"

namespace millrace::loader {

class StageMetrics {
 public:
    explicit StageMetrics(const segment::StageCounters& counters) : counters_(counters) {}

    /// Adds what the stages and steps did in the `seconds` since the last call; of the columns,
    /// every kColumnSeconds and when `isLast`, what they took per row since the start.
    void add(double seconds, bool isLast, std::map<std::string, double>& values);

    static constexpr double kColumnSeconds = 30;
    /// The costliest columns; the others are left out.
    static constexpr std::size_t kColumnsMax = 256;

 private:
    void addStages(double seconds, std::map<std::string, double>& values);
    void addSteps(double seconds, std::map<std::string, double>& values);
    void addColumns(std::map<std::string, double>& values) const;
    void addMix(std::map<std::string, double>& values);

    const segment::StageCounters& counters_;
    std::array<segment::StageCount, segment::kNumStages> last_;
    std::map<std::string, segment::StepTime> lastSteps_;
    segment::BatchMix lastMix_;
    double sinceColumns_ = 0;
};

/// How many data workers there are, and should be.
void addWorkers(const SegmentsElsewhere::Figures& figures, std::map<std::string, double>& values);

}  // namespace millrace::loader

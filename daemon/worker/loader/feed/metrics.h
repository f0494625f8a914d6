#pragma once
// StageMetrics: the stage counters as metrics of a run (docs/reference/metrics.md): rates since the
// last call, and the columns at longer intervals.
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

    /// Adds what the stages and steps did in the `seconds` since the last call. For the columns it
    /// adds their times per row since the start, every kColumnSeconds and if `isLast`.
    void add(double seconds, bool isLast, std::map<std::string, double>& values);

    static constexpr double kColumnSeconds = 30;
    /// Most columns reported, the most expensive first.
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

/// Adds how many data workers there are, and how many there should be.
void addWorkers(const SegmentsElsewhere::Figures& figures, std::map<std::string, double>& values);

}  // namespace millrace::loader

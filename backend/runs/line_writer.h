#pragma once
// LineWriter: metric lines of one attempt on their way into the tail, and the newest value of each
// metric beside them.
//
// Threads: one at a time, inside the caller's transaction. Failure: as of Database. A metric above
// a run's bounds (kMetricKeysMax) is left out and named.
#include <string>
#include <string_view>
#include <unordered_map>

#include "backend/runs/metric_table.h"
#include "backend/runs/run_figures.h"
#include "backend/runs/run_rows.h"

namespace millrace::runs {

class LineWriter {
 public:
    LineWriter(Database& db, std::int64_t no, int attempt, AttemptLimits limits)
        : db_(db),
          no_(no),
          attempt_(attempt),
          limits_(std::move(limits)),
          metrics_(db, no),
          figures_(db, no, attempt) {}

    /// What a newer attempt has made void is not kept. The line is looked at until finish().
    Status write(const ReportedLine& line);
    /// The first of the metrics that were left out: see kMetricKeysMax.
    const std::string& refusedKey() const { return refusedKey_; }
    /// `isOldAttempt`: of an attempt that is not the newest one.
    Status finish(bool isOldAttempt);

 private:
    struct Newest {
        const ReportedLine* line = nullptr;
        double value = 0;
    };

    Status store(const ReportedLine& line);
    Result<bool> admits(const std::string& key);
    Result<bool> isKnown(std::string_view key);
    Status writeLatest(std::string_view key, const ReportedLine& line, double value);
    void noteNewest(const std::string& key, const ReportedLine& line, double value);

    Database& db_;
    const std::int64_t no_;
    const int attempt_;
    const AttemptLimits limits_;
    MetricWriter metrics_;
    FigureWriter figures_;
    std::unordered_map<std::string_view, Newest> newest_;  // views of the lines
    std::int64_t numKeys_ = -1;                            // of the run before these lines
    std::int64_t numNew_ = -1;  // of these lines' keys, those that it had not; -1: not counted
    bool hasLines_ = false;
    std::string refusedKey_;
};

/// Summarizes what the ranks of all attempts told and what still waits for other ranks, and writes
/// it: when a run ends and before a new attempt cuts.
Status writeOpenSteps(Database& db, std::int64_t no);

}  // namespace millrace::runs

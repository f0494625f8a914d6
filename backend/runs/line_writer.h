#pragma once
// LineWriter: writes metric lines of one attempt into the tail, and the newest value of each metric
// beside them.
//
// Threads: one at a time, inside the caller's transaction. Failure: as of Database. A metric above
// a run's bounds (kMetricKeysMax) is left out and reported.
#include <string>
#include <string_view>
#include <unordered_map>

#include "backend/runs/metrics/metric_table.h"
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

    /// Skips lines that a newer attempt has made void. `line` must stay valid until finish().
    Status write(const ReportedLine& line);
    /// The first metric that was left out: see kMetricKeysMax.
    const std::string& refusedKey() const { return refusedKey_; }
    /// `isOldAttempt`: the attempt is not the newest.
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
    std::unordered_map<std::string_view, Newest> newest_;  // keys are views of the lines
    std::int64_t numKeys_ = -1;                            // of the run before these lines
    std::int64_t numNew_ = -1;  // of these lines' keys, those new to the run; -1: not counted
    bool hasLines_ = false;
    std::string refusedKey_;
};

/// Summarizes and writes the reports of all attempts' ranks that still wait for other ranks. Call
/// when a run ends, and before a new attempt cuts.
Status writeOpenSteps(Database& db, std::int64_t no);

}  // namespace millrace::runs

#pragma once
// RankFold: summarizes the ranks' own measurements of an attempt step by step: least, median,
// greatest, and which ranks have the extremes.
//
// A rank's line waits in metric_open, durable with its commit, until every rank has reached its
// step. Then the step becomes one line of the run. A rank more than kOpenSteps behind the first one
// is not waited for: its later reports become a separate summary, which readers merge with the
// step's (values::joined). Each rank's own values are kept as well only in runs of up to kRanksKept
// ranks; docs/formats/metrics.md gives their cost in bytes.
//
// Threads: one at a time, inside the caller's transaction. Failure: as of Database.
#include <cstdint>
#include <vector>

#include "backend/runs/database.h"
#include "backend/runs/run_lines.h"

namespace millrace::runs {

inline constexpr int kRanksKept = 16;
inline constexpr std::int64_t kOpenSteps = 256;

/// The parts of a rank's line: the run's own values (kept of rank 0 only), and the rank's
/// measurements.
struct RankParts {
    ReportedLine own, ofRank;
};
RankParts partsOf(const ReportedLine& line, int rank);

class RankFold {
 public:
    RankFold(Database& db, std::int64_t runNo, int attempt)
        : db_(db), runNo_(runNo), attempt_(attempt) {}

    /// Number of the attempt's ranks; 1 if it is not known.
    Result<int> numRanks();
    Status add(int rank, const ReportedLine& line);
    /// The steps about which no rank will report more: those up to the lowest of the ranks' newest
    /// steps.
    Result<std::vector<ReportedLine>> takeSettled();
    Result<std::vector<ReportedLine>> takeAll() { return takeUpTo(INT64_MAX); }

    static Result<std::vector<int>> openAttempts(Database& db, std::int64_t runNo);

 private:
    Result<std::vector<ReportedLine>> takeUpTo(std::int64_t step);

    Database& db_;
    const std::int64_t runNo_;
    const int attempt_;
};

}  // namespace millrace::runs

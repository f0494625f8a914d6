#pragma once
// RankFold: what the ranks of an attempt measure of themselves, summarized step by step: least,
// median, greatest, and who holds the ends.
//
// A rank's line waits in metric_open, safe with its commit, until every rank has reached its step;
// then the step becomes one line of the run. A rank that is more than kOpenSteps behind the first
// one is not waited for: what it tells later becomes a summary of its own, which readers join with
// the step's (values::joined). Each rank's own values are kept beside it only in runs of up to
// kRanksKept ranks: docs/formats/metrics.md has the bytes.
//
// Threads: one at a time, inside the caller's transaction. Failure: as of Database.
#include <cstdint>
#include <vector>

#include "backend/runs/database.h"
#include "backend/runs/run_lines.h"

namespace millrace::runs {

inline constexpr int kRanksKept = 16;
inline constexpr std::int64_t kOpenSteps = 256;

/// A line of a rank: what is the run's own (kept of rank 0 only), and what the rank measured.
struct RankParts {
    ReportedLine own, ofRank;
};
RankParts partsOf(const ReportedLine& line, int rank);

class RankFold {
 public:
    RankFold(Database& db, std::int64_t runNo, int attempt)
        : db_(db), runNo_(runNo), attempt_(attempt) {}

    /// Ranks of the attempt; 1 where it is not known.
    Result<int> numRanks();
    Status add(int rank, const ReportedLine& line);
    /// The steps that no rank will tell more of: those up to the least of the ranks' newest steps.
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
